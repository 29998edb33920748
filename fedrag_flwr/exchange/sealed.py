"""Requests and evidence in sealed messages: who relays them sees from whom to whom they go, and nothing else."""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable, Iterable, Sequence

from fedrag_flwr import wire
from fedrag_flwr.errors import CipherError, FedragError, WireError
from fedrag_flwr.privacy.seals import SealingKey, check_tag, seal, tag
from fedrag_flwr.records import (
    Evidence,
    EvidenceBatch,
    EvidenceRequest,
    HiddenRequest,
    PeerKey,
    RetrieveBy,
    SealedMessage,
    SealedMessages,
)

_PROOF = 32  # bytes of a tag
_LOG = logging.getLogger(__name__)
Retrieve = Callable[[Sequence[EvidenceRequest], RetrieveBy], EvidenceBatch]


def seal_request(request: EvidenceRequest, by: RetrieveBy, owner: PeerKey, reply: bytes, run: str) -> SealedMessage:
    """Seal a request for an owner, whose evidence is to be sealed for the key `reply`."""
    data = wire.pack(HiddenRequest(reply, by, request), run=run)
    sealed = seal(data, owner.key, context_of("request", run, request.question_id, owner.device))
    return SealedMessage(request.question_id, owner.device, sealed)


def seal_requests(
    request: EvidenceRequest, by: RetrieveBy, owners: Iterable[PeerKey], reply: bytes, run: str
) -> list[SealedMessage]:
    """Seal a request for each of some owners; one without a usable key is left out."""
    sealed_messages = []
    for owner in owners:
        try:
            sealed_messages.append(seal_request(request, by, owner, reply, run))
        except CipherError as error:
            _LOG.warning("%s is not asked: %s", owner.device, error.what)
    return sealed_messages


def give_sealed(device: str, key: SealingKey, asked: SealedMessages, retrieve: Retrieve, run: str) -> SealedMessages:
    """The owner's part: open requests, and seal the evidence for those who asked; what does not open has no reply."""
    seconds, replies = 0.0, []
    for message in asked.messages:
        name, start = message.question_id, time.perf_counter()
        try:
            data = key.open(message.sealed, context_of("request", run, name, device))
            hidden = wire.unpack(data, HiddenRequest, run=run)
            opened = time.perf_counter()
            batch = retrieve([hidden.request], hidden.by)
            given = time.perf_counter()
            sealed = seal(wire.pack(batch, run=run), hidden.reply, context_of("evidence", run, name, device))
        except FedragError as error:  # it costs those that came along nothing
            _LOG.warning("a sealed request is left out: %s", error.abroad)
            continue
        replies.append(SealedMessage(name, device, sealed))
        seconds += opened - start + batch.seconds + time.perf_counter() - given  # retrieving tells its own
    return SealedMessages(device, tuple(replies), seconds)


def open_evidence(key: SealingKey, messages: Iterable[SealedMessage], most: int, run: str) -> list[Evidence]:
    """The asking side's part: evidence in sealed messages; what does not open, or was not asked for, is left out."""
    found = []
    for message in messages:
        try:
            data = key.open(message.sealed, context_of("evidence", run, message.question_id, message.device))
            batch = wire.unpack(data, EvidenceBatch, run=run)
        except (CipherError, WireError) as error:
            _LOG.warning("sealed evidence is left out: %s", error.what)
            continue
        parts = [part for part in batch.evidence if part.question_id == message.question_id]
        honest = all(unit.origin == message.device for part in parts for unit in part.units)
        if honest and len(parts) == len(batch.evidence) == 1 and len(parts[0].units) <= most:
            found += parts
        else:
            _LOG.warning("sealed evidence is left out: it was not asked for, or is in another's name")
    return found


def seal_secret(
    what: str, secret: bytes, key: SealingKey, peer: PeerKey, context: str, opens: bytes | None = None
) -> SealedMessage:
    """Seal a secret for a peer, with a tag that proves who did; raises CipherError where the peer's key is none.

    Anybody can seal a message for a peer: the tag stands for what the secret opens, or for the secret itself.
    """
    proof = tag(key.tag_key(peer.key), *_proven(what, context, secret if opens is None else opens))
    return SealedMessage("", peer.device, seal(secret + proof, peer.key, context))


def open_secret(
    what: str, sealed: bytes, key: SealingKey, sender: bytes, context: str, opens: bytes | None = None
) -> bytes:
    """The secret that the owner of a key sealed with `seal_secret`; raises CipherError where it is another's."""
    opened = key.open(sealed, context)
    secret, proof = opened[:-_PROOF], opened[-_PROOF:]
    check_tag(key.tag_key(sender), proof, *_proven(what, context, secret if opens is None else opens))
    return secret


def _proven(what: str, context: str, opens: bytes) -> tuple[bytes, ...]:
    """What the sender's tag stands for."""
    return (what.encode(), context.encode(), hashlib.sha256(opens).digest())


def context_of(what: str, run: str, about: str, device: str) -> str:
    """What a sealed message is for: it opens for the same run, device and question, or whatever it is about, alone."""
    return "\x1f".join(("fedrag", what, run, about, device))
