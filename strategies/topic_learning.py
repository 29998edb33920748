"""The server's part in learning topics: it asks for terms, adds up what it cannot read, and hands the sums back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fedrag_flwr.errors import SettingError
from fedrag_flwr.overlay.topics import headings_of
from fedrag_flwr.privacy.ckks.parameters import SLOTS
from fedrag_flwr.privacy.seals import SealingKey
from fedrag_flwr.records import MOST_PARTS, DeviceCard, SumParts, TopicRequest, TopicStage, TopicUpdate
from strategies.private_sums import PrivateSums
from strategies.transport import Request, Transport

ROUNDS = 5  # in which topics move


@dataclass(frozen=True, slots=True)
class TopicLearning:
    """Lets devices learn by which topics they file: federated spherical k-means over encrypted sums.

    It sees which devices take part, and whether they hold the same topics. Sketches, sums and topics it does not see.
    """

    transport: Transport  # of the strategy
    cards: Mapping[int, DeviceCard]  # of the devices that take part, by node
    key: SealingKey  # the server's, by which devices tag what they send
    topics: int  # how many of them are learnt
    needed: int  # how many devices must hold the key under which they learn

    def learn(self, nodes: Sequence[int]) -> list[int]:
        """The nodes that file by the same topics then; those that hold the same already learn no others; raises
        SettingError where so many topics do not fit into one message.
        """
        nodes = self._of_one_encoder(nodes)
        numbers = self._numbers(nodes)
        known = self._ask(nodes, TopicRequest("known"))
        held = {update.topics for update in known.values()}
        if len(held) == 1 and "" not in held:
            return list(known)
        sums = PrivateSums(self.transport, self.cards, self.key)
        group = sums.agree(list(known), self.needed)
        total: SumParts = ()
        rounds: list[tuple[TopicStage, int]] = [("count", self.topics), ("move", numbers)]
        steps: list[tuple[TopicStage, int]] = [("sketch", len(headings_of())), *rounds * ROUNDS]
        for number, (stage, count) in enumerate(steps):
            asked = TopicRequest(stage, number, len(group), total, self.key.public)
            updates = self._ask(group, asked)
            group = list(updates)
            total = sums.add(asked.step, {node_id: update.term for node_id, update in updates.items()}, count)
        kept = self._ask(group, TopicRequest("keep", len(steps), len(group), total))
        return self._agreed(kept)

    def _of_one_encoder(self, nodes: Sequence[int]) -> list[int]:
        """The nodes with the most usual encoder: vectors of another lie elsewhere."""
        encoders = {node_id: self.cards[node_id].encoder_id for node_id in nodes}
        [(usual, _)] = Counter(encoders.values()).most_common(1)
        for node_id in nodes:
            if encoders[node_id] != usual:
                self.transport.miss(node_id, "it cannot learn topics with the others: it has another encoder")
        return [node_id for node_id in nodes if encoders[node_id] == usual]

    def _numbers(self, nodes: Sequence[int]) -> int:
        [(dimension, _)] = Counter(self.cards[node_id].dimension for node_id in nodes).most_common(1)
        numbers = self.topics * dimension
        if numbers > MOST_PARTS * SLOTS:
            fix = f"learn at most {MOST_PARTS * SLOTS // dimension}"
            raise SettingError("so many topics do not fit into a message", where="overlay.learnt-topics", fix=fix)
        return numbers

    def _ask(self, nodes: Sequence[int], asked: TopicRequest) -> dict[int, TopicUpdate]:
        outgoing = [Request(node_id, asked) for node_id in nodes]
        return self.transport.exchange(outgoing, "train.topics", TopicUpdate)

    def _agreed(self, kept: Mapping[int, TopicUpdate]) -> list[int]:
        """The nodes that hold the topics which most hold."""
        usual = Counter(update.topics for update in kept.values()).most_common(1)
        for node_id, update in kept.items():
            if update.topics != usual[0][0]:
                self.transport.miss(node_id, "it came to other topics than the others")
        return [node_id for node_id, update in kept.items() if update.topics == usual[0][0]]
