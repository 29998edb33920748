"""FD-RAG: devices share anonymised memories, the server fuses them, and owners help with open questions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from logging import INFO, WARNING

from flwr.common import log

from fedrag_flwr.errors import WireError
from fedrag_flwr.memory.fusion.shared import FusionReport
from fedrag_flwr.memory.store.pages import MOST_PAGES
from fedrag_flwr.records import (
    START,
    AnswerMode,
    Delta,
    ImportReport,
    Pending,
    RetrieveBy,
)
from strategies.help import HelpingRag, Requests
from strategies.transport import Request

_AT_ONCE = 32  # devices whose pages are on the way, and in the server's memory, at one time


class MemoryFusion(HelpingRag):
    """Build, share, fuse, import, answer; then owners give evidence for what home could not close (FD-RAG 4.3).

    The shared memory outlives the run, so that only what is new travels.
    """

    name = "memory-fusion"
    mode: AnswerMode = "memory"
    memories = True
    retrieve_by: RetrieveBy = "hyperedges"

    def share(self) -> None:
        """Take in each device's delta, and give each what it lacks of all, those too whose build failed."""
        transport, shared = self.transport, self.tools.shared_memory
        for node_id, card in self.cards.items():
            if card.encoder_id != shared.encoder_id and self.builds.pop(node_id, None) is not None:
                transport.miss(node_id, "it has another encoder than the server, so its memories cannot be compared")
        nodes = [node_id for node_id in self.there if self.cards[node_id].encoder_id == shared.encoder_id]
        for group in _groups(nodes):
            self._gather(group)
        self._report(shared.fuse())
        for group in _groups(nodes):
            self._hand_out_memories(group)

    def _gather(self, nodes: Sequence[int]) -> None:
        """Take devices' deltas page by page; one whose pages do not end is named, and its old ones stay."""
        transport, shared = self.transport, self.tools.shared_memory
        for _ in range(MOST_PAGES):
            outgoing = [Request(node_id, shared.known_of(transport.name(node_id))) for node_id in nodes]
            deltas = transport.exchange(outgoing, "query.share", Delta)
            nodes = [node_id for node_id, delta in deltas.items() if self._more_after(node_id, delta)]
            if not nodes:
                return
        for node_id in nodes:
            transport.miss(node_id, f"it sent {MOST_PAGES} pages of its memories without coming to an end")

    def _more_after(self, node_id: int, delta: Delta) -> bool:
        """Take a page and tell whether another follows; a device that sends a wrong one is named."""
        transport = self.transport
        try:
            report = self.tools.shared_memory.take(delta)
        except WireError as error:
            transport.miss(node_id, f"query.share: {error}")
            return False
        if report.refused:
            log(WARNING, "the server refused memories of %s: %s", delta.origin, ", ".join(report.refused))
        return report.next != START

    def _hand_out_memories(self, nodes: Sequence[int]) -> None:
        """Give devices page by page what they lack of the shared memory."""
        transport, shared = self.transport, self.tools.shared_memory
        pending = {node_id: self.cards[node_id].pending for node_id in nodes}
        while pending:
            pages: dict[int, Delta] = {}
            for node_id, place in pending.items():
                card = self.cards[node_id]
                pages[node_id] = shared.delta_for(card.name, card.shared_memory, card.shared_memory_version, place)
            outgoing = [Request(node_id, page) for node_id, page in pages.items()]
            pending = {}
            for node_id, report in transport.exchange(outgoing, "query.import", ImportReport).items():
                page = pages[node_id]
                if report.next != page.next:
                    transport.miss(node_id, "it asked for another page of the shared memory than the next")
                elif page.next != START:
                    pending[node_id] = Pending(page.generation, page.since, page.version, page.next)

    def _report(self, fusion: FusionReport) -> None:
        self.counts |= {f"fusion-{name.replace('_', '-')}": count for name, count in asdict(fusion).items()}
        log(INFO, "%s: %s", self.name, ", ".join(f"{name} {count}" for name, count in self.counts.items()))

    def resolve(self) -> None:
        """Ask the owners of the supporting hyperedges for evidence, and let home finish."""
        help_given = self.ask_owners(self._requests(), self.retrieve_by)
        for asking in self.open.values():
            help_given[asking.question_id].seconds += asking.seconds
        self.finish_at_home(help_given)
        for question_id, given in help_given.items():
            self.charge(question_id, given.seconds)

    def _requests(self) -> Requests:
        edges = self.retrieve_by == "hyperedges"
        return self.requests(
            (question.question_id, self.node_of(want.owner), want.hyperedges if edges else ())
            for question in self.open.values()
            for want in question.wants
        )


def _groups(nodes: Sequence[int]) -> Iterator[Sequence[int]]:
    return (nodes[start : start + _AT_ONCE] for start in range(0, len(nodes), _AT_ONCE))
