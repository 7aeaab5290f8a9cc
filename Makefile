# Two commands for a newcomer: `make demo` and `make test`. Both set everything up in .venv first.
# Nothing outside this folder is touched.
VENV   := .venv
BIN    := $(VENV)/bin
# The first of these that is Python 3.11 or newer; override with `make PYTHON=/path/to/python3 ...`.
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	    command -v $$p >/dev/null 2>&1 && $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
WORKERS ?= 2
# One thread for linear algebra in every process: more of them only wait for each other on matrices this small.
export OPENBLAS_NUM_THREADS := 1
export OMP_NUM_THREADS := 1
# Python keeps what it compiled, whatever the shell says: the tests start some hundred processes, and each of them would
# compile its two thousand modules again, which takes twice as long as all else at its start.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup demo test lint compiled collected bench docs wheel clean

help:
	@echo "make demo    set up and run the main job once"
	@echo "make test    set up, lint, type-check, check the import direction, run the tests"
	@echo "make setup   only make the virtual environment in $(VENV)"
	@echo "make lint    ruff, mypy and import-linter only"
	@echo "make bench   run the benchmarks, one table of all numbers (an hour)"
	@echo "make docs    the documentation as a site, in out/site"
	@echo "make wheel   build the wheel and try it in an environment that has nothing else (needs the network)"
	@echo "make clean   remove $(VENV) and what the tools left behind"

setup: $(VENV)/.ready

# What pliant and the demo need. The tools of the tests are half as much again to download.
$(VENV)/.plain: pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "pliant needs Python 3.11 or newer; none of python3, python3.11 .. python3.14 on PATH is. Install one, or name it: make PYTHON=/path/to/python3 $(MAKECMDGOALS)" >&2; exit 2; }
	@echo "setting up $(VENV) with $$($(PYTHON) --version) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check "$$(grep '^uv==' constraints.txt)" \
	  && $(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python -c constraints.txt -e '.[lab,viewer,batch]' \
	  || { echo "uv did not manage; trying pip (slower) ..." >&2; $(BIN)/python -m pip install --disable-pip-version-check -c constraints.txt -e '.[lab,viewer,batch]'; }
	@touch $@

$(VENV)/.ready: $(VENV)/.plain
	@$(BIN)/uv pip install --quiet --python $(BIN)/python -c constraints.txt -e '.[dev]' \
	  || { echo "uv did not manage; trying pip (slower) ..." >&2; $(BIN)/python -m pip install --disable-pip-version-check -c constraints.txt -e '.[dev]'; }
	@touch $@

demo: $(VENV)/.plain
	@$(BIN)/pliant demo --out out/demo

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Ray is 80 MB to download, so only the tests get it. Where there is none for this Python, they skip, and say so.
$(VENV)/.ray: $(VENV)/.ready
	@$(BIN)/uv pip install --quiet --python $(BIN)/python -c constraints.txt -e '.[dev,ray]' && touch $@ \
	  || echo "NO RAY: it could not be installed; the tests of the Ray engine will be skipped" >&2

# Before the tests, and not in each of their processes: the inner loops, which takes a minute where they are new.
compiled: setup
	$(BIN)/python tests/compile_loops.py

# The same for the tests themselves, which pytest compiles in its own way; what is wrong with them their run will tell.
collected: setup
	@$(BIN)/pytest --collect-only -qq > /dev/null || true

# A file's tests run in one process, so that what they share is made once; the longest files come first (tests/conftest.py).
# Performance tests measure CPU time, so they run after the others, alone.
test: $(VENV)/.ray
	@$(MAKE) --no-print-directory --jobs=2 lint compiled collected
	$(BIN)/pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder -m "not performance"
	$(BIN)/pytest -m performance $$(grep -rl --include='test_*.py' 'mark\.performance' tests)

# The peers that the benchmarks compare with (CVXPY, MuJoCo, other servos) are installed only here.
$(VENV)/.bench: $(VENV)/.ready
	@$(BIN)/uv pip install --quiet --python $(BIN)/python -c constraints.txt -e '.[dev,bench]'
	@touch $@

# Everything in one run, then one table in out/benchmarks/table.md. About an hour on two cores; a number is worth more on
# a machine that does nothing else. Longer rounds are options of the benchmarks themselves.
PLANS := out/benchmarks/plans
bench: $(VENV)/.bench $(VENV)/.ray
	@set -e; for name in servo ik contact resolution grasp control batch cold_start; do \
	  echo "== $$name"; $(BIN)/python benchmarks/$$name.py; done
	@echo "== planner"; $(BIN)/python benchmarks/planner.py --all --save $(PLANS)
	@echo "== liquid_centre"; $(BIN)/python benchmarks/liquid_centre.py --plan $(PLANS)/bottle.plan
	@echo "== verdicts"; $(BIN)/python benchmarks/verdicts.py $(PLANS)/ball.plan $(PLANS)/ring.plan $(PLANS)/sponge.plan
	@echo "== trials"; $(BIN)/python benchmarks/trials.py $(PLANS)/ball.plan $(PLANS)/ring.plan --count 5 --workers 2
	@echo "== calibration"; $(BIN)/python benchmarks/calibration.py --quick
	@$(BIN)/python benchmarks/table.py --out out/benchmarks/table.md

# The documentation as a site: pages, API from the docstrings, search. A broken link or reference is an error.
docs: setup
	$(BIN)/python tools/make_site.py --out out/site

# The wheel in an environment of its own, made by pip as a user would: what is compiled and prepared is new as well.
WHEEL := out/wheel
wheel: setup
	@rm -rf $(WHEEL) && mkdir -p $(WHEEL)
	$(BIN)/python -m hatchling build -t wheel -d $(WHEEL)
	$(PYTHON) -m venv $(WHEEL)/venv
	$(WHEEL)/venv/bin/python -m pip install --quiet -c constraints.txt $(WHEEL)/pliant-*.whl
	cd $(WHEEL) && export PLIANT_CACHE=cache && venv/bin/pliant doctor && venv/bin/pliant plan ball_gripper --effort quick
	$(WHEEL)/venv/bin/python -m pip install --quiet -c constraints.txt 'pliant[lab,viewer]'
	cd $(WHEEL) && export PLIANT_CACHE=cache && venv/bin/pliant demo --no-view

clean:
	rm -rf $(VENV) out build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
