"""FD-RAG eq. 16 over whole groups: exact ratios, sampled frequencies, memory and budget, and surrogates."""

import hashlib
import itertools
import math
import random
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from scipy import stats  # type: ignore[import-untyped, unused-ignore]

from fedrag_flwr.demo import PARTITION, PARTITION_STRONG
from fedrag_flwr.errors import BudgetError, SettingError, StoreCorruptError, StoreMismatchError
from fedrag_flwr.privacy.ldp import SENSITIVE_TYPES, _stand_ins
from fedrag_flwr.privacy.ledger import BudgetLedger, SurrogateMemo
from fedrag_flwr.privacy.operators import Bundle
from fedrag_flwr.privacy.persons import Found, find_entities
from fedrag_flwr.privacy.randomised_response import RandomisedResponse, Surrogate, probabilities, respond
from fedrag_flwr.privacy.replacement import rewrite
from fedrag_flwr.privacy.vocabulary import EntityPartition, Group, load_partition
from fedrag_flwr.text.pipeline import Pipeline
from fedrag_flwr.text.words import normalise_anchor
from simulations.benchmarks.privacy import empirical_epsilon, largest_log_ratio

EPSILONS = (0.1, 0.5, 1.0, 2.0, 8.0)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("size", [2, 5, 9, 26])
def test_no_pair_of_a_group_exceeds_epsilon(size: int, epsilon: float) -> None:
    rows = np.stack([probabilities(size, index, epsilon) for index in range(size)])
    assert np.allclose(rows.sum(axis=1), 1.0, atol=1e-12)
    assert (rows > 0).all()  # equal support
    ratios = np.log(rows[:, None, :]) - np.log(rows[None, :, :])
    assert ratios.max() <= epsilon + 1e-12
    assert rows[0, 0] == pytest.approx(math.exp(epsilon) / (math.exp(epsilon) + size - 1), abs=1e-12)
    assert rows[0, 1] == pytest.approx(1 / (math.exp(epsilon) + size - 1), abs=1e-12)


@pytest.mark.parametrize(("size", "index"), [(2, 0), (5, 0), (5, 2), (5, 4), (26, 13)])
def test_draws_follow_the_distribution(size: int, index: int) -> None:
    source = random.Random(index + 100 * size)
    draws = [respond(index, size, 1.0, source) for _ in range(20_000)]
    counts = np.bincount(draws, minlength=size)
    assert len(counts) == size
    assert stats.chisquare(counts, probabilities(size, index, 1.0) * 20_000).pvalue > 1e-4


@pytest.mark.parametrize("epsilon", EPSILONS[:4])
@pytest.mark.parametrize("size", [2, 5, 26])
def test_the_empirical_epsilon_is_not_above_epsilon(size: int, epsilon: float) -> None:
    source = random.Random(int(1000 * epsilon) + size)
    first, second = (
        np.bincount([respond(index, size, epsilon, source) for _ in range(100_000)], minlength=size)
        for index in (0, size - 1)
    )
    assert empirical_epsilon(first, second) <= epsilon
    assert math.log(first[0] / second[0]) > 0.9 * epsilon - 0.05  # and the noise is not larger than promised


def test_the_audit_sees_a_mechanism_that_breaks_its_promise() -> None:
    """One in ten draws of the true name escapes the noise: too little to see by eye, too much for epsilon 1."""
    source, rng = random.Random(4), np.random.default_rng(5)
    first, second = (
        np.bincount([i if rng.random() < 0.1 else respond(i, 5, 1.0, source) for _ in range(100_000)], minlength=5)
        for i in (0, 4)
    )
    assert empirical_epsilon(first, second) > 1.0
    assert empirical_epsilon(np.array([100, 0]), np.array([0, 100])) > 1.0
    assert empirical_epsilon(np.array([50, 50]), np.array([50, 50])) < 0.0


