"""Distilling parsed documents into verified drafts: by rules, then by the model where facts are not covered yet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fedrag_flwr.memory.synthesis import Draft, RuleSynthesizer
from fedrag_flwr.memory.verify import round_trip, verify
from fedrag_flwr.records import Cost, Hyperedge, Passage, Progress, Sentence
from fedrag_flwr.settings import MemorySettings
from fedrag_flwr.text.base import ParsedPassage
from fedrag_flwr.toolbox import Toolbox


@dataclass(frozen=True, slots=True)
class Distilled:
    """Verified drafts, how many were rejected for which reason, and what the model cost."""

    drafts: tuple[Draft, ...] = ()
    rejects: Mapping[str, int] = field(default_factory=dict)
    cost: Cost = field(default_factory=Cost)
    corpus_tokens: int = 0


class Distiller:
    """Makes memories of the documents that are new to a device.

    Parameters
    ----------
    toolbox
        The device's models.
    settings
        Budget of the model.
    """

    def __init__(self, toolbox: Toolbox, settings: MemorySettings) -> None:
        self.toolbox = toolbox
        self.settings = settings
        self.rules = RuleSynthesizer()

    def distil(
        self, documents: Sequence[Sequence[ParsedPassage]], hyperedges: Sequence[Hyperedge], progress: Progress
    ) -> Distilled:
        """Distil documents.

        Parameters
        ----------
        documents
            The parsed passages of each new document.
        hyperedges
            The device's hyperedges; the model composes over those that hold new units.
        progress
            Told how far it is.
        """
        known = self.rules.classes([part for passages in documents for part in passages])
        drafts: list[Draft] = []
        for done, passages in enumerate(documents):
            progress("distil", done, len(documents))
            drafts += self.rules.drafts(passages, known)
        progress("distil", len(documents), len(documents))
        passages = [part.passage for document in documents for part in document]
        kept, rejects = self._verified(drafts, passages)
        corpus_tokens = sum(len(part.doc) for document in documents for part in document)
        return Distilled(tuple(kept), rejects, Cost(), corpus_tokens)

    def _verified(self, drafts: Sequence[Draft], passages: Sequence[Passage]) -> tuple[list[Draft], Counter[str]]:
        texts = _texts(passages)
        rejects: Counter[str] = Counter()
        sound: list[Draft] = []
        for draft in drafts:
            reason = verify(draft, [texts[unit] for unit in draft.support])
            if reason:
                rejects[reason] += 1
            else:
                sound.append(draft)
        if not sound:
            return [], rejects
        sentences: list[Sentence] = [sentence for passage in passages for sentence in passage.sentences]
        encode = self.toolbox.encoder.encode
        asked = round_trip(
            sound,
            encode([draft.question for draft in sound]),
            sentences,
            encode([texts[sentence.id] for sentence in sentences]),
        )
        rejects.update(asked.rejects)
        return [sound[index] for index in asked.kept], rejects


def _texts(passages: Sequence[Passage]) -> dict[str, str]:
    texts = {passage.id: f"{passage.title}. {passage.text}" for passage in passages}
    texts |= {s.id: f"{passage.title}. {s.text}" for passage in passages for s in passage.sentences}
    return texts
