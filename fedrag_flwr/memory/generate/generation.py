"""Memories of parsed documents by templates, each checked by itself, against its evidence and by round trip.

They are a matter of the documents that there are, not of the order in which these came: what is kept already is
filtered again where a change concerns it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.hypergraph.base import Units
from fedrag_flwr.memory.generate.candidates import Candidate, Candidates, Kept
from fedrag_flwr.memory.generate.round_trip import filtered
from fedrag_flwr.memory.generate.rules import candidates_of
from fedrag_flwr.memory.generate.verify import verify
from fedrag_flwr.models.base import Encoder
from fedrag_flwr.records import Passage, Progress
from fedrag_flwr.text.base import ParsedPassage
from fedrag_flwr.text.segment import under_title

NOTHING_KEPT = Kept()


@dataclass(frozen=True, slots=True)
class Prepared:
    """A document as generation takes it: its passages, the templates' candidates, and its number of tokens.

    Its parse, by far the largest part (3 KB a token), is not kept. A document that is not in English has no candidates.
    """

    passages: tuple[Passage, ...]
    candidates: tuple[Candidate, ...] = ()
    tokens: int = 0
    english: bool = True


@dataclass(frozen=True, slots=True)
class Generated:
    """Verified candidates that are memories from now on, with their questions' vectors, (memories, dimension).

    `held` are candidates that the round-trip filter rejects now, and `withdrawn` those on which it decided otherwise
    until now. `rejected` counts candidates that were not kept, by reason.
    """

    memories: tuple[Candidate, ...] = ()
    vectors: NDArray[np.float32] = field(default_factory=lambda: np.zeros((0, 0), dtype=np.float32))
    rejected: Mapping[str, int] = field(default_factory=dict)
    corpus_tokens: int = 0
    held: Candidates = field(default_factory=Candidates)
    withdrawn: tuple[Candidate, ...] = ()


def prepare(parsed: Sequence[ParsedPassage]) -> Prepared:
    """Let the templates read one document's parsed passages."""
    passages = tuple(part.passage for part in parsed)
    return Prepared(passages, tuple(candidates_of(parsed)), sum(len(part.doc) for part in parsed))


def generate(
    encoder: Encoder,
    documents: Sequence[Prepared],
    sentences: Units,
    progress: Progress,
    kept: Kept = NOTHING_KEPT,
) -> Generated:
    """Make the memories of documents; a device that grew has those of one that is built anew.

    `sentences` are all of the device's with their vectors, the new documents' among them; `kept` is what it holds and
    made already.
    """
    progress("verify", 0, 1)
    passages = [passage for document in documents for passage in document.passages]
    texts = {one.id: under_title(one.title, one.text) for one in passages}
    texts |= {one.id: under_title(passage.title, one.text) for passage in passages for one in passage.sentences}
    sound, rejected = [], Counter[str]()
    for candidate in (candidate for document in documents for candidate in document.candidates):
        if reason := verify(candidate, [texts[unit] for unit in candidate.support]):
            rejected[reason] += 1
        else:
            sound.append(candidate)
    vectors = encoder.encode([candidate.question for candidate in sound])
    new = Candidates(tuple(sound), vectors, np.zeros(len(sound), dtype=np.bool_))
    told = [sentence for passage in (*passages, *kept.passages) for sentence in passage.sentences]
    rows = {unit: row for row, unit in enumerate(sentences.ids)}
    ordered = sentences.vectors[[rows[sentence.id] for sentence in told]]
    came = ordered[: sum(len(passage.sentences) for passage in passages)]
    changed = np.concatenate([came, kept.gone]) if len(kept.gone) else came
    now, withdrawn, failed = filtered(new, kept, told, ordered, None if kept.stale else changed)
    progress("verify", 1, 1)
    memories = now.at(np.flatnonzero(now.kept))
    return Generated(
        memories.items,
        memories.vectors,
        rejected + failed,
        sum(document.tokens for document in documents),
        held=now.at(np.flatnonzero(~now.kept)),
        withdrawn=withdrawn,
    )
