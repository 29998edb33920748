"""Each bad input gives a clear error of our own, which says what, where and what to do."""

from pathlib import Path

import pytest

from fedrag_flwr import errors
from fedrag_flwr.loaded_models import Models, load_models
from simulations.benchmarks.faults import BAD_INPUTS
from simulations.faults.bad_inputs import SETTINGS, TEXT, Case, Place
from tests.canary_search import found_in

TELLING = ["Wimmersbach", "Pollern", "spelt"]  # words of the documents, which no error may quote
REPORTED = {"BuildReport.failed", "Traffic.missing"}  # told in a report: the rest goes on


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Models:
    return load_models(SETTINGS.models, tmp_path_factory.mktemp("models"))


@pytest.mark.parametrize(("error", "case"), [pytest.param(*told, id=label) for label, told in BAD_INPUTS.items()])
def test_a_bad_input_is_told_clearly(tmp_path: Path, models: Models, error: str, case: Case) -> None:
    shown = case(Place(tmp_path / "place", models))
    assert shown.error == error
    assert error in REPORTED or issubclass(getattr(errors, error), errors.FedragError)
    assert shown.what.strip()
    assert shown.where.strip()
    assert shown.fix.strip()
    said = f"{shown.what} {shown.where} {shown.fix}"
    assert found_in(said.encode(), TELLING) == set()
    assert str(tmp_path) not in shown.what


def test_the_documents_hold_the_words_that_are_looked_for() -> None:
    assert found_in(TEXT.encode(), TELLING) == set(TELLING)
    assert len(BAD_INPUTS) >= 33
