"""Every source's ranking of a question's own paragraphs, for the three multi-hop sets; made once and kept.

A row of these sets brings 10 or 20 paragraphs, of which two to four support the answer. What is kept, under the
project's home, are the first stages' rankings and the tuples; the rest takes milliseconds.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from fedrag_flwr.evaluation.metrics import accuracy
from fedrag_flwr.hypergraph.answer_paths import PAPER, PRESETS, HyperedgeKeys, answer_paths
from fedrag_flwr.hypergraph.tuples import KeySpace, TupleTable, VertexSeeds
from fedrag_flwr.models.load import load_encoder
from fedrag_flwr.models.registry import DEFAULT_ENCODER
from fedrag_flwr.records import EvidenceTuple, Passage
from fedrag_flwr.retrieval.base import RankedPassage, Ranking, Retriever, searchable_text
from fedrag_flwr.retrieval.dense import DenseRetriever, QuestionVectors
from fedrag_flwr.retrieval.evidence_sources import SHARPNESS
from fedrag_flwr.retrieval.late import LateInteractionRetriever, TokenTable
from fedrag_flwr.retrieval.sparse import Bm25Retriever
from fedrag_flwr.retrieval.structured import KeySpaceRetriever, SecondHopRetriever
from fedrag_flwr.settings import fedrag_home
from fedrag_flwr.text.pipeline import RULES_VERSION, Pipeline
from fedrag_flwr.text.tuples import ParseExtractor
from simulations.bench.kept_rows import KeptRows
from simulations.corpora.key_spaces import PairwiseKeys, co_occurrences
from simulations.corpora.retrieval_pool import extracted
from simulations.corpora.sentences import DATASETS, rows_of

FIRST_STAGES = ("BM25", "dense", "late interaction")
SECOND_HOP = "second hop"  # over `dense`
PAIRWISE, PATHS = "pairwise PageRank", "weighted answer paths"
SPACES = (PAIRWISE, "weighted pairwise PageRank", "co-occurrence hyperedges", "static answer paths", PATHS)
RARE = ", rare seeds"


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
    """The first rows of a split of one of ``DATASETS``, each ranked by every source.

    What was encoded and parsed before is read: the first stages' rankings and the tuples.
    """
    made_by = f"{ParseExtractor.id} {RULES_VERSION} {DEFAULT_ENCODER}"
    kept = KeptRows(fedrag_home() / "benchmarks" / "ranked" / f"{DATASETS[dataset]}-{split}.jsonl", made_by)
    found = []
    for number, row in enumerate(rows_of(data / f"{DATASETS[dataset]}.jsonl.gz", split, limit), 1):
        told = json.dumps([(one["title"], one["text"]) for one in row["paragraphs"]])
        key = f"{row['id']} {hashlib.sha256(told.encode()).hexdigest()[:16]}"
        found.append(_ranked(row, kept.row(key, _read, row)))
        if number % 50 == 0:
            tell(f"{dataset} {split}: {number} rows")
    return found


@cache
def _tools() -> tuple[QuestionVectors, Pipeline, ParseExtractor]:
    return QuestionVectors(load_encoder(threads=1)), Pipeline(), ParseExtractor()


def _read(row: dict[str, Any]) -> dict[str, Any]:
    """Encode and parse the paragraphs of a row, and rank them by the first stages."""
    passages, (questions, pipeline, extractor) = passages_of(row), _tools()
    sources: dict[str, Retriever] = {
        "BM25": Bm25Retriever(passages),
        "dense": dense_over(passages, questions),
        "late interaction": LateInteractionRetriever(TokenTable.of(passages, questions), questions),
    }
    rankings = {name: one.rank(row["question"].strip(), len(passages)) for name, one in sources.items()}
    tuples = extracted(passages, pipeline, extractor)
    return {
        "rankings": {name: [(one.passage_id, one.score) for one in ranking] for name, ranking in rankings.items()},
        "tuples": [asdict(one) for one in tuples],
    }


def dense_over(passages: Sequence[Passage], questions: QuestionVectors) -> DenseRetriever:
    """Encode passages and index them."""
    vectors = questions.encoder.encode([searchable_text(passage) for passage in passages])
    return DenseRetriever([passage.id for passage in passages], vectors, questions)


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


def _ranked(row: dict[str, Any], read: Mapping[str, Any]) -> RankedQuestion:
    """Rank the paragraphs of a row by the second hop and the key spaces too."""
    text, passages = row["question"].strip(), passages_of(row)
    names = [passage.id for passage in passages]
    first = {name: tuple(RankedPassage(*one) for one in ranking) for name, ranking in read["rankings"].items()}
    table = TupleTable.of([EvidenceTuple(**one) for one in read["tuples"]], names)
    made = by_key_spaces(table, key_spaces(table), Bm25Retriever(passages))
    made[SECOND_HOP] = SecondHopRetriever(_KnownRanking("dense", first["dense"]), passages)
    paths, answers = answer_paths(table, PRESETS["paper"]), (row["answer"], *row["aliases"])
    return RankedQuestion(
        id=row["id"],
        gold=tuple(p.id for p, given in zip(passages, row["paragraphs"], strict=True) if given["is_supporting"]),
        answering=tuple(p.id for p in passages if accuracy(searchable_text(p), answers)),
        named=tuple(names[place] for place in sorted(set(table.places.tolist()))),
        on_paths=tuple(names[place] for place in sorted(set(paths.passages.indices.tolist()))),
        rankings=first | {name: one.rank(text, len(names)) for name, one in made.items()},
    )
