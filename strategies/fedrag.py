"""Ours: memories are shared and fused, and summaries say who else may know; home decides whom it asks, and answers."""

from __future__ import annotations

from fedrag_flwr.records import because
from strategies.base import EVERY_EXCHANGE
from strategies.memory_fusion import MemoryFusion
from strategies.summary_routing import SummaryRouting


class FedRag(SummaryRouting, MemoryFusion):
    """FD-RAG's memories before DGRAG's routing.

    A device answers from memory, its own or the shared one, or from its own sentences where these leave no doubt.
    Else it asks the owners of the memories that come nearest, and the devices whose summaries do: it knows the vectors
    of all summaries and compares them itself, so the server sees whom it asks and not why. Home answers over what they
    give.
    """

    name = "fedrag"
    mode = "assisted"
    retrieve_by = "nearest"
    exchanges = EVERY_EXCHANGE

    @property
    def reads_questions(self) -> bool:
        """Homes answer, whatever `routing.answers-at` says."""
        return False

    def share(self) -> None:
        """Exchange memories, then summaries, as far as the settings keep these parts."""
        if self.settings.fedrag.has("memories"):
            MemoryFusion.share(self)
        if self.settings.fedrag.has("summaries"):
            SummaryRouting.share(self)
        else:
            self._private = self.private_router()

    def resolve(self) -> None:
        """Ask those whom home named, and let home finish; each answer says who was asked.

        Under private routing homes ask the same devices in sealed messages, which the server relays.
        """
        if self.settings.exchange != "plain":
            self._resolve_privately()
            return
        asked = {name: list[str]() for name in self.open}
        for node_id, requests in self._requests().items():
            for name in requests:
                asked[name].append(self.transport.name(node_id))
        MemoryFusion.resolve(self)
        for name in asked.keys() & self.answers.keys():
            answer = self.answers[name]
            told = because("routing", f"asked {', '.join(sorted(asked[name])) or 'nobody'}")
            self.answers[name] = answer.after(told)
        self._count({name: tuple(sorted(devices)) for name, devices in asked.items()})
