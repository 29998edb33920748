"""Every source's ranking of a question's own paragraphs, for the three multi-hop sets; made once and kept.

A row of these sets brings 10 or 20 paragraphs, of which two to four support the answer. Each question's paragraphs are
encoded, parsed and ranked by the first stages and the key spaces of HKVM-RAG, as its paper does. What is kept, under
the project's home, are the first stages' rankings and the tuples; the rest takes milliseconds.
"""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.evaluation.metrics import accuracy
from fedrag_flwr.hypergraph import (
    PAPER,
    PRESETS,
    HyperedgeKeys,
    KeyEdges,
    KeySpace,
    PairwiseKeys,
    TupleTable,
    VertexSeeds,
    answer_paths,
    co_occurrences,
)
from fedrag_flwr.models import load_encoder
from fedrag_flwr.models.encoder import SentenceEncoder
from fedrag_flwr.models.registry import DEFAULT_ENCODER
from fedrag_flwr.records import Document, EvidenceTuple, Passage
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
from fedrag_flwr.settings import fedrag_home
from fedrag_flwr.text import ParseExtractor, SpacyPipeline
from fedrag_flwr.text.pipeline import RULES_VERSION
from simulations.corpora.retrieval_pool import hipporag_pool, own_tuples, token_table
from simulations.corpora.sentences import DATASETS, encoded
from simulations.reporting.lines import cut_torn

FIRST_STAGES = ("BM25", "dense", "late interaction")
SECOND_HOP = "second hop"  # over `dense`
SPACES = (
    "pairwise PageRank",
    "weighted pairwise PageRank",
    "co-occurrence hyperedges",
    "static answer paths",
    "weighted answer paths",
)
RARE = ", rare seeds"
SHARPNESS = 3.0  # of rare seeds, as in `bench_retrieval`
VERSION = 2
_BLOCK = 10  # rows read together


@dataclass(frozen=True, slots=True)
class RankedQuestion:
    """A question's paragraphs by their places in the row, as every source ranks them.

    Parameters
    ----------
    id
        The row's.
    gold
        Paragraphs that support the answer.
    answering
        Those whose text holds the answer.
    named
        Those from which a tuple was extracted.
    on_paths
        Those that an answer-path hyperedge leads to.
    seeded
        Whether the question mentions a vertex; where it mentions none, key spaces rank as BM25 does.
    rankings
        By source, best first: first stages, the second hop, and key spaces both with seeds as in the paper and with
        rare ones (see `VertexSeeds`).
    """

    id: str
    gold: tuple[str, ...]
    answering: tuple[str, ...]
    named: tuple[str, ...]
    on_paths: tuple[str, ...]
    seeded: bool
    rankings: dict[str, Ranking]


def ranked_questions(data: Path, dataset: str, split: str, limit: int) -> list[RankedQuestion]:
    """The first rows of a split, each ranked by every source; rows that were encoded and parsed before are read.

    Parameters
    ----------
    data
        The folder of evaluation data.
    dataset
        A name of ``DATASETS``.
    split
        ``train`` or ``dev``.
    limit
        How many rows to take.
    """
    made_by = f"{VERSION}-{ParseExtractor.id}-{RULES_VERSION}-{DEFAULT_ENCODER}"
    kept = fedrag_home() / "benchmarks" / "controller" / f"{DATASETS[dataset]}-{split}-{made_by}.jsonl"
    kept.parent.mkdir(parents=True, exist_ok=True)
    known = {found.id: found for found in _kept(kept)}
    rows = list(islice(_rows(data / f"{DATASETS[dataset]}.jsonl.gz", split), limit))
    if missing := [row for row in rows if row["id"] not in known]:
        encoder = load_encoder(threads=1)
        questions = QuestionVectors(encoder)
        pooled = (dataset, split) == ("MuSiQue", "train")
        reader = _PoolReader(data, questions) if pooled else _Reader(encoder)
        for start in range(0, len(missing), _BLOCK):
            begun, block = time.perf_counter(), missing[start : start + _BLOCK]
            read = zip(block, reader.read(block), strict=True)
            found = [_Row(row["id"], _first_stages(row, one, questions), one.tuples) for row, one in read]
            with kept.open("a", encoding="utf-8") as handle:
                handle.writelines(json.dumps(asdict(one)) + "\n" for one in found)
            known.update({one.id: one for one in found})
            print(f"{dataset} {split}: {len(known)} read, {time.perf_counter() - begun:.0f} s", flush=True)
    return [_ranked(row, known[row["id"]]) for row in rows]


@dataclass(frozen=True, slots=True)
class _Row:
    """What is kept of a row: its first stages' rankings and its tuples."""

    id: str
    rankings: dict[str, Ranking]
    tuples: list[EvidenceTuple]


@dataclass(frozen=True, slots=True)
class KnownRanking:
    """A question's ranking that was made before, as a first stage."""

    id: str
    ranking: Ranking

    def rank(self, question: str, k: int) -> Ranking:
        """The first k places, whatever is asked."""
        return self.ranking[:k]


@dataclass(frozen=True, slots=True)
class _Paragraphs:
    """A row's paragraphs as retrievers see them: vectors, (n, dimension), tokens and tuples."""

    passages: list[Passage]
    vectors: NDArray[np.float32]
    tokens: TokenTable
    tuples: list[EvidenceTuple]


