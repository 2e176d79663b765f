#!/bin/sh
# Writes what the image has of Python: the locked run-time dependencies and Turnstile itself, as CycloneDX. `make sbom` calls this.
set -eu
cd "$(dirname "$0")/../.."
deploy/container/tools.sh
output="$1"
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT

.venv/bin/python -m hatchling build -t wheel -d "$scratch" >/dev/null 2>&1
.venv/bin/uv venv --quiet --python .venv/bin/python "$scratch/env"
.venv/bin/uv pip install --quiet --python "$scratch/env/bin/python" --require-hashes -r requirements/runtime.txt
.venv/bin/uv pip install --quiet --python "$scratch/env/bin/python" --no-deps --no-index "$scratch"/*.whl
dist/supply-chain/bin/cyclonedx-py environment "$scratch/env/bin/python" \
  --pyproject pyproject.toml --output-reproducible --output-format JSON --output-file "$output"
echo "wrote $output"
