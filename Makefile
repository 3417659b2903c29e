# Everything needs only Python 3.11+ with venv, make and a package index.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# Spark's tests run where Java 17 or later is found; elsewhere they skip and say so.
JAVA := $(shell java -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -n 1)
# one test more at a time than there are processors: some wait, for a database, a browser or Spark
WORKERS ?= $(shell $(PYTHON) -c 'import os; print((os.cpu_count() or 1) + 1)')
# where the package keeps code that comes with it
AHEAD := src/counterrank/compiled/kept_ahead
EXTRAS := $(shell [ "$(JAVA)" -ge 17 ] 2>/dev/null && echo dev,spark || echo dev)

.PHONY: help demo test test-slow lint format bench wheel clean

help:
	@echo "make demo       the whole story on a simulated log"
	@echo "make test       all tests (make test-slow: also the statistical ones, for the night)"
	@echo "make lint       ruff, mypy and the direction of imports"
	@echo "make wheel      a wheel in dist/, with compiled code in it: then a first run compiles nothing"
	@echo "make bench      what benchmarks/README.md promises, measured; exit 1 where it is not kept"

$(VENV)/.python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or later is needed: make PYTHON=python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.core: pyproject.toml | $(VENV)/.python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[serve]'
	@touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/.python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[$(EXTRAS)]'
	@touch $@ $(VENV)/.core

demo: $(VENV)/.core
	$(BIN)/counterrank demo

test: $(VENV)/.dev
	$(BIN)/python -m pytest -n $(WORKERS) -m "not slow"

test-slow: $(VENV)/.dev
	$(BIN)/python -m pytest -n $(WORKERS)

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks.promises

wheel: $(VENV)/.core
	rm -rf $(AHEAD)
	$(BIN)/counterrank warm --ahead $(AHEAD)
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .

clean:
	rm -rf $(VENV) $(AHEAD) dist .mypy_cache .ruff_cache .pytest_cache out