class _Reader:
    """Encodes and parses the paragraphs of rows."""

    def __init__(self, encoder: SentenceEncoder) -> None:
        self._encoder = encoder
        self._pipeline = SpacyPipeline()
        self._extractor = ParseExtractor()

    def read(self, rows: Sequence[dict[str, Any]]) -> Iterator[_Paragraphs]:
        """Read rows, one after the other."""
        passages = [passages_of(row) for row in rows]
        documents = [Document(p.id, p.title, p.text, "") for own in passages for p in own]
        parsed = iter(self._pipeline.parse(documents))
        for own in passages:
            tuples = [
                replace(one, passage_id=passage.id)  # a long paragraph is parsed as several passages
                for passage in own
                for one in self._extractor.extract(next(parsed))
            ]
            texts = [searchable_text(passage) for passage in own]
            vectors, tokens = self._encoder.encode(texts), self._encoder.token_embeddings(texts)
            yield _Paragraphs(own, vectors, TokenTable.of_tokens([passage.id for passage in own], tokens), tuples)


class _PoolReader:
    """Takes paragraphs out of the pool that `bench_retrieval` encodes and parses: MuSiQue's training rows are in it."""

    def __init__(self, data: Path, questions: QuestionVectors) -> None:
        pool = hipporag_pool(data).passages
        self._place = {(passage.title, passage.text): row for row, passage in enumerate(pool)}
        self._vectors, _ = encoded([searchable_text(passage) for passage in pool], "passages")
        self._tokens = token_table(pool, questions)
        self._tuples: dict[str, list[EvidenceTuple]] = {passage.id: [] for passage in pool}
        for one in own_tuples(pool):
            self._tuples[one.passage_id].append(one)

    def read(self, rows: Sequence[dict[str, Any]]) -> Iterator[_Paragraphs]:
        """Read rows, one after the other."""
        for own in map(passages_of, rows):
            places = [self._place[passage.title, passage.text] for passage in own]
            ids = [self._tokens.ids[place] for place in places]
            part = self._tokens.only(ids)
            tuples = [
                replace(one, passage_id=passage.id)
                for passage, name in zip(own, ids, strict=True)
                for one in self._tuples[name]
            ]
            tokens = TokenTable([passage.id for passage in own], part.codes, part.scales, part.bounds)
            yield _Paragraphs(own, self._vectors[places], tokens, tuples)


def passages_of(row: dict[str, Any]) -> list[Passage]:
    """A row's paragraphs, named by their places."""
    return [
        Passage(f"{place:02d}", f"{place:02d}", paragraph["title"] or "", paragraph["text"], ())
        for place, paragraph in enumerate(row["paragraphs"])
    ]


def _first_stages(row: dict[str, Any], read: _Paragraphs, questions: QuestionVectors) -> dict[str, Ranking]:
    names = [passage.id for passage in read.passages]
    sources: dict[str, Retriever] = {
        "BM25": Bm25Retriever(read.passages),
        "dense": DenseRetriever(names, read.vectors, questions),
        "late interaction": LateInteractionRetriever(read.tokens, questions),
    }
    return {name: source.rank(row["question"].strip(), len(names)) for name, source in sources.items()}


def _ranked(row: dict[str, Any], read: _Row) -> RankedQuestion:
    """Rank the paragraphs of a row by the second hop and the key spaces too."""
    text, passages = row["question"].strip(), passages_of(row)
    names = [passage.id for passage in passages]
    table = TupleTable.of(read.tuples, names)
    paths = answer_paths(table, PRESETS["paper"])
    sparse = Bm25Retriever(passages)
    plain = VertexSeeds(table.vertices)
    hop = SecondHopRetriever(KnownRanking("dense", read.rankings["dense"]), passages)
    rankings = read.rankings | {SECOND_HOP: hop.rank(text, len(names))}
    for name, space in zip(SPACES, key_spaces(table, paths), strict=True):
        for kind, seeds in (("", plain), (RARE, VertexSeeds(table.vertices, by_rarity=True, sharpness=SHARPNESS))):
            rankings[f"{name}{kind}"] = KeySpaceRetriever(space, seeds, sparse).rank(text, len(names))
    answers = (row["answer"], *row["aliases"])
    return RankedQuestion(
        id=row["id"],
        gold=tuple(p.id for p, given in zip(passages, row["paragraphs"], strict=True) if given["is_supporting"]),
        answering=tuple(p.id for p in passages if accuracy(searchable_text(p), answers)),
        named=tuple(names[place] for place in sorted(set(table.places.tolist()))),
        on_paths=tuple(names[place] for place in sorted(set(paths.passages.indices.tolist()))),
        seeded=bool(plain.seeds(text).any()),
        rankings=rankings,
    )


def key_spaces(table: TupleTable, paths: KeyEdges) -> tuple[KeySpace, ...]:
    """The key spaces in the order of ``SPACES``; `paths` are the table's weighted answer paths."""
    return (
        PairwiseKeys(table),
        PairwiseKeys(table, PAPER),
        HyperedgeKeys("co-occurrence", table, co_occurrences(table)),
        HyperedgeKeys("static", table, answer_paths(table, PRESETS["static"])),
        HyperedgeKeys("weighted", table, paths),
    )


def _rows(path: Path, split: str) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as handle:
        for line in handle:
            row = json.loads(line)
            if row["split"] == split and row.get("setting", "distractor") == "distractor":
                yield row


def _kept(path: Path) -> Iterator[_Row]:
    for line in cut_torn(path):
        fields = json.loads(line)
        rankings = {
            name: tuple(RankedPassage(one["passage_id"], one["score"]) for one in ranking)
            for name, ranking in fields["rankings"].items()
        }
        yield _Row(fields["id"], rankings, [EvidenceTuple(**one) for one in fields["tuples"]])
