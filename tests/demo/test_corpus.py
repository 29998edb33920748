"""The shipped demo corpus is sound, and the checker finds planted faults."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fedrag_flwr import demo
from fedrag_flwr.demo.check import check

Records = list[dict[str, Any]]


def _copy(target: Path) -> Path:
    root = target / "demo"
    shutil.copytree(demo.CORPUS, root / "corpus")
    shutil.copy(demo.QUESTIONS, root)
    shutil.copy(demo.PUBLIC_NAMES, root)
    return root


def _first(records: Records, kind: str) -> dict[str, Any]:
    return next(record for record in records if record["kind"] == kind)


def _edit_questions(change: Callable[[Records], object]) -> Callable[[Path], None]:
    def plant(root: Path) -> None:
        path = root / "questions.jsonl"
        records = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        change(records)
        path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")

    return plant


def _update(kind: str, /, **fields: object) -> Callable[[Path], None]:
    return _edit_questions(lambda records: _first(records, kind).update(fields))


def _repeat_wording(records: Records) -> None:
    records[1]["question"] = records[0]["question"].upper().replace("?", " ?")


def _one_split(records: Records) -> None:
    for record in records:
        if record["kind"] == "comparison":
            record["split"] = "train"


def _without(kind: str) -> Callable[[Records], None]:
    def change(records: Records) -> None:
        records[:] = [record for record in records if record["kind"] != kind]

    return change


def _shorten(root: Path) -> None:
    (root / "corpus/worlds/titan.md").write_text("# Titan\n\nA moon of Saturn.\n", "utf-8")


def _lengthen(root: Path) -> None:
    (root / "corpus/worlds/titan.md").write_text("# Titan\n\n" + "moon " * 201, "utf-8")


def _untitle(root: Path) -> None:
    path = root / "corpus/worlds/titan.md"
    path.write_text(path.read_text("utf-8").split("\n", 2)[2], "utf-8")


def _same_id(root: Path) -> None:
    shutil.copy(root / "corpus/worlds/titan.md", root / "corpus/people/titan.md")


def _rename_id(root: Path) -> None:
    (root / "corpus/worlds/moon.md").rename(root / "corpus/worlds/The_Moon.md")


def _drop_device(root: Path) -> None:
    shutil.rmtree(root / "corpus/people")


def _leak_home(root: Path) -> None:
    path = root / "corpus/missions/voyager-2.md"
    path.write_text(path.read_text("utf-8") + "\nA Titan IIIE launched it.\n", "utf-8")


def _swell(root: Path) -> None:
    (root / "corpus/worlds/map.bin").write_bytes(bytes(1 << 20))


def _break_json(root: Path) -> None:
    path = root / "questions.jsonl"
    path.write_text("{\n" + path.read_text("utf-8"), "utf-8")


def _unsort_names(root: Path) -> None:
    path = root / "public_names.json"
    path.write_text(json.dumps([*json.loads(path.read_text("utf-8")), "Alan Stern"]), "utf-8")


FAULTS: dict[str, tuple[Callable[[Path], None], str]] = {
    "short document": (_shorten, "document titan: 4 words"),
    "long document": (_lengthen, "document titan: 201 words"),
    "no title": (_untitle, "document titan: no title line"),
    "id on two devices": (_same_id, "document titan: id used 2 times"),
    "id not in kebab case": (_rename_id, "document The_Moon: id is not in kebab case"),
    "device missing": (_drop_device, "devices: "),
    "too few documents": (_drop_device, "documents: 80"),
    "too large": (_swell, "total size: "),
    "malformed record": (_break_json, "questions line 1: malformed record"),
    "record without fields": (
        _edit_questions(lambda records: records[0].pop("split")),
        "questions line 1: malformed record",
    ),
    "aliases not a list": (_update("single", aliases="none"), "line 1: malformed record"),
    "names out of order": (_unsort_names, "'Alan Stern' is out of order"),
    "too few of a kind": (_edit_questions(_without("two-hop")), "kind two-hop: 0 questions"),
    "unknown kind": (_update("single", kind="riddle"), "unknown kind riddle"),
    "unknown home": (_update("unanswerable", home="attic"), "unknown home attic"),
    "unknown document": (_update("single", documents=["atlantis"]), "no document atlantis"),
    "wrong number of documents": (_update("two-hop", documents=["voyager-2"]), "has 1 documents"),
    "empty answer": (_update("single", answer="", aliases=[]), ": no answer"),
    "answer not in document": (
        _update("single", answer="Zaphod", aliases=[]),
        "answer 'Zaphod' not in voyager-1",
    ),
    "answer not in second document": (
        _update("two-hop", answer="Zaphod", aliases=[]),
        "answer 'Zaphod' not in titan-iiie",
    ),
    "answer only part of a word": (
        _update("single", answer="Saga", aliases=[]),
        "answer 'Saga' not in voyager-1",
    ),
    "answer leaks at home": (_leak_home, "answer 'Titan IIIE' is at home in voyager-2"),
    "home without first document": (
        _update("single", home="people"),
        "home people does not hold voyager-1",
    ),
    "two hops on one device": (
        _update("two-hop", documents=["voyager-2", "voyager-1"]),
        "both documents are on missions",
    ),
    "comparison with a third party": (
        _update("comparison", answer="Rosetta", aliases=[]),
        "answer 'Rosetta' not in the question",
    ),
    "compared entity in no document": (
        _update("comparison", documents=["dawn", "giotto"]),
        "answer 'Voyager 2' not in dawn or giotto",
    ),
    "unanswerable with an answer": (
        _update("unanswerable", answer="42"),
        "unanswerable, but has documents or an answer",
    ),
    "unanswerable with a document": (
        _update("unanswerable", documents=["titan"]),
        "unanswerable, but has documents or an answer",
    ),
    "question twice": (_edit_questions(_repeat_wording), "questions q001, q002: same wording"),
    "question id twice": (
        _edit_questions(lambda records: records[1].update(id="q001")),
        "question q001: id used 2 times",
    ),
    "split not by rule": (_update("single", split="neither"), "split neither, not "),
    "one split only": (_edit_questions(_one_split), "kind comparison: unbalanced splits"),
}


def test_shipped_corpus_is_sound() -> None:
    """The corpus in the package has no faults."""
    assert check(demo.CORPUS.parent) == []


def test_copy_is_sound(tmp_path: Path) -> None:
    """A copy without a planted fault has none, so the faults below are the planted ones."""
    assert check(_copy(tmp_path)) == []


@pytest.mark.parametrize(("plant", "expected"), FAULTS.values(), ids=list(FAULTS))
def test_planted_fault_is_found(tmp_path: Path, plant: Callable[[Path], None], expected: str) -> None:
    """Each planted fault is named among the problems."""
    root = _copy(tmp_path)
    plant(root)
    assert any(expected in problem for problem in check(root))


def test_all_faults_are_reported_at_once(tmp_path: Path) -> None:
    """Several faults are reported together."""
    root = _copy(tmp_path)
    for plant in (_shorten, _leak_home, _unsort_names, _break_json):
        plant(root)
    problems = "\n".join(check(root))
    assert all(part in problems for part in ("4 words", "at home", "out of order", "malformed"))


def test_empty_folder_is_reported(tmp_path: Path) -> None:
    """A folder without data gives problems, not an exception."""
    problems = check(tmp_path)
    assert any(problem.startswith("documents: 0") for problem in problems)
    assert any(problem.startswith("public names") for problem in problems)
