#!/bin/sh
# Asks PyPI's advisories about every locked run-time dependency. A dependency that could not be asked about is a failure, never a
# pass. `make audit` calls this. `make check` does so with --if-reachable: where PyPI does not answer for the first of them, that is
# said in one line.
set -eu
cd "$(dirname "$0")/../.."
if [ "${1:-}" = --if-reachable ]; then
  asked="$(sed -n 's/^\([A-Za-z0-9._-]*\)==\([^ ]*\).*/https:\/\/pypi.org\/pypi\/\1\/\2\/json/p' requirements/runtime.txt | head -n 1)"
  if ! .venv/bin/python -c 'import sys, urllib.request as u; u.urlopen(sys.argv[1], timeout=5).read(1)' "$asked" 2>/dev/null; then
    echo "dependencies not audited: $asked gives no answer here; run 'make audit' where it does"
    exit 0
  fi
fi
deploy/container/tools.sh
if ! dist/supply-chain/bin/pip-audit --strict --progress-spinner off --disable-pip --require-hashes -r requirements/runtime.txt; then
  echo "error: the audit found something, or could not ask about everything: see above; it needs https://pypi.org" >&2
  exit 1
fi
