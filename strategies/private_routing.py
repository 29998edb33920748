"""The server's part in private routing: it scores what it cannot read, and relays messages that it cannot open."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import groupby
from logging import WARNING

from flwr.common import log

from fedrag_flwr.errors import CipherError
from fedrag_flwr.exchange.routing import MOST_ASKED, Floats, rounded, tagged_question, tagged_scores
from fedrag_flwr.privacy.ckks.parameters import MOST_ROWS
from fedrag_flwr.privacy.seals import check_tag, tag
from fedrag_flwr.records import (
    DeviceCard,
    EncryptedQuestion,
    EncryptedQuestions,
    EncryptedScores,
    EncryptRequest,
    HiddenRequest,
    ImportReport,
    OwnedRows,
    PeerKey,
    Question,
    RetrieveBy,
    RoundedOverview,
    RouteRequest,
    SealedMessage,
    SealedMessages,
)
from fedrag_flwr.settings import Settings
from fedrag_flwr.wire import LIMITS, MIB
from strategies.sealed_relay import Sent, fetch_sealed, fitting_messages
from strategies.server_tools import ServerTools
from strategies.transport import Request, Transport

_MOST_SEALED = 2 * LIMITS[HiddenRequest]
_ROOM = LIMITS[RoundedOverview] - MIB  # for rounded vectors; the rest is for what stands around them
_EACH = 128  # bytes of an owner's name and number
_AT_ONCE = 32  # questions of one home on their way
Waiting = Mapping[int, Sequence[Question]]  # open questions by the node of their home
SealedByHome = Mapping[int, Sequence[SealedMessage]]


class PrivateRouter:
    """Lets homes choose owners, and relays requests and evidence.

    `present` are the devices whose summaries count; `by` is what owners look for evidence with: by "nearest" homes also
    ask whom their memories name.
    """

    def __init__(
        self,
        transport: Transport,
        tools: ServerTools,
        settings: Settings,
        cards: Mapping[int, DeviceCard],
        present: frozenset[str],
        by: RetrieveBy,
    ) -> None:
        self._transport = transport
        self._tools = tools
        self._settings = settings
        self._cards = cards
        self._by: RetrieveBy = by
        self._nodes = {card.name: node_id for node_id, card in cards.items()}
        _, owners, self._rows = tools.summaries.rows(present)
        self._owners = tuple(OwnedRows(name, len(list(rows))) for name, rows in groupby(owners))
        self._held = False
        self.scored, self.scoring_seconds = 0, 0.0
        self._spent: dict[str, float] = defaultdict(
            float
        )  # seconds by question, since sealed messages were relayed last

    def hand_out(self, nodes: Sequence[int]) -> None:
        """Give devices the vectors of summaries, in a byte a value: of as many whole devices as go into a request."""
        width, reason = self._rows.shape[1], "its summaries do not go into one message with the others'"
        told = rounded(*self._whole(lambda one: one.rows * width + _EACH, _ROOM, reason))
        self._transport.exchange([Request(node_id, told) for node_id in nodes], "query.rounded_overview", ImportReport)

    def _whole(self, size: Callable[[OwnedRows], int], room: int, reason: str) -> tuple[tuple[OwnedRows, ...], Floats]:
        """Owners, and the vectors of their summaries, of as many whole devices as have room; others are named."""
        kept = self._transport.fit(self._owners, size, room, lambda one: self._nodes[one.owner], reason)
        return tuple(kept), self._tools.summaries.rows(frozenset(one.owner for one in kept))[2]

    def route(self, waiting: Waiting) -> SealedByHome:
        """The requests that homes sealed for owners of their choice, by home."""
        encrypted = self._settings.exchange == "encrypted"
        if encrypted and not self._owners and self._by != "nearest":
            return {}
        routed = self._by_scores if encrypted and self._owners else self._by_themselves
        sealed_messages: dict[int, list[SealedMessage]] = defaultdict(list)
        longest = max((len(asked) for asked in waiting.values()), default=0)
        for start in range(0, longest, _AT_ONCE):
            part = {n: asked[start : start + _AT_ONCE] for n, asked in waiting.items() if len(asked) > start}
            for node_id, messages in routed(part).items():
                sealed_messages[node_id] += messages
        return sealed_messages

    def _by_themselves(self, waiting: Waiting) -> SealedByHome:
        """By what homes hold: vectors of summaries, and memories."""
        return self._routed({node_id: self._request(asked) for node_id, asked in waiting.items()})

    def _by_memories(self, waiting: Waiting) -> SealedByHome:
        """What a home got no scores for goes to the owners that its memories name, where homes ask these at all.

        A home that did not reply, or broke the protocol, is not asked again.
        """
        return self._by_themselves(waiting) if self._by == "nearest" else {}

    def relay(self, sealed_messages: SealedByHome) -> tuple[dict[int, list[SealedMessage]], dict[str, float]]:
        """Bring requests to owners and their replies back: the messages by home, and the seconds by question.

        They are those of home's choice, of scoring, and of the slowest owner.
        """
        homes = {message.question_id: node_id for node_id, messages in sealed_messages.items() for message in messages}
        requests: dict[int, list[Sent]] = defaultdict(list)
        for node_id, messages in sealed_messages.items():
            for message in messages:
                if (owner := self._nodes.get(message.device)) is not None and owner != node_id:
                    requests[owner].append((node_id, message))
        asked = {owner: fitting_messages(self._transport, sent) for owner, sent in requests.items()}
        evidence, seconds = fetch_sealed(self._transport, asked, self._settings.inference.remote_units)
        by_home: dict[int, list[Sent]] = defaultdict(list)
        for owner, message in evidence:
            by_home[homes[message.question_id]].append((owner, message))
        given = {home: fitting_messages(self._transport, sent) for home, sent in by_home.items()}
        spent, self._spent = self._spent, defaultdict(float)
        return given, {name: seconds.get(name, 0.0) + spent.get(name, 0.0) for name in seconds.keys() | spent.keys()}

    # --- encrypted scores -----------------------------------------------------------------------------

    def _by_scores(self, waiting: Waiting) -> SealedByHome:
        transport, tools = self._transport, self._tools
        if not self._held:
            more = "its summaries are more than can be scored with the others'"
            self._owners, self._rows = self._whole(lambda one: one.rows, MOST_ROWS, more)
            try:
                tools.scorer.hold(self._rows)
            except CipherError as error:
                log(WARNING, "no question is compared with summaries: %s", error)
                return self._by_memories(waiting)
            self._held = True
        outgoing = [
            Request(
                node_id,
                EncryptRequest(tuple(asked), tools.key.public, tools.scorer.known(transport.name(node_id)), self._by),
            )
            for node_id, asked in waiting.items()
        ]
        requests, unscored = {}, {}
        for node_id, encrypted in transport.exchange(outgoing, "query.encrypt", EncryptedQuestions).items():
            try:
                scores = self._scores(node_id, encrypted, {question.id for question in waiting[node_id]})
            except CipherError as error:
                transport.miss(node_id, f"query.encrypt: {error}")
                continue
            self._spend([question.id for question in waiting[node_id]], transport.worked(encrypted.seconds))
            ids = {one.question_id for one in scores}
            asked = [question for question in waiting[node_id] if question.id in ids]
            if asked:
                requests[node_id] = self._request(asked, self._owners, scores)
            unscored[node_id] = [question for question in waiting[node_id] if question.id not in ids]
        scored, named = self._routed(requests), self._by_memories({n: rest for n, rest in unscored.items() if rest})
        return {n: [*scored.get(n, ()), *named.get(n, ())] for n in scored.keys() | named.keys()}

    def _scores(
        self, node_id: int, encrypted: EncryptedQuestions, asked: Collection[str]
    ) -> tuple[EncryptedScores, ...]:
        """Score those questions that a home was asked for, each once, and as many as its quota leaves."""
        name, scorer, tools = self._transport.name(node_id), self._tools.scorer, self._tools
        if encrypted.public:
            scorer.learn(name, encrypted.public, self._rows.shape[1])
        if scorer.known(name) != encrypted.fingerprint:
            raise CipherError("its public keys are not those that it names", where=name)
        key = tools.key.tag_key(self._cards[node_id].key)
        own: dict[str, EncryptedQuestion] = {}
        for one in encrypted.questions:
            if one.question_id in asked:
                own.setdefault(one.question_id, one)
        if len(own) < len(encrypted.questions):
            self._transport.miss(node_id, "it encrypted questions that it was not asked for, or more than once")
        known_as = (name, f"node {node_id}")  # no device's name has a space
        granted = tools.quota.take(known_as, self._settings.privacy.epoch, len(own))
        if granted < len(own):
            self._transport.miss(node_id, "its quota of encrypted questions is spent (routing.quota)")
        questions = list(own.values())[:granted]
        for one in questions:
            check_tag(key, one.tag, *tagged_question(one.question_id, encrypted.fingerprint, one.ciphertext))
        start = time.perf_counter()
        found = scorer.score(name, [one.ciphertext for one in questions]) if questions else []
        took = time.perf_counter() - start
        self._spend([one.question_id for one in questions], took)
        self.scoring_seconds += took
        self.scored += len(found)
        scores = [EncryptedScores(one.question_id, tuple(row), b"") for one, row in zip(questions, found, strict=True)]
        return tuple(
            EncryptedScores(one.question_id, one.chunks, tag(key, *tagged_scores(one, encrypted.fingerprint)))
            for one in scores
        )

    # --- messages -------------------------------------------------------------------------------------

    def _request(
        self,
        asked: Sequence[Question],
        owners: tuple[OwnedRows, ...] = (),
        scores: tuple[EncryptedScores, ...] = (),
    ) -> RouteRequest:
        peers = tuple(PeerKey(card.name, card.key) for card in self._cards.values())
        return RouteRequest(tuple(asked), peers, self._tools.key.public, owners, scores, self._by)

    def _routed(self, requests: Mapping[int, RouteRequest]) -> SealedByHome:
        """Let homes choose; a message for a question that they were not asked for is dropped and the home named."""
        outgoing = [Request(node_id, request) for node_id, request in requests.items()]
        sealed_messages: dict[int, list[SealedMessage]] = {}
        for node_id, sealed in self._transport.exchange(outgoing, "query.route", SealedMessages).items():
            asked = {question.id for question in requests[node_id].questions}
            self._spend(
                [question.id for question in requests[node_id].questions], self._transport.worked(sealed.seconds)
            )
            sealed_messages[node_id] = self._usable(sealed.messages, asked)
            if len(sealed_messages[node_id]) < len(sealed.messages):
                self._transport.miss(node_id, "it sent sealed messages for questions that are not its own, or too many")
        return sealed_messages

    def _spend(self, ids: Sequence[str], seconds: float) -> None:
        """Share seconds among the questions that they were spent on."""
        for question_id in ids:
            self._spent[question_id] += seconds / len(ids)

    def _usable(self, messages: Sequence[SealedMessage], asked: Collection[str]) -> list[SealedMessage]:
        """One sealed message of a request's size for each question and owner, and no more owners than may be asked."""
        owners: dict[str, set[str]] = defaultdict(set)
        most = MOST_ASKED if self._by == "nearest" else self._settings.routing.devices
        found = []
        for message in messages:
            chosen = owners[message.question_id]
            fits = len(message.sealed) <= _MOST_SEALED and len(chosen) < most
            if message.question_id in asked and message.device in self._nodes and message.device not in chosen and fits:
                chosen.add(message.device)
                found.append(message)
        return found
