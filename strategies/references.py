"""What federation is measured against: each device alone (FD-RAG 5.1), and all documents in one place."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from logging import WARNING

from flwr.common import log

from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.records import AnswerMode, DocumentBatch, DocumentsRequest, Question
from fedrag_flwr.settings import fedrag_home
from fedrag_flwr.sources.folder import write_documents
from strategies.base import EVERY_EXCHANGE, FederatedRag
from strategies.transport import Request

CENTRE = "centre"
_SERVER = 0  # no node has this id


class NoRag(FederatedRag):
    """Devices answer from their model alone: the floor."""

    name = "no-rag"
    mode: AnswerMode = "closed-book"
    exchanges = EVERY_EXCHANGE


class LocalRag(FederatedRag):
    """Each device retrieves passages at home and its model reads them; nothing is shared."""

    name = "local-rag"
    mode: AnswerMode = "passages"
    exchanges = EVERY_EXCHANGE


class LocalGraph(FederatedRag):
    """Each device answers over its own knowledge graph; nothing is shared (DGRAG's Local RAG)."""

    name = "local-graph"
    mode: AnswerMode = "graph"
    exchanges = EVERY_EXCHANGE
    graph = True


class LocalMemory(FederatedRag):
    """Memorizer and Cognizer over each device's own memories; nothing is shared (FD-RAG without fusion)."""

    name = "local-memory"
    mode: AnswerMode = "own-memory"
    exchanges = EVERY_EXCHANGE
    memories = True


class Centralized(FederatedRag):
    """Every document goes to the server, which answers from its own memory: what federation is measured against.

    Devices that do not allow this (``privacy.share-documents``) refuse, and the run says so.
    """

    name = "centralized"
    serves = False

    def share(self) -> None:
        """Take all documents and build one memory from them; raises FederationError where fewer devices than the quorum
        handed theirs over.
        """
        log(WARNING, "centralized: whole documents leave the devices; this is a reference, not a way to run")
        outgoing = [Request(node_id, DocumentsRequest()) for node_id in self.builds]
        batches = self.transport.exchange(outgoing, "query.documents", DocumentBatch)
        self._require_quorum(len(batches), len(self.cards), "documents")
        home = fedrag_home(self.settings.home) / CENTRE / self.settings.data_key
        shutil.rmtree(home / "documents", ignore_errors=True)
        for node_id, batch in batches.items():
            device = self.transport.name(node_id)
            named = [replace(one, id=f"{device}-{one.id}") for one in batch.documents]
            write_documents(home / "documents" / device, named)
        self.centre = EdgeDevice(CENTRE, home / "documents", home / "store", self.settings, self.tools.models)
        report = self.centre.build(progress=self.progress)
        self.builds[_SERVER] = report
        self._remember_peak(CENTRE, report.peak_rss_mb)

    def ask(self, questions: Sequence[Question]) -> None:
        """Answer at the server; no message is sent."""
        self.questions.update({question.id: question for question in questions})
        for answer in self.centre.answer(questions, "own-memory").answers:
            self.answers[answer.question_id] = answer
