# Every target bootstraps .venv by itself; nothing is needed beforehand but python3 (>= 3.11) and a package index.
.DEFAULT_GOAL := help
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed
# Twice the two cores of a small machine: tests on real clusters mostly wait.
TEST_PROCESSES ?= 4
# Hundreds of tests start Turnstile as a process; where no bytecode is kept, each of them compiles all of it.
unexport PYTHONDONTWRITEBYTECODE
# The properties run what the shell assembles from objects, which no table of cases does.
PURE_TESTS := tests/unit/gates tests/unit/engine $(patsubst %,tests/property/test_%.py,worker_objects gate_evidence elastic_groups plans odd_documents)
PYTEST := $(BIN)/python -m pytest --numprocesses $(TEST_PROCESSES) --dist loadscope --no-loadscope-reorder

.PHONY: help venv demo test test-fast test-local coverage test-real fuzz check format docs bench bed bed-down compare-partition forecast-truth race image sbom audit lock clean

help: ## show this help
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-17s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

venv: $(STAMP) ## set up .venv with the locked dependencies, nothing else

$(STAMP): requirements/dev.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "turnstile needs Python 3.11 or newer; set PYTHON=/path/to/python3.11")'
	$(PYTHON) -m venv --clear .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

demo: venv ## play a story on local clusters that shows what Turnstile does
	$(BIN)/turnstile demo

test: venv ## run all tests, also those on real Kueue (about 12 minutes, the first run longer)
	$(PYTEST) --durations=25

test-fast: venv ## run the unit tests: pure functions and parts of one process (under a minute)
	$(PYTEST) -m 'not slow' tests/unit

test-local: venv ## run all tests that need no program built with Go (about 8 minutes)
	$(PYTEST) -m 'not real'

coverage: venv ## hold the branch coverage of the pure core, gates/ and engine/ (about a minute)
	$(PYTEST) --cov --cov-report=term:skip-covered $(PURE_TESTS)

test-real: venv ## run the tests on real Kueue alone, over and over until one fails (RUNS=1)
	@runs=$$(seq $(or $(RUNS),1) 2>/dev/null); test -n "$$runs" || { echo "RUNS: must be a whole number from 1 on" >&2; exit 2; }; \
	for run in $$runs; do echo "run $$run"; $(PYTEST) tests/e2e tests/realbed -k 'not local' || exit; done

check: venv ## format, lint, types, import rules, unused code, coverage of the core; known weaknesses of dependencies, where PyPI can be asked (about 2 minutes)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/vulture
	$(MAKE) --no-print-directory coverage
	@deploy/container/audit.sh --if-reachable

format: venv ## rewrite the sources in the house format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: venv ## regenerate the tables that the docs take from the code
	$(BIN)/python -P -m config.loading.reference docs/configuration.md
	$(BIN)/python -m tests.screens
	$(BIN)/python -m tests.support.scenarios docs/scenarios.md
	$(BIN)/python -P -m manager.reference.metrics docs/metrics.md
	$(BIN)/python -P -m manager.reference.logging docs/logging.md
	$(BIN)/python -P deploy/grafana/dashboard.py > deploy/grafana/turnstile.json
	deploy/prometheus/rule.sh < deploy/prometheus/rules.yaml > deploy/prometheus/prometheus-rule.yaml

fuzz: venv ## answer a worker's client with raw bytes of every shape (CASES=100000 SEED=; about 10 minutes)
	$(BIN)/python -m tests.fuzz --cases $(or $(CASES),100000) $(if $(SEED),--seed $(SEED))

bench: venv ## run the benchmarks and print their tables
	$(BIN)/python -m benchmarks

compare-partition: venv ## both controllers on real Kueue while a worker cannot be reached (about 30 minutes)
	$(BIN)/python -m benchmarks.partition

forecast-truth: venv ## do forecasts come true on real Kueue? 200 preemptions (SITUATIONS=200 SEED=1; about 15 minutes)
	$(BIN)/python -m benchmarks.forecast_truth --situations $(or $(SITUATIONS),200) --seed $(or $(SEED),1)

race: venv ## Turnstile and Kueue's own controller, as it is and unthrottled, with 200 jobs (about 7 minutes)
	$(BIN)/python -m benchmarks.race

bed: venv ## start a hub and two workers on real Kueue (WORKERS=2 FEATURE_GATES=PriorityBoost=true)
	$(BIN)/python -m tests.realbed up --workers $(or $(WORKERS),2) --feature-gates '$(FEATURE_GATES)'

bed-down: venv ## stop them
	$(BIN)/python -m tests.realbed down

image: sbom ## build the container image and its bill of materials (IMAGE=, TAG=, BASE=)
	deploy/container/build.sh

sbom: venv ## write the bill of materials of what is installed, dist/turnstile.cdx.json
	deploy/container/sbom.sh dist/turnstile.cdx.json

audit: venv ## ask PyPI's advisories about the locked run-time dependencies; needs the network
	deploy/container/audit.sh

lock: venv ## resolve the dependencies anew into requirements/*.txt
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header pyproject.toml -o requirements/runtime.txt
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --extra dev --extra tracing pyproject.toml -o requirements/dev.txt
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header requirements/supply-chain.in -o requirements/supply-chain.txt
	sed -n 's/^requires = \["\(.*\)"\]$$/\1/p' pyproject.toml | $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header - -o requirements/build.txt

clean: ## remove .venv and caches
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist
