"""Tiers on disk: versions, limits, several processes, torn files, and deletion that leaves nothing behind."""

import multiprocessing
import os
import pickle
import resource
import signal
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrag_flwr.caching import AssociationGraph, CacheKeys, Tier, find_tiers
from fedrag_flwr.caching.association import MOST_HOLDERS
from fedrag_flwr.caching.fusion import FusionCaches
from fedrag_flwr.errors import StoreFullError
from fedrag_flwr.records import Answer
from fedrag_flwr.settings import CachingSettings

MIB = 2**20
OLD, NEW = {"ward": "1", "lab": "1"}, {"ward": "2", "lab": "1"}


@pytest.fixture
def tier(tmp_path: Path) -> Tier:
    return Tier(tmp_path / "answers", MIB)


def test_an_entry_is_found_under_its_own_versions_alone(tier: Tier) -> None:
    assert tier.put("k", b"told", OLD)
    assert tier.get("k", OLD) == b"told"
    assert tier.get("k", dict(reversed(OLD.items()))) == b"told"
    assert tier.get("k", NEW) is None
    assert tier.get("k", {"ward": "1"}) is None
    assert tier.get("other", OLD) is None
    stats = tier.stats()
    assert (stats.hits, stats.misses, stats.entries) == (2, 3, 1)


def test_a_tier_of_no_size_keeps_and_finds_nothing(tmp_path: Path) -> None:
    before = Tier(tmp_path / "answers", MIB)
    assert before.put("k", b"told", OLD)
    before.close()
    tier = Tier(tmp_path / "answers", 0)
    assert tier.get("k", OLD) is None
    assert not tier.holds("k", OLD)
    assert not tier.put("other", b"told", OLD)
    assert tier.get("other", OLD) is None


def test_a_change_deletes_what_it_voids_and_nothing_else(tier: Tier) -> None:
    tier.put("both", b"1", OLD)
    tier.put("lab", b"2", {"lab": "1"})
    tier.put("far", b"3", {"clinic": "7"})
    assert tier.purge(NEW) == 1
    assert not tier.holds("both", OLD)
    assert tier.holds("lab", {"lab": "1"})
    assert tier.holds("far", {"clinic": "7"})
    assert tier.purge(NEW) == 0


def filled(folder: Path) -> Path:
    """The file of a closed tier with 200 values."""
    tier = Tier(folder / "answers", 4 * MIB)
    for number in range(200):
        tier.put(f"k{number}", b"told" * 400, OLD)
    tier.close()
    return folder / "answers" / "cache.db"


@pytest.mark.parametrize("place", range(4, 60, 8))
def test_a_page_that_is_torn_while_it_is_open_costs_the_cache_and_no_more(tmp_path: Path, place: int) -> None:
    file = filled(tmp_path)
    torn = bytearray(file.read_bytes())
    torn[4_096 * place : 4_096 * (place + 1)] = bytes(4_096)
    file.write_bytes(torn)
    tier = Tier(tmp_path / "answers", 4 * MIB)
    for number in range(200):
        assert tier.get(f"k{number}", OLD) in (None, b"told" * 400)
        tier.holds(f"k{number}", OLD)
    tier.purge(NEW)
    assert tier.put("new", b"fresh", NEW)
    assert tier.get("new", NEW) == b"fresh"
    assert tier.get("k3", OLD) is None
    tier.close()


def test_a_torn_cache_can_be_emptied(tmp_path: Path) -> None:
    file = filled(tmp_path)
    torn = bytearray(file.read_bytes())
    torn[4_096 * 4 :: 2] = bytes(len(torn[4_096 * 4 :: 2]))
    file.write_bytes(torn)
    tier = Tier(tmp_path / "answers", 4 * MIB)
    tier.clear()
    assert not tier.holds("k3", OLD)
    assert tier.put("new", b"fresh", NEW)
    assert b"told" * 400 not in file.read_bytes()
    tier.close()


