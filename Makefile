PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.stamp
PYTEST_JOBS ?= auto
# each worker begins with a run of neighbouring tests, which share what is fitted once a module, and takes over from one that has more left
PYTEST := -m pytest -n $(PYTEST_JOBS) --dist worksteal

# modules are compiled once, by the first process that imports them: an installation that compiles all takes twice as long
unexport PYTHONDONTWRITEBYTECODE

SEED ?=

MINUTES ?= 1
ATTACKS ?=

.PHONY: demo dist docs figures man notebooks test test-slow test-all test-browser test-site test-oldest test-newest test-random soak coverage bench bench-quick lint clean

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit("semimetric needs Python 3.11 or newer; call make PYTHON=python3.11" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)

$(STAMP)-%: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --no-compile -e '.[$*]'
	@touch $@

demo: $(STAMP)-demo
	$(BIN)/semimetric demo

test: $(STAMP)-dev
	$(BIN)/python $(PYTEST) -m "not slow"

test-slow: $(STAMP)-dev
	$(BIN)/python $(PYTEST) -m slow

test-all: $(STAMP)-dev
	$(BIN)/python $(PYTEST)

test-oldest test-newest test-random: test-%:
	$(PYTHON) -m venv --clear .venv-$*
	.venv-$*/bin/python -m pip install --quiet --upgrade pip uv packaging
	.venv-$*/bin/python tools/environments.py $* $(SEED:%=--seed %) > .venv-$*/releases.txt
	.venv-$*/bin/uv pip install --quiet --compile-bytecode --python .venv-$*/bin/python -e . -r .venv-$*/releases.txt
	NUMBA_CACHE_DIR=$(CURDIR)/.venv-$*/kernels .venv-$*/bin/python $(PYTEST) -m "not slow"

CHROMIUM ?= $(firstword $(shell command -v chromium chromium-browser google-chrome 2>/dev/null))

test-browser: $(STAMP)-dev
	@test -n "$(CHROMIUM)" || { echo "reports are tested in Chromium, which is not there: apt-get install chromium, or give CHROMIUM=/path/to/it"; exit 1; }
	$(BIN)/python -m pip install --quiet playwright axe-playwright-python
	SEMIMETRIC_BROWSER="$(CHROMIUM)" $(BIN)/python $(PYTEST) tests/reports/test_in_browser.py tests/reports/test_predictors_in_browser.py tests/reports/test_widget_in_browser.py

test-site: docs
	@test -n "$(CHROMIUM)" || { echo "the site is looked at in Chromium, which is not there: apt-get install chromium, or give CHROMIUM=/path/to/it"; exit 1; }
	$(BIN)/python -m pip install --quiet playwright axe-playwright-python
	SEMIMETRIC_BROWSER="$(CHROMIUM)" $(BIN)/python tools/check_site_in_browser.py docs/_build/html

soak: $(STAMP)-dev
	PYTHONPATH=tests $(BIN)/python -m soak $(ATTACKS) --minutes $(MINUTES)

coverage: $(STAMP)-dev
	NUMBA_DISABLE_JIT=1 $(BIN)/python $(PYTEST) -m "not slow and not compiled" --cov

lint: $(STAMP)-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python tools/include_sources.py --check
	$(BIN)/python tools/paper_tables.py --check
	$(BIN)/python tools/check_docstrings.py
	$(BIN)/python tools/check_sentences.py
	$(BIN)/python tools/write_stubs.py --check
	$(BIN)/codespell

docs: $(STAMP)-docs
	rm -rf docs/generated/api docs/_build/html
	$(BIN)/python -m sphinx -W --keep-going -b html -d docs/_build/doctrees docs docs/_build/html
	$(BIN)/python tools/check_site.py docs/_build/html
	@echo "the site is docs/_build/html/index.html"

figures: $(STAMP)-dev
	$(BIN)/python tools/draw_figures.py
	$(BIN)/python tools/run_pages.py docs/questions.md
	$(BIN)/python tools/draw_results.py

man: $(STAMP)-dev
	$(BIN)/python -m pip install --quiet argparse-manpage
	mkdir -p docs/_build
	$(BIN)/argparse-manpage --module semimetric.cli.parser --function make_parser --prog semimetric \
		--description "learn distances from data, and use them" --output docs/_build/semimetric.1
	@echo "read it: man docs/_build/semimetric.1"

notebooks: $(STAMP)-docs
	$(BIN)/python -m pip install --quiet nbclient ipykernel
	$(BIN)/python tools/run_notebooks.py docs/_build/notebooks

dist: $(STAMP)-dev
	rm -rf dist build
	$(BIN)/python -m pip install --quiet build
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python tools/check_distributions.py dist

bench: $(STAMP)-bench
	$(BIN)/python tools/bench.py

bench-quick: $(STAMP)-bench
	$(BIN)/python tools/bench.py --quick

clean:
	rm -rf $(VENV) $(VENV)-* .soak.json build dist docs/_build docs/generated docs/gallery *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage .coverage.*
