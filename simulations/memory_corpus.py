"""Memories of real paragraphs and questions to ask them, made once and kept: what `bench_matching.py` measures on.

    python simulations/memory_corpus.py [--data FOLDER] [--minutes 15]

FOLDER holds the multi-hop files (default: $FEDRAG_DATA). The paragraphs of their dev questions go, question by question
and file by file in turn, through the parse, the rule synthesiser and its verification, with no model budget. What is
made lies under ``$FEDRAG_HOME/matching``, a part for each 64 paragraphs; a second run goes on where the first stopped.
The encoder works in bfloat16 where the processor multiplies it (AVX-512), three times faster than in float32 (cosine
between the two: above 0.9999); elsewhere bfloat16 is seven times slower, and is not used.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.errors import SourceError
from fedrag_flwr.hypergraph import Units
from fedrag_flwr.memory.store.change import content_id
from fedrag_flwr.memory.synthesis.distilling import Distiller
from fedrag_flwr.models.encoder import SentenceEncoder
from fedrag_flwr.records import Document, Fact, MemoryItem, silent
from fedrag_flwr.settings import fedrag_home
from fedrag_flwr.sources.benchmark import Benchmark, data_root, read_multihop
from fedrag_flwr.text.asking import item_anchors, question_anchors
from fedrag_flwr.text.pipeline import SpacyPipeline
from fedrag_flwr.text.segment import under_title

if TYPE_CHECKING:
    from fedrag_flwr.models.base import Encoder

FILES = ("hotpotqa", "2wikimultihopqa", "musique")
PART = 64  # paragraphs in a part
PARAPHRASES = 300
OPENINGS: tuple[Callable[[str], str], ...] = (
    lambda question: f"Can you tell me: {question[0].lower()}{question[1:]}",
    lambda question: f"{question.rstrip('?')}, do you know?",
    lambda question: question.casefold().rstrip("?"),
)


@dataclass(frozen=True, slots=True)
class RealItem:
    """A memory that the synthesiser made, with the typed facts of its question and the part it lies in."""

    item: MemoryItem
    facts: tuple[Fact, ...]
    part: int


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as the matcher sees it: where it is from, its anchors and its vector (dimension,)."""

    source: str
    text: str
    anchors: tuple[str, ...]
    vector: NDArray[np.float32]


class HalfEncoder:
    """The default sentence encoder, under bfloat16 where that is faster."""

    def __init__(self) -> None:
        import torch

        self._inner = SentenceEncoder(batch_size=64, threads=1)
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


def folder() -> Path:
    """Where the corpus lies."""
    return fedrag_home() / "matching"


def benchmarks(data: Path) -> dict[str, Benchmark]:
    """The dev questions of the multi-hop files with their paragraphs."""
    return {name: read_multihop(data / f"{name}.jsonl.gz", "dev") for name in FILES}


def documents(files: dict[str, Benchmark]) -> list[Document]:
    """The paragraphs of all files in turn, each content once."""
    turns = zip_longest(*(benchmark.documents for benchmark in files.values()))
    return list({document.id: document for turn in turns for document in turn if document is not None}.values())


def make(data: Path, minutes: float) -> None:
    """Make parts until the paragraphs or the minutes are used up."""
    root = folder()
    root.mkdir(parents=True, exist_ok=True)
    found = documents(benchmarks(data))
    encoder, pipeline = HalfEncoder(), SpacyPipeline()
    distiller = Distiller(encoder, _no_model, 0, 0)
    start = time.monotonic()
    for number in range(0, len(found), PART):
        target = root / f"part-{number // PART:04}"
        if target.with_suffix(".npy").exists():
            continue
        if time.monotonic() - start > 60 * minutes:
            break
        items, vectors = _part(found[number : number + PART], encoder, pipeline, distiller)
        with gzip.open(target.with_suffix(".jsonl.gz"), "wt", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in items)
        fresh = target.with_name(f"{target.name}.new.npy")  # the vectors come last: they say that the part is whole
        np.save(fresh, vectors)
        fresh.replace(target.with_suffix(".npy"))
        print(f"{target.name}: {len(items)} items, {time.monotonic() - start:.0f} s", flush=True)


