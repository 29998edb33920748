"""The outbox: what waits is unreadable without the key, is offered in turn, and is bounded."""

from pathlib import Path

import pytest

from fedrag_flwr.errors import StoreCorruptError, StoreError
from fedrag_flwr.memory.store import outbox as module
from fedrag_flwr.memory.store.outbox import KEY, Outbox
from fedrag_flwr.records import Question

CANARY = "Why was Ilse Quarrow admitted on Tuesday?"


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def make(tmp_path: Path, clock: Clock | None = None) -> Outbox:
    return Outbox(tmp_path / "kept", clock or Clock())


def ask(name: str, text: str = CANARY) -> Question:
    return Question(name, text, "here")


def test_what_waits_is_unreadable_on_disk(tmp_path: Path) -> None:
    sealed = make(tmp_path)
    sealed.put(ask("q1"))
    assert [(one.id, one.text, one.asked, one.tries) for one in sealed.waiting()] == [("q1", CANARY, 1000.0, 0)]
    written = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert len(written) > 1
    assert not any(b"Quarrow" in data for data in written)
    key = tmp_path / "kept" / KEY
    assert key.stat().st_mode & 0o777 == 0o600


def test_a_key_that_cannot_be_made_or_read_is_an_error_of_ours(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("a file where the folder is to be")
    with pytest.raises(StoreError, match="cannot be used"):
        make(tmp_path).put(ask("q1"))
    (tmp_path / "kept").unlink()
    make(tmp_path).put(ask("q1"))
    (tmp_path / "kept" / KEY).unlink()
    (tmp_path / "kept" / KEY).mkdir()
    with pytest.raises(StoreError, match="cannot be used"):
        make(tmp_path).waiting()


def test_another_key_opens_nothing(tmp_path: Path) -> None:
    make(tmp_path).put(ask("q1"))
    (tmp_path / "kept" / KEY).unlink()
    assert [(one.id, one.text) for one in make(tmp_path).waiting()] == [("q1", "")]
    assert not (tmp_path / "kept" / KEY).exists()  # looking makes no key
    make(tmp_path).put(ask("q2", "Who?"))  # under a new key
    sealed = make(tmp_path)
    assert [(one.id, one.text) for one in sealed.waiting()] == [("q2", "Who?"), ("q1", "")]
    assert [one.id for one in sealed.offer(9, 1)[0]] == ["q2"]
    assert [(one.id, one.tries) for one in sealed.waiting()] == [("q2", 1), ("q1", 0)]
    assert sealed.withdraw("q1")
    (tmp_path / "kept" / KEY).write_bytes(b"torn")
    with pytest.raises(StoreCorruptError, match="holds no key"):
        make(tmp_path).waiting()


def test_a_key_may_come_from_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path).put(ask("before"))
    given = tmp_path / "credentials"
    given.mkdir()
    (tmp_path / "kept" / KEY).rename(given / KEY)
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(given))
    sealed = make(tmp_path)
    sealed.put(ask("q1"))
    assert [one.id for one in sealed.waiting()] == ["q1", "before"]
    assert not (tmp_path / "kept" / KEY).exists()


def test_questions_are_offered_in_turn_and_not_too_often(tmp_path: Path) -> None:
    clock = Clock()
    sealed = make(tmp_path, clock)
    for name in "abc":
        sealed.put(ask(name))
    assert [one.id for one in sealed.offer(2, 2)[0]] == ["a", "b"]
    assert [one.id for one in sealed.offer(2, 2)[0]] == ["c"]
    assert sealed.offer(2, 2) == ([], [])
    clock.now += module.RETRY_SECONDS + 1
    assert [one.tries for one in sealed.offer(9, 2)[0]] == [2, 2, 2]
    clock.now += module.RETRY_SECONDS + 1
    assert sealed.offer(9, 2) == ([], ["a", "b", "c"])
    assert len(sealed) == 3  # whoever closes them withdraws them


def test_a_clock_that_was_set_back_makes_nobody_wait(tmp_path: Path) -> None:
    clock = Clock()
    sealed = make(tmp_path, clock)
    sealed.put(ask("q1"))
    sealed.offer(1, 9)
    clock.now -= 86_400
    assert [one.id for one in sealed.offer(1, 9)[0]] == ["q1"]


def test_texts_come_back_for_what_waits_here_alone(tmp_path: Path) -> None:
    sealed = make(tmp_path)
    sealed.put(ask("q1"))
    told = sealed.recalled([ask("q1", ""), ask("q2", ""), ask("q3", "Who?")])
    assert [(one.id, one.text) for one in told] == [("q1", CANARY), ("q3", "Who?")]
    assert sealed.withdraw("q1")
    assert not sealed.withdraw("q1")
    assert sealed.recalled([ask("q1", "")]) == []


def test_twice_is_once(tmp_path: Path) -> None:
    sealed = make(tmp_path)
    sealed.put(ask("q1"))
    sealed.offer(1, 9)
    sealed.put(ask("q1", "something else"))
    assert [(one.text, one.tries) for one in sealed.waiting()] == [(CANARY, 1)]


def test_no_more_than_so_many_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 2)
    sealed = make(tmp_path)
    sealed.put(ask("q1"))
    sealed.put(ask("q2"))
    sealed.put(ask("q2"))
    with pytest.raises(StoreError, match="wait already"):
        sealed.put(ask("q3"))
    assert len(sealed) == 2


def test_an_outbox_that_was_never_used_is_empty(tmp_path: Path) -> None:
    sealed = make(tmp_path)
    assert (len(sealed), sealed.waiting(), sealed.offer(1, 1), sealed.withdraw("q")) == (0, [], ([], []), False)
    assert not (tmp_path / "kept" / KEY).exists()
