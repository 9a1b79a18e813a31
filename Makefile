# ackd: `make run` and `make test` need Python 3.11+ and git, nothing else.
# Settable: PYTHON=/path/to/python3 (else the newest found), VENV=folder (else .venv), ARGS="-k word" for pytest.

VENV ?= .venv
PYTHON ?=
ARGS ?=

SHELL := /bin/sh
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
MAKEFLAGS += --no-builtin-rules --no-print-directory

PY := $(VENV)/bin/python
PIP := $(PY) -m pip -qq --disable-pip-version-check
# Tests with one of these marks need more than Python and git; see pyproject.toml.
MARKED := needs_browser or needs_server or needs_tools

.PHONY: help install run demo test test-all bench lint

help: ## show these targets
	@grep -E '^[a-z-]+:.*## ' $(firstword $(MAKEFILE_LIST)) | sed 's/:.*## /\t/' | while IFS="$$(printf '\t')" read -r t h; \
	do printf '  make %-10s %s\n' "$$t" "$$h"; done

install: $(VENV)/.ackd ## make the virtual environment and install ackd into it

run: $(VENV)/.ackd ## lay down ./shared-context where there is none, and run the daemon on it
	@[ -e shared-context ] || $(PY) -m ackd init shared-context
	@exec $(PY) -m ackd up shared-context

demo: $(VENV)/.ackd ## play a roundtable of three agents to its end, in a temporary folder (ARGS=--keep leaves it)
	@exec $(PY) examples/roundtable/demo.py $(ARGS)

test: $(VENV)/.ackd-test ## run the tests that need Python and git alone
	@$(PY) -m pytest -q -m "not ($(MARKED))" $(ARGS)

test-all: test $(VENV)/.ackd-tools ## run those, then the ones that need packaging tools, a browser or a server
	@$(PY) -m pytest -q -m "$(MARKED)" $(ARGS)

bench: $(VENV)/.ackd-bench ## measure throughput and latency on this machine
	@$(PY) benchmarks/bench.py

lint: $(VENV)/.ackd-lint ## check style, types and floors
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .
	@$(PY) -m mypy
	@$(VENV)/bin/lint-imports --no-logo

# ---- the virtual environment: a stamp for each set of packages, made again only when pyproject.toml or Python changes

$(VENV)/bin/python: ;

$(VENV)/.ackd: pyproject.toml $(VENV)/bin/python
	@$(make-venv)
	@$(PIP) install --editable .
	@touch $@

$(VENV)/.ackd-%: pyproject.toml $(VENV)/bin/python
	@$(make-venv)
	@$(PIP) install --editable '.[$*]'
	@touch $(VENV)/.ackd $@

# Takes the newest Python that is new enough and can make virtual environments; says what is missing where none is.
# An environment that no longer works (its Python is gone, or it was left half made) is made again. Python 3.11 also
# puts setuptools into it, which nothing here uses.
define make-venv
if [ -f $(VENV)/pyvenv.cfg ] && $(PY) -m pip --version >/dev/null 2>&1; then exit 0; fi; \
found=; old=; bare=; \
for py in $(if $(PYTHON),'$(PYTHON)',python3.13 python3.12 python3.11 python3 python); do \
  version=$$("$$py" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) || continue; \
  "$$py" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { old="$$old $$py ($$version)"; continue; }; \
  "$$py" -c 'import ensurepip, venv' 2>/dev/null || { bare=$${bare:-$$version}; continue; }; \
  found=$$py; break; \
done; \
if [ -z "$$found" ]; then \
  if [ -n "$$bare" ]; then \
    echo "ackd: Python $$bare is here, but it cannot make virtual environments (no venv or ensurepip)." >&2; \
    echo "  Debian, Ubuntu: sudo apt install python$$bare-venv    Then type the same make command again." >&2; \
  else \
    echo "ackd: needs Python 3.11 or newer$(if $(PYTHON), and '$(PYTHON)' is not,; found:$${old:- none})." >&2; \
    echo "  Install one, or name it: make PYTHON=/path/to/python3 …" >&2; \
  fi; \
  exit 1; \
fi; \
echo "ackd: making $(VENV) with $$found; the first time takes a minute" >&2; \
clear=; [ ! -f $(VENV)/pyvenv.cfg ] || clear=--clear; \
"$$found" -m venv $$clear $(VENV) && $(PIP) uninstall --yes setuptools
endef
