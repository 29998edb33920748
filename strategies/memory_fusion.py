"""FD-RAG: devices share anonymised memories, the server fuses them, and owners help with open questions."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from fedrag_flwr.records import (
    AnswerBatch,
    AnswerMode,
    Delta,
    Evidence,
    EvidenceBatch,
    EvidenceRequest,
    FinishRequest,
    ImportReport,
    Question,
    RetrieveRequest,
)
from strategies.base import FederatedRag
from strategies.courier import Letter


class MemoryFusion(FederatedRag):
    """Build, share, fuse, import, answer; then owners give evidence for what home could not close (FD-RAG 4.3).

    The fused bank outlives the run, so that only what is new travels.
    """

    name = "memory-fusion"
    mode: AnswerMode = "memory"
    memories = True

    def share(self) -> None:
        """Take each device's delta into the bank, and give each what it lacks."""
        courier, bank = self._courier, self.tools.bank
        for node_id, card in self.cards.items():
            if card.encoder_id != bank.encoder_id and self.builds.pop(node_id, None) is not None:
                courier.miss(node_id, "it has another encoder than the bank, so its memories cannot be compared")
        uploads = [Letter(node_id, bank.known_of(report.device)) for node_id, report in self.builds.items()]
        for node_id, delta in courier.exchange(uploads, "query.share", Delta).items():
            if delta.origin != courier.name(node_id):
                courier.miss(node_id, "it shared memories in another device's name")
                continue
            bank.take(delta)
        bank.fuse()
        downloads = [
            Letter(node_id, bank.delta_for(card.name, card.bank, card.bank_version))
            for node_id, card in self.cards.items()
            if node_id in self.builds
        ]
        courier.exchange(downloads, "query.import", ImportReport)

    def resolve(self) -> None:
        """Ask the owners of the supporting hyperedges for evidence, and let home finish."""
        help_given = self._retrieve()
        for asking in self.open.values():
            help_given[asking.question_id].seconds += asking.seconds
        waiting: dict[int, list[Question]] = defaultdict(list)
        for question_id in self.open:
            question = self.questions[question_id]
            if (home := self.node_of(question.home)) is not None:
                waiting[home].append(question)
        letters = [
            Letter(node_id, FinishRequest(tuple(asked), tuple(e for q in asked for e in help_given[q.id].evidence)))
            for node_id, asked in waiting.items()
        ]
        for node_id, batch in self._courier.exchange(letters, "query.finish", AnswerBatch).items():
            self.take(node_id, batch)
        for question_id, given in help_given.items():
            self.charge(question_id, given.seconds)

    def _retrieve(self) -> dict[str, _Help]:
        help_given: dict[str, _Help] = defaultdict(_Help)
        requests: dict[int, dict[str, EvidenceRequest]] = defaultdict(dict)
        budget = self.settings.inference.remote_units
        for question in self.open.values():
            for want in question.wants:
                owner = self.node_of(want.owner)
                if owner is not None and question.vector.shape == (self.cards[owner].dimension,):
                    requests[owner][question.question_id] = EvidenceRequest(
                        question.question_id, question.vector, want.hyperedges, budget
                    )
        letters = [Letter(node_id, RetrieveRequest(tuple(asked.values()))) for node_id, asked in requests.items()]
        batches = self._courier.exchange(letters, "query.retrieve", EvidenceBatch)
        for node_id, batch in batches.items():
            owner_name, asked = self._courier.name(node_id), dict(requests[node_id])
            for part in batch.evidence:
                honest = all(unit.origin == owner_name for unit in part.units)
                if asked.pop(part.question_id, None) is not None and honest and len(part.units) <= budget:
                    help_given[part.question_id].evidence.append(part)
                    help_given[part.question_id].seconds += batch.seconds / len(requests[node_id])
                else:
                    self._courier.miss(node_id, "it sent evidence that was not asked for, or in another's name")
        return help_given


@dataclass(slots=True)
class _Help:
    """What owners gave for one question, and the seconds that it took them."""

    evidence: list[Evidence] = field(default_factory=list)
    seconds: float = 0.0
