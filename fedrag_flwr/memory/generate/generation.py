"""Memories of parsed documents by templates, each checked by itself, against its evidence and by round trip.

They are a matter of the documents that there are, not of the order in which these came: what is kept already is
filtered again where a change concerns it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.hypergraph.base import Units
from fedrag_flwr.memory.generate.candidates import Candidate, Candidates, Kept
from fedrag_flwr.memory.generate.round_trip import RoundTripFilter
from fedrag_flwr.memory.generate.rules import RuleGenerator
from fedrag_flwr.memory.generate.verify import verify
from fedrag_flwr.models.base import Encoder
from fedrag_flwr.records import Passage, Progress, Sentence
from fedrag_flwr.text.base import ParsedPassage
from fedrag_flwr.text.segment import under_title

Rejects = Counter[tuple[str, str]]  # by kind of candidate and reason

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
    until now. `rejected` counts candidates that were not kept, by kind and reason.
    """

    memories: tuple[Candidate, ...] = ()
    vectors: NDArray[np.float32] = field(default_factory=lambda: np.zeros((0, 0), dtype=np.float32))
    rejected: Mapping[tuple[str, str], int] = field(default_factory=dict)
    corpus_tokens: int = 0
    held: Candidates = field(default_factory=Candidates)
    withdrawn: tuple[Candidate, ...] = ()

    @property
    def rejects(self) -> dict[str, int]:
        """How many candidates were not kept for which reason."""
        counts: Counter[str] = Counter()
        for (_, reason), count in self.rejected.items():
            counts[reason] += count
        return dict(counts)


class MemoryGenerator:
    """Makes memories of the documents that are new to a device.

    Parameters
    ----------
    encoder
        Encodes questions.
    """

    def __init__(self, encoder: Encoder) -> None:
        self.encoder = encoder
        self.rules = RuleGenerator()

    def prepare(self, parsed: Sequence[ParsedPassage]) -> Prepared:
        """Let the templates read one document's parsed passages."""
        passages = tuple(part.passage for part in parsed)
        return Prepared(passages, tuple(self.rules.candidates(parsed)), sum(len(part.doc) for part in parsed))

    def generate(
        self,
        documents: Sequence[Prepared],
        sentences: Units,
        progress: Progress,
        kept: Kept = NOTHING_KEPT,
    ) -> Generated:
        """Make the memories of documents; a device that grew has those of one that is built anew.

        Parameters
        ----------
        documents
            The new documents.
        sentences
            The device's sentences with their vectors, the new ones among them.
        progress
            Told how far it is.
        kept
            What the device holds and made already.
        """
        new = _Units.of(passage for document in documents for passage in document.passages)
        rejected: Rejects = Counter()
        progress("verify", 0, 1)
        made = [candidate for document in documents for candidate in document.candidates]
        sound = self._encoded(_sound(made, new, rejected))
        filtered = self._filter(new, sentences, kept).filter(sound, kept.candidates, kept.gone_questions)
        progress("verify", 1, 1)
        rejected.update(filtered.rejected)
        corpus_tokens = sum(document.tokens for document in documents)
        changed = filtered.changed
        ruled = changed.at(np.flatnonzero(changed.kept))
        return Generated(
            ruled.items,
            ruled.vectors,
            rejected,
            corpus_tokens,
            held=changed.at(np.flatnonzero(~changed.kept)),
            withdrawn=filtered.withdrawn,
        )

    def _filter(self, new: _Units, vectors_of: Units, kept: Kept) -> RoundTripFilter:
        rows = {unit_id: row for row, unit_id in enumerate(vectors_of.ids)}
        came = vectors_of.vectors[[rows[sentence.id] for sentence in new.sentences]]
        changed = np.concatenate([came, kept.gone]) if len(kept.gone) else came
        sentences = [*new.sentences, *(s for passage in kept.passages for s in passage.sentences)]
        ordered = vectors_of.vectors[[rows[sentence.id] for sentence in sentences]]
        return RoundTripFilter(sentences, ordered, None if kept.stale else changed)

    def _encoded(self, candidates: Sequence[Candidate]) -> Candidates:
        """Candidates with their questions' vectors."""
        vectors = self.encoder.encode([candidate.question for candidate in candidates])
        return Candidates(tuple(candidates), vectors, np.zeros(len(candidates), dtype=np.bool_))


@dataclass(frozen=True, slots=True)
class _Units:
    """Passages with each unit's text under its title, by unit id."""

    passages: tuple[Passage, ...]
    texts: Mapping[str, str]

    @classmethod
    def of(cls, passages: Iterable[Passage]) -> _Units:
        kept = tuple(passages)
        texts = {p.id: under_title(p.title, p.text) for p in kept}
        for passage in kept:
            texts |= {s.id: under_title(passage.title, s.text) for s in passage.sentences}
        return cls(kept, texts)

    @property
    def sentences(self) -> list[Sentence]:
        """The sentences of all passages, in reading order."""
        return [sentence for passage in self.passages for sentence in passage.sentences]


def _sound(candidates: Sequence[Candidate], units: _Units, rejected: Rejects) -> list[Candidate]:
    sound = []
    for candidate in candidates:
        reason = verify(candidate, [units.texts[unit] for unit in candidate.support])
        if reason:
            rejected[candidate.kind, reason] += 1
        else:
            sound.append(candidate)
    return sound
