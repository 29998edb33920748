"""Walks whose peers answer late, stand in a ring or apart, or no longer hold what they once gave."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from flwr.app import Message

from client_app.app import app
from fedrag_flwr import wire
from fedrag_flwr.local_grid import LocalGrid
from fedrag_flwr.records import EvidenceUnit, Question, WalkReply
from fedrag_flwr.settings import Plain
from strategies import make_strategy
from strategies.overlay_walk import OverlayWalk
from tests.strategies.federation import DEVICES, NODES, Federation, FirstRun, server_tools

RUN = "1"
FOREIGN = Question("f7", "How high is Mount Cairl?", "bridges")
UNKNOWN = Question("f9", "What did the Duke of Pell eat at his wedding?", "bridges")
FORK = "bridges\tharbours\nbridges\tmuseums\nmuseums\trivers\nrivers\tpeople\n"
RING = "bridges\tharbours\nharbours\tmuseums\nmuseums\tpeople\npeople\trivers\nrivers\tbridges\n"
PARTS = "bridges\tharbours\nmuseums\tpeople\npeople\trivers\n"
JUNK = "Mount Cairl is 3 metres high."


@pytest.fixture
def fresh(first: FirstRun, tmp_path: Path) -> Federation:
    """The built federation as a fork, with stores of its own."""
    return joined(first.files.copy_to(tmp_path), FORK).with_changes(
        baselines="", strategy="topic-walk", overlay__threshold=0.7, overlay__cache_similarity=1.1
    )


def joined(files: Federation, edges: str) -> Federation:
    """The same devices with these neighbours."""
    (files.root / "edges.tsv").write_text(edges)
    return files.with_changes(overlay__topology=str(files.root / "edges.tsv"))


def prepared(files: Federation, grid: LocalGrid) -> OverlayWalk:
    """A strategy whose devices are built and know their neighbours."""
    tools = server_tools(files)
    strategy = make_strategy(files.settings.strategy, files.settings, (), tools)
    assert isinstance(strategy, OverlayWalk)
    strategy.prepare(grid, RUN)
    return strategy


def asked(files: Federation, *questions: Question) -> OverlayWalk:
    """A strategy that has asked these questions."""
    strategy = prepared(files, files.grid())
    strategy.ask(questions)
    return strategy


class LateGrid(LocalGrid):
    """A grid on which one device's first word on a question, junk that claims to know it, comes late.

    Time stands still but where nothing arrives: then a round is over.

    Parameters
    ----------
    files
        The federation.
    late
        The device.
    beside, of
        Right after whose reply to which type of message it comes, and from which batch of questions on.
    copies
        How often it comes.
    """

    def __init__(self, files: Federation, late: str, beside: tuple[str, str], of: int, copies: int) -> None:
        super().__init__(app, files.nodes, files.config)
        self.late = late
        self.beside = (NODES[beside[0]], beside[1])
        self.copies = copies
        self.now = 0.0
        self.of = of
        self.batch = 0
        self.given = 0
        self._held: Message | None = None

    def pull_messages(self, message_ids: Iterable[str]) -> list[Message]:
        """What has arrived by now, and what is late beside it."""
        arrived = super().pull_messages(message_ids)
        for reply in arrived:
            told = (reply.metadata.src_node_id, reply.metadata.message_type)
            if self._held is None and told == (NODES[self.late], "query.walk"):
                self._held = self._claiming(reply)
                return []
            if self._held is not None and told == self.beside and self.batch >= self.of:
                late = [self._travel(self._held) for _ in range(self.copies)]
                self.copies, self.given = 0, self.given + len(late)
                return [reply, *late]
        if not arrived:
            self.now += 1e6
        return arrived

    def _claiming(self, reply: Message) -> Message:
        unit = EvidenceUnit("x", JUNK, self.late, 0.99, "")
        said = wire.decode(reply.content, WalkReply, run=RUN)
        claims = tuple(replace(one, units=(unit,), ranked=()) for one in said.replies)
        reply.content = wire.encode(replace(said, replies=claims), run=RUN)
        return reply


LATE: list[tuple[str, tuple[str, str], int, int]] = [  # when, beside which reply, in which batch, how often
    ("after the walk has gone on", ("rivers", "query.walk"), 0, 1),
    ("after the round", ("bridges", "query.finish"), 0, 1),
    ("with its word on the next walk", ("harbours", "query.walk"), 1, 1),
    ("twice, with its word on the next walk", ("harbours", "query.walk"), 1, 2),
]


@pytest.mark.parametrize(("beside", "of", "copies"), [row[1:] for row in LATE], ids=[row[0] for row in LATE])
def test_a_late_word_changes_nothing_and_its_peer_is_asked_again(
    fresh: Federation, beside: tuple[str, str], of: int, copies: int
) -> None:
    grid = LateGrid(fresh, "harbours", beside, of, copies)
    strategy = prepared(fresh, grid)
    strategy.transport.clock = lambda: grid.now
    for batch in range(2):
        grid.batch, before = batch, dict(strategy.counts)
        strategy.ask([FOREIGN])  # under the same id each time: a late word on it fits the next walk but for its message
        answer = strategy.answers[FOREIGN.id]
        assert {source.partition("/")[0] for source in answer.sources} <= {"bridges", "rivers"}
        assert "walked bridges > museums > rivers" in answer.explanation
        assert strategy.counts["walk-queried"] - before.get("walk-queried", 0) == 4
        assert strategy.counts["walk-hits"] - before.get("walk-hits", 0) == 1
        # A request to each but home, and its reply: harbours owes one in the first batch only.
        assert strategy.counts["walk-wire"] - before.get("walk-wire", 0) == 2 * 3 - (batch == 0)
        assert list(strategy.outcome().traffic.missing) == ["harbours"]
    assert grid.given == copies
    reason = strategy.outcome().traffic.missing["harbours"]
    assert reason.startswith("no reply to query.walk within")


@pytest.mark.parametrize(
    ("changes", "queried"),
    [({}, 5), ({"overlay__walk": "sketch"}, 5), ({"strategy": "random-walk"}, 6), ({"strategy": "flooding"}, 5)],
    ids=["topic", "sketch", "random", "flooding"],
)
def test_a_ring_is_walked_once_and_the_walk_ends(fresh: Federation, changes: dict[str, Plain], queried: int) -> None:
    strategy = asked(joined(fresh, RING).with_changes(**changes), UNKNOWN)
    assert strategy.counts["walk-hits"] == 0
    assert strategy.counts["walk-queried"] == queried
    assert UNKNOWN.id in strategy.answers


def test_a_walk_stays_in_its_part(fresh: Federation) -> None:
    strategy = asked(joined(fresh, PARTS), FOREIGN, replace(FOREIGN, id="there", home="museums"))
    assert "walked museums > people > rivers" in strategy.answers["there"].explanation
    assert not any(source.startswith("rivers/") for source in strategy.answers["f7"].sources)  # it has an answer, too
    assert (strategy.counts["walk-hits"], strategy.counts["walk-queried"]) == (1, 2 + 3)


def test_what_rests_on_a_deleted_document_is_given_to_nobody(fresh: Federation) -> None:
    """Neither by its owner, nor by a peer on the way that once answered over it and keeps that answer."""
    files = fresh.with_changes(overlay__cache_similarity=0.95)
    other = replace(FOREIGN, id="other", home="harbours")
    for question in (FOREIGN, other):
        found = asked(files, question).answers[question.id]
        assert any(source.startswith("rivers/") for source in found.sources)
    (files.root / "data" / "rivers" / "mount-cairl.md").unlink()
    later = asked(files, replace(FOREIGN, id="later", home="people"))
    assert later.counts["walk-queried"] == len(DEVICES)  # bridges and harbours among them
    assert later.counts["walk-hits"] == 0
    assert not any(source.startswith("rivers/") for source in later.answers["later"].sources)
    assert "2,144" not in later.answers["later"].text


def test_home_does_not_give_an_answer_again_once_its_owner_deleted_the_document(fresh: Federation) -> None:
    files = fresh.with_changes(overlay__cache_similarity=0.95)
    first = asked(files, FOREIGN).answers[FOREIGN.id]
    assert any(source.startswith("rivers/") for source in first.sources)
    assert asked(files, replace(FOREIGN, id="again")).answers["again"].path == "cache"
    (files.root / "data" / "museums").joinpath("new.md").write_text("# A hut\n\nThe hut on the pass opened in 1901.\n")
    assert asked(files, replace(FOREIGN, id="still")).answers["still"].path == "cache"  # museums gave nothing for it
    (files.root / "data" / "rivers" / "mount-cairl.md").unlink()
    gone = asked(files, replace(FOREIGN, id="gone")).answers["gone"]
    assert gone.path != "cache"
    assert gone.text != first.text
