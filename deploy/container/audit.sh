#!/bin/sh
# Asks PyPI's advisories about every locked run-time dependency. A dependency that could not be asked about is a failure, never a
# pass. `make audit` calls this. `make check` does so with --if-reachable: a machine without the network is told in one line.
set -eu
cd "$(dirname "$0")/../.."
asked=https://pypi.org/pypi/pip/json
if [ "${1:-}" = --if-reachable ]; then
  if ! .venv/bin/python -c 'import sys, urllib.request as u; u.urlopen(sys.argv[1], timeout=5).read(1)' "$asked" 2>/dev/null; then
    echo "dependencies not audited: $asked cannot be reached from here; run 'make audit' where it can"
    exit 0
  fi
fi
deploy/container/tools.sh
if ! dist/supply-chain/bin/pip-audit --strict --progress-spinner off --disable-pip --require-hashes -r requirements/runtime.txt; then
  echo "error: the audit found something, or could not ask about everything: see above; it needs https://pypi.org" >&2
  exit 1
fi
