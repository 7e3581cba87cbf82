# Everything needs only Python 3.11 and make; the first target to run makes the virtual environment.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
BENCH ?= all
export OPENBLAS_NUM_THREADS ?= 1# cores are shared out among processes, not within one
JOBS ?= $(shell nproc 2>/dev/null || sysctl -n hw.ncpu 2>/dev/null || echo 2)

.PHONY: demo test test-slow check bench clean

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	@touch $(READY)

demo: $(READY)  ## the main job: two schedulers under a stress load, then goodput against rate, with a picture
	$(BIN)/sched-sim compare --schedulers fcfs,chunked --workload rag --hardware rtx3050 --duration 10
	@mkdir -p demo
	$(BIN)/sched-sim sweep --schedulers fcfs,chunked,slo --hardware rtx3050 --min-rate 2 --max-rate 18 --step 4 \
		--plot demo/goodput.png --force
	@echo "The picture is demo/goodput.png"

test: $(READY)  ## the tests that run in minutes
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m "not slow"

test-slow: $(READY)  ## the long ones
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m slow

check: $(READY)  ## format, lint, types, import floors, house rules
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python -m tests.house

bench: $(READY)  ## requests per CPU second, as ratios within one run; BENCH=engine chooses a part
	$(BIN)/python -m benchmarks $(BENCH)

clean:
	rm -rf $(VENV) demo .mypy_cache .ruff_cache .hypothesis .import_linter_cache
