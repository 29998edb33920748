"""How fast this processor reads prompts and writes answers with each form of a model's weights.

    python simulations/bench_weights.py [--generators qwen2.5-coder-0.5b qwen2.5-coder-0.5b-q8] [--threads 1]

Brings what is not at hand. One after the other; the best of three.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from fedrag_flwr.models import resolve
from fedrag_flwr.models.llama import LlamaEngine
from fedrag_flwr.models.registry import DEFAULT_GENERATOR

PROMPT = "The ferry to Linwick leaves the harbour at nine, and Ada Morrow, who drew the bridge, is on board. " * 8
TOKENS, GENERATED, REPEATS = 128, 16, 3


def speed(path: Path, threads: int) -> tuple[float, float]:
    """Prompt and generated tokens a second, the best of three."""
    engine = LlamaEngine(path, context_tokens=1024, threads=threads)
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
    """Bring and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--generators", nargs="+", default=[DEFAULT_GENERATOR, f"{DEFAULT_GENERATOR}-q8"])
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    for name in options.generators:
        path = resolve(name)
        prompt, generated = speed(path, options.threads)
        size = path.stat().st_size / 1e6
        print(f"{path.name} ({size:.0f} MB): {prompt:.0f} prompt, {generated:.0f} generated tokens a second")


if __name__ == "__main__":
    main()
