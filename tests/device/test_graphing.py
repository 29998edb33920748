"""A device's graph: built once, changed only where documents did, gone with them, shared through the filter."""

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fedrag_flwr.answering.explain import LONG
from fedrag_flwr.device import EdgeDevice, device_graph
from fedrag_flwr.device.device_graph import CommunityContents
from fedrag_flwr.device.edge import NAMES
from fedrag_flwr.device.graph_builder import GraphReport
from fedrag_flwr.device.releases import RELEASED
from fedrag_flwr.errors import WireError
from fedrag_flwr.memory.store import outbox
from fedrag_flwr.memory.store.graph_store import GraphStore
from fedrag_flwr.privacy.known_names import KnownNames
from fedrag_flwr.privacy.vectors import FEWEST, rescored
from fedrag_flwr.records import (
    Answer,
    AnswerBatch,
    AnswerMode,
    EvidenceUnit,
    Question,
    SubgraphSummary,
    SummaryBatch,
    SummaryOverview,
    SummaryRequest,
    because,
    silent,
)
from fedrag_flwr.settings import Plain, Settings
from fedrag_flwr.text.options import with_options
from tests.answering.one_word import OneWord
from tests.strategies.federation import DOCUMENTS, small_models

ALL = {name: text for device in DOCUMENTS.values() for name, text in device.items()}
SMALL: dict[str, Plain] = {"graph.community-most": 8, "privacy.public-names": ""}


def device_at(root: Path, **changes: Plain) -> EdgeDevice:
    settings = Settings.from_config({**SMALL, "home": str(root / "home"), **changes})
    return EdgeDevice("vessland", root / "documents", root / "store", settings, small_models())


def write(root: Path) -> None:
    (root / "documents").mkdir()
    for name, text in ALL.items():
        (root / "documents" / name).write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A device's folder with its graph built."""
    root = tmp_path_factory.mktemp("whole")
    write(root)
    with device_at(root) as opened:
        built(opened)
    return root


@pytest.fixture
def device(whole: Path, tmp_path: Path) -> Iterator[EdgeDevice]:
    shutil.copytree(whole, tmp_path, dirs_exist_ok=True)
    with device_at(tmp_path) as opened:
        yield opened


def built(device: EdgeDevice) -> GraphReport:
    device.build(memories=False)
    return device.graph.refresh(silent)


def tables(device: EdgeDevice) -> GraphStore:
    return GraphStore(device.store.database, device.models.encoder.dimension)


def everything(device: EdgeDevice) -> tuple[object, ...]:
    """All that the graph's tables hold, vectors by their digests."""
    store = tables(device)
    vectors = {kind: {i: one.digest for i, one in store.vectors(kind).items()} for kind in ("entity", "relation")}
    return store.statements(), vectors, store.communities()


def test_an_answer_in_sentences_cites_what_bears_each(device: EdgeDevice) -> None:
    answer = device.ask(Question("q", "Tell me about Mount Cairl.", "vessland"), "graph")
    assert isinstance(answer, Answer)
    cited = {f"{unit.origin}/{unit.id}" for unit in answer.evidence}
    assert len(answer.text.split()) > LONG, "the question is chosen so that the model writes sentences"
    assert " ".join(one.sentence for one in answer.citations) == answer.text
    assert {one.source for one in answer.citations} <= cited


@pytest.mark.parametrize("mode", ["graph", "gated"])
def test_of_answers_that_a_question_lists_one_is_given(device: EdgeDevice, mode: AnswerMode) -> None:
    options = ("a lake", "a mountain", "a soup")
    said = device.ask(Question("q", with_options("Tell me about Mount Cairl. What is it?", options), "vessland"), mode)
    answer = said if isinstance(said, Answer) else said.drafts[0]
    assert answer.text in options
    assert (answer.cost.llm_calls, answer.cost.tokens_out) == (1, 0)


def test_a_second_build_does_nothing(tmp_path: Path) -> None:
    write(tmp_path)
    with device_at(tmp_path) as device:
        first, kept = built(device), everything(device)
        again = built(device)
        assert everything(device) == kept
    assert first.read == len(ALL)
    assert min(first.entities, first.relations, first.communities, first.encoded, first.summarised) > 0
    assert first.modularity > 0.3
    assert 1 < first.largest <= device.settings.graph.community_most
    assert (again.read, again.encoded, again.summarised) == (0, 0, 0)


