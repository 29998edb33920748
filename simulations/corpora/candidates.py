"""Every source's ranking of a question's own paragraphs, for the three multi-hop sets; made once and kept.

A row of these sets brings 10 or 20 paragraphs, of which two to four support the answer. What is kept, under the
project's home, are the first stages' rankings and the tuples; the rest takes milliseconds.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fedrag_flwr.evaluation.metrics import accuracy
from fedrag_flwr.hypergraph import (
    PAPER,
    PRESETS,
    HyperedgeKeys,
    KeySpace,
    PairwiseKeys,
    TupleTable,
    VertexSeeds,
    answer_paths,
    co_occurrences,
)
from fedrag_flwr.models import load_encoder
from fedrag_flwr.models.registry import DEFAULT_ENCODER
from fedrag_flwr.records import EvidenceTuple, Passage
from fedrag_flwr.retrieval import (
    Bm25Retriever,
    DenseRetriever,
    KeySpaceRetriever,
    LateInteractionRetriever,
    QuestionVectors,
    RankedPassage,
    Ranking,
    Retriever,
    SecondHopRetriever,
    TokenTable,
    searchable_text,
)
from fedrag_flwr.retrieval.evidence_sources import SHARPNESS
from fedrag_flwr.settings import fedrag_home
from fedrag_flwr.text import ParseExtractor, SpacyPipeline
from fedrag_flwr.text.pipeline import RULES_VERSION
from simulations.bench.kept_rows import RowFile
from simulations.corpora.retrieval_pool import extracted
from simulations.corpora.sentences import DATASETS, rows_of

FIRST_STAGES = ("BM25", "dense", "late interaction")
SECOND_HOP = "second hop"  # over `dense`
PAIRWISE, PATHS = "pairwise PageRank", "weighted answer paths"
SPACES = (PAIRWISE, "weighted pairwise PageRank", "co-occurrence hyperedges", "static answer paths", PATHS)
RARE = ", rare seeds"
_BLOCK = 10  # rows kept together


@dataclass(frozen=True, slots=True)
class RankedQuestion:
    """A question's paragraphs by their places in the row, as every source ranks them."""

    id: str  # the row's
    gold: tuple[str, ...]  # paragraphs that support the answer
    answering: tuple[str, ...]  # those whose text holds the answer
    named: tuple[str, ...]  # those from which a tuple was extracted
    on_paths: tuple[str, ...]  # those that an answer-path hyperedge leads to
    # by source, best first: first stages, the second hop, and key spaces both with seeds as in the paper and with rare
    # ones (see `VertexSeeds`)
    rankings: dict[str, Ranking]


def key_spaces(table: TupleTable) -> dict[str, KeySpace]:
    """HKVM-RAG's key spaces over the same tuples, by the names of ``SPACES``."""
    return {
        PAIRWISE: PairwiseKeys(table),
        "weighted pairwise PageRank": PairwiseKeys(table, PAPER),
        "co-occurrence hyperedges": HyperedgeKeys("co-occurrence", table, co_occurrences(table)),
        "static answer paths": HyperedgeKeys("static", table, answer_paths(table, PRESETS["static"])),
        PATHS: HyperedgeKeys("weighted", table, answer_paths(table, PRESETS["paper"])),
    }


def by_key_spaces(table: TupleTable, spaces: dict[str, KeySpace], otherwise: Retriever) -> dict[str, Retriever]:
    """Retrievers by key spaces, seeded by all words of a question alike, or by rare ones."""
    seeds = {
        "": VertexSeeds(table.vertices),
        RARE: VertexSeeds(table.vertices, by_rarity=True, sharpness=SHARPNESS),
    }
    return {
        f"{name}{kind}": KeySpaceRetriever(space, found, otherwise)
        for kind, found in seeds.items()
        for name, space in spaces.items()
    }