def test_an_output_that_only_one_name_can_give_has_no_epsilon() -> None:
    assert largest_log_ratio(np.array([[0.5, 0.5, 0.0], [0.5, 0.25, 0.25]])) == math.inf
    assert largest_log_ratio(np.array([[0.6, 0.4, 0.0], [0.4, 0.6, 0.0]])) == pytest.approx(math.log(1.5))


@pytest.mark.parametrize("path", [PARTITION, PARTITION_STRONG], ids=lambda path: path.stem)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_no_pair_of_a_shipped_group_exceeds_epsilon(path: Path, epsilon: float) -> None:
    """Every pair of entities of every group: what may stand for one may stand for the other, with a bounded ratio."""
    shipped = load_partition(path)
    for number, group in enumerate(shipped.groups):
        rows = []
        for name in group.members:
            place = shipped.find(group.type, name)
            assert place is not None
            assert place[0] == number
            rows.append(probabilities(len(group.members), place[1], epsilon))
        assert largest_log_ratio(np.stack(rows)) <= epsilon + 1e-12


def test_the_drawn_surrogates_follow_the_distribution(partition: EntityPartition, tmp_path: Path) -> None:
    """The whole way of a name, by the operating system's randomness: found in its group, drawn, remembered."""
    asked = ("PERSON", "Marie Curie")
    place = partition.find(*asked)
    assert place is not None
    members = partition.groups[place[0]].members
    memo = SurrogateMemo(tmp_path / "memo.sqlite")
    drawn = [RandomisedResponse(partition, 1.0, memo, epoch=epoch).perturb([asked])[0].name for epoch in range(1_000)]
    counts = [drawn.count(member) for member in members]
    assert sum(counts) == len(drawn)
    expected = probabilities(len(members), place[1], 1.0) * len(drawn)
    assert stats.chisquare(counts, expected).pvalue > 1e-9  # unseeded: it fails once in a thousand million runs