def test_a_model_can_write_tuples_and_summaries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "documents").mkdir()
    for name in ("tarn-bridge.md", "odile-varro.md"):
        (tmp_path / "documents" / name).write_text(ALL[name], encoding="utf-8")
    with device_at(tmp_path) as by_rules:
        assert by_rules.build(memories=False, graph=True).cost.llm_calls == 0
        assert {"drew"} != {one.relation for one in tables(by_rules).statements()} != set()
    written = OneWord(small_models().generator(), "Odile Varro | drew | Tarn Bridge\\nBridges are told of.")
    with device_at(tmp_path, **{"graph.written-by": "model"}) as device:
        monkeypatch.setattr(type(device.models), "generator", lambda models: written)
        report = device.build(memories=False, graph=True)
        statements, communities = tables(device).statements(), tables(device).communities()
        read = device.rankings.present().explainer.tuples
        assert report.cost.llm_calls == len(device.store.passages()) + len(communities)
    assert {(one.head.text, one.relation, one.tail.text) for one in statements} == {
        ("Odile Varro", "drew", "Tarn Bridge")
    }
    assert ["Bridges are told of." in one.summary for one in communities.values()] == [True]
    assert {one.relation for tuples in read.values() for one in tuples} == {"drew"}


def test_a_graph_that_another_process_builds_is_seen(device: EdgeDevice, tmp_path: Path) -> None:
    before = device.graph.retriever()
    assert device.graph.retriever() is before
    (tmp_path / "documents" / "ossel.md").unlink()
    with device_at(tmp_path) as other:
        built(other)
    after = device.graph.retriever()
    assert after is not before
    assert device.graph.retriever() is after


def test_a_removed_document_takes_all_that_rested_on_it(device: EdgeDevice) -> None:
    assert device.documents is not None
    (device.documents / "mount-cairl.md").unlink()
    device.build(memories=False)  # the graph is not refreshed: what rested on the document must be gone already
    kept = repr((tables(device).statements(), tables(device).communities()))
    assert "Enno Tveit" not in kept
    assert "mount cairl" not in tables(device).vectors("entity")
    built(device)
    with device_at(device.documents.parent, home=str(device.documents.parent / "other")) as fresh:
        assert "enno tveit" not in repr(everything(fresh)).casefold()


def test_a_change_leaves_other_communities_alone(device: EdgeDevice) -> None:
    before = tables(device).communities()
    assert device.documents is not None
    note = device.documents / "odile-varro.md"
    note.write_text(note.read_text(encoding="utf-8") + "\nVarro painted kites.\n", encoding="utf-8")
    second = built(device)
    after = tables(device).communities()
    touched = {name for name, one in before.items() if "odile varro" in repr(one.members)}
    assert 0 < second.summarised < len(before)
    assert second.read == 1
    assert len(before.keys() & after.keys()) >= len(before) // 2
    assert not touched & after.keys()


def test_changed_limits_cut_what_a_fresh_graph_has(whole: Path, tmp_path: Path) -> None:
    (tmp_path / "fresh").mkdir()
    write(tmp_path / "fresh")
    shutil.copytree(whole, tmp_path / "grown")
    changes: dict[str, Plain] = {"graph.community-most": 4}
    with device_at(tmp_path / "grown", **changes) as grown, device_at(tmp_path / "fresh", **changes) as fresh:
        again, wanted = built(grown), built(fresh)
        assert everything(grown) == everything(fresh)
        assert (again.communities, again.largest) == (wanted.communities, wanted.largest)
        assert (again.read, again.encoded) == (0, 0)
        version = tables(grown).version
        assert built(grown).summarised == 0
        assert tables(grown).version == version


def test_a_graph_that_does_not_know_its_limits_stays_as_it_is(device: EdgeDevice) -> None:
    with device.store.database.writing() as connection:
        connection.execute("DELETE FROM meta")
    assert device.documents is not None
    with device_at(device.documents.parent, **{"graph.community-most": 4}) as other:
        assert built(other).summarised == 0


def test_a_change_and_back_ends_where_it_began(device: EdgeDevice) -> None:
    statements, vectors, _ = everything(device)
    assert device.documents is not None
    note = device.documents / "ossel.md"
    text = note.read_text(encoding="utf-8")
    note.write_text(text.replace("Bay of Herons", "Gulf of Quails"), encoding="utf-8")
    built(device)
    assert everything(device)[:2] != (statements, vectors)
    note.write_text(text, encoding="utf-8")
    built(device)
    assert everything(device)[:2] == (statements, vectors)


def shared(device: EdgeDevice, *known: str, generation: str = "1") -> SummaryBatch:
    return device.graph.share(SummaryRequest("1", known), generation)


@pytest.mark.parametrize(("setting", "named"), [({}, True), ({"graph.detail": "erased"}, False)])
def test_summaries_leave_through_the_export_filter(tmp_path: Path, setting: dict[str, Plain], named: bool) -> None:
    write(tmp_path)
    with device_at(tmp_path, **setting) as device:
        built(device)
        batch = shared(device)
        own = tables(device).communities()
    assert len(batch.summaries) == len(own)
    assert ("Enno Tveit" in repr(own)) is named  # one passage alone tells of him
    assert "Tveit" not in repr(batch)
    assert "[PERSON]" in repr(batch)
    assert not {one.id for one in batch.summaries} & own.keys()
    texts = [one.text for one in batch.summaries]
    again = small_models().encoder.encode(texts)
    alike = [np.allclose(one.vector, vector, atol=2e-3) for one, vector in zip(batch.summaries, again, strict=True)]
    assert all(alike) is not named  # erased: of what was written, not of what was masked; else of sentences


def test_a_vector_is_the_mean_of_the_sentences_that_state_the_community(tmp_path: Path) -> None:
    write(tmp_path)
    with device_at(tmp_path, **{"privacy.export": "none"}) as device:
        built(device)
        own, graph = tables(device).communities(), device.graph.knowledge()
        contents = CommunityContents(device.store, graph).of({name: one.members for name, one in own.items()})
        device.graph.hide.prepare(own)
        shown = {one.id: one for one in shared(device).summaries}
        assert {len(one.texts) >= FEWEST for one in contents.values()} == {True, False}
        for name, one in contents.items():
            released = shown[device.graph.hide(name)]
            assert np.allclose(one.vectors, device.models.encoder.encode(one.texts), atol=1e-5)
            mean = one.vectors.mean(axis=0)
            few = len(one.texts) < FEWEST
            wanted = device.models.encoder.encode([released.text])[0] if few else mean / np.linalg.norm(mean)
            assert np.allclose(released.vector, wanted, atol=2e-3)


def test_a_sentence_that_ends_otherwise_makes_its_communities_anew(device: EdgeDevice) -> None:
    store = tables(device)
    before, stated = store.communities(), store.statements()
    assert device.documents is not None
    page = device.documents / "mount-cairl.md"
    page.write_text(page.read_text(encoding="utf-8").rstrip().removesuffix(".") + "!", encoding="utf-8")
    built(device)
    after = store.communities()
    assert store.statements() == stated
    assert before.keys() - after.keys()
    assert before.keys() & after.keys()


def test_only_news_travel_and_what_is_void_is_named(device: EdgeDevice) -> None:
    first = shared(device)
    ids = [one.id for one in first.summaries]
    assert shared(device, *ids).summaries == ()
    assert device.documents is not None
    (device.documents / "mount-cairl.md").unlink()
    built(device)
    second = shared(device, *ids)
    assert second.retracted
    assert set(second.retracted) <= set(ids)
    assert not {one.id for one in second.summaries} & set(ids)
    anew = shared(device, *ids, generation="2")
    left = set(ids) - set(second.retracted)
    assert {one.id for one in anew.summaries} == left | {one.id for one in second.summaries}


def test_a_changed_heading_is_another_summary(device: EdgeDevice) -> None:
    assert device.documents is not None
    page = device.documents / "mount-cairl.md"
    known = [one.id for one in shared(device).summaries]
    text = page.read_text(encoding="utf-8")
    page.write_text(text.replace("# Mount Cairl", "# The old name of Mount Cairl", 1), encoding="utf-8")
    built(device)
    later = shared(device, *known)
    assert later.retracted
    assert "The old name" in repr(later.summaries)


def test_a_name_that_is_learnt_later_voids_what_was_shared(device: EdgeDevice) -> None:
    first = device.giving.summaries(SummaryRequest("", (), "download"))
    known = tuple(one.id for one in first.summaries)
    assert device.giving.summaries(SummaryRequest(first.generation, known, "download")).summaries == ()
    [named] = [one.text for one in first.summaries if "Mount Cairl" in one.text][:1]
    assert device.documents is not None
    KnownNames(device.documents.parent / "store" / NAMES).learn([("Mount Cairl", "PERSON")])
    later = device.giving.summaries(SummaryRequest(first.generation, known, "download"))
    assert later.generation != first.generation
    assert len(later.summaries) == len(first.summaries)
    assert "Mount Cairl" in named
    assert "Mount Cairl" not in repr(later)


def test_what_left_before_is_released_anew_where_its_file_is_torn(device: EdgeDevice) -> None:
    first = device.giving.overview()
    folder = device.store.database.directory / RELEASED
    for file in folder.iterdir():
        file.unlink()
    (folder / "summaries.sqlite").write_bytes(b"torn" * 2048)
    again = device.giving.overview()
    assert [one.id for one in again.summaries] == [one.id for one in first.summaries]
    assert np.array_equal([one.vector for one in again.summaries], [one.vector for one in first.summaries])


