# Two commands do everything on a fresh machine with Python 3.11 or newer: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CODE := src tests bench sample_traces/record
STAMP := $(VENV)/.installed

.PHONY: setup demo test coverage check format bench docs record lab notebooks lock clean

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $(STAMP)

demo: setup
	$(BIN)/earwitness demo -o demo-report

test: setup check
	$(BIN)/python -m pytest --numprocesses=2 --dist=loadfile

# The same with the lines that tests reach, which takes a quarter longer; fails below the share in pyproject.toml.
coverage: setup
	$(BIN)/python -m pytest --cov --cov-report=term --numprocesses=2 --dist=loadfile

check: setup
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tests/tools/docs.py --check

format: setup
	$(BIN)/ruff check --fix $(CODE)
	$(BIN)/ruff format $(CODE)

docs: setup
	$(BIN)/python tests/tools/docs.py

# Runs the real frameworks again, each in an environment of its own.
record: setup
	$(BIN)/python sample_traces/record/run.py

# The large laboratory corpus: 485 scenarios, six topologies, two frameworks.
lab: setup
	$(BIN)/python sample_traces/record/lab.py --scenarios 485 --out lab-large

# Runs the notebooks and stores what they print.
notebooks: setup
	$(BIN)/python tests/tools/notebooks.py

bench: setup
	$(BIN)/python bench/run.py

lock: setup
	$(BIN)/python -m pip freeze --exclude-editable > constraints.txt

clean:
	rm -rf $(VENV) build dist demo-report lab-large .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage
