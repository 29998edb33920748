"""Write a model's weights as Q8_0, which llama.cpp multiplies faster than mixed 5- and 6-bit ones.

    python simulations/unpack_model.py [--generator qwen2.5-coder-0.5b] [--out FILE]

A copy for speed, not for size: Q8_0 holds every weight at least as finely as the file that it is made from. By default
it lies beside that file; name it by `models.generator`. Prints the prompt and generated tokens a second of both, one
after the other on one thread.
"""

from __future__ import annotations

import argparse
import ctypes
import time
from pathlib import Path

from fedrag_flwr.errors import ModelError
from fedrag_flwr.models.engine import LlamaEngine
from fedrag_flwr.models.files import resolve
from fedrag_flwr.models.hashes import file_sha256
from fedrag_flwr.models.registry import DEFAULT_GENERATOR

PROMPT = "The ferry to Linwick leaves the harbour at nine, and Ada Morrow, who drew the bridge, is on board. " * 8
TOKENS, GENERATED, REPEATS = 128, 16, 3


def unpack(source: Path, target: Path) -> None:
    """Write a GGUF file's weights as Q8_0; the target appears when it is whole.

    Raises
    ------
    ModelError
        llama.cpp cannot read the source or write the target.
    """
    from llama_cpp import llama_cpp as library

    part = target.with_suffix(".part")
    library.llama_backend_init()
    options = library.llama_model_quantize_default_params()
    options.nthread, options.ftype, options.allow_requantize = 1, library.LLAMA_FTYPE_MOSTLY_Q8_0, True
    if library.llama_model_quantize(str(source).encode(), str(part).encode(), ctypes.byref(options)):
        part.unlink(missing_ok=True)
        raise ModelError("the weights cannot be written as Q8_0", where=source.name, fix="verify the file and the disk")
    part.replace(target)


def speed(path: Path) -> tuple[float, float]:
    """Prompt and generated tokens a second on one thread, the best of three."""
    engine = LlamaEngine(path, context_tokens=1024, threads=1)
    tokens = engine.tokenize(PROMPT)[:TOKENS]
    engine.extend(tokens, 0)
    prompt = generated = 0.0
    for _ in range(REPEATS):
        engine.clear()
        start = time.perf_counter()
        engine.extend(tokens, 0)
        read = time.perf_counter()
        for place in range(GENERATED):
            engine.step([tokens[place]], [TOKENS + place], [0])
        prompt = max(prompt, TOKENS / (read - start))
        generated = max(generated, GENERATED / (time.perf_counter() - read))
    engine.close()
    return prompt, generated


def main() -> None:
    """Write and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--generator", default=DEFAULT_GENERATOR)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    source = resolve(arguments.generator)
    target = arguments.out or source.with_name(f"{source.stem}-q8_0.gguf")
    if not target.exists():
        unpack(source, target)
    for path in (source, target):
        prompt, generated = speed(path)
        size = path.stat().st_size / 1e6
        print(f"{path.name} ({size:.0f} MB, {file_sha256(path)[:12]}): {prompt:.0f} prompt, {generated:.0f} generated")


if __name__ == "__main__":
    main()
