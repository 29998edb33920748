"""The controller trained by federated averaging: as good as on pooled examples, and no question leaves."""

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from fedrag_flwr.errors import FederationError, WireError
from fedrag_flwr.local_grid import LocalGrid
from fedrag_flwr.privacy.ckks.sums import COLLUSION
from fedrag_flwr.records import Answer, ControllerRequest, ControllerUpdate, DeviceCard, Question
from fedrag_flwr.retrieval.controller import Controller
from fedrag_flwr.retrieval.controller_fitting import Examples, FittingSettings, Moments, descend
from fedrag_flwr.retrieval.device_controller import TrainingQuestion, features_id
from fedrag_flwr.retrieval.evidence_sources import FEATURES
from fedrag_flwr.settings import Settings
from strategies import ControllerFedAvg, ServerTools, private_sums
from strategies.controller_fedavg import LOCAL_EPOCHS, fedavg
from tests.strategies.federation import Federation, tampering

# Nothing here exists; all names are this project's own.
PLACES = ("Arvel", "Bromme", "Cassel", "Dunwick", "Eskerby", "Fennrow", "Gallant", "Hollin", "Istrey", "Jorrow")
PEOPLE = tuple(
    f"{first} {last}"
    for first, last in zip(
        ["Ada", "Bo", "Cy", "Di", "Ed", "Fay", "Gus", "Hal", "Ida", "Jo"],
        ["Quent", "Harl", "Ferrow", "Malk", "Sorrel", "Tarn", "Obel", "Wick", "Pell", "Ranner"],
        strict=True,
    )
)
KINDS = {"north": "bridge", "south": "tower", "west": "windmill"}
TRAINERS = ("north", "south")  # the third device has no question of its own


def write(root: Path) -> Federation:
    """Three devices; each document tells of one building, or of who designed it."""
    lines = []
    for device, kind in KINDS.items():
        folder = root / "data" / device
        folder.mkdir(parents=True)
        for number, (place, person) in enumerate(zip(PLACES, PEOPLE, strict=True)):
            year, length = 1800 + 7 * number, 20 + 3 * number
            (folder / f"{device}-w{number}.md").write_text(
                f"# {place} {kind}\n\nThe {place} {kind} was designed by {person}. It opened in {year} and is {length} "
                f"metres high.\n"
            )
            (folder / f"{device}-p{number}.md").write_text(
                f"# {person}\n\n{person} was an engineer from {PLACES[-1 - number]}. {person} studied in Norrhall in "
                f"{year - 20}.\n"
            )
            both = [f"{device}-w{number}", f"{device}-p{number}"]
            asked = {
                "one": (f"In which year did the {place} {kind} open?", both[:1], "train"),
                "two": (f"Where was the designer of the {place} {kind} from?", both, "train"),
                "abroad": (f"Who drew the plans of the {place} chapel?", [f"elsewhere-{number}"], "train"),
                "later": (f"How high is the {place} {kind}?", both[:1], "test"),
            }
            for name, (text, documents, split) in asked.items():
                if device in TRAINERS:
                    lines.append(
                        {"id": f"{device}-{number}-{name}", "question": text, "answer": "?", "home": device}
                        | {"documents": documents, "split": split}
                    )
    (root / "questions.jsonl").write_text("\n".join(json.dumps(line) for line in lines))
    (root / "names.txt").write_text("")
    return Federation(root).with_changes(strategy="controller-fedavg", federation__devices=len(KINDS))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Federation:
    return write(tmp_path_factory.mktemp("controlled"))


def trained(files: Federation, grid: LocalGrid) -> ControllerFedAvg:
    strategy = ControllerFedAvg(files.settings, [], ServerTools(files.settings))
    strategy.prepare(grid, "1")
    return strategy


def kept(files: Federation, device: str) -> Controller:
    return Controller.load(files.root / "home" / "devices" / files.settings.data_key / device / "controller.json")


def own_questions(files: Federation, device: str) -> list[TrainingQuestion]:
    rows = [json.loads(line) for line in (files.root / "questions.jsonl").read_text().splitlines()]
    return [
        TrainingQuestion(row["question"], tuple(row["documents"]))
        for row in rows
        if row["home"] == device and row["split"] == "train"
    ]


def examples_of(files: Federation) -> list[Examples]:
    """What each training device learns from, as the device itself describes it."""
    found = []
    for name in TRAINERS:
        with files.device(name) as device:
            found.append(device.controller.examples(own_questions(files, name)))
    return found


