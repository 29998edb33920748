"""What a device gives to questions that walk does not tell what it has masked, and what it learns of a verdict."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from fedrag_flwr.overlay.peer import DeviceWalks
from fedrag_flwr.records import Hop, Lesson, Question, TopicWeight, WalkRequest
from fedrag_flwr.settings import Plain
from tests.device.test_answer_cache import GIVEN, VECTOR
from tests.device.test_building import Watched
from tests.strategies.federation import shared_federation

TREATED = {"Anna Kowalska": "asthma", "Otmar Winter": "hepatitis"}
WALKED = WalkRequest("topic", (), (Lesson("q", "harbours", (TopicWeight(0, 1.0),), 0, "good", True),))


@pytest.fixture
def walks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeviceWalks]:
    """Those of a device to which the answer to a question came through `harbours`."""
    files = shared_federation(tmp_path_factory).copy_to(tmp_path_factory.mktemp("verdicts"))
    with files.device("people") as device:
        device.walks.walk(WALKED)
        yield device.walks


@pytest.mark.parametrize(("export", "told"), [("type-masking", 1), ("none", 2)])
def test_which_sentence_a_walk_gets_does_not_follow_a_masked_name(tmp_path: Path, export: str, told: int) -> None:
    device = Watched(
        tmp_path, privacy__export=export, privacy__public_names="", inference__remote_units=1, overlay__threshold=-1.0
    )
    device.write(**{f"{illness}.txt": f"{name} was treated for {illness}." for name, illness in TREATED.items()})
    device.build(memories=False)
    given = set()
    with device.open() as opened:
        for name in TREATED:
            [vector] = opened.models.encoder.encode([f"Was {name} treated?"])
            [reply] = opened.walks.walk(WalkRequest("flooding", (Hop("q", vector, (), ()),))).replies
            [unit] = reply.units
            given.add(unit.text)
    assert len(given) == told


def test_only_a_verdict_that_is_another_than_before_teaches(walks: DeviceWalks) -> None:
    reputations = [walks.expertise.reputation("harbours")]
    for good in (False, False, False, True, True):
        assert "harbours" in walks.feedback("q", good=good)
        reputations.append(walks.expertise.reputation("harbours"))
    before, bad, *same, better, last = reputations
    assert bad < before
    assert same == [bad, bad]
    assert bad < better == last


def test_a_verdict_on_an_answer_that_was_given_again_is_one_on_the_answer(walks: DeviceWalks) -> None:
    asked = Question("q", "Where does the Marl end?", "people")
    walks.cache.keep(asked, replace(GIVEN, question_id="q"), VECTOR, ())
    for name in ("again", "once more"):
        assert walks.cache.find(replace(asked, id=name), VECTOR) is not None
    assert "harbours" in walks.feedback("again", good=False)
    bad = walks.expertise.reputation("harbours")
    assert bad < 1.0
    for name in ("q", "again", "once more"):
        walks.feedback(name, good=False)
    assert walks.expertise.reputation("harbours") == bad
    walks.walk(WALKED)  # another answer came the same way
    walks.feedback("q", good=False)
    assert walks.expertise.reputation("harbours") < bad


def test_what_people_called_bad_changes_nothing_that_a_run_sees(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Neither a hop nor a question of its own that comes near it: it would find out what it was."""
    lax: dict[str, Plain] = {"overlay__threshold": -1.0, "overlay__cache_similarity": 0.0, "privacy__export": "none"}
    files = shared_federation(tmp_path_factory).copy_to(tmp_path_factory.mktemp("probed")).with_changes(**lax)
    asked = Question("q", "Who designed Tarn Bridge?", "bridges")
    with files.device("bridges") as device:
        device.build(memories=False)
        walks = device.walks
        [vector] = device.models.encoder.encode([asked.text])

        def seen() -> tuple[object, ...]:
            [hop] = walks.walk(WalkRequest("flooding", (Hop("h", vector, (), ()),))).replies
            return [unit.id for unit in hop.units], type(
                walks.ask(Question("r", "By whom was Tarn Bridge made?", "bridges"))
            )

        walks.cache.of(True).keep(asked, replace(GIVEN, question_id="q"), vector, ())
        before = seen()
        walks.feedback("q", good=False)
        assert seen() == before
        assert before[0]
        assert walks._doubted(vector)
