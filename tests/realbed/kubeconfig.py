"""A kubeconfig file for kubectl and other clients of one server."""

import base64
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import yaml

from tests.conformance.client import Api


def write(path: Path, *, url: str, ca_file: Path, token: str, name: str = "realbed") -> Path:
    """Write a self-contained kubeconfig: the authority and the token are inside."""
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": name,
                "cluster": {
                    "server": url,
                    "certificate-authority-data": base64.b64encode(ca_file.read_bytes()).decode(),
                },
            }
        ],
        "users": [{"name": name, "user": {"token": token}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }
    path.touch(mode=0o600)
    path.write_text(yaml.safe_dump(document))
    return path


@asynccontextmanager
async def connected(content: str) -> AsyncIterator[Api]:
    """Speak to the server of a kubeconfig that `write` wrote."""
    document = yaml.safe_load(content)
    cluster, user = document["clusters"][0]["cluster"], document["users"][0]["user"]
    authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
    connector = aiohttp.TCPConnector(ssl=ssl.create_default_context(cadata=authority))
    # Loopback: a proxy from the environment must not come between.
    async with aiohttp.ClientSession(connector=connector, trust_env=False) as session:
        yield Api(session, cluster["server"], user["token"])
