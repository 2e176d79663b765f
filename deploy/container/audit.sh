#!/bin/sh
# Asks PyPI's advisories about every locked run-time dependency. A dependency that could not be asked about is a failure, never a
# pass. `make audit` calls this; it is not part of `make check`, because it needs the network and changes from day to day.
set -eu
cd "$(dirname "$0")/../.."
deploy/container/tools.sh
if ! dist/supply-chain/bin/pip-audit --strict --progress-spinner off --disable-pip --require-hashes -r requirements/runtime.txt; then
  echo "error: the audit found something, or could not ask about everything: see above; it needs https://pypi.org" >&2
  exit 1
fi
