# Every command stands here; `make help` lists them.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
PYTHON ?= python3
BIN := .venv/bin
DIR ?= docs
# Twice as many as there are cores: a worker waits for sockets and processes in a third of its time.
WORKERS ?= 4
EXTRAS := dev cli infra lambda local scanner
COMPILE := $(BIN)/pip-compile -q --no-emit-index-url --no-emit-find-links --no-header --no-annotate --generate-hashes \
  --allow-unsafe --strip-extras
INSPECTOR := tests/interop/inspector
ADK := tests/interop/adk
BASIC_MEMORY := tests/interop/basic_memory
AGMI := tests/interop/agmi
LANGGRAPH := tests/interop/langgraph
LOCALSTACK := tests/interop/localstack
SBOM := tests/interop/sbom
SCANNER_PEERS := tests/interop/scanner_peers
# Basic Memory needs Python 3.12, Memolith 3.11: the first of these that is here, or PYTHON312=/path/to/python3.13.
PYTHON312 ?= $(shell for minor in 14 13 12; do python3.$$minor -c "" 2>/dev/null && command -v python3.$$minor && break; done)
# Python keeps what it has compiled, whatever the surroundings say: the tests start some hundred processes.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help setup lock check format test properties fuzz slow first-hour guards e2e interop interop-basic-memory interop-cloud interop-localstack sim bench bench-sealing bench-scanner bench-scanner-peers bench-laptop bench-search bench-cold-search pjdfstest eval-pipelines demo drill moves cost sbom clean

help: ## this list
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-21s %s\n", $$1, $$2}'

setup: .venv/.installed node_modules/.installed ## install what everything else needs (done on demand)

.venv/.installed: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Memolith needs Python 3.11 or newer: make PYTHON=/path/to/python3.11 setup"; exit 1; }
	@echo "installing Python packages from requirements.lock (once, about a minute) ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/pip install -q --disable-pip-version-check --no-deps --require-hashes -r requirements.lock
	@$(BIN)/pip install -q --disable-pip-version-check --no-deps -e .
	@touch $@

node_modules/.installed: package-lock.json
	@command -v npm >/dev/null || { echo "Memolith needs Node.js 20 or newer (the CDK command line runs on it)"; exit 1; }
	@echo "installing the CDK command line from package-lock.json ..."
	@npm ci --silent --no-audit --no-fund
	@touch $@

lock: ## compile the locks anew (no registry address in any), but for those of tests/interop/basic_memory, agmi and langgraph, which are made by hand
	$(COMPILE) $(addprefix --extra ,$(EXTRAS)) -o requirements.lock pyproject.toml
	$(COMPILE) -o $(SBOM)/requirements.lock $(SBOM)/requirements.in
	$(COMPILE) -o $(LOCALSTACK)/requirements.lock $(LOCALSTACK)/requirements.in
	$(COMPILE) -o $(SCANNER_PEERS)/requirements.lock $(SCANNER_PEERS)/requirements.in
	$(COMPILE) --extra adk -o $(ADK)/requirements.lock pyproject.toml $(ADK)/requirements.in
	@for lock in requirements.lock $(ADK)/requirements.lock; do \
	  grep -vE '^memolith @|^# (WARNING: pip install will require|Consider using a hashable URL)' $$lock > .lock && mv .lock $$lock; done
	npm install --package-lock-only --omit-lockfile-registry-resolved --no-audit --no-fund
	npm --prefix $(INSPECTOR) install --package-lock-only --omit-lockfile-registry-resolved --no-audit --no-fund

check: setup ## format, lint, types, import contracts, docs in step
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python -m scripts.check_docs

format: setup ## put the code in shape
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

test: setup ## the tests for every commit (under five minutes on two cores; WORKERS=8 on four)
	$(BIN)/python -m pytest -m "not e2e and not guards and not fresh_install and not slow" --ignore=tests/e2e -n $(WORKERS)

slow: setup ## what takes half a second a test or more and needs no local cloud (some nine minutes): servers, crashes at each step, the largest answers
	$(BIN)/python -m pytest -m slow -v -n 2 --ignore=tests/e2e

first-hour: setup ## the README followed to the letter, in a fresh home and virtual environment (two minutes; installs packages)
	$(BIN)/python -m pytest -m fresh_install -v tests/laptop/test_to_the_letter.py

chaos: setup ## two hundred random damages to a laptop's folder, and forty outages (some six minutes); `make slow` does sixteen
	MEMOLITH_CHAOS=200 $(BIN)/python -m pytest -n 2 tests/laptop/test_damages.py tests/laptop/test_outages.py

