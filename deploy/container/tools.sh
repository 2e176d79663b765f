#!/bin/sh
# Sets up dist/supply-chain with the locked tools for the bill of materials and the audit, unless it is up to date.
set -eu
cd "$(dirname "$0")/../.."
stamp=dist/supply-chain/.installed
if [ ! -e "$stamp" ] || [ requirements/supply-chain.txt -nt "$stamp" ]; then
  .venv/bin/uv venv --quiet --clear --python .venv/bin/python dist/supply-chain
  .venv/bin/uv pip install --quiet --python dist/supply-chain/bin/python --require-hashes -r requirements/supply-chain.txt
  touch "$stamp"
fi
