"""DRAG: no index anywhere; a question that home cannot answer walks from neighbour to neighbour until one can."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from fedrag_flwr.errors import SettingError
from fedrag_flwr.overlay.topics import LEARNT
from fedrag_flwr.overlay.topology import TOPOLOGIES, Overlay, make_overlay, measured_overlay
from fedrag_flwr.overlay.walks import Visit, Walk, WalkLesson, WalkRules
from fedrag_flwr.records import (
    AnswerMode,
    Evidence,
    GossipReply,
    GossipRequest,
    Hop,
    HopReply,
    Lesson,
    OpenQuestion,
    Progress,
    Question,
    Told,
    WalkKind,
    WalkReply,
    WalkRequest,
    because,
    silent,
)
from fedrag_flwr.settings import Settings
from strategies.discovery import quorum_of
from strategies.help import Help, HelpingRag
from strategies.server_tools import ServerTools
from strategies.topic_learning import TopicLearning
from strategies.transport import Request

CONNECTIVITY = 4  # neighbours that a new peer takes
GOSSIP_ROUNDS = 4  # hops that sketches travel


@dataclass(slots=True)
class Wanderer:
    """An open question on its way, and what it was given last."""

    asked: OpenQuestion
    walk: Walk[int]
    given: Help = field(default_factory=Help)


def topology_of(told: str) -> str | list[tuple[str, str]]:
    """Read how devices become neighbours: the name of a way to draw that, or a file of edges; raises SettingError where
    it is neither.

    Gives the name, or pairs of devices' names.
    """
    if told in TOPOLOGIES:
        return told
    try:
        lines = Path(told).expanduser().read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        fix = f"choose from {', '.join(TOPOLOGIES)}, or name a text file of edges"
        raise SettingError(f"'{told}' cannot be read as a list of edges", where="overlay.topology", fix=fix) from error
    pairs = [line.split("\t") for line in lines if line.strip()]
    if any(len(pair) != 2 for pair in pairs):
        raise SettingError("a line does not hold two names", where="overlay.topology", fix="separate them by a tab")
    return [(one, other) for one, other in pairs]


class OverlayWalk(HelpingRag):
    """The server relays hops and keeps who is whose neighbour; where a question goes the devices decide.

    It sees the vectors of open questions and their topics, and who answered. A round is one message a device, with
    the hops of all questions that are there. A device that is silent once is left out until the next questions.
    """

    mode: AnswerMode = "walk"
    _overlay: Overlay
    _nodes: Sequence[int] = ()  # peer i is the device at node _nodes[i]

    def __init__(
        self, settings: Settings, questions: Sequence[Question], tools: ServerTools, progress: Progress = silent
    ) -> None:
        super().__init__(settings, questions, tools, progress)
        self._topology = topology_of(settings.overlay.topology)

    @property
    def kind(self) -> WalkKind:
        """How questions walk."""
        raise NotImplementedError

    def share(self) -> None:
        """Make devices neighbours, and let them tell each other what they reach where walks go by that.

        Where topics are learnt, they are first; who does not come to the topics of the others takes no part.
        """
        if self.settings.overlay.topics == LEARNT:
            self._learn_topics()
        self._nodes = sorted(self.builds, key=self.transport.name)
        self._lessons: defaultdict[int, list[Lesson]] = defaultdict(list)
        self._overlay = self._connected()
        if self.kind == "sketch":
            self._gossip()

    def resolve(self) -> None:
        """Walk with every open question until home takes what was found, or there is nobody left to ask."""
        rules = WalkRules.of(self.kind)
        self._overlay.away.clear()
        peers = {self.transport.name(node_id): peer for peer, node_id in enumerate(self._nodes)}
        every = {
            name: Wanderer(asked, Walk(peers[self.questions[name].home], rules), Help(seconds=asked.seconds))
            for name, asked in self.open.items()
            if self._may_walk(asked)
        }
        going = every
        if not every and self.open:
            self.finish_at_home({})
        while going:
            self._walk(going)
            before = dict(self.open)
            found = {name: one for name, one in going.items() if one.walk.found is not None}
            self.finish_at_home({name: one.given for name, one in found.items()})
            refused = {name for name in found if name in self.open and self.open[name] is not before[name]}
            for name, one in going.items():
                self._conclude(one, refused=name in refused)
            going = {name: every[name] for name in refused}
        self._teach()
        self._report(every)

    def _may_walk(self, asked: OpenQuestion) -> bool:
        """Whether a question's vector is of the length that most devices use: another could not travel with theirs."""
        [(usual, _)] = Counter(card.dimension for card in self.cards.values()).most_common(1)
        if asked.vector.shape == (usual,):
            return True
        if (home := self.node_of(self.questions[asked.question_id].home)) is not None:
            self.transport.miss(home, "it asked with a vector of another length than the others use")
        return False

    # --- who is whose neighbour -------------------------------------------------------------------

    def _connected(self) -> Overlay:
        rng = np.random.default_rng(self.settings.seed)
        peers = {self.transport.name(node_id): peer for peer, node_id in enumerate(self._nodes)}
        if isinstance(self._topology, list):
            edges = [(peers[one], peers[other]) for one, other in self._topology if one in peers and other in peers]
            return Overlay(edges, range(len(self._nodes)))
        if self._topology == "measured":
            delays = {peer: self.transport.delays.get(node_id, 0.0) for peer, node_id in enumerate(self._nodes)}
            return measured_overlay(delays, CONNECTIVITY, rng)
        return make_overlay(len(self._nodes), CONNECTIVITY, rng)

    def _learn_topics(self) -> None:
        needed = quorum_of(self.settings.federation, len(self.cards))
        topics = self.settings.overlay.learnt_topics
        learning = TopicLearning(self.transport, self.cards, self.tools.key, topics, needed)
        held = learning.learn(list(self.builds))
        self._require_quorum(len(held), len(self.cards), "topics")
        self.builds = {node_id: self.builds[node_id] for node_id in held}

    def _names(self, peers: Sequence[int]) -> tuple[str, ...]:
        return tuple(self.transport.name(self._nodes[peer]) for peer in peers)

    def _gossip(self) -> None:
        transport, told = self.transport, defaultdict[int, list[Told]](list)
        for _ in range(GOSSIP_ROUNDS + 1):
            near = {n: self._names(self._overlay.neighbours(peer)) for peer, n in enumerate(self._nodes)}
            outgoing = [Request(n, GossipRequest(names, tuple(told[n]))) for n, names in near.items()]
            told = defaultdict(list)
            for node_id, reply in transport.exchange(outgoing, "query.gossip", GossipReply).items():
                said = {one.neighbour: one.levels for one in reply.told}
                if not said.keys() <= set(near[node_id]):
                    transport.miss(node_id, "it told what was not asked for")
                    continue
                for name, levels in said.items():
                    if (neighbour := self.node_of(name)) is not None:
                        told[neighbour].append(Told(reply.device, levels))

    # --- walking ----------------------------------------------------------------------------------

    def _walk(self, going: Mapping[str, Wanderer]) -> None:
        """Go on with walks, all at once and hop by hop, until each is over."""
        left = dict(going)
        while left:
            due: defaultdict[int, dict[str, Visit[int]]] = defaultdict(dict)
            for name, one in list(left.items()):
                if (visit := one.walk.next()) is None:
                    del left[name]
                elif visit.peer not in self._overlay.away:
                    due[visit.peer][name] = visit
            if due:
                self._round(due, going)

    def _round(self, due: Mapping[int, Mapping[str, Visit[int]]], going: Mapping[str, Wanderer]) -> None:
        """One message to each peer where questions are, with all of them."""
        outgoing = [
            Request(
                self._nodes[peer],
                WalkRequest(
                    self.kind,
                    tuple(self._hop(going[name], visit) for name, visit in visits.items()),
                    tuple(self._lessons.pop(peer, ())),
                ),
            )
            for peer, visits in due.items()
        ]
        self.tally({"walk-rounds": 1})
        replies = self.transport.exchange(outgoing, "query.walk", WalkReply)
        slowest: dict[str, float] = defaultdict(float)  # of the peers that a question visits at the same time
        for peer, visits in due.items():
            reply = replies.get(self._nodes[peer])
            if reply is None:
                self._overlay.away.add(peer)
                reply = WalkReply("", (), 0.0)
            told, worked = {one.question_id: one for one in reply.replies}, self.transport.worked(reply.seconds)
            for name, visit in visits.items():
                slowest[name] = max(slowest[name], worked / len(visits))
                self._take(going[name], visit, told.get(name))
        for name, seconds in slowest.items():
            going[name].given.seconds += seconds

    def _hop(self, one: Wanderer, visit: Visit[int]) -> Hop:
        near = one.walk.candidates(visit, self._overlay.neighbours(visit.peer))
        return Hop(one.asked.question_id, one.asked.vector, one.asked.topics, self._names(near))

    def _take(self, one: Wanderer, visit: Visit[int], said: HopReply | None) -> None:
        """A peer's word on a question: evidence, whom to ask next, or nothing, which its namer remembers."""
        if said is None:
            self._note(one, one.walk.silence(visit))
            return
        [owner] = self._names([visit.peer])
        if said.units:
            most = self.settings.inference.remote_units
            if len(said.units) <= most and all(unit.origin == owner for unit in said.units):
                one.walk.hit(visit)
                one.given.evidence = [Evidence(one.asked.question_id, said.units)]
                return
            self.transport.miss(self._nodes[visit.peer], "it sent evidence in another's name, or too much")
        near = one.walk.candidates(visit, self._overlay.neighbours(visit.peer))
        peers = dict(zip(self._names(near), near, strict=True))
        one.walk.miss(visit, [(peers[named.peer], named.score) for named in said.ranked if named.peer in peers])

    # --- what follows -----------------------------------------------------------------------------

    def _conclude(self, one: Wanderer, *, refused: bool) -> None:
        """Home took what a walk found, or refused it, and the peers on its way learn; a refused walk goes on."""
        if refused:
            one.given.seconds += self.open[one.asked.question_id].seconds
            self._note(one, one.walk.refuse())
            return
        name = one.asked.question_id
        if one.walk.found is None or name in self.answers:  # of what home never took nothing is learnt
            self._note(one, one.walk.lessons())
        self.charge(name, one.given.seconds)
        if one.walk.found is not None and (answer := self.answers.get(name)) is not None:
            told = f"walked {' > '.join(self._names(one.walk.found.path))}"
            self.answers[name] = answer.after(because("walk", told))

    def _note(self, one: Wanderer, lessons: Sequence[WalkLesson[int]]) -> None:
        """Keep lessons for peers until they are sent something."""
        name, home = one.asked.question_id, self.questions[one.asked.question_id].home
        for lesson in lessons:
            me, neighbour = self._names([lesson.peer, lesson.neighbour])
            told = Lesson(name, neighbour, one.asked.topics, lesson.distance, lesson.outcome, home=me == home)
            self._lessons[lesson.peer].append(told)

    def _teach(self) -> None:
        """Send the lessons that no hop took along."""
        outgoing = [
            Request(self._nodes[peer], WalkRequest(self.kind, (), tuple(lessons)))
            for peer, lessons in self._lessons.items()
            if lessons and peer not in self._overlay.away
        ]
        self._lessons.clear()
        self.transport.exchange(outgoing, "query.walk", WalkReply)

    def _report(self, walked: Mapping[str, Wanderer]) -> None:
        """Add up what walks took; a question that home closed by itself queried one peer and hopped nowhere."""
        counts = [one.walk.count for one in walked.values()]
        at_home = sum(one.id in self.answers and one.id not in walked for one in self.asking)
        self.tally(
            {
                "walk-questions": len(self.asking),
                "walk-hops": sum(one.hops for one in counts),
                "walk-queried": sum(one.queried for one in counts) + at_home,
                "walk-wire": sum(one.wire for one in counts),
                "walk-hits": sum(one.hit for one in counts) + at_home,
            }
        )


class TopicWalk(OverlayWalk):
    """To the neighbours that led to good answers on the question's topics; with `overlay.walk` also by sketches."""

    name = "topic-walk"

    @property
    def kind(self) -> WalkKind:
        """As the settings say."""
        return self.settings.overlay.walk


class RandomWalk(OverlayWalk):
    """To a neighbour that is drawn."""

    name = "random-walk"

    @property
    def kind(self) -> WalkKind:
        """At random."""
        return "random"


class Flooding(OverlayWalk):
    """To all neighbours."""

    name = "flooding"

    @property
    def kind(self) -> WalkKind:
        """Everywhere."""
        return "flooding"
