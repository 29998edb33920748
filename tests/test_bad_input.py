"""Each bad input gives a clear error of our own, which says what, where and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from fedrag_flwr import errors
from fedrag_flwr.loaded_models import Models, load_models
from simulations.bad_inputs import CASES
from simulations.fixtures.bad_input_world import SETTINGS, TEXT, Bench, Case
from tests.canary_search import found_in

TELLING = ["Wimmersbach", "Pollern", "spelt"]  # words of the documents, which no error may quote
REPORTED = {"BuildReport.failed", "Traffic.missing"}  # told in a report: the rest goes on


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Models:
    return load_models(SETTINGS.models, tmp_path_factory.mktemp("models"))


@pytest.mark.parametrize(("error", "case"), [pytest.param(error, case, id=label) for label, error, case in CASES])
def test_a_bad_input_is_told_clearly(tmp_path: Path, models: Models, error: str, case: Case) -> None:
    shown = case(Bench(tmp_path / "bench", models))
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
    assert len({label for label, _, _ in CASES}) == len(CASES) >= 20
