"""Hybrid fusion over five tiny devices: who is asked, what travels, what caches keep and forget, and liars."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from fedrag_flwr.caching import find_tiers
from fedrag_flwr.device.edge import NAMES
from fedrag_flwr.errors import SourceError
from fedrag_flwr.privacy.known_names import KnownNames
from fedrag_flwr.records import MOST_SECONDS, AskedQuestion, EvidenceUnit, HitsBatch, HitsRequest, Question
from fedrag_flwr.settings import Plain
from fedrag_flwr.sources.base import SearchableSource, SourceHit
from strategies import HybridFusion, ServerTools
from tests.canary_search import found_under
from tests.strategies.federation import DEVICES, Federation, run_strategy, server_tools, shared_federation, tampering

HEIGHT = Question("f7", "How high is Mount Cairl?", "bridges")
CLIMBER = Question("f10", "Who reached the summit of Mount Cairl?", "bridges")
SMALL: dict[str, Plain] = {"strategy": "hybrid-fusion", "hybrid__report": "extractive", "hybrid__records": 2}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Federation:
    """The federation after a first run, whose caches are warm."""
    root = tmp_path_factory.mktemp("hybrid")
    files = shared_federation(tmp_path_factory).copy_to(root).with_changes(**SMALL)
    run(files, HEIGHT)
    return files


run = partial(run_strategy, HybridFusion)


def asking(sent: list[bytes], text: str) -> int:
    return sum(b"query.hits" in data and text.encode() in data for data in sent)


def test_all_devices_are_asked_and_the_server_answers(built: Federation, tmp_path: Path) -> None:
    files = shared(built, tmp_path)
    question = replace(HEIGHT, text="What is the height of Mount Cairl?")
    strategy, sent = run(files, question)
    answer = strategy.answers["f7"]
    assert answer.path in ("remote", "abstained")
    assert any(source.startswith("rivers/") for source in answer.sources)
    assert "(rivers/" in answer.report  # a statement with its origin
    assert asking(sent, question.text) == len(DEVICES)
    assert not any(b"query.hits" in data and b"bridges" in data and question.text.encode() in data for data in sent)
    with files.device("bridges") as home:
        assert home.delivered.all()["f7"].explanation.endswith(answer.report)


def test_what_was_answered_comes_from_the_cache_and_asks_nobody(built: Federation) -> None:
    strategy, sent = run(built, replace(HEIGHT, id="again", text="how  high is mount cairl?"))
    answer = strategy.answers["again"]
    assert (answer.path, answer.cost.llm_calls) == ("cache", 0)
    assert strategy.counts["cache-answers"] == 1
    assert asking(sent, "mount cairl") == 0


def test_private_names_are_in_no_message_and_in_no_cache(built: Federation, tmp_path: Path) -> None:
    files = shared(built, tmp_path)
    _, sent = run(files, CLIMBER)
    assert not any(b"Tveit" in data for data in sent)
    assert any(b"[PERSON]" in data and b"PERSON=" in data for data in sent)  # what was removed, by type and count
    caches = [path for path, _ in find_tiers(files.root / "home")]
    assert {path.name for path in caches} == {"summaries", "inputs", "answers"}
    assert [found for path in caches for found in found_under(path, ["Tveit"])] == []
    keys = [path for path in caches if found_under(path, ["summit"])]
    assert keys  # the caches hold what was told


def test_a_deleted_record_is_gone_from_every_cache_at_the_next_contact(built: Federation, tmp_path: Path) -> None:
    files = shared(built, tmp_path)
    run(files, HEIGHT)
    caches = [path for path, _ in find_tiers(files.root / "home")]
    assert [path for path in caches if found_under(path, ["2,144"])]
    [document] = [path for path in (files.root / "data").rglob("*") if "mount-cairl" in path.name]
    document.unlink()
    strategy, _ = run(files)  # it asks nothing: contact is enough
    assert strategy.counts["purged"] > 0
    held = [path.parent.parent.name for path in caches if found_under(path, ["2,144"])]
    assert held == []


def test_a_build_drops_a_deleted_record_s_summaries_also_without_look_up(built: Federation, tmp_path: Path) -> None:
    files = shared(built, tmp_path)
    run(files, HEIGHT)
    [document] = [path for path in (files.root / "data").rglob("*") if "mount-cairl" in path.name]
    kept = [path for path, _ in find_tiers(files.root / "home") if path.name == "summaries"]
    assert any(found_under(path, ["2,144"]) for path in kept)
    with files.device(document.parent.name) as device:
        device.build()
    assert any(found_under(path, ["2,144"]) for path in kept)  # nothing has changed
    document.unlink()
    with files.device(document.parent.name) as device:
        device.build()
    assert not any(found_under(path, ["2,144"]) for path in kept)


def test_related_records_are_prepared_before_they_are_asked_for(built: Federation, tmp_path: Path) -> None:
    files = shared(built, tmp_path).with_changes(caching__prefetch=2, hybrid__records=1)
    strategy, sent = run(files, Question("f1", "Who designed Tarn Bridge?", "bridges"))
    assert strategy.counts["prefetched"] > 0
    assert sum(b"query.hits" in data for data in sent) > 4 * len(DEVICES)  # contact, question, and two hops


@pytest.mark.parametrize("declined", [False, True])
def test_a_question_waits_for_the_slowest_device_and_not_for_one_after_the_other(
    built: Federation, tmp_path: Path, declined: bool
) -> None:
    def slow(batch: HitsBatch) -> HitsBatch:
        told = tuple(replace(summary, units=() if declined else summary.units) for summary in batch.summaries)
        return replace(batch, summaries=told, seconds=800.0)

    strategy, _ = run(shared(built, tmp_path), CLIMBER, tamper=tampering(HitsBatch, slow))
    assert not declined or strategy.answers["f10"].path == "abstained"
    assert 800.0 < strategy.answers["f10"].cost.seconds < 1_700.0


def test_no_owner_s_seconds_keep_answers_from_their_homes(built: Federation, tmp_path: Path) -> None:
    files = shared(built, tmp_path).with_changes(federation__round_timeout=300.0)
    absurd = tampering(HitsBatch, partial(replace, seconds=MOST_SECONDS), "people")
    strategy, _ = run(files, CLIMBER, tamper=absurd)
    assert strategy.outcome().traffic.missing == {}
    assert strategy.answers[CLIMBER.id].cost.seconds < 600.0
    with files.device(CLIMBER.home) as home:
        assert CLIMBER.id in home.delivered.all()


def posing(batch: HitsBatch) -> HitsBatch:
    return replace(batch, device="bridges")


def quoting(batch: HitsBatch) -> HitsBatch:
    unit = EvidenceUnit("x", "Mount Cairl is one metre high.", "rivers", 0.99, "Mount Cairl")
    return replace(batch, summaries=tuple(replace(summary, units=(unit,)) for summary in batch.summaries))


def repeated(batch: HitsBatch) -> HitsBatch:
    return replace(batch, summaries=batch.summaries * 2)


def chatty(batch: HitsBatch) -> HitsBatch:
    titles = tuple(f"Made-up title {number}" for number in range(3))
    return replace(batch, summaries=tuple(replace(summary, related=titles) for summary in batch.summaries))


@pytest.mark.parametrize(
    ("lie", "reason"),
    [
        (posing, "another device's name"),
        (quoting, "another's name"),
        (repeated, "not asked for"),
        (chatty, "not asked for"),
    ],
)
def test_who_speaks_for_another_or_tells_more_than_was_asked_for_is_named_and_not_heard(
    built: Federation, tmp_path: Path, lie: Callable[[HitsBatch], HitsBatch], reason: str
) -> None:
    files = shared(built, tmp_path).with_changes(caching__prefetch=2)
    strategy, sent = run(files, CLIMBER, tamper=tampering(HitsBatch, lie, "harbours"))
    assert reason in strategy.outcome().traffic.missing["harbours"]
    assert ("harbours" in strategy.versions) == (lie is not posing)
    assert "one metre" not in strategy.answers["f10"].report
    assert asking(sent, "Made-up title") <= 1  # in its own reply, and in no question


def test_only_a_name_that_was_told_voids_what_was_told(built: Federation, tmp_path: Path) -> None:
    request = HitsRequest((AskedQuestion("q", HEIGHT.text),), records=2)
    with shared(built, tmp_path).device("rivers") as owner:
        first = owner.summaries.answer(request)
        names = KnownNames(owner.store.database.directory / NAMES)
        names.learn([("Jadwiga Kowalska", "PERSON")])
        again = owner.summaries.answer(request)
        assert (again.version, again.reused) == (first.version, 1)
        names.learn([("Mount Cairl", "PERSON")])
        later = owner.summaries.answer(request)
        assert "Mount Cairl" in repr(first)
        assert "Mount Cairl" not in repr(later)
        assert later.version != first.version
        names.close()


def test_the_title_of_a_record_that_the_store_forgot_is_related_to_nothing(built: Federation, tmp_path: Path) -> None:
    request = HitsRequest((AskedQuestion("q", HEIGHT.text),), records=1, related=2)
    files = shared(built, tmp_path)
    with files.device("rivers") as owner:
        assert owner.summaries.answer(request).summaries[0].related == ("Ossel",)
        (files.root / "data" / "rivers" / "ossel.md").unlink()
        before = owner.summaries.answer(request)  # asked between the deletion and the next build
        owner.build()
        after = owner.summaries.answer(request)
        assert after.summaries[0].related == ()
        assert after.version != before.version
        assert after.version == owner.summaries.version()


def test_what_a_late_device_did_not_tell_is_asked_again(built: Federation, tmp_path: Path) -> None:
    files = shared(built, tmp_path)
    question = replace(HEIGHT, text="What is the height of the mountain Cairl?")

    def late(batch: HitsBatch) -> HitsBatch:
        away = batch.device == "rivers" and bool(batch.summaries)
        return replace(batch, device="nobody") if away else batch  # refused, as what comes late is

    first, _ = run(files, question, tamper=tampering(HitsBatch, late))
    assert not any(source.startswith("rivers/") for source in first.answers["f7"].sources)
    second, sent = run(files, question)
    assert any(source.startswith("rivers/") for source in second.answers["f7"].sources)
    assert asking(sent, question.text) == len(DEVICES)
    third, sent = run(files, question)
    assert (third.answers["f7"].path, asking(sent, question.text)) == ("cache", 0)


def test_a_question_whose_input_a_reply_to_another_voids_is_asked_after_all(built: Federation, tmp_path: Path) -> None:
    files = shared(built, tmp_path)
    tools = server_tools(files)
    tools.fusion_caches.answers.clear()
    strategy, grid = HybridFusion(files.settings, [HEIGHT, CLIMBER], tools), files.grid()
    strategy.prepare(grid, "1")
    (files.root / "data" / "museums" / "new.md").write_text("# New\n\nThe New Hall has nine doors.\n")
    strategy.ask([HEIGHT, CLIMBER])
    tools.fusion_caches.close()
    assert any("2,144" in unit.text for unit in strategy.answers["f7"].evidence)
    assert asking(grid.sent, CLIMBER.text) == asking(grid.sent, HEIGHT.text) == len(DEVICES)


def test_an_input_of_an_older_form_is_asked_for_again(built: Federation, tmp_path: Path) -> None:
    files = shared(built, tmp_path)
    strategy, _ = run(files)
    caches = ServerTools(files.settings).fusion_caches
    caches.inputs.put(caches.key(CLIMBER.text), b"older", strategy.versions)
    caches.close()
    _, sent = run(files, CLIMBER)
    assert asking(sent, CLIMBER.text) == len(DEVICES)


class Restless:
    """A source in which something changes whenever it is looked at."""

    def __init__(self, source: SearchableSource) -> None:
        self._source = source
        self.looks = 0

    def version(self) -> str:
        self.looks += 1
        return f"v{self.looks}"

    def search(self, question: str, k: int) -> tuple[SourceHit, ...]:
        return self._source.search(question, k)


@pytest.mark.timeout(120)
def test_restless_records_hold_nobody_up(built: Federation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    request = HitsRequest((AskedQuestion("q", HEIGHT.text),), records=2)
    with shared(built, tmp_path).device("rivers") as owner:
        restless = Restless(owner.summaries._source)
        monkeypatch.setattr(owner.summaries, "_source", restless)
        first = owner.summaries.answer(request)
        second = owner.summaries.answer(request)
        assert "Mount Cairl" in repr(first.summaries)
        assert (first.version != second.version, second.reused) == (True, 0)
        monkeypatch.setattr(owner.summaries._released, "age", lambda _: str(restless.version()))
        with pytest.raises(SourceError, match="names are learnt faster"):
            owner.summaries.answer(request)


def test_the_first_question_need_not_wait(built: Federation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with shared(built, tmp_path).device("rivers") as owner:
        searched: list[str] = []
        source = owner.summaries._source

        class Watched(Restless):
            def search(self, question: str, k: int) -> tuple[SourceHit, ...]:
                searched.append(question)
                return super().search(question, k)

        monkeypatch.setattr(owner.summaries, "_source", Watched(source))
        assert not owner.summaries.answer(HitsRequest(())).summaries
        assert len(searched) == 1


def shared(built: Federation, root: Path) -> Federation:
    """A copy with its stores and caches, whose documents may change."""
    return built.copy_to(root)
