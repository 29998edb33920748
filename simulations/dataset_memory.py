"""One device's memory of a dataset's paragraphs, built once in a process of its own and kept with what it cost."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.device.builder import Builder, BuildPlan
from fedrag_flwr.hypergraph import Units
from fedrag_flwr.loaded_models import Models, load_models
from fedrag_flwr.memory.generate.candidates import Kept
from fedrag_flwr.memory.generate.generation import NOTHING_KEPT, Generated, MemoryGenerator, Prepared
from fedrag_flwr.memory.store import MemoryStore
from fedrag_flwr.models.base import Generator
from fedrag_flwr.models.encoder import SentenceEncoder
from fedrag_flwr.records import Hyperedge, Progress
from fedrag_flwr.settings import Settings, fedrag_home
from fedrag_flwr.sources.base import Reading
from fedrag_flwr.sources.benchmark import Benchmark, read_multihop
from simulations.corpora.sentences import DATASETS
from simulations.reporting.stage_clock import StageClock, TimedEncoder, TimedGenerator

DEVICE = "bench"
WARMING = "Who mapped the Ossel?"

Row = dict[str, Any]


class HalfEncoder:
    """The default sentence encoder, under bfloat16 where that is faster."""

    def __init__(self) -> None:
        import torch

        self._inner = SentenceEncoder(threads=1)
        self._half = bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())
        self.id = f"{self._inner.id}+bf16" if self._half else self._inner.id

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return self._inner.dimension

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Encode texts to (n, dimension), unit rows."""
        import torch

        with torch.inference_mode(), torch.autocast("cpu", dtype=torch.bfloat16, enabled=self._half):
            return self._inner.encode(texts)

    def token_embeddings(self, texts: Sequence[str], *, asked: bool = False) -> list[NDArray[np.float32]]:
        """Encode the tokens of texts, unit rows."""
        import torch

        with torch.inference_mode(), torch.autocast("cpu", dtype=torch.bfloat16, enabled=self._half):
            return self._inner.token_embeddings(texts, asked=asked)


class Recorded(MemoryGenerator):
    """A generator that keeps what it made, with its rejects by type."""

    made = Generated()

    def generate(
        self,
        documents: Sequence[Prepared],
        sentences: Units,
        hyperedges: Sequence[Hyperedge],
        progress: Progress,
        kept: Kept = NOTHING_KEPT,
    ) -> Generated:
        """Make memories and keep the result."""
        self.made = super().generate(documents, sentences, hyperedges, progress, kept)
        return self.made


def benchmark_of(data: Path, name: str, rows: int, split: str = "dev") -> Benchmark:
    """The first rows of a dataset's split (HotpotQA: in the distractor setting) and their paragraphs, each once."""
    return read_multihop(data / f"{DATASETS[name]}.jsonl.gz", split, rows)


def settings_for(tokens: int) -> Settings:
    """The default settings with a budget of the model."""
    return Settings.from_config({"home": str(fedrag_home()), "memory.tokens-per-kilotoken": tokens})


def models_for(settings: Settings, half: bool) -> Models:
    """The default models; with `half` the encoder works in bfloat16, three times faster."""
    models = load_models(settings.models, fedrag_home())
    return replace(models, encoder=HalfEncoder()) if half else models


def open_device(row: Row) -> EdgeDevice:
    """The device that has a kept memory."""
    settings = settings_for(row["tokens"])
    return EdgeDevice(DEVICE, None, _root(row), settings, models_for(settings, row["half"]))


def kept_memory(
    data: Path, name: str, rows: int, tokens: int, half: bool, again: bool = False, split: str = "dev"
) -> Row:
    """What a dataset's memory cost; it is built first where none is kept or another, and where asked for `again`."""
    asked: Row = {"dataset": name, "split": split, "rows": rows, "tokens": tokens, "half": half}
    kept = _root(asked) / "row.json"
    if again:
        kept.unlink(missing_ok=True)
    if not kept.is_file() or not asked.items() <= json.loads(kept.read_text(encoding="utf-8")).items():
        command = [sys.executable, "-m", "simulations.dataset_memory", str(data), json.dumps(asked)]
        print(f"building the memory of {rows} rows of {name}", file=sys.stderr, flush=True)
        row = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
        kept.write_text(json.dumps(row) + "\n", encoding="utf-8")
    found: Row = json.loads(kept.read_text(encoding="utf-8"))
    return found


def build(data: Path, asked: Row) -> Row:
    """Build a memory in this process, with warm models, and say what it took."""
    settings = settings_for(asked["tokens"])
    models = models_for(settings, asked["half"])
    models.encoder.encode([WARMING])
    models.pipeline.questions([WARMING])
    documents = benchmark_of(data, asked["dataset"], asked["rows"], asked["split"]).documents
    root = _root(asked)
    MemoryStore.erase(root)
    clock = StageClock()
    encoder = TimedEncoder(models.encoder, clock)

    def generator() -> Generator:
        before = clock.turn("")  # loading the model is no part of a stage
        loaded = models.generator()
        clock.turn(before)
        return TimedGenerator(loaded, clock)

    identity = {
        "device": DEVICE,
        "encoder": encoder.id,
        "dimension": str(encoder.dimension),
        "pipeline": models.pipeline.id,
    }
    store = MemoryStore.open(root, identity)
    try:
        recorded = Recorded(encoder, generator, asked["tokens"], settings.seed)
        builder = Builder(DEVICE, store, encoder, models.pipeline, recorded)
        start = time.perf_counter()
        report = builder.build(Reading(documents, ()), BuildPlan.of(settings, True), clock)
        wall = time.perf_counter() - start
    finally:
        store.close()
    made = recorded.made
    by_model = set(made.by_model)
    kinds = {
        maker: dict(
            Counter(d.kind for place, d in enumerate(made.memories) if (place in by_model) == (maker == "model"))
        )
        for maker in ("rules", "model")
    }
    return asked | {
        "encoder": encoder.id,
        "documents": report.documents,
        "sentences": report.sentences,
        "hyperedges": report.hyperedges,
        "items": report.items,
        "corpus_tokens": report.corpus_tokens,
        "kinds": kinds,
        "rejected": [[kind, reason, count] for (kind, reason), count in sorted(made.rejected.items())],
        "failed": list(report.failed),
        "stages": {stage: seconds for stage, seconds in clock.seconds.items() if stage},
        "wall_seconds": wall,
        "replayed": made.cost.replayed,
        "llm_calls": made.cost.llm_calls,
        "tokens_in": made.cost.tokens_in,
        "tokens_out": made.cost.tokens_out,
        "peak_rss_mb": report.peak_rss_mb,
    }


def _root(asked: Row) -> Path:
    name = f"{DATASETS[asked['dataset']]}-{asked['rows']}-{asked['tokens']}{'-half' if asked['half'] else ''}"
    name += "" if asked["split"] == "dev" else f"-{asked['split']}"
    root = fedrag_home() / "benchmarks" / "construction" / name
    root.mkdir(parents=True, exist_ok=True)
    return root


if __name__ == "__main__":
    print(json.dumps(build(Path(sys.argv[1]), json.loads(sys.argv[2]))))
