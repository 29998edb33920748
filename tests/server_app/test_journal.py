"""The journal of a run: what stands in it stays, what is torn is asked again."""

import errno
import os
from dataclasses import replace
from pathlib import Path

import pytest
from flwr.app import Message
from hypothesis import given
from hypothesis import strategies as st

from fedrag_flwr.errors import FederationError, StoreFullError
from fedrag_flwr.evaluation.results import read_answers, read_summary
from fedrag_flwr.records import Answer, Cost, EvidenceUnit, Question, because, failed
from fedrag_flwr.settings import Plain
from server_app.journal import FILE, Journal
from server_app.run import questions_of, run_systems
from tests.strategies.federation import DEVICES, FirstRun

pytestmark = pytest.mark.timeout(900)  # the last test waits for the first run
TWO_LINES = (because("evidence", "two\nlines", 0.4, 0.5),)
ANSWERS = [
    Answer(f"q{number}", f"Té\n{number}", "cognizer", 0.5, ("mill/1",), Cost(1.5, 1, 20, 3), decisions=TWO_LINES)
    for number in range(6)
]


def opened(folder: Path) -> Journal:
    return Journal(folder)


def test_what_was_noted_is_there_again_and_the_last_word_counts(tmp_path: Path) -> None:
    journal = opened(tmp_path)
    unit = EvidenceUnit("1", "A secret sentence.", "mill", 1.0)
    journal.note("fedrag", [replace(one, evidence=(unit,)) for one in ANSWERS])
    journal.note("local-rag", ANSWERS[:1])
    changed = replace(ANSWERS[0], cost=Cost(9.0))
    journal.note("fedrag", [changed, *ANSWERS[1:]])
    journal.close()
    assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600
    assert b"secret" not in (tmp_path / FILE).read_bytes()
    assert len((tmp_path / FILE).read_bytes().splitlines()) == len(ANSWERS) + 2
    again = opened(tmp_path)
    assert again.answers("fedrag") == {one.question_id: one for one in [changed, *ANSWERS[1:]]}
    assert again.answers("local-rag") == {"q0": ANSWERS[0]}
    assert again.outcome("fedrag") is None
    again.close()
    again.discard()
    assert not (tmp_path / FILE).exists()


@given(cut=st.integers(0, 3_000), noise=st.binary(max_size=40))
def test_a_torn_journal_keeps_all_whole_lines(tmp_path_factory: pytest.TempPathFactory, cut: int, noise: bytes) -> None:
    folder = tmp_path_factory.mktemp("torn")
    journal = opened(folder)
    journal.note("fedrag", ANSWERS)
    journal.close()
    whole = (folder / FILE).read_bytes()
    (folder / FILE).write_bytes(whole[:cut] + noise)
    kept = whole[:cut].count(b"\n")
    torn = opened(folder)
    answers = list(torn.answers("fedrag").values())
    assert answers[:kept] == ANSWERS[:kept]
    assert len(answers) <= kept + 1  # the noise may be the very newline that was cut
    torn.note("fedrag", ANSWERS)
    torn.close()
    mended = opened(folder)
    assert mended.answers("fedrag") == {one.question_id: one for one in ANSWERS}
    mended.close()


def test_two_runs_do_not_write_to_one_journal(tmp_path: Path) -> None:
    journal = opened(tmp_path)
    with pytest.raises(FederationError, match="under way"):
        opened(tmp_path)
    journal.close()
    opened(tmp_path).close()


def test_a_run_that_has_begun_since_another_ended_keeps_its_journal(tmp_path: Path) -> None:
    ended = opened(tmp_path)
    ended.close()
    begun = opened(tmp_path)
    begun.note("fedrag", ANSWERS)
    ended.discard()
    begun.close()
    again = opened(tmp_path)
    assert again.answers("fedrag") == {one.question_id: one for one in ANSWERS}
    again.close()


class Killed(BaseException):
    """Ends a run at once, as a signal does."""


