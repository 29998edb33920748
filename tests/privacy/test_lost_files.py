"""What the ledger says was spent, where memo or ledger is deleted, put back from a backup or cut short by a kill."""

import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from fedrag_flwr.demo import PARTITION
from fedrag_flwr.errors import BudgetError, EmptySourceError, ModelMissingError, PrivacyError, StoreFullError
from fedrag_flwr.privacy.ledger import BUDGET, MEMO, BudgetLedger, DurableFile, SurrogateMemo
from fedrag_flwr.privacy.randomised_response import RandomisedResponse, Surrogate, entity_digest
from fedrag_flwr.privacy.vocabulary import EntityPartition, load_partition
from fedrag_flwr.sqlite_errors import own_errors

Asked = list[tuple[str, str]]
EPSILON = 0.1
Release = Callable[..., list[Surrogate]]


@pytest.fixture
def asked(partition: EntityPartition) -> Asked:
    return [(group.type, name) for group in partition.groups for name in group.members]


@pytest.fixture
def release(partition: EntityPartition, asked: Asked, tmp_path: Path) -> Release:
    """Gives surrogates as a process of its own would: files are opened, asked and closed."""

    def give(limit: float = EPSILON, epoch: int = 0, names: Asked | None = None) -> list[Surrogate]:
        with closing(SurrogateMemo(tmp_path / MEMO)) as memo, closing(BudgetLedger(tmp_path / BUDGET, limit)) as ledger:
            response = RandomisedResponse(partition, EPSILON, memo, ledger=ledger, epoch=epoch)
            return response.perturb(asked if names is None else names)

    return give


def spent(folder: Path, asked: Asked) -> set[float]:
    with closing(BudgetLedger(folder / BUDGET, 1.0)) as ledger:
        return {round(ledger.spent(entity_digest(name)) / EPSILON, 6) for _, name in asked}


def origins(given: list[Surrogate]) -> set[str]:
    return {one.origin for one in given}


def test_a_restart_keeps_what_was_drawn_and_spends_nothing(release: Release, asked: Asked, tmp_path: Path) -> None:
    first = release()
    assert [release() for _ in range(3)] == [first] * 3
    assert spent(tmp_path, asked) == {1.0}


def test_without_the_memo_nothing_is_drawn_for_free(release: Release, asked: Asked, tmp_path: Path) -> None:
    release()
    for _ in range(3):
        (tmp_path / MEMO).unlink()
        with pytest.raises(BudgetError, match=r"surrogates\.sqlite: surrogates that were paid for are gone.*backup"):
            release()
    assert spent(tmp_path, asked) == {1.0}


def test_what_the_memo_lost_is_paid_again_while_there_is_budget(release: Release, asked: Asked, tmp_path: Path) -> None:
    first = release(limit=3 * EPSILON)
    for paid in (2.0, 3.0):
        (tmp_path / MEMO).unlink()
        again = release(limit=3 * EPSILON)
        assert origins(again) == {"group"}
        assert again != first
        assert spent(tmp_path, asked) == {paid}
    (tmp_path / MEMO).unlink()
    with pytest.raises(BudgetError):
        release(limit=3 * EPSILON)


def test_a_lost_memo_does_not_keep_back_names_that_never_paid(release: Release, asked: Asked, tmp_path: Path) -> None:
    release(names=asked[:5])
    (tmp_path / MEMO).unlink()
    assert origins(release(names=asked[5:])) == {"group"}
    with pytest.raises(BudgetError):
        release(names=asked[:1])
    assert origins(release(names=asked[:1], epoch=1)) == {"refused"}  # its surrogate of this epoch is not lost


def test_an_older_memo_from_a_backup_pays_for_what_it_lacks(release: Release, asked: Asked, tmp_path: Path) -> None:
    before = release(names=asked[:5])
    shutil.copy(tmp_path / MEMO, tmp_path / "backup")
    release()
    shutil.copy(tmp_path / "backup", tmp_path / MEMO)
    assert release(names=asked[:5]) == before
    with pytest.raises(BudgetError):
        release()
    assert spent(tmp_path, asked) == {1.0}


@pytest.mark.parametrize("lost", ["the ledger", "its last hours"])
def test_a_ledger_that_lost_its_own_asks_the_memo(lost: str, release: Release, asked: Asked, tmp_path: Path) -> None:
    release(names=asked[:5], limit=2 * EPSILON)
    shutil.copy(tmp_path / BUDGET, tmp_path / "backup")
    first = release(limit=2 * EPSILON)
    release(limit=2 * EPSILON, epoch=1)
    (tmp_path / BUDGET).unlink()
    if lost == "its last hours":
        shutil.copy(tmp_path / "backup", tmp_path / BUDGET)
    assert origins(release(limit=2 * EPSILON, epoch=2)) == {"refused"}
    assert spent(tmp_path, asked) == {2.0}
    assert release(limit=2 * EPSILON) == first