def test_draws_are_the_system_s(partition: EntityPartition, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the system's random bytes repeat, draws repeat; any other generator would go its own way."""
    asked = [(group.type, name) for group in partition.groups for name in group.members]

    def drawn(name: str) -> list[str]:
        memo = SurrogateMemo(tmp_path / f"{name}.sqlite")
        return [one.name for one in RandomisedResponse(partition, 0.1, memo).perturb(asked)]

    def stream(key: str) -> Callable[[int], bytes]:
        numbers = itertools.count()
        return lambda size: hashlib.sha512(f"{key} {next(numbers)}".encode()).digest()[:size]

    random.seed(0)
    first = drawn("free")
    random.seed(0)
    assert drawn("free again") != first
    fixed = []
    for number, key in enumerate(("one", "one", "other")):
        monkeypatch.setattr(random, "_urandom", stream(key))
        fixed.append(drawn(f"fixed {number}"))
    assert fixed[0] == fixed[1] != fixed[2]
    monkeypatch.setattr(random, "_urandom", bytes)
    assert drawn("zeros") == [name for _, name in asked]  # 0 lies below the probability that a name stays


def test_devices_draw_each_for_themselves(partition: EntityPartition, tmp_path: Path) -> None:
    asked = [(group.type, name) for group in partition.groups for name in group.members]
    source = random.Random(5)
    drawn = [
        RandomisedResponse(partition, 0.1, SurrogateMemo(tmp_path / device / "memo.sqlite"), source=source)
        for device in ("a", "b")
    ]
    first, second = (device.perturb(asked) for device in drawn)
    same = sum(one == other for one, other in zip(first, second, strict=True))
    assert same < 0.6 * len(asked)  # a fifth agrees by chance
    assert [device.perturb(asked) for device in drawn] == [first, second]


def test_a_surrogate_outlives_the_process_and_others_differ(partition: EntityPartition, tmp_path: Path) -> None:
    asked = [(group.type, name) for group in partition.groups for name in group.members]
    memo = SurrogateMemo(tmp_path / "memo.sqlite")
    first = RandomisedResponse(partition, 1.0, memo).perturb(asked)
    memo.close()
    again = RandomisedResponse(partition, 1.0, SurrogateMemo(tmp_path / "memo.sqlite"))
    assert again.perturb(asked) == first
    assert again.perturb([("PERSON", "MARIE  CURIE's")]) == again.perturb([("PERSON", "Marie Curie")])
    next_epoch = RandomisedResponse(partition, 1.0, SurrogateMemo(tmp_path / "memo.sqlite"), epoch=1)
    assert next_epoch.perturb(asked) != first
    for (kind, name), surrogate in zip(asked, first, strict=True):
        place = partition.find(kind, name)
        assert place is not None
        assert surrogate.name in partition.groups[place[0]].members


def test_what_another_process_wrote_first_wins(partition: EntityPartition, tmp_path: Path) -> None:
    one, two = (SurrogateMemo(tmp_path / "memo.sqlite") for _ in range(2))
    assert one.keep({"e": "Ada Lovelace"}, "v", 0) == {"e": "Ada Lovelace"}
    assert two.keep({"e": "Niels Bohr"}, "v", 0) == {"e": "Ada Lovelace"}


def test_unknown_names_are_masked(partition: EntityPartition, tmp_path: Path) -> None:
    masking = RandomisedResponse(partition, 1.0, SurrogateMemo(tmp_path / "a.sqlite"))
    assert [one.origin for one in masking.perturb([("GPE", "Reykjavik"), ("GPE", "Oslo")])] == ["mask", "group"]


def test_the_ledger_refuses_beyond_the_limit_and_remembers(partition: EntityPartition, tmp_path: Path) -> None:
    ledger = BudgetLedger(tmp_path / "ledger.sqlite", limit=2.0)
    ledger.spend("entity", "first", 1.0)
    ledger.spend("entity", "first", 1.0)
    ledger.spend("entity", "second", 1.0)
    with pytest.raises(BudgetError):
        ledger.spend("entity", "third", 0.1)
    ledger.spend("other", "third", 0.1)
    ledger.close()
    reopened = BudgetLedger(tmp_path / "ledger.sqlite", limit=2.0)
    assert reopened.spent("entity") == 2.0
    assert reopened.spent("other") == 0.1
    assert reopened.spent("unheard of") == 0.0
    with pytest.raises(BudgetError):
        reopened.spend("entity", "third", 0.1)


def test_a_spent_budget_comes_back_as_refused(partition: EntityPartition, tmp_path: Path) -> None:
    memo, ledger = SurrogateMemo(tmp_path / "memo.sqlite"), BudgetLedger(tmp_path / "ledger.sqlite", limit=1.0)
    first = RandomisedResponse(partition, 1.0, memo, ledger=ledger)
    assert first.perturb([("PERSON", "Marie Curie")])[0].origin == "group"
    later = RandomisedResponse(partition, 1.0, memo, ledger=ledger, epoch=1)
    assert [one.origin for one in later.perturb([("PERSON", "Marie Curie"), ("PERSON", "Niels Bohr")])] == [
        "refused",
        "group",
    ]


_SPENDER = """
import os, sys
from pathlib import Path
from fedrag_flwr.privacy.ledger import BudgetLedger, SurrogateMemo
ledger, memo = BudgetLedger(Path(sys.argv[1]), 1e9), SurrogateMemo(Path(sys.argv[2]))
for number in range(int(sys.argv[3])):
    ledger.spend(f"entity-{number}", "upload", 1.0)
    memo.keep({f"entity-{number}": "Niels Bohr"}, "v", 0)
os.kill(os.getpid(), 9)
"""


def test_a_killed_process_loses_nothing_that_was_written(tmp_path: Path) -> None:
    paths = (tmp_path / "ledger.sqlite", tmp_path / "memo.sqlite")
    killed = subprocess.run([sys.executable, "-c", _SPENDER, *map(str, paths), "25"], check=False)
    assert killed.returncode == -9
    ledger, memo = BudgetLedger(paths[0], 1e9), SurrogateMemo(paths[1])
    names = [f"entity-{number}" for number in range(25)]
    assert [ledger.spent(name) for name in names] == [1.0] * 25
    assert len(memo.get(names, "v", 0)) == 25


def test_threads_may_share_a_file(tmp_path: Path) -> None:
    ledger = BudgetLedger(tmp_path / "ledger.sqlite", limit=100.0)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda number: ledger.spend("entity", f"purpose-{number}", 1.0), range(40)))
    assert ledger.spent("entity") == 40.0


