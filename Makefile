# Everything runs in .venv, made from the lock files; uv is put into it for speed.
PYTHON ?= python3
BIN := .venv/bin
export OPENBLAS_NUM_THREADS ?= 1

.PHONY: run install install-dev test e2e lint format audit bench base chaos conformance conformance-vllm lock clean

run: install
	@exec $(BIN)/skydeck up

install: .venv/.run
install-dev: .venv/.dev .venv/.system

# The tests' system packages (Debian): a real browser and a real PostgreSQL.
.venv/.system: .ci/system-packages .venv/.run
	@bash .ci/system-packages
	@touch $@

.venv/.run: requirements/run.lock pyproject.toml
	@bash .ci/install $(PYTHON) requirements/run.lock
	@touch $@

.venv/.dev: requirements/dev.lock .venv/.run
	@bash .ci/install $(PYTHON) requirements/dev.lock
	@touch $@

lint: .venv/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/deptry .
	$(BIN)/djlint --lint templates
	$(BIN)/bandit --quiet --recursive --configfile pyproject.toml app worker

format: .venv/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# Processes, both databases and HTTP. What drives more than that is `make e2e` and `make conformance`.
test: install-dev
	$(BIN)/python -m pytest -n 2 --dist worksteal \
	  -m "not browser and not ray and not chaos and not slow_env"

# Real Chromium, then real Ray heads and kills: these want the machine for themselves, and no more
# than two heads at a time. They wait more than they compute.
e2e: install-dev
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "browser and not ray and not chaos"
	CHAOS_ROUNDS=2 $(BIN)/python -m pytest -n 2 --dist loadfile -m "ray or chaos" --durations=10

# SHORT=1: only what `make test` leaves out.
conformance: install-dev
	$(BIN)/python -m pytest -n 2 tests/conformance $(if $(SHORT),-m slow_env)

# The contract tests against a real vLLM on this machine's CPU. MODELS is the folder of its weights.
VLLM_ENV ?= .venv-vllm
MODELS ?= $(SKYDECK_SHARED)/models
conformance-vllm: install-dev
	bash tests/conformance/vllm_env.sh $(VLLM_ENV)
	bash tests/conformance/vllm_serve.sh $(VLLM_ENV) $(MODELS) \
	  $(BIN)/python -m pytest -n 0 tests/contract -k real

# SIGKILL at random moments; ROUNDS=10 is the long form.
chaos: install-dev
	CHAOS_ROUNDS=$${ROUNDS:-10} $(BIN)/python -m pytest -m chaos

# SKYDECK_SHARED=DIR adds the peers' benchmark, PEERS="trackio=VENV mlflow=VENV" the peers.
bench: install-dev
	PEERS="$(PEERS)" $(BIN)/python -m tests.bench

# Known weaknesses of what is installed. Asks a public service, so it is no part of `make lint`.
audit: .venv/.dev
	$(BIN)/uv tool run pip-audit --requirement requirements/run.lock --disable-pip --no-deps --strict

# Trains the shipped base model again by behaviour cloning.
base: .venv/.run
	$(BIN)/python -m worker.jobs.maze_grpo.base

lock: .venv/.dev
	$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --no-annotate pyproject.toml -o requirements/run.lock --custom-compile-command "make lock"
	$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --no-annotate pyproject.toml --group dev -c requirements/run.lock -o requirements/dev.lock --custom-compile-command "make lock"

clean:
	rm -rf .venv build artefacts
