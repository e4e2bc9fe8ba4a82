# The front door. `make` lists the targets.
SHELL := /bin/bash
.DEFAULT_GOAL := help
STAMP := .venv/.setup-done
PYTHON := .venv/bin/python
STEP := tools/setup/step.sh
SERVE ?= 1
PREFIX ?= /usr/local
WATER := experiments/victims/water.tpr

.PHONY: help setup build install demo test test-abi test-kill test-web lint format bench bench-collector bench-db bench-web accuracy accuracy-simulated accuracy-real accuracy-docs accuracy-large accuracy-compare accuracy-lookup fuzz stress test-cluster cluster-up cluster-down experiments experiments-docs generate clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' Makefile

setup: $(STAMP) ## install missing system packages and the Python environment .venv

$(STAMP): pyproject.toml tools/setup/apt-packages.txt
	@tools/setup/setup.sh
	@touch $@

build: setup ## build the library and the test programs in build/
	@$(STEP) "configure" cmake --preset release --log-level=WARNING
	@$(STEP) "build" cmake --build --preset release

install: build ## the library, load programs, recipes, units, below PREFIX=/usr/local (DESTDIR=DIR: in a folder to pack); says how to install the command
	@umask 022 && DESTDIR='$(DESTDIR)' $(STEP) "install" cmake --install build --prefix '$(abspath $(PREFIX))'
	@echo "The command: python3 -m venv /opt/crosswind && /opt/crosswind/bin/pip install '.[postgresql,metrics]' (docs/operations.md)"

demo: build ## two real jobs, one disturbs the other, and the page that shows it (SERVE=0: end after loading)
	@.venv/bin/crosswind demo $(if $(filter 0,$(SERVE)),--no-serve)

test: build ## everything: lint, C tests, sanitizers, pytest
	@tools/setup/test.sh

test-abi: build ## the library under every MPI that PyPI and Debian have (network; root for some)
	@$(STEP) "MPI environments" $(PYTHON) tools/setup/mpi_environments.py build/abi
	@$(PYTHON) -m pytest tests/abi/every_mpi.py

test-cluster: setup ## real Slurm jobs of two users on two simulated nodes (root)
	@$(STEP) "packages of the simulated cluster" tools/setup/setup.sh cluster
	@$(MAKE) --no-print-directory build
	@$(PYTHON) -m pytest tests/cluster/test_plugin.py tests/cluster/live_jobs.py tests/cluster/forty_jobs.py tests/cluster/small_experiment.py

cluster-up: setup ## a simulated site that stays up, to run experiments on: Slurm, file server, agents (root; MBIT=400 NODES_MBIT=100)
	@$(STEP) "packages of the simulated cluster" tools/setup/setup.sh cluster
	@$(MAKE) --no-print-directory build
	@cd tests && ../$(PYTHON) -m cluster.site up --mbit $(or $(MBIT),400) $(if $(NODES_MBIT),--nodes-mbit $(NODES_MBIT))

cluster-down: setup ## ... end it
	@cd tests && ../$(PYTHON) -m cluster.site down

test-web: setup ## the dashboard: API, access, browser; and the whole story on data of a simulated Slurm (root; some 6 minutes)
	@$(STEP) "packages of the simulated cluster" tools/setup/setup.sh cluster
	@$(MAKE) --no-print-directory build
	@$(PYTHON) -m pytest tests/web tests/cluster/browser_story.py

lint: setup ## style and static checks
	@tools/setup/lint.sh

format: setup ## format Python and C files
	@.venv/bin/ruff check -q --select I --fix . && .venv/bin/ruff format -q .
	@git ls-files --cached --others --exclude-standard '*.c' '*.h' '*.inc' | xargs clang-format -i

bench: build ## what the library costs, as a table and as JSON lines
	@$(PYTHON) tools/bench/run.py

bench-collector: setup ## what the collector daemon costs: looks, lag, memory, as JSON lines (OPTIONS="--refresh 1000x21600 --postgresql": a long job)
	@$(PYTHON) tools/bench/collector.py $(OPTIONS)

bench-db: setup ## the database on a simulated month of 5000 nodes, as JSON lines (SCALE=1, SCALE_PG=0.1: shares of its jobs; DB=URL: one that holds it)
	@$(PYTHON) tools/bench_db/run.py --scale $(or $(SCALE),1) $(if $(DB),--db '$(DB)')
	@$(if $(DB),:,$(PYTHON) tools/bench_db/run.py --scale $(or $(SCALE_PG),0.1) --postgresql)

