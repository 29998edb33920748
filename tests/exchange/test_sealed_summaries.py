"""Sealed summaries between three members: each reads the others', and what a server or a member may try is refused."""

import hashlib
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from fedrag_flwr import wire
from fedrag_flwr.errors import FedragError
from fedrag_flwr.exchange import summaries
from fedrag_flwr.exchange.routing import SummaryNumbers
from fedrag_flwr.exchange.sealed import context_of
from fedrag_flwr.exchange.summaries import PrivateSummaries, most_sealed
from fedrag_flwr.privacy.seals import SealingKey, seal, seal_once, tag
from fedrag_flwr.records import (
    ImportReport,
    OwnedRows,
    PeerKey,
    RoundedOverview,
    SealedMessage,
    SealedOverview,
    SealedSummaries,
    SealRequest,
    SubgraphSummary,
    SummaryOverview,
)
from fedrag_flwr.settings import RoutingSettings
from tests.strategies.federation import small_models

RUN = "7"
NAMES = ("alpha", "beta", "gamma")
ENCODER = small_models().encoder
KEYS = {name: SealingKey.fresh() for name in NAMES}
MEMBERS = tuple(PeerKey(name, KEYS[name].public) for name in NAMES)
Sealed = dict[str, SealedSummaries]


@dataclass
class Member:
    """A member, what it has to share, and what it took."""

    name: str
    folder: Path
    routing: RoutingSettings

    def __post_init__(self) -> None:
        self.held = SummaryOverview(())
        rows = ENCODER.encode([f"What {self.name} knows of {what}" for what in ("bridges", "clocks", "salt")])
        self.own = SummaryOverview(tuple(SubgraphSummary(f"s{n}", "", row, self.name) for n, row in enumerate(rows)))
        numbers = SummaryNumbers(self.folder / f"{self.name}.sqlite")
        key, routing = KEYS[self.name], self.routing
        self.part = PrivateSummaries(self.name, key, numbers, ENCODER, lambda: self.own, self._take, routing)

    def _take(self, overview: SummaryOverview) -> ImportReport:
        self.held = overview
        return ImportReport(self.name, len(overview.summaries), 0, (), 1)

    def seal(self, run: str = RUN, members: tuple[PeerKey, ...] = MEMBERS) -> SealedSummaries:
        sealed = self.part.seal(SealRequest(members), run)
        return wire.decode(wire.encode(sealed, run=run), SealedSummaries, run=run)

    def take(self, *sealed: SealedSummaries, members: tuple[PeerKey, ...] = MEMBERS) -> tuple[str, ...]:
        """Whom it refuses, of what is sent with its own keys."""
        return self.part.take(SealedOverview(members, tuple(self.kept(one) for one in sealed)), RUN).refused

    def kept(self, sealed: SealedSummaries) -> SealedSummaries:
        return replace(sealed, keys=tuple(key for key in sealed.keys if key.device == self.name))

    @property
    def owners(self) -> set[str]:
        return {one.origin for one in self.held.summaries}


@pytest.fixture(params=["float16", "int8"])
def members(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Member, ...]]:
    made = tuple(Member(name, tmp_path, RoutingSettings(precision=request.param)) for name in NAMES)
    yield made
    for one in made:
        one.part.close()


def test_each_member_reads_all_and_keeps_directions(members: tuple[Member, ...]) -> None:
    sealed = [one.seal() for one in members]
    told = np.stack([row.vector for one in members for row in one.own.summaries])
    for reader in members:
        assert reader.take(*sealed) == ()
        found = np.stack([one.vector for one in reader.held.summaries])
        assert (found * told).sum(axis=1).min() > 0.999
        assert [one.origin for one in reader.held.summaries] == [name for name in NAMES for _ in range(3)]


