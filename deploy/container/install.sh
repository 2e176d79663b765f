#!/bin/sh
# Fills /opt/turnstile while the image is built. `dependencies LOCK` installs what requirements/LOCK.txt names, with hashes and from
# wheels alone; `product` builds and installs Turnstile itself. The Dockerfile calls this.
set -eu
env=/opt/turnstile

# A company's index and authority: secrets of the build, which leave no trace in the image.
if [ -e /run/secrets/pip.conf ]; then PIP_CONFIG_FILE=/run/secrets/pip.conf; export PIP_CONFIG_FILE; fi
if [ -e /run/secrets/ca.crt ]; then PIP_CERT=/run/secrets/ca.crt; export PIP_CERT; fi
if [ -z "${PIP_INDEX_URL:-}" ]; then unset PIP_INDEX_URL; fi

case "$1" in
  dependencies)
    python3 -m venv /opt/build
    /opt/build/bin/pip install --only-binary :all: --require-hashes -r requirements/build.txt
    python3 -m venv --without-pip "$env"
    /opt/build/bin/pip --python "$env/bin/python" install --no-compile --only-binary :all: --require-hashes -r "requirements/$2.txt"
    # Debugging symbols of compiled modules, where the base can take them out.
    if command -v strip >/dev/null; then find "$env" -name '*.so' -exec strip --strip-unneeded {} +; fi
    find "$env" -type d -name tests -prune -exec rm -r {} +
    ;;
  product)
    /opt/build/bin/python -m hatchling build -t wheel -d /tmp/dist
    /opt/build/bin/pip --python "$env/bin/python" install --no-compile --no-deps --no-index /tmp/dist/*.whl
    # Bytecode of what the daemon imports, so that it starts fast without writing any; that of libraries that only single commands
    # import would be a third of the image. It names no time, so that the same sources give the same bytes.
    "$env/bin/python" -m compileall -q --invalidation-mode unchecked-hash \
      -x '/(kubernetes_asyncio|pygments|textual|markdown_it|rich|cryptography)/' "$env/lib"
    ;;
  *)
    echo "usage: install.sh dependencies LOCK | product" >&2
    exit 2
    ;;
esac