def test_epochs_at_once_are_limited(partition: EntityPartition, asked: Asked, release: Release, tmp_path: Path) -> None:
    release(limit=3 * EPSILON)
    with ThreadPoolExecutor(4) as pool:
        given = list(pool.map(lambda epoch: release(limit=3 * EPSILON, epoch=epoch), range(1, 9)))
    assert Counter(origin for one in given for origin in origins(one)) == {"group": 2, "refused": 6}
    assert spent(tmp_path, asked) == {3.0}


_KILLED = """
import os, sys
from pathlib import Path
from fedrag_flwr.privacy.ledger import BUDGET, MEMO, BudgetLedger, SurrogateMemo
from fedrag_flwr.privacy.randomised_response import RandomisedResponse
from fedrag_flwr.privacy.vocabulary import load_partition
folder, step, partition = Path(sys.argv[1]), sys.argv[2], load_partition(Path(sys.argv[3]))

def die(*_, **__):
    os.kill(os.getpid(), 9)

if step == "before the draw is kept":
    SurrogateMemo.keep = die
elif step == "before it is paid":
    BudgetLedger.book = die
memo, ledger = SurrogateMemo(folder / MEMO), BudgetLedger(folder / BUDGET, float(sys.argv[4]))
response = RandomisedResponse(partition, 0.1, memo, ledger=ledger)
response.perturb([(group.type, name) for group in partition.groups for name in group.members])
die()
"""


@pytest.mark.parametrize("lost", [False, True])
@pytest.mark.parametrize("step", ["before the draw is kept", "before it is paid", "before it is handed out"])
def test_a_kill_between_the_files_leaves_no_draw_for_free(step: str, lost: bool, tmp_path: Path) -> None:
    """Also right after the memo was lost, when the ledger knows an earlier draw for the same."""
    partition = load_partition(PARTITION)
    names = [(group.type, name) for group in partition.groups for name in group.members]
    limit = 2 * EPSILON if lost else EPSILON

    def response() -> RandomisedResponse:
        memo, ledger = SurrogateMemo(tmp_path / MEMO), BudgetLedger(tmp_path / BUDGET, limit)
        return RandomisedResponse(partition, EPSILON, memo, ledger=ledger)

    if lost:
        response().perturb(names)
        for file in tmp_path.glob(f"{MEMO}*"):
            file.unlink()
    words = [sys.executable, "-c", _KILLED, str(tmp_path), step, str(PARTITION), str(limit)]
    assert subprocess.run(words, check=False).returncode == -9
    with closing(SurrogateMemo(tmp_path / MEMO)) as memo:
        left = len(memo.draws([entity_digest(name) for _, name in names]))
    assert (left == 0) == (step == "before the draw is kept")
    given = response().perturb(names)
    assert origins(given) == {"group"}
    assert response().perturb(names) == given
    assert spent(tmp_path, names) == {2.0 if lost else 1.0}


WORDS = "CREATE TABLE IF NOT EXISTS words (word TEXT)"


def _put(file: DurableFile, *words: str) -> None:
    with file.writing() as connection:
        connection.executemany("INSERT INTO words VALUES (?)", [(word,) for word in words])


def test_an_error_of_ours_stays_what_it_is(tmp_path: Path) -> None:
    """Some of ours are also the operating system's."""
    with closing(DurableFile(tmp_path / "file.sqlite", "list", WORDS)) as file:
        for error in (EmptySourceError("nothing there"), PrivacyError("it may not leave"), ModelMissingError("gone")):
            with pytest.raises(type(error), match=error.what), file.writing():
                raise error
            with pytest.raises(type(error), match=error.what), own_errors(tmp_path, "other.sqlite"):
                raise error


def test_a_full_disk_is_told_and_keeps_what_was_committed(tmp_path: Path) -> None:
    with closing(DurableFile(tmp_path / "file.sqlite", "list", WORDS)) as file:
        _put(file, "first")
        with file.reading() as connection:
            connection.execute("PRAGMA max_page_count = 20")  # SQLite then behaves as on a full disk
        with pytest.raises(StoreFullError, match="the disk is full"):
            _put(file, *["long" * 1_000] * 50)
        _put(file, "last")
        with file.reading() as connection:
            assert connection.execute("SELECT word FROM words").fetchall() == [("first",), ("last",)]