@pytest.mark.slow
def test_a_run_that_was_cut_goes_on_and_ends_as_another(first: FirstRun, tmp_path: Path) -> None:
    """Cut in the second system while its questions are asked: the first is not run again."""
    files = first.files.copy_to(tmp_path).with_changes(baselines="no-rag", resume=True, strategy="local-rag")
    asked: list[str] = []

    def cut(reply: Message) -> Message:
        asked.append(reply.metadata.message_type)
        if asked.count("query.answer") > 7:  # five devices for the first system
            raise Killed
        return reply

    with pytest.raises(Killed):
        run_systems(files.grid(cut), "1", files.settings)
    journals = list((files.root / "home" / "runs").glob(f"*/{FILE}"))
    assert len(journals) == 1
    grid = files.grid()
    resumed = _told(run_systems(grid, "1", files.settings))
    assert sum(b"query.answer" in data for data in grid.sent) == 2 * 5  # requests and replies of no-rag
    assert not journals[0].exists()
    peaceful = files.with_changes(resume=False)
    assert resumed == _told(run_systems(peaceful.grid(), "1", peaceful.settings))


@pytest.mark.slow
def test_a_broadcast_that_was_cut_keeps_the_parts_that_were_answered(
    first: FirstRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("strategies.confidential_broadcast._AT_ONCE", 1)
    changes: dict[str, Plain] = {"strategy": "confidential-broadcast", "baselines": "", "data__limit": 2}
    files = first.files.copy_to(tmp_path).with_changes(resume=True, **changes)
    opened_answers: list[Message] = []

    def cut(reply: Message) -> Message:
        if reply.metadata.message_type == "query.open_answers":
            opened_answers.append(reply)
            if len(opened_answers) == 2:
                raise Killed
        return reply

    with pytest.raises(Killed):
        run_systems(files.grid(cut), "1", files.settings)
    asked = [Question(one.question_id, one.text, one.home) for one in questions_of(files.settings)]
    journal = Journal.of(files.settings, asked)
    [answer] = journal.answers("confidential-broadcast").values()
    journal.close()
    assert answer.question_id == asked[0].id
    assert not failed(answer)


def test_a_full_disk_ends_a_run_by_its_name_and_what_ended_before_is_kept(
    first: FirstRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = first.files.copy_to(tmp_path).with_changes(baselines="no-rag", resume=True, strategy="local-rag")
    fsync, answered, full = os.fsync, [], []

    def filling(reply: Message) -> Message:
        if reply.metadata.message_type == "query.answer":
            answered.append(reply)
            if len(answered) == 2 * len(DEVICES):  # what is next to be written is the journal
                full.append(True)
        return reply

    def sync(handle: int) -> None:
        if full:
            full.clear()
            raise OSError(errno.ENOSPC, "No space left on device")
        fsync(handle)

    monkeypatch.setattr("os.fsync", sync)
    with pytest.raises(StoreFullError, match="the disk is full"):
        run_systems(files.grid(filling), "1", files.settings)
    [folder] = [path.parent for path in tmp_path.rglob("summary.json")]
    assert list(read_summary(folder).systems) == ["local-rag"]
    [kept] = (files.root / "home" / "runs").glob(f"*/{FILE}")
    opened(kept.parent).close()  # nobody holds it


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a file that takes nothing")
def test_a_journal_closes_on_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = opened(tmp_path)
    journal._file.close()
    monkeypatch.setattr(journal, "_file", os.fdopen(os.open("/dev/full", os.O_WRONLY), "wb"))
    with pytest.raises(StoreFullError, match=FILE):
        journal.note("fedrag", ANSWERS)
    assert journal.answers("fedrag") == {}
    journal.close()
    opened(tmp_path).close()


def _told(results: Path) -> list[tuple[str, str, str | None, str]]:
    return [(row.system, row.question_id, row.answer, row.path) for row in read_answers(results)]
