"""Building: what did not change costs nothing, what changed costs its own share, and what cannot be read is named."""

from __future__ import annotations

import gc
import os
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from spacy.tokens import Doc

from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.device.builder import GROUPINGS
from fedrag_flwr.errors import EmptySourceError, FedragError, SettingError, SourceError, StoreMismatchError
from fedrag_flwr.home_paths import RESERVED
from fedrag_flwr.hypergraph.base import LearningSettings
from fedrag_flwr.loaded_models import Models
from fedrag_flwr.memory.store import MemoryStore
from fedrag_flwr.models.base import Generator
from fedrag_flwr.records import BuildReport, Document
from fedrag_flwr.settings import Plain, Settings
from fedrag_flwr.sources.open_source import SourceSet
from fedrag_flwr.text.base import ParsedPassage
from fedrag_flwr.text.pipeline import Pipeline
from tests.strategies.federation import small_models as shared_models

TEXTS = {
    "tarn-bridge.md": "# Tarn Bridge\n\nTarn Bridge was designed by the engineer Odile Varro. It opened in 1924.\n",
    "port-ferren.txt": "Port Ferren was founded by Jonas Keel in 1702. It is a harbour that exports salt.\n",
    "ossel.md": "# Ossel\n\nThe Ossel is a river. It rises on Mount Cairl and is 410 kilometres long.\n",
}


class Watched:
    """A device in a folder of its own, whose calls of the model are counted."""

    def __init__(self, root: Path, **changes: Plain) -> None:
        self.documents = root / "documents"
        self.documents.mkdir(parents=True, exist_ok=True)
        self.root = root / "store"
        self.calls = 0
        config: dict[str, Plain] = {"memory.tokens-per-kilotoken": 0}
        config |= {key.replace("__", ".").replace("_", "-"): value for key, value in changes.items()}
        self.settings = Settings.from_config(config)

    def write(self, **texts: str) -> None:
        for name, text in (texts or TEXTS).items():
            (self.documents / name).write_text(text, encoding="utf-8")

    def open(self) -> EdgeDevice:
        shared = shared_models()

        def generator() -> Generator:
            self.calls += 1
            return shared.generator()

        tools = Models(shared.encoder, shared.pipeline, generator, shared.generator_id)
        return EdgeDevice("here", self.documents, self.root, self.settings, tools)

    def build(self, *, memories: bool = True) -> BuildReport:
        with self.open() as device:
            return device.build(memories=memories)

    def items(self) -> dict[str, set[str]]:
        """Ids of the memories that each document supports."""
        with self.open() as device:
            return {name: set(device.store.contribution(name).items) for name in device.store.digests()}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, BuildReport]:
    """A device's folder after its first build, and what that reported."""
    root = tmp_path_factory.mktemp("whole")
    watched = Watched(root)
    watched.write()
    return root, watched.build()


@pytest.fixture
def device(whole: tuple[Path, BuildReport], tmp_path: Path) -> Watched:
    """The same in a folder of its own."""
    shutil.copytree(whole[0], tmp_path, dirs_exist_ok=True)
    return Watched(tmp_path)


@pytest.fixture
def unbuilt(tmp_path: Path) -> Watched:
    watched = Watched(tmp_path)
    watched.write()
    return watched


def test_a_parse_is_let_go_as_soon_as_the_rules_have_read_it(tmp_path: Path) -> None:
    device = Watched(tmp_path)
    device.write(**{f"{n}.txt": f"Pier {n} is a harbour. It was founded in {1500 + n}.\n" for n in range(120)})
    alive: list[int] = []

    def look(phase: str, done: int, total: int) -> None:
        if phase == "generate" and done % 20 == 0:
            alive.append(sum(type(one) is Doc for one in gc.get_objects()))

    with device.open() as opened:
        assert opened.build(progress=look).added == 120
    assert 0 < max(alive) < 80  # spaCy's batch and those read ahead


