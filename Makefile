# `make demo` and `make test` do everything on a machine with Python >= 3.11 (with venv) and make.
PYTHON ?= python3
VENV := .venv
RESCUE := $(VENV)/bin/rescue
UV_VERSION := 0.13.8

.PHONY: help demo test lint bench docs wheel clean
help:
	@echo "make demo    the whole pipeline on the demo corpus, offline"
	@echo "make test    the test suite"
	@echo "make lint    ruff, mypy, sqlfluff"
	@echo "make bench   the demo, generated corpora, asking: throughput, quota, memory, kills (half an hour)"
	@echo "make docs    dbt's documentation of every table, as one page"
	@echo "make wheel   build the source distribution and, from it, the wheel into dist/"

demo: $(VENV)/.ready
	$(RESCUE) demo

test: $(VENV)/.ready-dev
	$(VENV)/bin/python -m pytest

lint: $(VENV)/.ready-dev
	$(VENV)/bin/ruff check . && $(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	cd dbt_project && ../$(VENV)/bin/sqlfluff lint models

bench: $(VENV)/.ready-dev
	$(VENV)/bin/python -m tests.bench

docs: $(VENV)/.ready
	$(RESCUE) docs

wheel: $(VENV)/.ready-dev
	$(VENV)/bin/uv build

# The lock file decides what is installed. Bytecode is compiled once, whatever PYTHONDONTWRITEBYTECODE says: imports take a third of the time.
$(VENV)/.ready: uv.lock pyproject.toml $(VENV)/.uv
	$(VENV)/bin/uv sync --frozen --inexact --no-dev --compile-bytecode --quiet
	@$(VENV)/bin/python -m compileall -q rescue_pipeline
	@touch $@

$(VENV)/.ready-dev: uv.lock pyproject.toml $(VENV)/.uv
	$(VENV)/bin/uv sync --frozen --inexact --compile-bytecode --quiet
	@$(VENV)/bin/python -m compileall -q rescue_pipeline
	@touch $@ $(VENV)/.ready

$(VENV)/.uv:
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(0 if v >= (3, 11) else f"found Python {v[0]}.{v[1]}; need 3.11 or newer: make PYTHON=/path/to/python3.12 ...")'
	@$(PYTHON) -c 'import venv, ensurepip' || { echo "this Python lacks venv (Debian: apt install python3-venv)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)
	@touch $@

clean:
	rm -rf $(VENV) dist build