def ranked_questions(
    data: Path, dataset: str, split: str, limit: int, tell: Callable[[str], None]
) -> list[RankedQuestion]:
    """The first rows of a split, each ranked by every source; rows that were encoded and parsed before are read.

    `data`: the folder of evaluation data; `dataset`: a name of ``DATASETS``; `split`: ``train`` or ``dev``; `limit`:
    how many rows to take; `tell`: told how far it is.
    """
    made_by = f"{ParseExtractor.id} {RULES_VERSION} {DEFAULT_ENCODER}"
    file = RowFile(fedrag_home() / "benchmarks" / "candidates" / f"{DATASETS[dataset]}-{split}.jsonl", made_by)
    known = {found.id: found for found in map(_Row.of, file.rows())}
    rows = list(rows_of(data / f"{DATASETS[dataset]}.jsonl.gz", split, limit))
    missing = [row for row in rows if _key(row) not in known]
    reader = _Reader()
    for start in range(0, len(missing), _BLOCK):
        found = [reader.read(row) for row in missing[start : start + _BLOCK]]
        file.add(*map(asdict, found))
        known |= {one.id: one for one in found}
        tell(f"{dataset} {split}: {start + len(found)} of {len(missing)} rows read")
    return [_ranked(row, known[_key(row)]) for row in rows]


def _key(row: dict[str, Any]) -> str:
    """By what a row is kept: its id, and what its paragraphs say."""
    told = json.dumps([(one["title"], one["text"]) for one in row["paragraphs"]])
    return f"{row['id']} {hashlib.sha256(told.encode()).hexdigest()[:16]}"


@dataclass(frozen=True, slots=True)
class _Row:
    """What is kept of a row: its first stages' rankings and its tuples."""

    id: str
    rankings: dict[str, Ranking]
    tuples: list[EvidenceTuple]

    @classmethod
    def of(cls, fields: dict[str, Any]) -> _Row:
        rankings = {
            name: tuple(RankedPassage(**one) for one in ranking) for name, ranking in fields["rankings"].items()
        }
        return cls(fields["id"], rankings, [EvidenceTuple(**one) for one in fields["tuples"]])


class _Reader:
    """Encodes and parses the paragraphs of rows, and ranks them by the first stages."""

    def __init__(self) -> None:
        self._questions = QuestionVectors(load_encoder(threads=1))
        self._pipeline = SpacyPipeline()
        self._extractor = ParseExtractor()

    def read(self, row: dict[str, Any]) -> _Row:
        passages = passages_of(row)
        sources: dict[str, Retriever] = {
            "BM25": Bm25Retriever(passages),
            "dense": DenseRetriever.of(passages, self._questions),
            "late interaction": LateInteractionRetriever(TokenTable.of(passages, self._questions), self._questions),
        }
        text = row["question"].strip()
        tuples = extracted(passages, self._pipeline, self._extractor)
        return _Row(_key(row), {name: one.rank(text, len(passages)) for name, one in sources.items()}, tuples)


def passages_of(row: dict[str, Any]) -> list[Passage]:
    """A row's paragraphs, named by their places."""
    return [
        Passage(f"{place:02d}", f"{place:02d}", paragraph["title"] or "", paragraph["text"], ())
        for place, paragraph in enumerate(row["paragraphs"])
    ]


@dataclass(frozen=True, slots=True)
class _KnownRanking:
    """A question's ranking that was made before, as a first stage."""

    id: str
    ranking: Ranking

    def rank(self, question: str, k: int) -> Ranking:
        return self.ranking[:k]


def _ranked(row: dict[str, Any], read: _Row) -> RankedQuestion:
    """Rank the paragraphs of a row by the second hop and the key spaces too."""
    text, passages = row["question"].strip(), passages_of(row)
    names = [passage.id for passage in passages]
    table = TupleTable.of(read.tuples, names)
    paths = answer_paths(table, PRESETS["paper"])
    made = by_key_spaces(table, key_spaces(table), Bm25Retriever(passages))
    made[SECOND_HOP] = SecondHopRetriever(_KnownRanking("dense", read.rankings["dense"]), passages)
    answers = (row["answer"], *row["aliases"])
    return RankedQuestion(
        id=row["id"],
        gold=tuple(p.id for p, given in zip(passages, row["paragraphs"], strict=True) if given["is_supporting"]),
        answering=tuple(p.id for p in passages if accuracy(searchable_text(p), answers)),
        named=tuple(names[place] for place in sorted(set(table.places.tolist()))),
        on_paths=tuple(names[place] for place in sorted(set(paths.passages.indices.tolist()))),
        rankings=read.rankings | {name: one.rank(text, len(names)) for name, one in made.items()},
    )