properties: setup ## every property with forty times the examples of `make test` (some ten minutes)
	MEMOLITH_EXAMPLES_TIMES=20 $(BIN)/python -m pytest -m "hypothesis or seeds" -n 2

fuzz: setup ## twenty thousand hostile requests over every route with every credential (some three minutes)
	MEMOLITH_FUZZ=20000 $(BIN)/python -m pytest -q -s tests/api/test_fuzz.py

guards: setup ## plant each defect, switch off each exception: the simulation has to object (some five minutes)
	$(BIN)/python -m pytest -m guards -n 2

e2e: setup ## the local cloud, deployed for real, driven by the real SDK
	$(BIN)/python -m pytest -m e2e -v --durations=15 tests/e2e

interop: setup $(INSPECTOR)/node_modules/.installed $(ADK)/.venv/.installed $(AGMI)/.venv/.installed $(LANGGRAPH)/.venv/.installed ## the MCP inspector, Google's ADK, the tamper suite agmi and LangGraph's own tests of its stores, each on packages of its own (240 MB)
	$(BIN)/python -m pytest $(INSPECTOR)
	$(BIN)/python -m pytest $(AGMI)/test_agmi.py
	PYTHONPATH=.:$(LANGGRAPH)/.venv/packages $(BIN)/python -m pytest -p pytest_asyncio.plugin -p pytest_mock -o asyncio_mode=auto $(LANGGRAPH)
	$(ADK)/.venv/bin/python -m pytest -o addopts="-q --import-mode=importlib -p no:cacheprovider" --confcutdir=$(ADK) $(ADK)

interop-cloud: setup $(AGMI)/.venv/.installed ## the tamper suite agmi on the local cloud of two regions, which it brings up unless one runs (some seven minutes)
	$(BIN)/python -m pytest -v $(AGMI)/test_agmi_on_the_local_cloud.py

interop-localstack: setup $(LOCALSTACK)/.venv/.installed ## LocalStack 4.9.2 without Docker: the contract of S3 and SQS, and the app deployed to it (500 MB)
	$(BIN)/python -m pytest -v $(LOCALSTACK)

interop-basic-memory: setup $(BASIC_MEMORY)/.venv/.parser ## Basic Memory itself reads what was exported; needs a Python 3.12 (600 MB)
	$(BIN)/python -m pytest $(BASIC_MEMORY)

$(BASIC_MEMORY)/.venv/.installed: $(BASIC_MEMORY)/requirements.lock
	@test -n "$(PYTHON312)" || { echo "Basic Memory needs Python 3.12 or newer: make PYTHON312=/path/to/python3.13 interop-basic-memory"; exit 1; }
	@echo "installing Basic Memory from $< ..."
	@test -x $(BASIC_MEMORY)/.venv/bin/python || $(PYTHON312) -m venv $(BASIC_MEMORY)/.venv
	@$(BASIC_MEMORY)/.venv/bin/pip install -q --disable-pip-version-check --no-deps --require-hashes -r $<
	@touch $@

# The release whose grammar we follow asks for a certifi that PyPI does not have: its parser runs on what the lock has, from
# a folder of its own, and its source distribution has the fixtures.
$(BASIC_MEMORY)/.venv/.parser: $(BASIC_MEMORY)/parser.lock $(BASIC_MEMORY)/.venv/.installed
	@echo "installing Basic Memory's parser from $< ..."
	@rm -rf $(BASIC_MEMORY)/.venv/parser $(BASIC_MEMORY)/.venv/fixtures
	@$(BASIC_MEMORY)/.venv/bin/pip install -q --disable-pip-version-check --no-deps --require-hashes --only-binary :all: --target $(BASIC_MEMORY)/.venv/parser -r $<
	@$(BASIC_MEMORY)/.venv/bin/pip download -q --disable-pip-version-check --no-deps --require-hashes --no-binary :all: -d $(BASIC_MEMORY)/.venv/fixtures -r $<
	@touch $@

$(INSPECTOR)/node_modules/.installed: $(INSPECTOR)/package-lock.json
	@echo "installing the MCP inspector from $< ..."
	@npm --prefix $(INSPECTOR) ci --silent --no-audit --no-fund
	@touch $@