def test_deleted_text_is_in_no_file(tmp_path: Path) -> None:
    secret = b"Seventeen marzipan herons waltzed beneath the plumbago staircase"
    tier = Tier(tmp_path / "answers", MIB)
    for number in range(50):
        tier.put(f"k{number}", secret * 20, OLD)
    tier.put("stays", b"harmless", {"lab": "1"})
    assert any(secret in file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    tier.purge(NEW)
    assert not any(secret in file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    assert tier.get("stays", {"lab": "1"}) == b"harmless"


def test_a_full_tier_keeps_what_was_used_recently(tmp_path: Path) -> None:
    tier = Tier(tmp_path / "inputs", 200_000)
    for number in range(200):
        tier.put(f"k{number}", bytes(5_000), OLD)
        tier.get("k0", OLD)
    assert tier.stats().bytes < 300_000
    assert tier.holds("k0", OLD)
    assert tier.holds("k199", OLD)
    assert not tier.holds("k1", OLD)


def test_what_is_larger_than_the_tier_is_not_kept(tier: Tier) -> None:
    assert not tier.put("k", bytes(2 * MIB), OLD)


def test_a_torn_file_is_made_anew(tmp_path: Path) -> None:
    Tier(tmp_path / "answers", MIB).close()
    (tmp_path / "answers" / "cache.db").write_bytes(b"no database" * 1_000)
    tier = Tier(tmp_path / "answers", MIB)
    assert tier.put("k", b"told", OLD)


def _open_on_a_full_disk(folder: Path) -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, 1_000))
    with pytest.raises(StoreFullError):
        Tier(folder, 4 * MIB)


def test_a_full_disk_costs_nothing_of_a_cache(tmp_path: Path) -> None:
    folder = filled(tmp_path).parent
    child = multiprocessing.get_context("spawn").Process(target=_open_on_a_full_disk, args=(folder,))
    child.start()
    child.join()
    assert child.exitcode == 0
    assert Tier(folder, 4 * MIB).get("k3", OLD) == b"told" * 400


