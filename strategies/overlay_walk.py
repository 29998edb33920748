"""DRAG: no index anywhere; a question that home cannot answer walks from neighbour to neighbour until one can."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from fedrag_flwr.errors import SettingError
from fedrag_flwr.overlay import Overlay, Visit, Walk, WalkLesson, WalkRules, make_overlay, measured_overlay
from fedrag_flwr.records import (
    AnswerMode,
    Evidence,
    GossipReply,
    GossipRequest,
    Hop,
    HopReply,
    Lesson,
    OpenQuestion,
    Told,
    WalkKind,
    WalkReply,
    WalkRequest,
)
from strategies.courier import Letter
from strategies.helping import Help, HelpingRag

_MOST_LINE = 2_000
Walks = Mapping[str, Walk[int]]  # by question


class OverlayWalk(HelpingRag):
    """The server relays hops and keeps who is whose neighbour; where a question goes the devices decide.

    It sees the vectors of open questions and their topics, and who answered. A round is one message a device, with
    the hops of all questions that are there. A device that is silent once is left out until the next questions.
    """

    mode: AnswerMode = "walk"
    _overlay: Overlay
    _nodes: Sequence[int] = ()  # peer i is the device at node _nodes[i]

    @property
    def kind(self) -> WalkKind:
        """How questions walk."""
        raise NotImplementedError

    def share(self) -> None:
        """Make devices neighbours, and let them tell each other what they reach where walks go by that."""
        self._nodes = sorted(self.builds, key=self._courier.name)
        self._away: set[int] = set()
        self._lessons: defaultdict[int, list[Lesson]] = defaultdict(list)
        self._overlay = self._connected()
        if self.kind == "sketch":
            self._gossip()

    def resolve(self) -> None:
        """Walk with every open question until home takes what was found, or there is nobody left to ask."""
        overlay = self.settings.overlay
        rules = WalkRules(self.kind, overlay.max_hops, overlay.fanout)
        for peer in sorted(self._away):
            self._overlay.come_back(peer, overlay.connectivity, np.random.default_rng(self.settings.seed))
        self._away.clear()
        peers = {self._courier.name(node_id): peer for peer, node_id in enumerate(self._nodes)}
        asked = dict(self.open)
        walks = {name: Walk(peers[self.questions[name].home], rules) for name in asked}
        going: Walks = walks
        while going:
            found = self._walk(going, asked)
            before = dict(self.open)
            self.finish_at_home(found)
            refused = {name for name in found if name in self.open and self.open[name] is not before[name]}
            for name, given in found.items():
                self._conclude(walks[name], asked[name], given, good=name not in refused)
            going = {name: walks[name] for name in refused}
        self._teach()
        self._report(walks)

    # --- who is whose neighbour -------------------------------------------------------------------

    def _connected(self) -> Overlay:
        overlay, rng = self.settings.overlay, np.random.default_rng(self.settings.seed)
        if overlay.topology == "edges":
            return Overlay(self._listed(Path(overlay.edges).expanduser()), range(len(self._nodes)))
        if overlay.topology == "measured":
            delays = {peer: self._courier.delays.get(node_id, 0.0) for peer, node_id in enumerate(self._nodes)}
            return measured_overlay(delays, overlay.connectivity, rng)
        return make_overlay(overlay.topology, len(self._nodes), overlay.connectivity, rng)

    def _listed(self, file: Path) -> list[tuple[int, int]]:
        peers = {self._courier.name(node_id): peer for peer, node_id in enumerate(self._nodes)}
        try:
            pairs = [line.split("\t") for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]
        except (OSError, ValueError) as error:
            raise SettingError("the list cannot be read", where="overlay.edges", fix="name a text file") from error
        if any(len(pair) != 2 for pair in pairs):
            raise SettingError("a line does not hold two names", where="overlay.edges", fix="separate them by a tab")
        return [(peers[one], peers[other]) for one, other in pairs if one in peers and other in peers]

    def _names(self, peers: Sequence[int]) -> tuple[str, ...]:
        return tuple(self._courier.name(self._nodes[peer]) for peer in peers)

    def _gossip(self) -> None:
        courier, told = self._courier, defaultdict[int, list[Told]](list)
        for _ in range(self.settings.overlay.gossip_rounds + 1):
            near = {n: self._names(self._overlay.neighbours(peer)) for peer, n in enumerate(self._nodes)}
            letters = [Letter(n, GossipRequest(names, tuple(told[n]))) for n, names in near.items()]
            told = defaultdict(list)
            for node_id, reply in courier.exchange(letters, "query.gossip", GossipReply).items():
                said = {one.neighbour: one.levels for one in reply.told}
                if reply.device != courier.name(node_id) or not said.keys() <= set(near[node_id]):
                    courier.miss(node_id, "it told what was not asked for, or in another device's name")
                    continue
                for name, levels in said.items():
                    if (neighbour := self.node_of(name)) is not None:
                        told[neighbour].append(Told(reply.device, levels))

    # --- walking ----------------------------------------------------------------------------------

    def _walk(self, walks: Walks, asked: Mapping[str, OpenQuestion]) -> dict[str, Help]:
        """Go on with walks, all at once and hop by hop, until each is over; what was found, by question."""
        found: dict[str, Help] = {}
        going = dict(walks)
        while going:
            due: defaultdict[int, dict[str, Visit[int]]] = defaultdict(dict)
            for name, walk in list(going.items()):
                if (visit := walk.next()) is None:
                    del going[name]
                elif visit.peer in self._overlay.peers:
                    due[visit.peer][name] = visit
            self._round(due, walks, asked, found)
        return found

    def _round(
        self,
        due: Mapping[int, Mapping[str, Visit[int]]],
        walks: Walks,
        asked: Mapping[str, OpenQuestion],
        found: dict[str, Help],
    ) -> None:
        letters = []
        for peer, visits in due.items():
            hops = [
                Hop(
                    name,
                    asked[name].vector,
                    asked[name].topics,
                    self._names(walks[name].candidates(visit, self._overlay.neighbours(peer))),
                )
                for name, visit in visits.items()
            ]
            lessons = tuple(self._lessons.pop(peer, ()))
            letters.append(Letter(self._nodes[peer], WalkRequest(self.kind, tuple(hops), lessons)))
        self.counts["walk-rounds"] = self.counts.get("walk-rounds", 0) + bool(letters)
        replies = self._courier.exchange(letters, "query.walk", WalkReply)
        for peer, visits in due.items():
            reply = replies.get(self._nodes[peer])
            told = {one.question_id: one for one in reply.replies} if reply else {}
            for name, visit in visits.items():
                seconds = reply.seconds / len(visits) if reply else 0.0
                self._take(walks[name], visit, told.get(name), found, name, seconds, asked[name])
            if reply is None or reply.device != self._courier.name(self._nodes[peer]):
                self._overlay.leave(peer)
                self._away.add(peer)

    def _take(
        self,
        walk: Walk[int],
        visit: Visit[int],
        said: HopReply | None,
        found: dict[str, Help],
        name: str,
        seconds: float,
        asked: OpenQuestion,
    ) -> None:
        """One peer's word on one question: evidence, whom to ask next, or nothing, which its namer remembers."""
        if said is None:
            self._note(walk.silence(visit), asked)
            return
        owner, inference = self._names([visit.peer])[0], self.settings.inference
        if said.units:
            if all(unit.origin == owner for unit in said.units) and len(said.units) <= inference.remote_units:
                walk.hit(visit)
                found[name] = Help([Evidence(name, said.units)], seconds)
                return
            self._courier.miss(self._nodes[visit.peer], "it sent evidence in another's name, or too much")
        near = walk.candidates(visit, self._overlay.neighbours(visit.peer))
        peers = dict(zip(self._names(near), near, strict=True))
        walk.miss(visit, [(peers[one.peer], one.score) for one in said.ranked if one.peer in peers])

    # --- what follows -----------------------------------------------------------------------------

    def _conclude(self, walk: Walk[int], asked: OpenQuestion, given: Help, *, good: bool) -> None:
        """Home took what a walk found, or refused it: the peers on its way learn, and a refused walk goes on."""
        if walk.found is None:
            return
        if not good:
            self._note(walk.refuse(), asked)
            return
        path = walk.found.path
        self._note(walk.lessons(), asked)
        self.charge(asked.question_id, given.seconds)
        if (answer := self.answers.get(asked.question_id)) is not None:
            told = f"{answer.explanation}; walked {' > '.join(self._names(path))}"
            self.answers[asked.question_id] = replace(answer, explanation=told[:_MOST_LINE])

    def _note(self, lessons: Sequence[WalkLesson[int]], asked: OpenQuestion) -> None:
        """Keep lessons for peers until they are sent something."""
        home = self.questions[asked.question_id].home
        for one in lessons:
            me, neighbour = self._names([one.peer, one.neighbour])
            told = Lesson(asked.question_id, neighbour, asked.topics, one.distance, one.outcome, home=me == home)
            self._lessons[one.peer].append(told)

    def _teach(self) -> None:
        """Send the lessons that no hop took along."""
        letters = [
            Letter(self._nodes[peer], WalkRequest(self.kind, (), tuple(lessons)))
            for peer, lessons in self._lessons.items()
            if lessons and peer in self._overlay.peers
        ]
        self._lessons.clear()
        self._courier.exchange(letters, "query.walk", WalkReply)

    def _report(self, walks: Walks) -> None:
        """Add up what walks took; a question that home answered by itself queried one peer and hopped nowhere."""
        counts = [walk.count for walk in walks.values()]
        at_home = len(self.asking) - len(counts)
        for name, value in {
            "walk-questions": len(self.asking),
            "walk-hops": sum(one.hops for one in counts),
            "walk-queried": sum(one.queried for one in counts) + at_home,
            "walk-wire": sum(one.wire for one in counts),
            "walk-hits": sum(one.hit for one in counts) + at_home,
        }.items():
            self.counts[name] = self.counts.get(name, 0) + value


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