def test_the_largest_message_is_that_of_as_many_summaries_as_a_device_may_have(
    members: tuple[Member, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, count = "a" * 64, 60
    monkeypatch.setitem(KEYS, name, SealingKey.fresh())
    monkeypatch.setattr(summaries, "MOST_SUMMARIES", count)
    routing = members[0].routing
    rows = [SubgraphSummary(f"{number:032x}", "", members[0].own.summaries[0].vector, name) for number in range(count)]
    with closing((long := Member(name, tmp_path, routing)).part):
        long.own = SummaryOverview(tuple(rows))
        assert len(long.seal().sealed) <= most_sealed(routing.precision, ENCODER.dimension)
        monkeypatch.setattr(summaries, "MOST_SUMMARIES", count // 2)
        assert most_sealed(routing.precision, ENCODER.dimension) < len(long.seal().sealed)


def test_the_latest_stand_in_place_of_all_before(members: tuple[Member, ...]) -> None:
    alpha, beta, _ = members
    before = alpha.seal()
    assert beta.take(before) == ()
    alpha.own = SummaryOverview(alpha.own.summaries[1:])  # one is withdrawn
    after = alpha.seal()
    assert after.number == before.number + 1
    assert beta.take(after) == ()
    assert len(beta.held.summaries) == 2
    alpha.own = SummaryOverview(())
    assert beta.take(alpha.seal()) == ()
    assert not beta.owners


def test_old_ones_are_refused_also_after_a_restart(members: tuple[Member, ...], tmp_path: Path) -> None:
    alpha, beta, _ = members
    first, second = alpha.seal(), alpha.seal()
    assert beta.take(second) == ()
    beta.part.close()
    again = Member("beta", tmp_path, beta.routing)
    with closing(again.part):
        for old in (first, second):
            assert again.take(old) == ("alpha",)
            assert not again.owners
        assert again.take(alpha.seal()) == ()


def test_a_member_that_lost_its_files_has_a_new_key_and_begins_anew(
    members: tuple[Member, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alpha, beta, _ = members
    alpha.seal()
    assert beta.take(alpha.seal()) == ()
    monkeypatch.setitem(KEYS, "alpha", SealingKey.fresh())
    anew = Member("alpha", tmp_path / "anew", alpha.routing)
    now = (PeerKey("alpha", KEYS["alpha"].public), *MEMBERS[1:])
    with closing(anew.part):
        assert beta.take(anew.seal(members=now), members=now) == ()


def _forged(reader: Member, victim: SealedSummaries, sealer: SealingKey, most: int = 32) -> SealedSummaries:
    """Summaries in a member's name: as that member does it, but for whose key proves it, and how long the secret is."""
    told = replace(victim, number=victim.number + 5)
    context = context_of("summaries", RUN, f"{told.number} {reader.routing.precision} {ENCODER.id}", told.device)
    row = replace(reader.own.summaries[0], origin=told.device)
    sealed, secret = seal_once(reader.part._packed(SummaryOverview((row,)), RUN), context)
    parts = (b"summaries", context.encode(), hashlib.sha256(sealed).digest())
    proof = tag(sealer.tag_key(KEYS[reader.name].public), *parts)
    key = seal(secret[:most] + proof, KEYS[reader.name].public, context)
    return replace(told, sealed=sealed, keys=(SealedMessage("", reader.name, key),))


def _flipped(data: bytes, place: int) -> bytes:
    return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]


Lie = Callable[[Member, Sealed], SealedSummaries]
LIES: dict[str, Lie] = {
    "torn": lambda at, all_: replace(all_["alpha"], sealed=all_["alpha"].sealed[:-1]),
    "changed": lambda at, all_: replace(all_["alpha"], sealed=_flipped(all_["alpha"].sealed, 40)),
    "none": lambda at, all_: replace(all_["alpha"], sealed=b""),
    "another's": lambda at, all_: replace(all_["alpha"], sealed=all_["gamma"].sealed),
    "another's keys": lambda at, all_: replace(all_["alpha"], keys=all_["gamma"].keys),
    "another's all": lambda at, all_: replace(all_["gamma"], device="alpha"),
    "its own as another's": lambda at, all_: replace(all_["beta"], device="alpha"),
    "a higher number": lambda at, all_: replace(all_["alpha"], number=all_["alpha"].number + 1),
    "a stranger": lambda at, all_: replace(all_["alpha"], device="delta"),
    "no key": lambda at, all_: replace(all_["alpha"], keys=()),
    "another reader's key": lambda at, all_: replace(
        all_["alpha"], keys=tuple(replace(key, device="beta") for key in all_["alpha"].keys if key.device == "gamma")
    ),
    "a key that is none": lambda at, all_: replace(all_["alpha"], keys=(SealedMessage("", "beta", b"x" * 112),)),
    "a forgery": lambda at, all_: _forged(at, all_["alpha"], SealingKey.fresh()),
    "a short secret of its own": lambda at, all_: _forged(at, all_["alpha"], KEYS["alpha"], 5),
    "a forgery by a member": lambda at, all_: _forged(at, all_["alpha"], KEYS["gamma"]),
}


@pytest.mark.parametrize("lie", LIES)
def test_what_is_not_a_member_s_own_is_refused_and_the_others_stay(members: tuple[Member, ...], lie: str) -> None:
    _, beta, _ = members
    sealed = {one.name: one.seal() for one in members}
    told = LIES[lie](beta, sealed)
    assert beta.take(told, sealed["beta"], sealed["gamma"]) == (told.device,)
    assert beta.owners == {"beta", "gamma"}
    assert beta.take(sealed["alpha"]) == ()  # the true ones are still good


def test_a_forgery_needs_the_member_s_own_key(members: tuple[Member, ...]) -> None:
    alpha, beta, _ = members
    sealed = alpha.seal()
    if beta.routing.precision == "float16":  # of bytes the reader's own name stands within
        assert beta.take(_forged(beta, sealed, KEYS["alpha"])) == ()
    assert beta.take(_forged(beta, sealed, KEYS["gamma"])) == ("alpha",)


def test_of_two_of_one_member_the_first_counts(members: tuple[Member, ...]) -> None:
    alpha, beta, _ = members
    first = alpha.seal()
    alpha.own = SummaryOverview(alpha.own.summaries[1:])
    assert beta.take(first, alpha.seal()) == ("alpha",)
    assert len(beta.held.summaries) == 3


@pytest.mark.parametrize("run", ["8", ""])
def test_those_of_another_run_are_refused(members: tuple[Member, ...], run: str) -> None:
    alpha, beta, _ = members
    assert beta.take(alpha.seal(run=run)) == ("alpha",)


def test_those_of_another_setting_are_refused(members: tuple[Member, ...], tmp_path: Path) -> None:
    alpha, beta, _ = members
    other = "int8" if alpha.routing.precision == "float16" else "float16"
    gamma = Member("gamma", tmp_path / "other", RoutingSettings(precision=other))  # type: ignore[arg-type]
    with closing(gamma.part):
        assert beta.take(alpha.seal(), gamma.seal()) == ("gamma",)


def test_a_key_of_the_server_s_choice_in_a_member_s_place_reads_nothing(members: tuple[Member, ...]) -> None:
    alpha, beta, _ = members
    swapped = (MEMBERS[0], PeerKey("beta", SealingKey.fresh().public), MEMBERS[2])
    assert beta.take(alpha.seal(members=swapped)) == ("alpha",)  # seen by the member it was kept from


def test_a_member_without_a_usable_key_costs_the_others_nothing(members: tuple[Member, ...]) -> None:
    alpha, beta, _ = members
    sealed = alpha.seal(members=(PeerKey("gamma", bytes(32)), *MEMBERS[:2]))
    assert [key.device for key in sealed.keys] == ["alpha", "beta"]
    assert beta.take(sealed, members=(PeerKey("gamma", b""), *MEMBERS[:2])) == ()


def test_a_member_speaks_for_itself_alone_and_within_bounds(
    members: tuple[Member, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alpha, beta, gamma = members
    if beta.routing.precision == "float16":
        one = alpha.own.summaries[0]
        short = one.vector[:8] / np.linalg.norm(one.vector[:8])
        for bad in (replace(one, origin="beta"), replace(one, text="a sentence"), replace(one, vector=short)):
            alpha.own = SummaryOverview((bad,))
            assert beta.take(alpha.seal(), gamma.seal()) == ("alpha",)
            assert beta.owners == {"gamma"}
    monkeypatch.setattr(summaries, "MOST_SUMMARIES", 2)
    strict = Member("beta", tmp_path / "strict", beta.routing)
    with closing(strict.part):
        assert strict.take(gamma.seal()) == ("gamma",)


@pytest.mark.parametrize(("short", "count"), [(True, 100_000), (False, 300)])
def test_small_sealed_messages_cannot_ask_for_much_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, short: bool, count: int
) -> None:
    dimension = 1 if short else ENCODER.dimension
    monkeypatch.setattr(summaries, "MOST_SUMMARIES", 200)
    routing = RoutingSettings(precision="int8")
    alpha, beta = (Member(name, tmp_path, routing) for name in NAMES[:2])
    told = RoundedOverview(dimension, (OwnedRows("alpha", count),), b"\1" * (dimension * count))
    monkeypatch.setattr(PrivateSummaries, "_packed", lambda *_: wire.pack(told, run=RUN))
    with closing(alpha.part), closing(beta.part):
        sealed = alpha.seal()
        tracemalloc.start()
        assert beta.take(sealed) == ("alpha",)
        assert tracemalloc.get_traced_memory()[1] < 8 * len(sealed.sealed)
        tracemalloc.stop()


def test_a_number_is_kept_only_of_what_was_taken(members: tuple[Member, ...]) -> None:
    alpha, beta, _ = members

    def full(_: SummaryOverview) -> ImportReport:
        raise FedragError("the disk is full", where="store")

    sealed, part = alpha.seal(), beta.part
    beta.part = replace(part, keep=full)
    with pytest.raises(FedragError, match="disk is full"):
        beta.take(sealed)
    beta.part = part
    assert beta.take(sealed) == ()
