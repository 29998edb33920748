"""The server's part in encrypted sums: it relays the group's key sealed, and adds up what it cannot read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from logging import INFO

from flwr.common import log

from fedrag_flwr.errors import CipherError
from fedrag_flwr.exchange.sums import tagged_term
from fedrag_flwr.privacy.ckks.parameters import chunks
from fedrag_flwr.privacy.ckks.sandbox import shared_sandbox
from fedrag_flwr.privacy.ckks.sums import COLLUSION, add_ciphertexts
from fedrag_flwr.privacy.seals import SealingKey, check_tag
from fedrag_flwr.records import DeviceCard, GroupRequest, PeerKey, SealedMessage, SealedMessages, SumParts, SumTerm
from strategies.transport import Request, Transport


@dataclass(frozen=True, slots=True)
class PrivateSums:
    """Lets devices agree on a key, and adds under it: the server's part for every strategy that sums up in secret."""

    transport: Transport  # of the strategy
    cards: Mapping[int, DeviceCard]  # of the devices that take part, by node
    key: SealingKey  # the server's, by which devices tag what they send

    def agree(self, nodes: Sequence[int], needed: int) -> list[int]:
        """Let one device make a key and the others take it; where too few that reply have it, another one does.

        The one that made no key which the others could take is named. Who does not reply at all takes no part any more.
        Enough are `needed`, or all where they are fewer. Gives those that have the key, and none if nobody made one
        that enough of them took.
        """
        log(INFO, COLLUSION)
        enough, present = min(needed, len(nodes)), list(nodes)
        for leader in nodes:
            if leader not in present:
                continue
            joined = self._led_by(leader, present)
            if len(joined) >= enough:
                return joined
            silent = self.transport.silent
            if set(present) - set(joined) - silent:
                reason = f"it was to make the group's key, which {len(joined)} of {len(present)} devices hold"
                self.transport.miss(leader, reason)
            present = [node_id for node_id in present if node_id not in silent]
            if len(present) < enough:
                break
        return []

    def _led_by(self, leader: int, nodes: Sequence[int]) -> list[int]:
        """The nodes that have the key which one of them made."""
        others = {self.transport.name(node_id): node_id for node_id in nodes if node_id != leader}
        peers = tuple(PeerKey(name, self.cards[node_id].key) for name, node_id in others.items())
        made = self.transport.exchange([Request(leader, GroupRequest(peers))], "train.group", SealedMessages)
        if leader not in made:
            return []
        maker = PeerKey(self.transport.name(leader), self.cards[leader].key)
        sealed_messages: dict[str, SealedMessage] = {}
        for message in made[leader].messages:
            if message.device in others:
                sealed_messages.setdefault(message.device, message)
        if len(sealed_messages) < len(made[leader].messages):
            self.transport.miss(leader, "it sealed the group's key for a stranger, or more than once for a peer")
        outgoing = [Request(others[name], GroupRequest((maker,), one.sealed)) for name, one in sealed_messages.items()]
        return [leader, *self.transport.exchange(outgoing, "train.group", SealedMessages)]

    def add(self, step: str, terms: Mapping[int, SumTerm], count: int) -> SumParts:
        """Add up terms of `count` numbers each; whose is malformed, another's or of another step is left out.

        The step is named as devices were told. The sum is empty where no term is usable.
        """
        sandbox, usable = shared_sandbox(), []
        for node_id, term in terms.items():
            try:
                tagged = tagged_term(self.transport.name(node_id), step, term.parts)
                check_tag(self.key.tag_key(self.cards[node_id].key), term.tag, *tagged)
                if len(term.parts) != chunks(count):
                    raise CipherError("another number of ciphertexts than the sum takes", where="sum")
                add_ciphertexts([term.parts], sandbox)
                usable.append(term.parts)
            except CipherError as error:
                self.transport.miss(node_id, f"{step}: {error}")
        return tuple(add_ciphertexts(usable, sandbox)) if usable else ()