def _no_model() -> NoReturn:
    raise AssertionError("rules only: the token budget is 0")


def _part(
    found: Sequence[Document], encoder: Encoder, pipeline: SpacyPipeline, distiller: Distiller
) -> tuple[list[dict[str, object]], NDArray[np.float32]]:
    drafted = [distiller.draft(parsed) for parsed in pipeline.parse(found)]
    sentences = [(p.title, s) for document in drafted for p in document.passages for s in p.sentences]
    vectors = encoder.encode([under_title(title, sentence.text) for title, sentence in sentences])
    units = Units("sentence", tuple(sentence.id for _, sentence in sentences), vectors)
    distilled = distiller.distil(drafted, units, (), silent)
    analyses = pipeline.questions([draft.question for draft in distilled.drafts])
    rows: list[dict[str, object]] = [
        {
            "id": content_id("real", draft.question, draft.answer, *draft.support),
            "question": draft.question,
            "answer": draft.answer,
            "type": draft.answer_type,
            "anchors": item_anchors(analysis, draft.answer_type),
            "facts": [(fact.text, fact.type, fact.anchor) for fact in analysis.facts],
        }
        for draft, analysis in zip(distilled.drafts, analyses, strict=True)
    ]
    return rows, distilled.vectors


def real_items() -> list[RealItem]:
    """All memories made so far, each content once.

    Raises
    ------
    SourceError
        None were made yet.
    """
    found: dict[str, RealItem] = {}
    for part, path in enumerate(sorted(folder().glob("part-????.npy"))):
        with gzip.open(path.with_suffix(".jsonl.gz"), "rt", encoding="utf-8") as file:
            for line, vector in zip(file, np.load(path), strict=True):
                row = json.loads(line)
                item = MemoryItem(
                    id=row["id"],
                    question=row["question"],
                    answer=row["answer"],
                    kind="single",
                    answer_type=row["type"],
                    hyperedges=(),
                    anchors=tuple(row["anchors"]),
                    embedding=vector,
                    origin="real",
                )
                found.setdefault(item.id, RealItem(item, tuple(Fact(*fact) for fact in row["facts"]), part))
    if not found:
        raise SourceError("holds no memories", where=str(folder()), fix="run simulations/memory_corpus.py first")
    return list(found.values())


def questions(data: Path, items: Sequence[RealItem], encoder: Encoder, rng: np.random.Generator) -> list[Asked]:
    """Dev questions all of whose gold paragraphs were read for these items, and reworded questions of the items."""
    files = benchmarks(data)
    read = {document.id for document in documents(files)[: (items[-1].part + 1) * PART]}
    texts = [
        (name, question.text)
        for name, benchmark in files.items()
        for question in benchmark.questions
        if set(question.documents) <= read
    ]
    chosen = rng.choice(len(items), min(PARAPHRASES, len(items)), replace=False)
    for place, row in enumerate(chosen):
        texts.append(("reworded", OPENINGS[place % len(OPENINGS)](items[row].item.question)))
    return list(_analysed(texts, encoder))


def _analysed(texts: Sequence[tuple[str, str]], encoder: Encoder) -> Iterator[Asked]:
    vectors = encoder.encode([text for _, text in texts])
    analyses = SpacyPipeline().questions([text for _, text in texts])
    for (source, text), vector, analysis in zip(texts, vectors, analyses, strict=True):
        yield Asked(source, text, question_anchors(analysis), vector)


def main() -> None:
    """Parse the command line and make the corpus."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=data_root())
    parser.add_argument("--minutes", type=float, default=15.0)
    options = parser.parse_args()
    if options.data is None:
        raise SourceError("is not set", where="FEDRAG_DATA", fix="give --data FOLDER")
    make(options.data, options.minutes)


if __name__ == "__main__":
    main()
