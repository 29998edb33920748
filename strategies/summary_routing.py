"""DGRAG: devices share summaries of what they know, and a question that home cannot answer goes to who knows more."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from fedrag_flwr.errors import SettingError, WireError
from fedrag_flwr.exchange.summaries import most_sealed
from fedrag_flwr.knowledge_graph.routing import Route, SummaryIndex
from fedrag_flwr.memory.store.pages import MOST_PAGES
from fedrag_flwr.records import (
    Answer,
    AnswerBatch,
    AnswerMode,
    Cost,
    Decision,
    ImportReport,
    OpenQuestion,
    Progress,
    Question,
    RetrieveBy,
    SealedFinish,
    SummaryBatch,
    SummaryOverview,
    because,
    declined,
    failed,
    silent,
)
from fedrag_flwr.settings import Settings
from fedrag_flwr.wire import LIMITS, MIB
from strategies.base import EVERY_EXCHANGE
from strategies.help import Help, ServingRag
from strategies.private_routing import PrivateRouter
from strategies.sealed_relay import relay_summaries
from strategies.server_tools import ServerTools
from strategies.transport import Request

OVERVIEW = 20_000  # with at most so many summaries in all, each device holds their vectors
_NO_OVERVIEW = SummaryOverview(())
_ROOM = LIMITS[SummaryOverview] - MIB  # the rest is for what stands around summaries
_EACH = 80  # bytes of a summary beside its vector and its id: its device's name, and what stands around them
_LEAST = _ROOM // 100_000 + 1  # bytes that each is counted for: an overview holds no more than so many


class SummaryRouting(ServingRag):
    """Home answers where its gate accepts a candidate; else the owners of the nearest summaries give evidence; raises
    SettingError where the server is to answer over evidence, or to route by summaries, that it may not see.

    The server sees the summaries and the vectors of open questions, as they pass the filter. Devices see the vectors of
    each other's summaries, as far as the settings say, so that the gate knows whether others know more. Who
    answers is a setting: home, over its own and others' evidence, or the server, over what owners gave, home among
    them. With `exchange` other than plain homes choose by themselves and answer, and the server relays sealed messages.
    """

    name = "summary-routing"
    mode: AnswerMode = "gated"
    exchanges = EVERY_EXCHANGE
    graph = True
    retrieve_by: RetrieveBy = "graph"
    _present: frozenset[str] = frozenset()  # the devices that shared their summaries to the end
    _private: PrivateRouter

    def __init__(
        self, settings: Settings, questions: Sequence[Question], tools: ServerTools, progress: Progress = silent
    ) -> None:
        super().__init__(settings, questions, tools, progress)
        self.routes: dict[str, tuple[str, ...]] = {}  # the owners that were asked, by question
        exchange = self.settings.exchange
        if exchange != "plain" and self.reads_questions:
            raise SettingError(
                "the server cannot answer over evidence that it may not see",
                where="routing.answers-at",
                fix='set it to "home", or exchange to "plain"',
            )
        if settings.graph.share == "sealed" and exchange != "download":
            raise SettingError(
                f'with exchange = "{exchange}" the server compares questions with summaries that it can read',
                where="graph.share",
                fix='set exchange to "download", or this to "vector"',
            )

    @property
    def reads_questions(self) -> bool:
        """Only where the server answers."""
        return self.settings.routing.answers_at == "server"

    def forget(self) -> None:
        """Drop the questions that were asked, their answers, and who was asked for them."""
        super().forget()
        self.routes = {}

    def share(self) -> None:
        """Exchange summaries: in the open, through the server's store; sealed, by the server that cannot read them."""
        sealed = self.settings.graph.share == "sealed"
        self._present = frozenset() if sealed else self._collect()
        self.__dict__.pop("summary_index", None)
        self._private = self.private_router()
        if sealed:
            self.tools.summaries.forget()  # what another run may have left there
            most = most_sealed(self.settings.routing.precision, self.tools.models.encoder.dimension)
            held = relay_summaries(self.transport, {node_id: self.cards[node_id] for node_id in self.builds}, most)
        else:
            held = len(self.summary_index)
            self._hand_out()
        self.counts |= {"summaries": held}

    def private_router(self) -> PrivateRouter:
        """Relays what homes ask in sealed messages, over the summaries that are there now."""
        return PrivateRouter(self.transport, self.tools, self.settings, self.cards, self._present, self.retrieve_by)

    def _collect(self) -> frozenset[str]:
        """Take from each device what is not known yet, and drop what is no longer true.

        Gives the devices that take part and did so to the end.
        """
        transport, evidence_store = self.transport, self.tools.summaries
        nodes, ended, exchange = self.there, set[int](), self.settings.exchange_for(self.mode)
        for _ in range(MOST_PAGES):
            known = {node_id: evidence_store.known_of(transport.name(node_id)) for node_id in nodes}
            outgoing = [Request(n, replace(asked, exchange=exchange)) for n, asked in known.items()]
            batches = transport.exchange(outgoing, "query.summaries", SummaryBatch)
            taken = {node_id: batch.more for node_id, batch in batches.items() if self._takes(node_id, batch)}
            ended |= {node_id for node_id, more in taken.items() if not more}
            nodes = [node_id for node_id, more in taken.items() if more]
            if not nodes:
                break
        for node_id in nodes:
            transport.miss(node_id, "it sent summaries without coming to an end")
        return frozenset(transport.name(node_id) for node_id in ended & self.builds.keys())

    def _hand_out(self) -> None:
        """Give devices the vectors of all summaries, or nothing in place of what they had before."""
        settings, nodes = self.settings, self.there
        if settings.exchange == "download" and settings.routing.precision == "int8" and self._present:
            self._private.hand_out(nodes)
            return
        fits = len(self.summary_index) <= OVERVIEW and settings.exchange == "plain"
        told = self._overview() if fits or settings.exchange == "download" else _NO_OVERVIEW
        self.transport.exchange([Request(node_id, told) for node_id in nodes], "query.overview", ImportReport)

    def _overview(self) -> SummaryOverview:
        """The vectors of as many whole devices' summaries as go into a request; who is left out is named."""
        told = self.tools.summaries.overview(self._present).summaries
        sizes: dict[str, int] = defaultdict(int)
        for one in told:
            sizes[one.origin] += max(2 * len(one.vector) + len(one.id.encode()) + _EACH, _LEAST)
        reason = "its summaries do not go into one message with the others'"
        fit = set(self.transport.fit(list(sizes), sizes.__getitem__, _ROOM, self.node_of, reason))
        return SummaryOverview(tuple(one for one in told if one.origin in fit))

    def _takes(self, node_id: int, batch: SummaryBatch) -> bool:
        transport = self.transport
        try:
            self.tools.summaries.take(batch)
        except WireError as error:
            transport.miss(node_id, f"query.summaries: {error}")
            return False
        return True

    @cached_property
    def summary_index(self) -> SummaryIndex:
        """The summaries of the devices that take part."""
        return self.tools.summaries.index(self._present, self.settings.seed)

    def resolve(self) -> None:
        """Ask the owners of the nearest summaries, and let home or the server answer."""
        if self.settings.exchange == "plain":
            self._resolve_openly()
        else:
            self._resolve_privately()

    def _resolve_openly(self) -> None:
        routes = {question_id: self.route(asking) for question_id, asking in self.open.items()}
        drafts = {question_id: draft_of(asking) for question_id, asking in self.open.items()}
        asked = ((name, self.node_of(owner), ()) for name, route in routes.items() for owner in route.owners)
        help_given = self.ask_owners(self.requests(asked), self.retrieve_by)
        if self.settings.routing.answers_at == "server":
            self.answer_here(help_given)
        else:
            self.finish_at_home(help_given)
        for question_id, route in routes.items():
            seconds = help_given.get(question_id, Help()).seconds
            best = max((hit.score for hit in route.hits), default=0.0)
            told = because("routing", f"routed by {route.explanation}", best)
            self._settle(question_id, told, seconds, drafts[question_id])
        self._count({question_id: route.owners for question_id, route in routes.items()})

    def _resolve_privately(self) -> None:
        """Homes choose and ask by sealed messages that the server relays: it sees whom a home asks, not what."""
        drafts = {question_id: draft_of(asking) for question_id, asking in self.open.items()}
        waiting = self.waiting()
        sealed_messages = self._private.route(waiting)
        given, seconds = self._private.relay(sealed_messages)
        outgoing = [
            Request(node_id, SealedFinish(tuple(asked), tuple(given.get(node_id, ())), self.mode))
            for node_id, asked in waiting.items()
        ]
        for node_id, batch in self.transport.exchange(outgoing, "query.finish_sealed", AnswerBatch).items():
            self.take(node_id, batch)
        owners: dict[str, tuple[str, ...]] = dict.fromkeys(drafts, ())
        for messages in sealed_messages.values():
            for message in messages:
                owners[message.question_id] += (message.device,)
        for question_id, asked in owners.items():
            told = because("routing", f"routed at home to {', '.join(asked) or 'nobody'}")
            self._settle(question_id, told, seconds.get(question_id, 0.0), drafts[question_id])
        self._count(owners)
        self.counts |= {"scored": self._private.scored, "scoring-ms": round(1000 * self._private.scoring_seconds)}

    def _count(self, owners: Mapping[str, tuple[str, ...]]) -> None:
        self.routes |= owners
        asked = Counter(name for names in owners.values() for name in names)
        self.tally({f"routing-{name}": count for name, count in asked.items()} | {"routed": len(owners)})

    def route(self, asking: OpenQuestion) -> Route:
        """Which owners to ask; home among them only where the server answers, which does not see home's evidence."""
        routing, home = self.settings.routing, self.questions[asking.question_id].home
        without = () if routing.answers_at == "server" else (home,)
        if not len(self.summary_index) or asking.vector.shape != (self.tools.models.encoder.dimension,):
            return Route((), ())
        return self.summary_index.route(asking.vector, routing.summaries, routing.devices, without)

    def _settle(self, question_id: str, routed: Decision, seconds: float, draft: Answer) -> None:
        """Home's draft stands where nobody answered, or over evidence that failed the model; all of it has its cost."""
        answer = self.answers.get(question_id, declined(question_id, "nobody could help"))
        if question_id not in self.answers or failed(answer):
            answer = replace(draft, decisions=answer.decisions, cost=answer.cost)
            self.open.pop(question_id, None)
        cost = answer.cost + draft.cost + Cost(seconds=seconds)
        self.answers[question_id] = replace(answer, cost=cost).after(*draft.decisions, routed)


def draft_of(asking: OpenQuestion) -> Answer:
    """Home's draft for an open question; without one of this question an abstention that took home as long."""
    for draft in asking.drafts:
        if draft.question_id == asking.question_id:
            return draft
    return Answer(asking.question_id, "", "abstained", 0.0, cost=Cost(seconds=asking.seconds))