def pooled(parts: list[Examples], settings: Settings) -> Controller:
    together = Examples(
        np.concatenate([part.values for part in parts]), np.concatenate([part.supports for part in parts])
    )
    scaling = Moments.of(together.values).scaling
    epochs = settings.controller.rounds * LOCAL_EPOCHS
    weights = descend(
        np.zeros(len(FEATURES.names) + 1), together, scaling, FittingSettings(), epochs, np.random.default_rng(0)
    )
    return Controller(FEATURES, scaling, weights[:-1], float(weights[-1]))


def probabilities(controller: Controller, parts: list[Examples]) -> NDArray[np.float64]:
    values = np.concatenate([part.values for part in parts])
    return 1.0 / (1.0 + np.exp(-(controller.scaling.of(values) @ controller.weights + controller.bias)))


def test_federated_equals_pooled_training(files: Federation) -> None:
    grid = files.grid()
    strategy = trained(files, grid)
    parts = examples_of(files)
    assert [int(part.supports.sum()) for part in parts] == [30, 30]  # ten questions of one document, ten of two
    assert strategy.counts == {"controller-devices": 2, "controller-examples": sum(map(len, parts))}
    controllers = {kept(files, device).weights.tobytes() for device in KINDS}
    assert len(controllers) == 1  # also where no question was
    common, together = kept(files, "west"), pooled(parts, files.settings)
    assert common.scaling.mean == pytest.approx(together.scaling.mean)
    assert common.scaling.deviation == pytest.approx(together.scaling.deviation)
    one, other = probabilities(common, parts), probabilities(together, parts)
    assert np.abs(one - other).mean() < 0.02
    supports = np.concatenate([part.supports for part in parts])
    assert one[supports].mean() > 0.5 > one[~supports].mean()
    assert "2 devices" in common.fitted_on


@pytest.mark.parametrize("exchange", ["plain", "encrypted"])
def test_where_nobody_trains_devices_keep_what_they_have(files: Federation, tmp_path: Path, exchange: str) -> None:
    plain = files.copy_to(tmp_path)
    trained(plain, plain.grid())
    before = {device: kept(plain, device).weights.tobytes() for device in KINDS}
    own = plain.with_changes(exchange=exchange, federation__round_timeout=2.0, controller__rounds=2)

    seen: set[str] = set()

    def moments_alone(update: ControllerUpdate) -> ControllerUpdate | None:
        first = update.device not in seen
        seen.add(update.device)
        return update if first else None

    with pytest.raises(FederationError, match="no device trained"):
        trained(own, own.grid(tampering(ControllerUpdate, moments_alone)))
    assert {device: kept(plain, device).weights.tobytes() for device in KINDS} == before


def test_no_question_and_no_document_leaves(files: Federation) -> None:
    grid = files.grid()
    trained(files, grid)
    sent = b"".join(grid.sent)
    assert b"train.controller" in sent
    for text in ("designer of the", "did the Arvel", "Arvel", "Norrhall", "Ada Quent", "north-w0"):
        assert text.encode() not in sent, text


def test_the_model_reads_what_the_controller_puts_first(files: Federation) -> None:
    trained(files, files.grid())
    question = Question("q", "Where was the designer of the Dunwick windmill from?", "west")
    with files.device("west") as device:
        found = device.controller.retriever().rank(question.text, 2)
        assert {one.passage_id.rpartition("#")[0] for one in found} == {"west-w3", "west-p3"}
        answer = device.ask(question, "controlled")
    assert isinstance(answer, Answer)
    assert answer.sources == tuple(f"west/{one.passage_id}" for one in found)


def test_what_was_made_of_a_removed_document_goes_with_it(tmp_path: Path) -> None:
    files = write(tmp_path)
    trained(files, files.grid())
    store = files.root / "home" / "devices" / files.settings.data_key / "north"

    def told() -> list[str]:
        return [path.name for path in store.rglob("*") if path.is_file() and b"Cassel" in path.read_bytes()]

    assert told()
    for name in ("north-w2", "north-p7"):  # the only two that say "Cassel"
        (files.root / "data" / "north" / f"{name}.md").unlink()
    with files.device("north") as device:
        device.build(memories=False)
        left = device.controller.examples(own_questions(files, "north"))
        assert int(left.supports.sum()) == 30 - 1 - 2 - 2  # without the three questions that needed them
    assert not told()