bench-web: setup ## the dashboard over a simulated month: pages, their data, 50 users at once, as JSON lines (SCALE=0.2; DB=URL: one that holds the month)
	@$(STEP) "locust" .venv/bin/python -m pip install -qq --disable-pip-version-check -e '.[load]'
	@$(PYTHON) tools/bench_web/run.py --scale $(or $(SCALE),0.2) $(if $(DB),--db '$(DB)')

accuracy: accuracy-simulated accuracy-real ## the estimators against known truth: simulated runs, then real programs

accuracy-simulated: setup ## ... on simulated runs only, as a table, some 2 minutes; goes on where a demand is missed (SEEDS=20 FIRST_SEED=4003)
	-@cd tests && ../$(PYTHON) -m accuracy.study --seeds $(or $(SEEDS),20) --first-seed $(or $(FIRST_SEED),4003)

accuracy-real: build ## ... on real programs only, some 25 minutes; goes on where it was stopped (REAL="--runs 4")
	@cd tests && ../$(PYTHON) -m accuracy.real $(REAL)

accuracy-large: setup ## the estimate of five million segments, of 64 ranks, of 60,000 clusters: seconds and memory (some 6 minutes, 8 GB)
	@cd tests && ../$(PYTHON) -m accuracy.large_run
	@cd tests && ../$(PYTHON) -m accuracy.large_tables

accuracy-compare: setup ## how often compare calls runs slower that differ by chance, and those that are slower (some 1 minute; COMPARISONS=150)
	@cd tests && ../$(PYTHON) -m accuracy.compare_study --comparisons $(or $(COMPARISONS),150)

accuracy-lookup: setup ## how often lookup names a planted culprit, and accuses nobody where there is none (some minutes)
	@cd tests && ../$(PYTHON) -m accuracy.lookup_study --systems $(or $(SYSTEMS),200)

accuracy-docs: setup ## figures and tables of docs/estimator.md from the results of accuracy-real (REAL=...)
	@cd tests && ../$(PYTHON) -m accuracy.real --markdown $(REAL)

fuzz: setup ## feed the readers with broken files for a minute (FUZZ_SECONDS=60)
	@$(STEP) "fuzz" $(PYTHON) tests/fuzz/fuzz_readers.py --seconds $(or $(FUZZ_SECONDS),60)

stress: build ## threads, forks, signals and I/O under the library, exactly counted (STRESS_SECONDS=60)
	@$(STEP) "stress" $(PYTHON) tests/harm/run_stress.py --seconds $(or $(STRESS_SECONDS),60)

test-kill: setup ## kill collectors a few hundred times while jobs run (KILLS=300), on both databases
	@CROSSWIND_KILLS=$(or $(KILLS),300) $(PYTHON) -m pytest -q -s tests/collector/test_kill.py tests/collector/test_kill_refresh.py

experiments: setup ## all experiments on a simulated site, and their tables and pictures (root; hours; ONLY="fig-2.7 node" MBIT=400 NODES_MBIT=200; goes on where it was stopped)
	@$(STEP) "packages of the simulated cluster" tools/setup/setup.sh cluster
	@$(STEP) "packages of the victims" tools/setup/setup.sh experiments
	@$(MAKE) --no-print-directory build
	@$(MAKE) --no-print-directory $(WATER)
	@cd tests && ../$(PYTHON) -m cluster.run_experiments ../build/experiments $(ONLY) $(if $(MBIT),--mbit $(MBIT)) $(if $(NODES_MBIT),--nodes-mbit $(NODES_MBIT))
	@$(MAKE) --no-print-directory experiments-docs RESULTS="$(addprefix build/experiments/,$(or $(ONLY),$(basename $(notdir $(wildcard experiments/*.toml)))))"

# Made once: it differs each time, and runs with another input are another experiment.
$(WATER): $(wildcard experiments/victims/water/*)
	@$(STEP) "input of the victims" experiments/victims/water/prepare.sh $@

experiments-docs: setup ## tables and pictures of docs/experiments.md from results (RESULTS="experiment-fig-2.7 ..."; without: from those kept)
	@cd tests && ../$(PYTHON) -m experiments $(abspath $(RESULTS))

generate: setup ## make the generated files anew from the metric tables
	@$(PYTHON) libprofiler/spec/generate.py --python libprofiler/python/metrics.py --docs docs/metrics.md
	@$(PYTHON) -m crosswind.collector.agent.metrics > docs/node-metrics.md

clean: ## remove what was built; .venv stays
	@rm -rf build demo-run .pytest_cache .mypy_cache .ruff_cache .hypothesis *.egg-info
