"""The section about what is answered over HTTP, and to whom. What leaves the machine needs TLS and authorization."""

import ipaddress
from typing import Annotated, Final, Self

from pydantic import model_validator

from config.sections.sections import FilePath, Section, refused_at
from config.types.choices import HttpAuthorization
from config.types.field_types import BindAddress, OneOf, Switch, Text, WholeNumber

Audience = Annotated[str, Text('an audience of tokens, without spaces (for example "turnstile")', r"[\x21-\x7e]+", 253)]
Port = Annotated[int, WholeNumber(0, 65_535)]
_AUTHORIZED: Final = f"{HttpAuthorization.KUBERNETES} or {HttpAuthorization.TOKEN_FILE}"


class Http(Section):
    """Health, readiness and metrics; with `authorization` also what `turnstile status` and `explain` ask."""

    bind_address: Annotated[str, BindAddress()] = "127.0.0.1"
    """The address to listen on. Any but loopback needs `certificateFile` and `authorization`."""
    port: Port = 9644
    """The port to listen on; 0 takes any free one."""
    certificate_file: FilePath | None = None
    """The certificate of the server with its chain, in PEM; with it https is spoken. Read again on SIGHUP."""
    key_file: FilePath | None = None
    """The key of that certificate, in PEM. Read again on SIGHUP."""
    authorization: Annotated[HttpAuthorization, OneOf(HttpAuthorization)] = HttpAuthorization.NONE
    """Who may read `/metrics` and `/v1/…`: everybody who can connect, and then only `/metrics` (`None`); bearers of a
    token that the hub knows and whose user may `get` that path there (`Kubernetes`); bearers of the token in
    `tokenFile` (`TokenFile`). `/healthz` and `/readyz` are open always."""
    page: Annotated[bool, Switch()] = True
    """Serve the page under `/ui/`, where `authorization` is not `None`. Its files are open to all who can connect; what
    it shows needs a token like any other question."""
    token_file: FilePath | None = None
    """The file with the token for `TokenFile`, of at least 16 characters. Read again on SIGHUP."""
    audiences: tuple[Audience, ...] = ()
    """For `Kubernetes`: tokens must be made for one of these audiences. Without any, for the hub's API server."""
    probe_bind_address: Annotated[str, BindAddress()] = "127.0.0.1"
    """The address of `probePort`. It may be any: only whether the daemon is healthy and ready is served there."""
    probe_port: Port | None = None
    """A second port, for `/healthz` and `/readyz` alone, without TLS; 0 takes any free one, `null` opens none."""

    @property
    def is_exposed(self) -> bool:
        """Return whether other machines can connect."""
        return not ipaddress.ip_address(self.bind_address).is_loopback

    @model_validator(mode="after")
    def _exposed_needs_protection(self) -> Self:
        if (self.certificate_file is None) != (self.key_file is None):
            absent = "certificate_file" if self.certificate_file is None else "key_file"
            raise refused_at(absent, None, "a path, because certificateFile and keyFile go together")
        if self.is_exposed and self.certificate_file is None:
            raise refused_at(
                "certificate_file", None, f"a path, because bindAddress {self.bind_address} is not loopback"
            )
        if self.is_exposed and self.authorization is HttpAuthorization.NONE:
            allowed = f"{_AUTHORIZED}, because bindAddress {self.bind_address} is not loopback"
            raise refused_at("authorization", str(self.authorization), allowed)
        return self

    @model_validator(mode="after")
    def _settings_have_an_effect(self) -> Self:
        has_token_file = self.authorization is HttpAuthorization.TOKEN_FILE
        if has_token_file and self.token_file is None:
            raise refused_at("token_file", None, "a path, because authorization is TokenFile")
        if not has_token_file and self.token_file is not None:
            raise refused_at("token_file", self.token_file, "only together with authorization TokenFile")
        if self.audiences and self.authorization is not HttpAuthorization.KUBERNETES:
            raise refused_at("audiences", list(self.audiences), "only together with authorization Kubernetes")
        return self