def test_without_training_questions_there_is_nothing_to_train(tmp_path: Path) -> None:
    files = write(tmp_path)
    rows = [json.loads(line) for line in (tmp_path / "questions.jsonl").read_text().splitlines()]
    (tmp_path / "questions.jsonl").write_text("\n".join(json.dumps(row | {"split": "test"}) for row in rows))
    with pytest.raises(FederationError, match="no device has training questions"):
        trained(files, files.grid())


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda update: replace(update, values=update.values[:-1]), "another number of weights"),
        (lambda update: replace(update, device="south"), "another device's name"),
    ],
)
def test_a_device_that_gives_something_else_is_named(
    files: Federation, change: Callable[[ControllerUpdate], ControllerUpdate], reason: str
) -> None:
    def lie(update: ControllerUpdate) -> ControllerUpdate:
        return change(update) if update.examples else update

    strategy = trained(files, files.grid(tampering(ControllerUpdate, lie, "north")))
    assert strategy.counts["controller-devices"] == 1
    assert reason in strategy.outcome().traffic.missing["north"]


@pytest.mark.parametrize(
    "wrong",
    [ControllerRequest("moments", "0" * 16), ControllerRequest("fit", features_id(FEATURES), weights=(0.0,) * 3)],
)
def test_a_request_for_another_controller_is_refused(files: Federation, wrong: ControllerRequest) -> None:
    trained(files, files.grid())
    with files.device("north") as device, pytest.raises(WireError):
        device.train_controller(wrong, own_questions(files, "north"), "1")


updates = st.lists(
    st.tuples(st.integers(1, 1_000), st.lists(st.floats(-100, 100), min_size=3, max_size=3)), min_size=1, max_size=6
)


@given(updates)
def test_flowers_average_weighs_devices_by_their_examples(rows: list[tuple[int, list[float]]]) -> None:
    found = fedavg([ControllerUpdate("d", count, tuple(values)) for count, values in rows])
    expected = np.average([values for _, values in rows], axis=0, weights=[count for count, _ in rows])
    assert found == pytest.approx(expected)


def test_encrypted_training_gives_the_open_one_s_weights(files: Federation, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(private_sums, "log", lambda level, text, *rest: said.append(text))
    trained(files, files.grid())
    assert said == []
    opened = {name: kept(files, name) for name in KINDS}
    private = files.with_changes(exchange="encrypted")
    grid = private.grid()
    strategy = trained(private, grid)
    assert said == [COLLUSION]  # whom one has to trust is told in every run
    assert strategy.outcome().traffic.missing == {}
    assert strategy.counts == {"controller-devices": len(TRAINERS)}
    for name in KINDS:
        assert kept(private, name).weights == pytest.approx(opened[name].weights, abs=2e-3)
        assert kept(private, name).scaling.mean == pytest.approx(opened[name].scaling.mean, abs=1e-5)
    weights = kept(private, "north").weights
    assert all(np.array_equal(kept(private, name).weights, weights) for name in KINDS)  # rounded: the same everywhere
    keys = [(path.read_bytes(), path) for path in (files.root / "home" / "privacy").glob("*/group-*.key")]
    assert len({data for data, _ in keys}) == 1
    assert len(keys) == len(KINDS)
    assert not any(keys[0][0][50:80] in data for data in grid.sent)


def test_a_device_without_a_usable_key_takes_no_part_in_the_sums(files: Federation) -> None:
    private = files.with_changes(exchange="encrypted", controller__rounds=2)
    without = tampering(DeviceCard, partial(replace, key=bytes(32)), "south")
    strategy = trained(private, private.grid(without))
    assert strategy.counts == {"controller-devices": len(TRAINERS) - 1}
    assert np.isfinite(kept(private, "north").weights).all()


def test_open_numbers_are_not_given_where_the_exchange_is_encrypted(files: Federation) -> None:
    with (
        files.with_changes(exchange="encrypted").device("north") as device,
        pytest.raises(PermissionError, match="encrypted sums only"),
    ):
        device.train_controller(ControllerRequest("moments", features_id(FEATURES)), own_questions(files, "north"), "1")


def test_a_forged_ciphertext_is_left_out_of_the_sum(files: Federation) -> None:
    def torn(update: ControllerUpdate) -> ControllerUpdate:
        return replace(
            update, term=replace(update.term, parts=tuple(one[: len(one) // 2] for one in update.term.parts))
        )

    private = files.with_changes(exchange="encrypted", controller__rounds=2)
    strategy = trained(private, private.grid(tampering(ControllerUpdate, torn, "north")))
    assert "not what was sent" in strategy.outcome().traffic.missing["north"]
    assert np.isfinite(kept(private, "south").weights).all()