def test_a_build_and_the_order_it_prepares_parse_each_document_once(
    unbuilt: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    parse, read = Pipeline.parse, Counter[str]()

    def counted(pipeline: Pipeline, documents: Iterable[Document]) -> Iterator[list[ParsedPassage]]:
        given = list(documents)
        read.update(one.id for one in given)
        return parse(pipeline, given)

    monkeypatch.setattr(Pipeline, "parse", counted)
    unbuilt.build()
    assert read == {Path(name).stem: 1 for name in TEXTS}


def test_the_first_build_makes_everything(whole: tuple[Path, BuildReport], device: Watched) -> None:
    report = whole[1]
    assert (report.documents, report.added, report.changed, report.removed) == (3, 3, 0, 0)
    assert report.passages == 3
    assert report.sentences == 6
    assert report.items > 5
    assert report.hyperedges > 1
    assert report.corpus_tokens > 30
    assert report.failed == ()
    assert all(device.items().values())


def test_an_unchanged_source_costs_nothing(unbuilt: Watched) -> None:
    first, held = unbuilt.build(), unbuilt.items()
    again = unbuilt.build()
    assert (again.version, again.items, again.hyperedges) == (first.version, first.items, first.hyperedges)
    assert (again.added, again.changed, again.removed) == (0, 0, 0)
    assert (again.cost.llm_calls, again.cost.tokens_out, unbuilt.calls) == (0, 0, 0)
    assert unbuilt.items() == held


def test_two_builds_at_a_time_do_the_work_once(unbuilt: Watched) -> None:
    with unbuilt.open() as one, unbuilt.open() as other, ThreadPoolExecutor(2) as pool:
        reports = list(pool.map(lambda each: each.build(), (one, other)))
        assert sorted(report.added for report in reports) == [0, 3]
        assert reports[0].items == reports[1].items
        one.store.verify()


def test_touched_files_are_unchanged_documents(device: Watched) -> None:
    first = device.build()
    for file in device.documents.iterdir():
        file.write_text(file.read_text(encoding="utf-8") + "\n\n", encoding="utf-8")
        os.utime(file, (1, 1))
    assert device.build().version == first.version


def learnt(device: Watched) -> tuple[object, object]:
    """The members of all hyperedges, and the ids of all memories with those that they are in."""
    with device.open() as opened:
        edges, items = opened.store.hyperedges(), opened.store.items()
        return [edge.members for edge in edges], [(item.id, item.hyperedges) for item in items]


OTHERWISE: list[dict[str, Plain]] = [
    {"hypergraph__grouping": "k-means"},
    {"hypergraph__grouping": "random", "seed": 8},
    {"seed": 8},
]


@pytest.mark.parametrize("changes", OTHERWISE)
def test_changed_settings_make_what_a_fresh_store_has(
    changes: dict[str, Plain], device: Watched, tmp_path: Path
) -> None:
    other, fresh = Watched(tmp_path, **changes), Watched(tmp_path / "fresh", **changes)
    fresh.write()
    assert fresh.build().added == other.build().changed == 3
    assert learnt(other) == learnt(fresh)
    again = other.build()
    assert (again.changed, again.cost.llm_calls) == (0, 0)


def test_a_document_that_could_not_be_read_when_settings_changed_is_made_anew_later(
    device: Watched, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes: dict[str, Plain] = {"hypergraph__grouping": "k-means"}
    monkeypatch.setitem(GROUPINGS, "k-means", LearningSettings(units_per_edge=1))  # alike in any order
    other, fresh = Watched(tmp_path, **changes), Watched(tmp_path / "fresh", **changes)
    fresh.write()
    fresh.build()
    readable = (device.documents / "ossel.md").read_bytes()
    (device.documents / "ossel.md").write_bytes("Оссель это река.".encode("cp1251"))
    assert other.build().changed == 2
    assert other.build().changed == 0
    (device.documents / "ossel.md").write_bytes(readable)
    assert other.build().changed == 1
    assert learnt(other) == learnt(fresh)
    assert other.build().changed == 0


def test_settings_that_make_no_memory_otherwise_build_nothing(device: Watched, tmp_path: Path) -> None:
    version = device.build().version
    settings: dict[str, Plain] = {"memory__delta": 0.9, "models__generator": "another"}
    assert Watched(tmp_path, **settings).build().version == version
    with_others = Watched(tmp_path, hypergraph__grouping="k-means")
    assert with_others.build(memories=False).version == version


def test_a_store_that_does_not_know_its_settings_stays_as_it_is(device: Watched, tmp_path: Path) -> None:
    version = device.build().version
    with device.open() as opened, opened.store.database.writing() as connection:
        connection.execute("DELETE FROM meta")
    assert Watched(tmp_path, hypergraph__grouping="k-means").build().version == version


CHANGES: list[tuple[str, dict[str, str], tuple[str, ...], tuple[int, int, int]]] = [
    ("changed", {"ossel.md": "# Ossel\n\nThe Ossel is a river. It rises on Mount Brae."}, ("ossel",), (0, 1, 0)),
    ("added", {"new.md": "# Salt Archive\n\nThe Salt Archive was founded in 1899."}, ("new",), (1, 0, 0)),
    ("removed", {"ossel.md": ""}, ("ossel",), (0, 0, 1)),
    (
        "all at once",
        {"new.md": "# Copper Hall\n\nCopper Hall opened in 1931.", "ossel.md": "", "port-ferren.txt": "It is a port."},
        ("new", "ossel", "port-ferren"),
        (1, 1, 1),
    ),
]


@pytest.mark.parametrize(("case", "texts", "touched", "counts"), CHANGES)
def test_a_change_costs_only_its_own_share(
    case: str,
    texts: dict[str, str],
    touched: tuple[str, ...],
    counts: tuple[int, int, int],
    whole: tuple[Path, BuildReport],
    device: Watched,
) -> None:
    first, before = whole[1], device.items()
    for name, text in texts.items():
        if text:
            device.write(**{name: text})
        else:
            (device.documents / name).unlink()
    report, after = device.build(), device.items()
    assert (report.added, report.changed, report.removed) == counts
    assert report.version > first.version
    assert {name: ids for name, ids in after.items() if name not in touched} == {
        name: ids for name, ids in before.items() if name not in touched
    }
    for name in touched:
        old, new = before.get(name, set()), after.get(name, set())
        assert old != new or not (old or new)
    gone = set().union(*before.values()) - set().union(*after.values())
    with device.open() as opened:
        assert set(opened.store.retracted_since(first.version)) == gone
        held = " ".join(item.question + item.answer for item in opened.store.items())
    assert "Mount Cairl" not in held or "ossel" not in touched
    if counts[0] == 0 and counts[1] == 0:
        assert report.corpus_tokens == 0  # nothing was read anew
    assert report.corpus_tokens < first.corpus_tokens


def test_a_document_without_a_sentence_is_named_and_the_next_build_costs_nothing(unbuilt: Watched) -> None:
    unbuilt.write(**TEXTS, **{"bare.md": "# Only a heading"})
    first = unbuilt.build()
    assert first.failed == ("bare: no sentence",)
    assert (first.documents, first.added) == (3, 3)
    again = unbuilt.build()
    assert again.failed == first.failed
    assert (again.version, again.added) == (first.version, 0)


def test_a_document_that_lost_its_sentences_loses_its_memories(device: Watched) -> None:
    device.write(**{"ossel.md": "# Ossel"})
    report = device.build()
    assert report.failed == ("ossel: no sentence",)
    assert "ossel" not in device.items()
    assert report.documents == 2


BAD: dict[str, tuple[bytes, str]] = {
    "latin.txt": ("Дом у реки".encode("cp1251"), "not UTF-8 at byte 0"),
    "blank.md": (b"  \n\n", "holds no text"),
    "broken.pdf": (b"%PDF-1.7 nothing more", "it cannot be read"),
    "half.jsonl": (b'{"text": "The Ossel was mapped by Odile Varro.", "id": "a"}\n{"text": ', "not JSON"),
    "marks.txt": (b"*** --- !!!", "holds no text"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_document_is_named_and_costs_no_other(name: str, device: Watched) -> None:
    content, reason = BAD[name]
    (device.documents / name).write_bytes(content)
    report = device.build()
    (failure,) = report.failed
    assert failure.startswith(name)
    assert reason in failure
    assert report.documents == (4 if name == "half.jsonl" else 3)
    assert device.build().version == report.version


def test_what_cannot_be_read_for_now_is_remembered(device: Watched) -> None:
    first = device.build()
    before = device.items()
    (device.documents / "ossel.md").write_bytes("Оссель это река.".encode("cp1251"))
    report = device.build()
    assert [failure.partition(":")[0] for failure in report.failed] == ["ossel.md"]
    assert (report.removed, report.version) == (0, first.version)
    assert device.items() == before
    (device.documents / "ossel.md").write_bytes(b"")  # it can be read, and says nothing
    assert device.build().removed == 1
    assert "ossel" not in device.items()


LINES = "\n".join(
    f'{{"text": "The {name} was founded by {person} in 1911.", "id": "{name}"}}'
    for name, person in (("Firle", "Odile Varro"), ("Gant", "Ada Morrow"), ("Holme", "Piet Anders"))
)


@pytest.mark.parametrize("torn", ['{"id": "Gant"}', '{"id": "Gant", "title": [1], "text": "Gone."}'])
def test_a_line_that_cannot_be_read_for_now_is_remembered(torn: str, device: Watched) -> None:
    device.write(**{"rivers.jsonl": LINES})
    device.build()
    before = device.items()
    device.write(**{"rivers.jsonl": "\n".join([LINES.split("\n")[0], torn, LINES.split("\n")[2]])})
    report = device.build()
    assert [failure.partition(": ")[0] for failure in report.failed] == ["rivers.jsonl:2"]
    assert report.removed == 0
    assert device.items() == before


def test_a_line_of_which_not_even_the_id_can_be_read_removes_nothing(device: Watched) -> None:
    device.write(**{"rivers.jsonl": LINES})
    device.build()
    before = device.items()
    device.write(**{"rivers.jsonl": LINES[:-9]})  # half written
    with pytest.raises(SourceError, match=r"not JSON.* may be one of 1 documents that are not there now") as raised:
        device.build()
    assert raised.value.where == "rivers.jsonl:3"
    assert device.items() == before
    device.write(**{"rivers.jsonl": f"{LINES}\nno document"})  # all that is known is there
    assert device.build().removed == 0
    device.write(**{"rivers.jsonl": "\n".join(LINES.split("\n")[:2])})
    assert device.build().removed == 1


def test_a_document_that_no_memory_rests_on_is_an_error_that_names_it(device: Watched) -> None:
    device.write(**{"mute.md": "# Mute\n\nIt is so.\n", **TEXTS})
    report = device.build()
    assert report.failed == ("mute: no memory",)
    assert report.documents == 4
    assert device.items()["mute"] == set()


def test_each_build_names_the_documents_that_have_no_memory(device: Watched) -> None:
    device.write(**{"mute.md": "# Mute\n\nIt is so.\n", **TEXTS})
    first, again = device.build(), device.build()
    assert first.failed == again.failed == ("mute: no memory",)
    assert (again.version, again.added) == (first.version, 0)  # to know it costs no work
    device.write(**{"quiet.md": "# Quiet\n\nSo it was.\n"})
    (device.documents / "latin.txt").write_bytes("Дом".encode("cp1251"))
    third = device.build()
    assert [failure.partition(":")[0] for failure in third.failed] == ["latin.txt", "mute", "quiet"]
    assert device.build(memories=False).failed == third.failed[:1]
    device.write(**{"mute.md": TEXTS["ossel.md"].replace("Ossel", "Mute")})
    assert [failure.partition(":")[0] for failure in device.build().failed] == ["latin.txt", "quiet"]


def test_without_memories_no_document_is_said_to_lack_one(unbuilt: Watched) -> None:
    assert unbuilt.build(memories=False).failed == ()
    assert unbuilt.build().failed == ()


def test_names_of_failed_documents_do_not_leave(device: Watched) -> None:
    (device.documents / "Marta Quist diagnosis.txt").write_bytes(b"\xff\xfe\x00")
    (device.documents / "Quist: notes.md").write_text("# Nothing", encoding="utf-8")
    (device.documents / "Quist.jsonl").write_text('{"title": "Quist: a case"}\n', encoding="utf-8")
    with device.open() as opened:
        report = opened.build()
        shown = opened.releases.report(report)
        assert len(report.failed) == len(shown.failed) == 3
        reasons = [failure.partition(": ")[2] for failure in shown.failed]
        assert "the line has no text (write its text into a field text)" in reasons
        assert "Quist" in str(report.failed)
        assert "Quist" not in repr(shown)
        hidden = [failure.partition(":")[0] for failure in shown.failed]
        assert {own for _, own in opened.store.resolve_opaque(hidden).values()} == {
            failure.rpartition(": ")[0] for failure in report.failed
        }


def test_names_of_skipped_files_do_not_leave(device: Watched) -> None:
    for name in ("Marta Quist.jpg", "Quist.xyz", "Quist.abc"):
        (device.documents / name).write_bytes(b"x")
    with device.open() as opened:
        report = opened.build()
        shown = opened.releases.report(report)
    assert report.files == shown.files > 0
    assert "Marta Quist.jpg: a picture, whose text is not recognised" in report.skipped
    assert shown.skip_counts == (
        "a picture, whose text is not recognised=1",
        "of a kind that is not read=2",
    )
    assert "Quist" not in repr(shown)


UNUSABLE: list[tuple[str, type[FedragError], str]] = [
    ("missing", SourceError, "does not exist"),
    ("empty", EmptySourceError, "holds no files"),
    ("other kinds", EmptySourceError, "no file could be read"),
    ("no folder", SettingError, "no documents"),
]


@pytest.mark.parametrize(("case", "kind", "said"), UNUSABLE)
def test_a_source_without_documents_is_an_error_of_ours(
    case: str, kind: type[FedragError], said: str, tmp_path: Path
) -> None:
    device = Watched(tmp_path)
    if case == "missing":
        device.documents.rmdir()
    if case == "other kinds":
        (device.documents / "picture.png").write_bytes(b"\x89PNG")
    with device.open() as opened:
        if case == "no folder":
            opened.sources = SourceSet(None, (), opened.models)
        with pytest.raises(kind, match=said) as refused:
            opened.build()
    assert refused.value.fix
    assert str(tmp_path) not in str(refused.value)


def test_what_comes_later_is_asked_back_against_all_that_is_held(device: Watched) -> None:
    first = "# Linwick\n\nThe town of Linwick was founded in 1888.\n"
    second = "# Linwick history\n\nThe town of Linwick was founded in 1901.\n"
    device.write(**TEXTS, **{"history.md": second})
    assert "conflict" not in str(device.build().rejects)
    device.write(**{"linwick.md": first})
    assert "conflict" in str(device.build().rejects)
    with device.open() as opened:
        asked = {item.question for item in opened.store.items() if item.support[0].startswith("linwick#")}
    assert "In what year was the town of Linwick founded?" not in asked


def test_memories_can_be_made_later(unbuilt: Watched) -> None:
    plain = unbuilt.build(memories=False)
    assert (plain.items, plain.hyperedges, plain.documents) == (0, 0, 3)
    later = unbuilt.build()
    assert (later.added, later.changed, later.documents) == (0, 0, 3)
    assert later.items > 5
    assert later.hyperedges > 1
    assert all(unbuilt.items().values())
    assert unbuilt.build(memories=False).version == unbuilt.build().version == later.version


def test_memories_made_later_are_those_made_at_once(whole: tuple[Path, BuildReport], unbuilt: Watched) -> None:
    unbuilt.build(memories=False)
    unbuilt.build()
    assert unbuilt.items() == Watched(whole[0]).items()


def test_documents_that_came_meanwhile_get_memories_too(unbuilt: Watched) -> None:
    unbuilt.build(memories=False)
    unbuilt.write(**{"new.md": "# Salt Archive\n\nThe Salt Archive was founded in 1899."})
    report = unbuilt.build()
    assert report.added == 1
    assert all(unbuilt.items().values())
    assert len(unbuilt.items()) == 4


@pytest.mark.parametrize("key", ["encoder", "dimension", "pipeline", "device"])
def test_a_store_of_other_models_is_refused_with_the_way_out(key: str, unbuilt: Watched, tmp_path: Path) -> None:
    shared = shared_models()
    identity = {
        "device": "here",
        "encoder": shared.encoder.id,
        "dimension": str(shared.encoder.dimension),
        "pipeline": shared.pipeline.id,
    }
    MemoryStore.open(unbuilt.root, identity | {key: "77"}).close()
    with pytest.raises(StoreMismatchError, match=key) as refused:
        unbuilt.open()
    assert "77" in str(refused.value)
    assert refused.value.fix
    MemoryStore.erase(unbuilt.root)  # the way out that the error names
    assert unbuilt.build().documents == 3


@pytest.mark.parametrize("name", ["", "a/b", "..", *sorted(RESERVED), "shared-memory-1", "a b", "x" * 65, ".hidden"])
def test_a_name_that_would_confuse_references_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="device's name"):
        EdgeDevice(name, None, tmp_path, Settings(), shared_models())
    assert list(tmp_path.iterdir()) == []
