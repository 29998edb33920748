"""Baselines over the tests' made-up documents, all on one device, with a model that counts."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from fedrag_flwr.records import Answer, Question
from simulations.baselines import BASELINES, Baseline, Construction, Keep, Substrate, build_baseline
from tests.baselines.made_up import ASKED, Counting, made_up

Built = dict[str, tuple[Baseline, Construction]]


@pytest.fixture(scope="session", autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FEDRAG_HOME", str(tmp_path_factory.mktemp("home")))
        yield


@pytest.fixture(scope="session")
def model() -> Counting:
    return Counting()


@pytest.fixture(scope="session")
def substrate(own_home: None, model: Counting, tmp_path_factory: pytest.TempPathFactory) -> Substrate:
    """The made-up documents, and where what construction makes of them is kept."""
    return replace(made_up(model), keep=Keep(tmp_path_factory.mktemp("constructed")))


@pytest.fixture(scope="session")
def built(substrate: Substrate) -> Built:
    """Every baseline over one substrate."""
    return {name: build_baseline(name, substrate) for name in BASELINES}


@pytest.fixture(scope="session")
def constructed(substrate: Substrate, built: Built) -> Keep:
    """What construction made for those, for tests of what is read of it."""
    return substrate.keep


@pytest.fixture(scope="session")
def answers(built: Built, model: Counting) -> dict[tuple[str, str], tuple[Answer, Counting]]:
    """Each baseline's answers, with what the model saw and gave meanwhile."""
    made = {}
    for name, question in ASKED:
        before = model.mark()
        answer = built[name][0].answer(Question(question, question, "all"))
        made[name, question] = (answer, model.since(before))
    return made