class Bomb:
    """Unpickling it would raise."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return (exec, ("raise SystemExit",))


def test_nothing_pickled_is_read(tmp_path: Path) -> None:
    tier = Tier(tmp_path / "answers", MIB)
    tier.put("k", b"told", OLD)
    with sqlite3.connect(tmp_path / "answers" / "cache.db") as connection:
        connection.execute("UPDATE Cache SET mode = 4, value = ?", (pickle.dumps(Bomb()),))
    with pytest.raises(ValueError, match="did not write"):
        tier.get("k", OLD)


def _write(folder: Path, start: int) -> None:
    tier = Tier(folder, MIB)
    for number in range(start, start + 25):
        tier.put(f"k{number}", str(number).encode(), OLD)
        tier.get("k0", OLD)


def test_several_processes_share_a_tier(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_write, args=(tmp_path / "inputs", 25 * n)) for n in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    tier = Tier(tmp_path / "inputs", MIB)
    assert all(tier.get(f"k{number}", OLD) == str(number).encode() for number in range(75))


def test_all_tiers_under_a_folder_are_found(tmp_path: Path) -> None:
    for name in ("inputs", "answers"):
        tier = Tier(tmp_path / "deep" / name, MIB)
        tier.put("k", b"1", OLD)
        tier.close()
    found = dict(find_tiers(tmp_path))
    assert [path.name for path in found] == ["answers", "inputs"]
    assert all(stats.entries == 1 and stats.limit == MIB for stats in found.values())


def test_a_torn_tier_is_listed_as_torn_beside_the_others(tmp_path: Path) -> None:
    filled(tmp_path)
    (tmp_path / "torn").mkdir()
    (tmp_path / "torn" / "cache.db").write_bytes(b"no database" * 1_000)
    [whole, torn] = [stats for _, stats in find_tiers(tmp_path)]
    assert (whole.name, whole.entries, whole.torn) == ("answers", 200, False)
    assert (torn.name, torn.entries, torn.torn) == ("torn", 0, True)


def test_keys_are_salted_and_last(tmp_path: Path) -> None:
    first, again, other = CacheKeys(tmp_path / "a"), CacheKeys(tmp_path / "a"), CacheKeys(tmp_path / "b")
    assert first.of("Who?") == again.of("Who?") != other.of("Who?")
    assert (tmp_path / "a" / "salt.key").stat().st_mode & 0o077 == 0


def _killed(size: int | None = None) -> bytes:
    os.kill(os.getpid(), signal.SIGKILL)
    return bytes(size or 0)


def _begin_and_die(folder: Path) -> None:
    with pytest.MonkeyPatch.context() as patching:
        patching.setattr("fedrag_flwr.privacy.seals.os.urandom", _killed)
        CacheKeys(folder)


def test_a_process_that_is_killed_while_it_makes_the_salt_stops_no_other(tmp_path: Path) -> None:
    killed = multiprocessing.get_context("spawn").Process(target=_begin_and_die, args=(tmp_path / "a",))
    killed.start()
    killed.join()
    assert killed.exitcode == -signal.SIGKILL
    assert CacheKeys(tmp_path / "a").of("Who?") == CacheKeys(tmp_path / "a").of("Who?")


KEYS: dict[str, CacheKeys] = {}


@given(st.lists(st.text(max_size=5), max_size=3), st.lists(st.text(max_size=5), max_size=3))
def test_other_parts_have_other_keys(tmp_path_factory: pytest.TempPathFactory, one: list[str], two: list[str]) -> None:
    keys = KEYS.setdefault("", CacheKeys(tmp_path_factory.getbasetemp() / "keys"))
    assert (keys.of(*one) == keys.of(*two)) == (one == two)


def test_records_that_share_rare_entities_are_nearer() -> None:
    records = {f"r{n}": ["common"] for n in range(40)}
    records["a"], records["b"], records["c"] = ["rare", "x"], ["rare", "y"], ["y", "z"]
    records["d"] = ["z"]
    graph = AssociationGraph.of(records)
    assert graph.neighbours("a") == ("b",)
    assert graph.neighbours("a", hops=2) == ("b", "c")
    assert graph.neighbours("a", hops=3) == ("b", "c", "d")
    assert graph.neighbours("r0") == ()  # what nearly all share tells nothing


@pytest.mark.parametrize(("holders", "neighbours"), [(MOST_HOLDERS, 8), (MOST_HOLDERS + 1, 0)])
def test_an_entity_of_many_records_tells_nothing_however_many_there_are(holders: int, neighbours: int) -> None:
    records = {str(number): ["ward"] if number < holders else [] for number in range(20 * MOST_HOLDERS)}
    assert len(AssociationGraph.of(records).neighbours("0")) == neighbours


@given(st.dictionaries(st.sampled_from("abcdefgh"), st.lists(st.sampled_from("uvwxyz"), max_size=4), max_size=8))
def test_neighbours_grow_with_hops_and_never_hold_the_record(records: dict[str, list[str]]) -> None:
    graph = AssociationGraph.of(records)
    for record in records:
        one, two = graph.neighbours(record), graph.neighbours(record, hops=2)
        assert two[: len(one)] == one
        assert record not in two
        assert len(set(two)) == len(two)


VERSIONS = {"ward": "1"}
OLDER = b'{"older": "form"}'
ASKED = "Who rang the bell?"
ADA = Answer("q", "Ada", "remote", 0.5)


@pytest.fixture
def caches(tmp_path: Path) -> Iterator[FusionCaches]:
    opened = FusionCaches(tmp_path, CachingSettings().bytes)
    yield opened
    opened.close()


def test_an_answer_of_an_older_form_counts_as_absent(caches: FusionCaches) -> None:
    caches.answers.put(caches.key(ASKED), OLDER, VERSIONS)
    assert caches.answer(ASKED, VERSIONS) is None
    caches.keep_answer(ASKED, ADA, VERSIONS)
    assert caches.answer(ASKED, VERSIONS) == ADA
    assert caches.answer(ASKED, VERSIONS) == ADA