$(LANGGRAPH)/.venv/.installed: $(LANGGRAPH)/requirements.lock $(LANGGRAPH)/sources.lock
	@echo "installing what LangGraph's tests need, and their sources, from $< ..."
	@rm -rf $(LANGGRAPH)/.venv
	@$(BIN)/pip install -q --disable-pip-version-check --no-deps --require-hashes --only-binary :all: --target $(LANGGRAPH)/.venv/packages -r $<
	@PYTHONPATH=$(CURDIR)/$(LANGGRAPH)/.venv/packages $(BIN)/pip download -q --disable-pip-version-check --no-deps --require-hashes --no-binary :all: --no-build-isolation -d $(LANGGRAPH)/.venv/sources -r $(LANGGRAPH)/sources.lock
	@for archive in $(LANGGRAPH)/.venv/sources/*.tar.gz; do tar -xzf $$archive -C $(LANGGRAPH)/.venv/sources; done
	@touch $@

$(AGMI)/.venv/.installed: $(AGMI)/requirements.lock
	@echo "installing agmi from $< ..."
	@rm -rf $(AGMI)/.venv
	@$(BIN)/pip install -q --disable-pip-version-check --no-deps --require-hashes --only-binary :all: --target $(AGMI)/.venv/packages -r $<
	@touch $@

# What needs a virtual environment of its own, and nothing else.
$(foreach own,$(LOCALSTACK) $(ADK) $(SBOM) $(SCANNER_PEERS),$(own)/.venv/.installed): %/.venv/.installed: %/requirements.lock
	@echo "installing $(notdir $*) from $< ..."
	@test -x $*/.venv/bin/python || $(PYTHON) -m venv $*/.venv
	@$*/.venv/bin/pip install -q --disable-pip-version-check --no-deps --require-hashes -r $<
	@touch $@

drill: setup ## everything that can go wrong, on the local cloud of three regions, while clients write (some ten minutes)
	$(BIN)/python -m scripts.drill

moves: setup ## a planned move of 100 stores beside 50 writes a second, in this process (CLOUD=1 RATE=5: on the local cloud)
	$(BIN)/python -m scripts.drill.planned --rate $(or $(RATE),50) $(if $(CLOUD),--cloud)

demo: setup ## the main job on this machine; DIR=~/notes imports a folder of your own
	$(BIN)/python -m scripts.demo --dir "$(DIR)"

cost: setup ## docs/cost.md's tables from counted calls and prices
	$(BIN)/python -m scripts.cost

sbom: setup $(SBOM)/.venv/.installed ## what Memolith is made of, as CycloneDX in build/sbom, and whether licenses and versions are as they must be
	$(BIN)/python -m scripts.sbom

bench: setup ## writes beside a bare conditional put, the fold's throughput, reads of a mount beside a local folder
	$(BIN)/python -m scripts.bench.writes
	$(BIN)/python -m scripts.bench.mount

bench-sealing: setup ## what sealing costs a write: the median of paired ratios, and its interval (some eight minutes)
	$(BIN)/python -m scripts.bench.sealing

bench-scanner: setup ## the scanner's recall, false alarms and time beside their targets (ARGS="--agentdojo WHEEL")
	$(BIN)/python -m scripts.bench.scanner $(ARGS)

bench-scanner-peers: setup $(SCANNER_PEERS)/.venv/.installed ## other scanners of PyPI beside ours, on the same texts (150 MB; some ten minutes)
	$(BIN)/python -m scripts.bench.scanner_peers --python $(SCANNER_PEERS)/.venv/bin/python $(ARGS)

bench-laptop: setup ## a laptop with ten thousand memories: start, search, lint, ls and memory beside their targets
	$(BIN)/python -m scripts.bench.laptop

bench-search: setup ## a store of ten thousand memories: its pack, its searches, and whether they find
	$(BIN)/python -m scripts.bench.search

bench-cold-search: setup ## a reader's first search of such a store on the running local cloud, beside the GET of its pack
	$(BIN)/python -m scripts.bench.cold_search $(ARGS)

pjdfstest: setup ## a checkout of pjdfstest, its program compiled, on a real mount, beside what is known to fail (PJDFSTEST=DIR; as root)
	$(BIN)/python -m scripts.pjdfstest "$(PJDFSTEST)"

eval-pipelines: setup ## 120 made-up sessions through extraction, and a dream killed at each step, beside the floors (ARGS="--why", or a model)
	$(BIN)/python -m scripts.eval_pipelines $(ARGS)

sim: setup ## worlds from seeds, with everything that goes wrong (N=2000 of them, SEED=17 alone, KIND=failing_over of another kind, KIND=all of every kind, BUGS=1 for planted defects)
	$(BIN)/python -m tests.simulation $(if $(BUGS),$(or $(N),1000) --bugs,$(if $(KIND),--kind $(KIND)) $(if $(SEED),--seed $(SEED),$(or $(N),2000)))

clean: ## remove what the other commands made
	rm -rf .venv node_modules tests/interop/*/.venv $(INSPECTOR)/node_modules build cdk.out .memolith .bundle .mypy_cache .ruff_cache .hypothesis