def test_a_torn_or_foreign_file_is_refused(tmp_path: Path) -> None:
    torn = tmp_path / "torn.sqlite"
    torn.write_bytes(b"not a database at all" * 100)
    with pytest.raises(StoreCorruptError):
        SurrogateMemo(torn)
    SurrogateMemo(tmp_path / "memo.sqlite").close()
    with pytest.raises(StoreMismatchError):
        BudgetLedger(tmp_path / "memo.sqlite", 1.0)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan, math.inf])
def test_epsilon_must_be_positive(partition: EntityPartition, tmp_path: Path, epsilon: float) -> None:
    with pytest.raises(SettingError, match="epsilon"):
        RandomisedResponse(partition, epsilon, SurrogateMemo(tmp_path / "memo.sqlite"))


CAPITALS = Group("ORG", ("UNICEF", "Oxfam", "Red Cross", "CARITAS", "Malteser"))


@pytest.mark.parametrize("spelt", [str, str.upper, str.lower])
def test_all_names_of_a_group_leave_alike_under_one_surrogate(spelt: Callable[[str], str]) -> None:
    for group in (CAPITALS, *load_partition(PARTITION).groups, *load_partition(PARTITION_STRONG).groups):
        drawn = Surrogate(group.members[1], "group")
        shown = set()
        for name in group.members:
            bundle = Bundle((spelt(f"Who wrote to {name} in 2011?"), spelt(name)), (normalise_anchor(name), "2011"))
            rewritten = rewrite(bundle, _stand_ins(Found(spelt(name), group.type, "recogniser"), drawn))
            shown.add((rewritten.prose, rewritten.anchors, rewritten.changes))
        [(prose, anchors, _)] = shown
        assert prose == (spelt("Who wrote to {} in 2011?").format(drawn.name), drawn.name)
        assert anchors == (normalise_anchor(drawn.name), "2011")


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("Mei Wu", "Mei Wu came. Wu slept, 5 wu, WU.", "Marie Curie came. Curie slept, 5 wu, WU."),
        (
            "Anna Kowalczyk-Brandt",
            "Brandt came, Kowalczyk-Brandt and Anna, as KOWALCZYK.",
            "Curie came, Curie and Marie, as Curie.",
        ),
        ("Kowalczyk-Brandt", "Brandt came, and Kowalczyk-Brandt.", "Curie came, and Marie Curie."),
    ],
)
def test_the_words_of_a_name_follow_its_surrogate(name: str, text: str, expected: str) -> None:
    drawn = Surrogate("Marie Curie", "group")
    shown = rewrite(Bundle((text,)), _stand_ins(Found(name, "PERSON", "recogniser"), drawn))
    assert shown.prose == (expected,)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("The money came from NASA in 2011.", {"NASA"}),
        ("UNICEF paid for it, and the US did not.", {"UNICEF", "US"}),
        ("Ask [PERSON] at NASA about [ORG].", {"NASA"}),
        ("[PERSON] works for [ORG] in [GPE].", set()),  # what is masked already is no name
    ],
)
def test_names_in_capitals_are_found_placeholders_not(text: str, names: set[str], pipeline: Pipeline) -> None:
    [found] = find_entities([Bundle((text,))], pipeline, frozenset(SENSITIVE_TYPES))
    assert {form.text for form in found} == names
