# Every target creates what it needs in .venv, from the package registries, by name.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PYTEST := $(BIN)/python -m pytest
# What pip does for a package that it installs, and not for one that it links to: a start without it
# compiles every module again where Python is told to write no bytecode.
COMPILE := $(BIN)/python -m compileall -q src

.DEFAULT_GOAL := help

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 12

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "riverlog needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[arrow,spark]' --group dev --group clients --group peer
	$(COMPILE)
	touch $@

install: $(READY) ## create .venv and install riverlog and its development tools

demo: $(READY) ## a broker, messages and pipelines: see them flow, in less than a minute
	$(COMPILE)
	$(BIN)/python -m riverlog demo

test: $(READY) ## the suite that CI runs, under 15 minutes
	$(PYTEST) -m "not slow"

test-all: $(READY) ## everything, the slow suites included
	$(PYTEST)

test-on-kafka: $(READY) ## what is a client of the log, against Apache Kafka instead of riverlog
	$(BIN)/python -m tests.on_kafka

suites: $(READY) ## other projects' test suites, by name from their registries
	$(BIN)/python -m tests.suites

bench: $(READY) ## riverlog beside Apache Kafka, row by row, as ratios
	$(COMPILE)
	$(BIN)/python -m bench

bench-pipelines: $(READY) ## pipelines on Spark beside Spark's connector, Kafka Streams and Flink SQL
	$(COMPILE)
	$(BIN)/python -m bench.pipelines

lint: $(READY) ## formatting, lint, types, and who imports whom
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY) ## let ruff format the tree
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(READY) ## write the reference pages that are derived from the code
	$(BIN)/python -m tools.reference

clean: ## remove .venv and caches
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache

.PHONY: help install demo test test-all test-on-kafka suites bench bench-pipelines lint format docs clean
