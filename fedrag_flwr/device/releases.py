"""What leaves a device through its export filter: answers, reports, and a name for all that decides what passes."""

from __future__ import annotations

import hashlib
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from fedrag_flwr.device.shared_memory import OpaqueIds
from fedrag_flwr.device.views import trace_answer
from fedrag_flwr.memory.store import MemoryStore
from fedrag_flwr.privacy.export import ExportFilter
from fedrag_flwr.privacy.policy import policy_digest
from fedrag_flwr.privacy.register import read_register
from fedrag_flwr.processes import peak_rss_mb
from fedrag_flwr.records import Answer, AnswerBatch, AnswerMode, BuildReport, OpenQuestion, Vector
from fedrag_flwr.settings import Settings

RELEASED = "released"  # folder beside the store: what left, so that the unchanged passes the export filter once
_MOST_FAILED = 1_000  # of a report that leaves
_NO_VECTOR: Vector = np.zeros(0, dtype=np.float32)  # of a question, where homes route by themselves


@dataclass(slots=True)
class Releases:
    """Keeps a device's filter up to date with its documents; what the device makes goes out through it."""

    device: str  # the device's name
    store: MemoryStore  # its memory
    # export, hide: what lets texts and vectors leave, and the device's opaque ids.
    export: ExportFilter
    hide: OpaqueIds
    settings: Settings  # of the run
    _informed: int = -1  # the store's version that the export filter knows the private names of

    def __post_init__(self) -> None:
        self.export.names.informed_by(self.inform)

    def close(self) -> None:
        """Close the export filter."""
        self.export.close()

    def inform(self) -> None:
        """Tell the filter what the documents as they are now show to be private; it asks for this before each release.

        To be called where what is already known decides, such as whether something made before may be given again.
        """
        if self.export.rewrites and self._informed != (version := self.store.version):
            self.export.names.know(read_register(self.store.passages()))
            self._informed = version

    def generation(self) -> str:
        """Names the store and everything that decides what the export filter lets pass."""
        parts = (self.store.id, self.export.id, policy_digest(self.settings.privacy))
        return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:32]

    def report(self, report: BuildReport) -> BuildReport:
        """A build's report as it may leave: failed documents under opaque ids, of files that were skipped the counts
        alone, and no more than a message holds.
        """
        failed = [failure.rpartition(": ") for failure in report.failed[:_MOST_FAILED]]
        self.hide.prepare([name for name, _, _ in failed])
        return replace(
            report,
            failed=tuple(f"{self.hide(name)}: {reason}" for name, _, reason in failed),
            skipped=(),
        )

    def batch(
        self,
        answers: Iterable[Answer],
        still_open: Iterable[OpenQuestion] = (),
        mode: AnswerMode = "memory",
        waiting: Container[str] = (),
        asked: Mapping[str, str] | None = None,
    ) -> AnswerBatch:
        """Answers, and questions that a mode left open, as they may leave.

        Parameters
        ----------
        waiting
            The questions of people here, of whose answers and drafts nothing leaves.
        asked
            Texts of the questions by id; None: the answers were not made here, and tell nothing of what they rest on.
        """
        hidden = self.settings.exchange_for(mode) != "plain"
        released = tuple(
            _closed(answer) if answer.question_id in waiting else self._released(answer, asked) for answer in answers
        )
        asking = tuple(
            replace(
                _untold(question) if hidden else replace(question, vector=self.export.release_vector(question.vector)),
                drafts=tuple(
                    self._released(draft, asked) for draft in question.drafts if question.question_id not in waiting
                ),
            )
            for question in still_open
        )
        return AnswerBatch(self.device, released, asking, peak_rss_mb())

    def _released(self, answer: Answer, asked: Mapping[str, str] | None) -> Answer:
        """An answer through the export filter, but for its text and confidence where the device gives them unmasked.

        The filter is shown what of the documents here the answer was taken from.
        """
        if asked is None or not self.export.rewrites:
            released = self.export.release_answer(answer)
        else:
            read = [(unit.title, unit.text) for unit in answer.evidence if unit.origin == self.device]
            traced = trace_answer(self.store, self.device, answer)
            read += [(line.title, line.text) for line in traced if line.origin == self.device]
            beside = tuple(dict.fromkeys(f"{title}\n{text}" for title, text in read))
            released = self.export.release_answer(answer, asked.get(answer.question_id, ""), beside)
        if self.settings.privacy.answers != "unmasked":
            return released
        return replace(released, text=answer.text, path=answer.path, score=answer.score)


def _closed(answer: Answer) -> Answer:
    """What is told of an answer that stays here: on which path it closed its question, if it did."""
    return Answer(answer.question_id, "", answer.path, 0.0)


def _untold(question: OpenQuestion) -> OpenQuestion:
    """An open question without what tells its subject: the server has texts to hyperedges, and headings to topics."""
    return replace(question, vector=_NO_VECTOR, wants=(), topics=())