def test_an_empty_overview_replaces_an_older(device: EdgeDevice) -> None:
    [far] = device.models.encoder.encode(["How do volcanoes erupt?"])
    told = SummaryOverview((*shared(device).summaries, SubgraphSummary("x", "", far, "volcanoes")))
    device.graph.take_overview(told)
    assert device.graph.lead(far) < 0.5
    device.graph.take_overview(SummaryOverview(()))
    assert device.graph.lead(far) == 0.5


def test_what_others_say_of_their_evidence_is_measured_here(device: EdgeDevice) -> None:
    [asked] = device.models.encoder.encode(["How do volcanoes erupt?"])
    boast = EvidenceUnit("u", "The harbour is open in May.", "people", 1.0)
    [unit] = rescored([boast], asked, device.models.encoder)
    assert unit.score < 0.5
    assert (unit.id, unit.text, unit.origin) == (boast.id, boast.text, boast.origin)
    assert rescored([], asked, device.models.encoder) == []


def test_a_vector_alone_has_no_text(device: EdgeDevice) -> None:
    with device_at(device.documents.parent, **{"graph.share": "vector"}) as shy:  # type: ignore[union-attr]
        assert {one.text for one in shared(shy).summaries} == {""}


def test_a_device_sees_whether_others_know_more(device: EdgeDevice) -> None:
    [near, far] = device.models.encoder.encode(["Who designed Tarn Bridge?", "How do volcanoes erupt?"])
    assert device.graph.lead(near) == 0.5  # nothing is known of others
    own = shared(device).summaries
    device.graph.take_overview(SummaryOverview((*own, SubgraphSummary("x", "", far, "volcanoes"))))
    assert device.graph.lead(near) > 0.6
    assert device.graph.lead(far) < 0.4
    with pytest.raises(WireError):
        device.graph.take_overview(SummaryOverview((SubgraphSummary("x", "", far[:8], "volcanoes"),)))
    assert device.graph.lead(far) < 0.4


def test_summaries_leave_in_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_graph, "TOGETHER", 2)
    write(tmp_path)
    with device_at(tmp_path, **{"federation.page-bytes": 1024}) as device:
        built(device)
        whole = {one.id for one in tables(device).communities().values()}
        told: list[str] = []
        while (batch := shared(device, *told)).more:
            assert len(batch.summaries) == 2
            told += [one.id for one in batch.summaries]
        told += [one.id for one in batch.summaries]
        assert len(whole) > 2
        assert len(told) == len(set(told)) == len(whole)


def test_answers_of_the_server_are_kept(device: EdgeDevice) -> None:
    told = because("place", "at the server", 0.8)
    answer = Answer("q1", "Odile Varro", "remote", 0.8, ("people/x",), decisions=(told,))
    device.keep(AnswerBatch("vessland", (answer,), (), 0.0))
    assert device.delivered.all() == {"q1": answer}
    with pytest.raises(WireError):
        device.keep(AnswerBatch("people", (answer,), (), 0.0))


def test_the_oldest_answers_of_the_server_go(device: EdgeDevice) -> None:
    first = [Answer(f"q{number}", "yes", "remote", 0.5) for number in range(outbox.MOST_DELIVERED)]
    device.keep(AnswerBatch("vessland", tuple(first), (), 0.0))
    again, new = replace(first[0], text="no"), replace(first[0], question_id="new")
    device.keep(AnswerBatch("vessland", (again, new), (), 0.0))
    kept = device.delivered.all()
    assert len(kept) == outbox.MOST_DELIVERED
    assert list(kept)[:2] == ["new", "q0"]
    assert kept["q0"].text == "no"
    assert "q1" not in kept


def test_retrieval_finds_the_sentence(device: EdgeDevice) -> None:
    [vector] = device.models.encoder.encode(["Who designed Tarn Bridge?"])
    units = device.graph.retrieve(vector, 3)
    assert len(units) == 3
    assert "Odile Varro" in units[0].text
    assert units == sorted(units, key=lambda one: -one.score)
    assert {one.origin for one in units} == {"vessland"}


def test_a_device_without_documents_has_no_graph_and_still_replies(device: EdgeDevice, tmp_path: Path) -> None:
    device.build(graph=True)
    assert device.giving.overview().summaries
    for name in ALL:
        (tmp_path / "documents" / name).unlink()
    report = device.build(graph=True, empty=True)
    assert (report.documents, report.items, report.hyperedges) == (0, 0, 0)
    assert not device.giving.overview().summaries
    for mode in ("memory", "graph", "passages", "walk", "assisted"):
        batch = device.answer([Question("q", "Who designed Tarn Bridge?", "vessland")], mode)
        assert not any(answer.text for answer in batch.answers)
