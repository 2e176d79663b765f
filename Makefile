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

.PHONY: help venv browser page-pictures demo test test-fast test-local coverage test-real test-versions fuzz fuzz-parsers simulate mutants check format docs bench bed bed-down compare-partition forecast-truth race image wheel chart dist dist-manifests site sbom audit lock clean

help: ## show this help
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-17s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

venv: $(STAMP) ## set up .venv with the locked dependencies, nothing else

# Not quiet: a minute of silence would look like a hang.
PIP := $(BIN)/python -m pip install --disable-pip-version-check
$(STAMP): requirements/dev.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "turnstile needs Python 3.11 or newer; set PYTHON=/path/to/python3.11")'
	@echo "1 of 3: making .venv"
	@$(PYTHON) -m venv --clear .venv
	@echo "2 of 3: installing the locked dependencies, which takes about a minute"
	@$(PIP) --require-hashes -r requirements/dev.txt
	@echo "3 of 3: installing turnstile"
	@$(PIP) --quiet --no-deps --no-build-isolation --editable .
	@touch $@

demo: venv ## play a story on local clusters that shows what Turnstile does
	$(BIN)/turnstile demo

browser:
	@tests/page/install-chromium.sh

test: venv browser ## run all tests, also those on real Kueue (about 12 minutes, the first run longer)
	$(PYTEST) --durations=25

test-fast: venv ## run the unit tests: pure functions and parts of one process (under a minute)
	$(PYTEST) -m 'not slow' tests/unit

test-local: venv browser ## run all tests that need no program built with Go (about 8 minutes)
	$(PYTEST) -m 'not real'

coverage: venv ## hold the branch coverage of the pure core, gates/ and engine/ (about a minute)
	$(PYTEST) --cov --cov-report=term:skip-covered $(PURE_TESTS)

test-real: venv ## run the tests on real Kueue alone, over and over until one fails (RUNS=1)
	@runs=$$(seq $(or $(RUNS),1) 2>/dev/null); test -n "$$runs" || { echo "RUNS: must be a whole number from 1 on" >&2; exit 2; }; \
	for run in $$runs; do echo "run $$run"; $(PYTEST) tests/e2e tests/realbed -k 'not local' || exit; done

test-versions: venv ## compare the engine with every release of Kueue, then run the tests on real Kueue on every fleet of several releases (FLEETS='old-workers latest'; about 10 minutes each)
	TURNSTILE_KUEUE_VERSIONS=all $(BIN)/python -m pytest -n0 -q tests/differential/test_differential_versions.py
	@for fleet in $(or $(FLEETS),$$($(BIN)/python -m tests.e2e.fleets)); do echo "fleet $$fleet"; E2E_FLEET="$$fleet" $(PYTEST) tests/e2e -k 'not local' || exit; done

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
	$(BIN)/python -m tests.support.compatibility docs/compatibility.md
	$(BIN)/python -P -m manager.reference.metrics docs/metrics.md
	$(BIN)/python -P -m manager.reference.logging docs/logging.md
	$(BIN)/python -P deploy/grafana/dashboard.py > deploy/grafana/turnstile.json
	$(BIN)/python -P deploy/helm/schema.py > deploy/helm/turnstile/values.schema.json
	deploy/prometheus/rule.sh < deploy/prometheus/rules.yaml > deploy/prometheus/prometheus-rule.yaml

page-pictures: venv browser ## take pictures of the page, for docs/page.md and in tests/page/pictures (about a minute)
	@mkdir -p tests/page/pictures
	TURNSTILE_PAGE_PICTURES=tests/page/pictures $(BIN)/python -m pytest -n0 -q tests/page/test_stories.py -k theme
	cp $(patsubst %,tests/page/pictures/page-%.png,workload-light-1280 fleet-dark-1280 workload-dark-390) docs/images/

fuzz: venv ## answer a worker's client with raw bytes of every shape (CASES=100000 SEED=; about 10 minutes)
	$(BIN)/python -m tests.fuzz --cases $(or $(CASES),100000) $(if $(SEED),--seed $(SEED))

fuzz-parsers: venv ## fuzz every parser that reads what others write, guided by coverage; Linux only (SECONDS=60 for each, PARSER=, KEEP=1; about 25 minutes)
	@$(BIN)/python -m tests.fuzz.parsers --seconds='$(or $(SECONDS),60)' --parser='$(PARSER)' $(if $(KEEP),--keep)

simulate: venv ## play histories of the whole system in virtual time (SEEDS=1000 BASE=1 ONLY='daemon is killed'; about 3 a second)
	@$(BIN)/python -m tests.simulation --seeds='$(or $(SEEDS),1000)' --base='$(BASE)' --only='$(ONLY)'

mutants: venv ## plant known bugs one by one, and see which the simulation finds (SEEDS=500 MUTANTS='words of their names'; hours)
	@$(BIN)/python -m tests.simulation.mutants --seeds='$(or $(SEEDS),500)' --named='$(MUTANTS)'

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

image: sbom ## build the container image and its bill of materials (IMAGE= TAG= BASE= BUILD_BASE= EXTRA= CA_FILE= PIP_CONF= FLAGS=)
	deploy/container/build.sh $(FLAGS)

wheel: venv ## build the wheel and the source distribution into dist/
	SOURCE_DATE_EPOCH=$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct 2>/dev/null || echo 0)} $(BIN)/python -m hatchling build -t wheel -t sdist -d dist

chart: ## pack the Helm chart into dist/
	deploy/release/chart.sh

dist: wheel chart sbom image ## make every artefact in dist/: wheel, chart, image, man pages, completions, krew plugin, SBOM, provenance, checksums
	deploy/release/image-archive.sh
	$(MAKE) --no-print-directory dist-manifests

dist-manifests: venv # what describes the artefacts that are in dist/ by now
	$(BIN)/python -P deploy/release/man.py dist/man
	@mkdir -p dist/completions
	for shell in bash zsh fish; do $(BIN)/turnstile completion $$shell > dist/completions/turnstile.$$shell; done
	$(BIN)/python -P deploy/release/manifests.py dist

site: venv ## build the documentation as a site with search into dist/site; a link that leads nowhere is an error
	@test dist/site-env/.installed -nt requirements/site.txt || { $(BIN)/uv venv --quiet --clear --python $(BIN)/python dist/site-env \
	  && $(BIN)/uv pip install --quiet --python dist/site-env/bin/python --require-hashes -r requirements/site.txt && touch dist/site-env/.installed; }
	NO_MKDOCS_2_WARNING=1 dist/site-env/bin/python -P deploy/site/build.py dist/site

sbom: venv ## write the bill of materials of what is installed, dist/turnstile.cdx.json
	deploy/container/sbom.sh dist/turnstile.cdx.json

audit: venv ## ask PyPI's advisories about the locked run-time dependencies; needs the network
	deploy/container/audit.sh

lock: venv ## resolve the dependencies again into requirements/*.txt
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header pyproject.toml -o requirements/runtime.txt
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --extra tracing pyproject.toml -o requirements/tracing.txt
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --extra dev --extra tracing pyproject.toml -o requirements/dev.txt
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header requirements/supply-chain.in -o requirements/supply-chain.txt
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header requirements/site.in -o requirements/site.txt
	sed -n 's/^requires = \["\(.*\)"\]$$/\1/p' pyproject.toml | $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header - -o requirements/build.txt

clean: ## remove .venv and caches
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist
