"""The gate: each signal on its own, the choice among candidates, and what is fitted."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrag_flwr.answering.gate import ALONE, INFORMED, Gate, GateModel
from fedrag_flwr.answering.gate_signals import SIGNALS, SignalReader, Signals, says_something
from fedrag_flwr.errors import SettingError
from fedrag_flwr.loaded_models import Models
from fedrag_flwr.records import EvidenceUnit
from simulations.fits.gate import Measured, fitted
from tests.strategies.federation import small_models as shared_models


@pytest.fixture(scope="module")
def models() -> Models:
    return shared_models()


unit_interval = st.floats(0.0, 1.0)
signal_sets = st.builds(Signals, *[unit_interval] * len(SIGNALS))
UNITS = (
    EvidenceUnit("s1", "Tarn Bridge was designed by the engineer Odile Varro in 1924.", "a", 0.8, "Tarn Bridge"),
    EvidenceUnit("s2", "It crosses the river Ossel.", "a", 0.4, "Tarn Bridge"),
)

# (answer, whether it says something)
ANSWERS = [
    ("Odile Varro", True),
    ("The bridge was designed by Odile Varro.", True),
    ("No, it was not.", True),
    ("It provides information on rivers.", True),
    ("unknown", False),
    ("Unknown.", False),
    ("", False),
    (" - ", False),
    ("Insufficient information. I don't know.", False),
    ("The notes do not mention the designer.", False),
    ("There is not enough information to answer.", False),
    ("This cannot be determined from the notes.", False),
    ("The designer is not specified.", False),
    ("I need more details.", False),
]


@pytest.mark.parametrize(("text", "telling"), ANSWERS)
def test_an_answer_that_says_it_is_none(text: str, telling: bool) -> None:
    assert says_something(text) is telling


def measured(models: Models, *candidates: str, units: tuple[EvidenceUnit, ...] = UNITS) -> tuple[Signals, int]:
    analysis = models.pipeline.question("Who designed Tarn Bridge?")
    return SignalReader(models.encoder, models.pipeline).measure(analysis, candidates, units)


def test_agreement_on_what_the_evidence_says(models: Models) -> None:
    signals, chosen = measured(models, "Odile Varro", "Odile Varro", "Odile Varro")
    assert chosen == 0
    assert signals.values == pytest.approx((1.0, 1.0, 1.0, 1.0, 1.0, 0.8, 1.0, 0.5), abs=1e-3)


# (candidates, the signals that fall below those of an agreement, the place of the choice)
CASES = [
    (("Odile Varro", "Jonas Keel", "salt"), {"cosine", "jaccard", "claims", "supported"}, None),
    (("Odile Varro", "unknown", "Odile Varro"), {"certain", "supported"}, 0),
    (("copper", "Odile Varro", "Odile Varro"), {"cosine", "jaccard", "claims", "supported"}, 1),
    (("the engineer Odile Varro", "Odile Varro", "Odile Varro"), {"cosine", "jaccard"}, 1),
]


@pytest.mark.parametrize(("candidates", "lower", "place"), CASES)
def test_signals_tell_theirs(models: Models, candidates: tuple[str, ...], lower: set[str], place: int | None) -> None:
    signals, chosen = measured(models, *candidates)
    usual = measured(models, "Odile Varro", "Odile Varro", "Odile Varro")[0]
    below = {n for n, a, b in zip(SIGNALS, signals.values, usual.values, strict=True) if a < b - 1e-3}
    assert below == lower
    assert place is None or chosen == place


def test_far_evidence_shows(models: Models) -> None:
    far = (EvidenceUnit("s9", "The harbour exports salt.", "a", 0.1),)
    near, away = (measured(models, "salt", "salt", units=units)[0] for units in (UNITS, far))
    assert away.nearness < near.nearness
    assert away.coverage < near.coverage


def test_where_no_candidate_says_anything_the_question_leaves(models: Models) -> None:
    trusting = GateModel(features=("nearness",), weights=(0.0,), bias=9.0, threshold=0.1)
    gate = Gate(SignalReader(models.encoder, models.pipeline), trusting)
    analysis = models.pipeline.question("Who designed Tarn Bridge?")
    decision = gate.decide(analysis, ["unknown", ""], UNITS)
    assert (decision.at_home, decision.chosen) == (False, -1)
    told = gate.decide(analysis, ["Odile Varro"], UNITS)
    assert (told.at_home, told.chosen) == (True, 0)
    assert "nearness" in told.explanation
    assert "Varro" not in told.explanation


@given(signal_sets, st.integers(0, 2**16))
def test_a_gate_says_by_how_much_each_signal_moves_it(signals: Signals, seed: int) -> None:
    weights = tuple(np.random.default_rng(seed).normal(0.0, 2.0, len(SIGNALS)).tolist())
    model = GateModel(features=SIGNALS, weights=weights, bias=0.3, threshold=0.5)
    confidence = 1.0 / (1.0 + np.exp(-(0.3 + sum(weights) / 2 + sum(model.pushes(signals).values()))))
    assert model.confidence(signals) == pytest.approx(confidence)
    told = model.explained(signals).split("; ")
    pushed = [abs(float(one.rpartition(": ")[2])) for one in told]
    assert pushed == sorted(pushed, reverse=True)
    assert {one.partition(" ")[0] for one in told} == set(SIGNALS)


@given(signal_sets, st.sampled_from(SIGNALS), unit_interval)
def test_trust_grows_with_a_signal_of_positive_weight(signals: Signals, name: str, value: float) -> None:
    model = GateModel(features=SIGNALS, weights=(1.5,) * len(SIGNALS), bias=-3.0, threshold=0.5)
    other = dataclasses.replace(signals, **{name: value})
    assert (model.confidence(other) >= model.confidence(signals)) == (value >= getattr(signals, name)) or np.isclose(
        value, getattr(signals, name)
    )


def questions(count: int) -> list[Measured]:
    rng = np.random.default_rng(4)
    home = rng.random(count) < 0.5
    values = np.clip(rng.random((count, len(SIGNALS))) * 0.6 + 0.4 * home[:, None], 0.0, 1.0)
    return [Measured(bool(one), Signals(*row)) for one, row in zip(home, values.tolist(), strict=True)]


@pytest.mark.parametrize("least_sent", [0.5, 0.9, 1.0])
def test_the_threshold_sends_what_it_must_and_no_more(least_sent: float) -> None:
    rows = questions(400)
    model = fitted(rows, SIGNALS, least_sent)
    sent = [model.confidence(one.signals) < model.threshold for one in rows if not one.at_home]
    assert least_sent <= np.mean(sent) <= least_sent + 1.5 / len(sent)
    kept = [model.confidence(one.signals) >= model.threshold for one in rows if one.at_home]
    assert np.mean(kept) > 0.5


def test_an_ablation_looks_at_less(tmp_path: Path) -> None:
    rows = questions(100)
    model = fitted(rows, ("cosine", "jaccard"), 0.97)
    assert model.features == ("cosine", "jaccard")
    changed = dataclasses.replace(rows[0].signals, nearness=0.0, certain=0.0)
    assert model.confidence(changed) == model.confidence(rows[0].signals)
    model.save(tmp_path / "gate.json")
    assert GateModel.load(tmp_path / "gate.json") == model


def test_what_cannot_be_fitted_is_refused() -> None:
    alike = [dataclasses.replace(one, at_home=True) for one in questions(10)]
    with pytest.raises(SettingError):
        fitted(alike, SIGNALS, 0.97)
    with pytest.raises(ValueError, match="unknown signals"):
        GateModel(features=("mood",), weights=(1.0,), bias=0.0, threshold=0.5)


@pytest.mark.parametrize("path", [ALONE, INFORMED])
def test_the_packaged_gates_are_whole(path: Path) -> None:
    model = GateModel.load(path)
    assert 0.0 < model.threshold < 1.0
    assert model.fitted_on
    assert ("lead" in model.features) == (path == INFORMED)
