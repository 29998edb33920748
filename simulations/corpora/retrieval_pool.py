"""A shared pool of passages with other people's tuples, for benchmarks of retrieval: HippoRAG's MuSiQue questions."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass, replace
from pathlib import Path

from fedrag_flwr.errors import SourceError, StoreMismatchError
from fedrag_flwr.evaluation.gold import GoldQuestion
from fedrag_flwr.files import replace_file
from fedrag_flwr.models.load import load_encoder
from fedrag_flwr.records import Document, EvidenceTuple, Passage
from fedrag_flwr.retrieval.base import searchable_text
from fedrag_flwr.retrieval.dense import QuestionVectors
from fedrag_flwr.retrieval.late import TokenTable
from fedrag_flwr.settings import fedrag_home
from fedrag_flwr.text.pipeline import Pipeline
from fedrag_flwr.text.tuples import ParseExtractor

_BLOCK = 1_024  # passages whose tuples are kept together


@dataclass(frozen=True, slots=True)
class Pool:
    """Passages, their tuples and questions."""

    passages: tuple[Passage, ...]
    tuples: tuple[EvidenceTuple, ...]
    questions: tuple[GoldQuestion, ...]

    def first(self, questions: int) -> Pool:
        """The first questions over their own passages and the pool's first 30."""
        asked = self.questions[:questions]
        needed = {name for one in asked for name in one.documents} | {one.id for one in self.passages[:30]}
        return Pool(
            tuple(one for one in self.passages if one.id in needed),
            tuple(one for one in self.tuples if one.passage_id in needed),
            asked,
        )


def hipporag_pool(data: Path) -> Pool:
    """Read ``reference/hipporag``: 1,890 passages, 100 questions and the tuples that GPT-3.5 extracted.

    Raises SourceError: the reference is not among the data.
    """
    folder = data / "reference" / "hipporag"
    if not folder.is_dir():
        raise SourceError("there is no reference/hipporag", where="--data", fix="name the folder of evaluation data")
    documents = json.loads(gzip.decompress((folder / "openie_gpt35_1890.json.gz").read_bytes()))["docs"]
    passages = tuple(
        Passage(f"p{row:04d}", f"p{row:04d}", document["title"], document["text"], ())
        for row, document in enumerate(documents)
    )
    tuples = tuple(
        EvidenceTuple(str(parts[0]), str(parts[1]), str(parts[2]), passage.id)
        for passage, document in zip(passages, documents, strict=True)
        for parts in document["extracted_triples"]
        if len(parts) == 3  # the extractor gave a few lists of another length
    )
    place = {(passage.title, passage.text): passage.id for passage in passages}
    questions = []
    for row in json.loads(gzip.decompress((folder / "musique_train.json.gz").read_bytes())):
        gold = tuple(place[p["title"], p["paragraph_text"]] for p in row["paragraphs"] if p["is_supporting"])
        questions.append(GoldQuestion(row["id"], row["question"], "", documents=gold))
    return Pool(passages, tuples, tuple(questions))


def question_vectors(pool: Pool) -> QuestionVectors:
    """The pool's questions encoded, whole and by token, so that no clock counts it."""
    vectors = QuestionVectors(load_encoder(threads=1), most=len(pool.questions))
    for question in pool.questions:
        vectors.whole(question.text)
        vectors.tokens(question.text)
    return vectors


def by_blocks(passages: Sequence[Passage]) -> list[tuple[str, list[EvidenceTuple]]]:
    """Passages with their tuples by the rules; a block that was parsed before is read."""
    found: dict[str, list[EvidenceTuple]] = {passage.id: [] for passage in passages}
    for start in range(0, len(passages), _BLOCK):
        for one in own_tuples(passages[start : start + _BLOCK]):
            found[one.passage_id].append(one)
    return list(found.items())


def own_tuples(passages: Sequence[Passage]) -> list[EvidenceTuple]:
    """The tuples that the parse gives for passages, extracted once and kept under the project's home."""
    pipeline, extractor = Pipeline(), ParseExtractor()
    folder = fedrag_home() / "benchmarks" / "tuples"
    folder.mkdir(parents=True, exist_ok=True)
    told = [extractor.id, pipeline.id, [(passage.id, searchable_text(passage)) for passage in passages]]
    kept = folder / f"{hashlib.sha256(json.dumps(told).encode()).hexdigest()[:32]}.json"
    with suppress(OSError, ValueError):  # none yet
        return [EvidenceTuple(*one) for one in json.loads(kept.read_bytes())]
    found = extracted(passages, pipeline, extractor)
    replace_file(kept, json.dumps([astuple(one) for one in found]).encode())
    print(f"extracted {len(found)} tuples from {len(passages)} passages", flush=True)
    return found


def extracted(passages: Sequence[Passage], pipeline: Pipeline, extractor: ParseExtractor) -> list[EvidenceTuple]:
    """The tuples that the parse gives for passages; a long passage is parsed as several."""
    parsed = pipeline.parse(Document(one.id, one.title, one.text, "") for one in passages)
    return [
        replace(one, passage_id=passage.id)
        for passage, own in zip(passages, parsed, strict=True)
        for one in extractor.extract(own)
    ]


def token_table(passages: Sequence[Passage], questions: QuestionVectors) -> TokenTable:
    """Token vectors of passages, encoded once and kept under the project's home."""
    ids = [p.id for p in passages]
    told = json.dumps([questions.encoder.id, [(p.id, p.title, p.text) for p in passages]])
    key = hashlib.sha256(told.encode()).hexdigest()
    folder = fedrag_home() / "benchmarks" / "vectors"
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / f"{key[:32]}.tokens.npz"
    with suppress(StoreMismatchError):  # none yet
        return TokenTable.load(kept, ids, key)
    made = TokenTable.of(passages, questions)
    made.save(kept, key)
    return made
