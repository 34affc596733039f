# Everything a developer or CI runs. `make` alone lists the targets.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.NOTPARALLEL:
MAKEFLAGS += --no-builtin-rules
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/stamps
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

# The same profile everywhere but in the wheel, so that Cargo builds each dependency once.
PROFILE := fast
RUST_SOURCES := $(shell find rust -type f \( -name '*.rs' -o -name '*.toml' -o -path '*/assets/*' \)) Cargo.toml

PYTHON_FILES := python tests examples benches tools

.PHONY: help venv demo test lint format rows bench bench-rust docs wheel clean toolchain

help: ## List the targets.
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | \
	while IFS=$$'\t' read -r target text; do printf '  make %-10s %s\n' "$$target" "$$text"; done

# --- the environment: one stamp for what the demo needs, one for development, one for the compiled core

toolchain:
	@cargo --version >/dev/null 2>&1 || { \
	  echo 'error: Ragstone is built from source with Rust: install its toolchain (cargo, 1.94 or newer) and run make again.' >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "error: Ragstone needs Python 3.11 or newer, and '$(PYTHON)' is not: run make PYTHON=/path/to/python3.11 …" >&2; exit 1; }

$(STAMPS)/venv: | toolchain
	@echo 'Making $(VENV) …'
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) install --upgrade 'pip>=25.1' 'maturin>=1.14,<2'
	@mkdir -p $(STAMPS) && touch $@

# An editable install through maturin builds the core as well, hence the second stamp.
define install
	@echo 'Installing Ragstone with what $(@F) needs, and building its core: a minute or two …'
	@MATURIN_PEP517_ARGS='--profile $(PROFILE)' $(PIP) install --no-build-isolation --editable $(1)
	@touch $(STAMPS)/core $@
endef

$(STAMPS)/demo: pyproject.toml $(STAMPS)/venv
	$(call install,'.[local]')

$(STAMPS)/dev: pyproject.toml $(STAMPS)/venv
	$(call install,'.[all]' --group test --group lint --group docs)
	@$(PIP) install --no-deps --group parts
	@touch $(STAMPS)/demo

$(STAMPS)/core: $(RUST_SOURCES) $(STAMPS)/venv | toolchain
	@echo 'Building the core …'
	@$(BIN)/maturin develop --profile $(PROFILE) --skip-install --quiet
	@touch $@

venv: $(STAMPS)/dev $(STAMPS)/core ## Make .venv with Ragstone and all that its development needs.

# --- what it does

demo: $(STAMPS)/demo $(STAMPS)/core ## Ingest real documents, search them, explain the hits, measure the ranking.
	@$(BIN)/python examples/demo.py

bench: $(STAMPS)/venv ## Measure Ragstone beside its peers; BENCH_OPTIONS=--quick takes three minutes.
	@$(BIN)/python -m benches.run $(BENCH_OPTIONS)

bench-rust: | toolchain ## Measure the Rust core alone.
	@cargo bench --package ragstone-core

# --- what proves it

test: venv ## Run the tests of both languages and check that every row has one.
	if command -v cargo-nextest >/dev/null; then \
	  cargo nextest run --package ragstone-core --cargo-profile $(PROFILE) --no-fail-fast; \
	else \
	  cargo test --package ragstone-core --profile $(PROFILE) --lib --tests; \
	fi
	cargo test --package ragstone-core --profile $(PROFILE) --doc --quiet
	$(BIN)/python -m pytest --rows

rows: venv ## List the rows of docs/behaviours.md that no passing test proves.
	$(BIN)/python -m pytest --quiet --rows -m row

lint: venv ## Check formatting, lints, types, import directions, licences.
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --quiet -- --deny warnings
	$(BIN)/ruff format --check --quiet $(PYTHON_FILES)
	$(BIN)/ruff check --quiet $(PYTHON_FILES)
	$(BIN)/mypy
	$(BIN)/basedpyright
	$(BIN)/stubtest --concise ragstone._core
	$(BIN)/lint-imports --no-logo
	$(BIN)/python tools/check_licences.py
	$(BIN)/python -m pytest --quiet tests/packaging

format: venv ## Format both languages, and fix what can be fixed.
	cargo fmt --all
	$(BIN)/ruff check --fix --quiet $(PYTHON_FILES)
	$(BIN)/ruff format --quiet $(PYTHON_FILES)

docs: venv ## Build the documentation into site/, any warning an error.
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

wheel: $(STAMPS)/venv ## Build the wheel into dist/, and try it in clean environments without Rust.
	rm -rf dist
	$(BIN)/maturin build --release --interpreter $(BIN)/python --quiet --out dist
	$(BIN)/python tools/check_wheel.py dist/*.whl

clean: ## Remove everything that was built.
	rm -rf $(VENV) target dist site Cargo.lock
	find python tests tools examples benches -name __pycache__ -type d -prune -exec rm -rf {} +
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache python/ragstone/_core.*.so
