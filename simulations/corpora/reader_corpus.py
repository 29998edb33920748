"""Multi-hop questions with their sentences as a device sees them, and which are gold: what readers are fitted on."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.inference.reading import Candidate, Pool
from fedrag_flwr.models.base import Encoder
from fedrag_flwr.records import EvidenceUnit
from fedrag_flwr.sources.base import make_document
from fedrag_flwr.text.base import ParsedPassage, Pipeline
from fedrag_flwr.text.segment import under_title


@dataclass(frozen=True, slots=True)
class Row:
    """A training question: its pool, which of the pool's sentences are gold, shape (n,), and the right answers."""

    source: str
    question: str
    answers: tuple[str, ...]
    pool: Pool
    gold: NDArray[np.bool_]


def rows_of(path: Path, split: str, limit: int) -> Iterator[dict[str, Any]]:
    """The first rows of a split of a multi-hop file, as published; none of a setting other than ``distractor``."""
    taken = 0
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            fields: dict[str, Any] = json.loads(line)
            if fields["split"] != split or fields.get("setting", "distractor") != "distractor":
                continue
            if taken == limit:
                return
            taken += 1
            yield fields


def rows(path: Path, split: str, limit: int, encoder: Encoder, pipeline: Pipeline) -> Iterator[Row]:
    """Parse and encode the first rows of a split of a multi-hop file whose sentences are marked as gold or not."""
    source = path.name.partition(".")[0]
    return (_row(source, fields, encoder, pipeline) for fields in rows_of(path, split, limit))


def gold_spans(fields: Mapping[str, Any]) -> list[list[tuple[int, int]]]:
    """Character ranges of the gold sentences of each paragraph."""
    found = []
    for paragraph in fields["paragraphs"]:
        starts = paragraph["sent_starts"]
        ends = [*starts[1:], len(paragraph["text"])]
        wanted = [number for title, number in fields["supporting_facts"] if title == paragraph["title"]]
        found.append([(starts[number], ends[number]) for number in wanted if number < len(starts)])
    return found


def is_gold(text: str, sentence: str, gold: Sequence[tuple[int, int]]) -> bool:
    """Whether more than half of a sentence lies in gold ranges of its paragraph's text."""
    start = text.find(sentence[:25])
    end = start + len(sentence)
    return start >= 0 and any(min(end, last) - max(start, first) > 0.5 * len(sentence) for first, last in gold)


def candidates_of(fields: Mapping[str, Any], encoder: Encoder, pipeline: Pipeline) -> list[list[Candidate]]:
    """The sentences of each paragraph of a row, as a device has them, with their cosines to its question."""
    documents = [make_document(str(i), p["title"] or "", p["text"]) for i, p in enumerate(fields["paragraphs"])]
    parsed: list[list[ParsedPassage]] = list(pipeline.parse(documents))
    sentences = [
        (number, part.passage.title, place, sentence)
        for number, passages in enumerate(parsed)
        for part in passages
        for place, sentence in enumerate(part.passage.sentences)
    ]
    vectors = encoder.encode([under_title(title, sentence.text) for _, title, _, sentence in sentences])
    scores = vectors @ encoder.encode([fields["question"]])[0]
    found: list[list[Candidate]] = [[] for _ in documents]
    for (number, title, place, sentence), score in zip(sentences, scores, strict=True):
        unit = EvidenceUnit(sentence.id, sentence.text, "home", float(score), title)
        found[number].append(Candidate(unit, sentence.facts, place))
    return found


def _row(source: str, fields: Mapping[str, Any], encoder: Encoder, pipeline: Pipeline) -> Row:
    found = candidates_of(fields, encoder, pipeline)
    gold = [
        is_gold(paragraph["text"], one.unit.text, spans)
        for paragraph, candidates, spans in zip(fields["paragraphs"], found, gold_spans(fields), strict=True)
        for one in candidates
    ]
    question = fields["question"].strip()
    pool = Pool.of(question, pipeline.question(question), [one for candidates in found for one in candidates])
    return Row(source, question, (fields["answer"], *fields["aliases"]), pool, np.array(gold, dtype=bool))
