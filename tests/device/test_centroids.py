"""The centroids of passages: one grouping whoever asks, of what the filter shows, with nothing exact to subtract."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from fedrag_flwr import wire
from fedrag_flwr.demo import CORPUS
from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.device.edge import NAMES
from fedrag_flwr.device.releases import RELEASED
from fedrag_flwr.privacy.known_names import KnownNames
from fedrag_flwr.privacy.vectors import Content
from fedrag_flwr.records import Centroid, CentroidBatch, CentroidRequest
from fedrag_flwr.settings import Plain, Settings
from fedrag_flwr.text.segment import under_title
from tests.strategies.federation import small_models

Floats = NDArray[np.float64]
MODES = ("none", "type-masking", "ldp")
PRIVATE = MODES[1:]
NAME = "Lena Marchbanksy"
SECRET = "{} was admitted to the cancer ward of the hill clinic on 3 May and asked for her sister."
LATER = "Oswin Tarrowby was treated for syphilis at the hill clinic by the village doctor last winter."


def write(root: Path, name: str = NAME) -> None:
    """The demo's first documents, of some sixty passages, and a patient's."""
    folder = root / "documents"
    folder.mkdir(parents=True)
    for path in sorted(CORPUS.rglob("*.md"))[:30]:
        shutil.copy(path, folder / f"{path.parent.name}-{path.name}")
    (folder / "patient.txt").write_text(SECRET.format(name), encoding="utf-8")


@contextmanager
def opened(root: Path, **changes: Plain) -> Iterator[EdgeDevice]:
    settings = Settings.from_config({"home": str(root / "home"), "privacy.public-names": "", **changes})
    with EdgeDevice("alder", root / "documents", root / "store", settings, small_models()) as device:
        yield device


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("alder")
    write(root)
    with opened(root) as device:
        device.build(memories=False)
    return root


@pytest.fixture
def root(built: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(built, tmp_path / "alder"))


def asked(device: EdgeDevice, most: int = 16) -> tuple[Centroid, ...]:
    """What another party has of a device in the end."""
    batch = wire.decode(wire.encode(device.giving.centroids(CentroidRequest(most)), run="1"), CentroidBatch, run="1")
    return batch.centroids


def told(centroids: tuple[Centroid, ...]) -> list[tuple[bytes, int, float]]:
    return [(one.vector.tobytes(), one.passages, one.closeness) for one in centroids]


def hidden_of(device: EdgeDevice) -> Floats:
    """The vectors that the device keeps of passages that masking changes clearly; the two patients' are among them."""
    units = device.store.units("paragraph")
    passages = device.store.passages(units.ids)
    texts = tuple(under_title(one.title, one.text) for one in passages)
    shown = device.export.shown_vectors(Content(texts, units.vectors))
    assert len(shown) == len(texts)
    changed = (shown * units.vectors).sum(axis=1) < 0.9
    assert all(changed[row] for row, text in enumerate(texts) if NAME in text or "Tarrowby" in text)
    return np.asarray(units.vectors[changed], dtype=np.float64)


def reach(given: list[Floats], hidden: Floats) -> float:
    """The highest cosine to a hidden vector of all that two given ones add up to, whatever lengths they had."""
    units = [one / np.linalg.norm(one) for one in given]
    best = max(float(np.abs(hidden @ one).max()) for one in units)
    for place, one in enumerate(units):
        for other in units[:place]:
            rest = other - (other @ one) * one
            if (length := float(np.linalg.norm(rest))) > 1e-3:  # else they are one, but for 16 bits
                best = max(best, float(np.hypot(hidden @ one, hidden @ rest / length).max()))
    return best


@pytest.mark.parametrize("export", MODES)
def test_neither_a_request_nor_a_run_has_a_say_in_the_grouping(root: Path, export: str) -> None:
    with opened(root, **{"privacy.export": export}) as device:
        whole = told(asked(device))
        assert whole  # how many hangs on the secret that the device has drawn
        assert all(told(asked(device, most)) == whole[:most] for most in (1, 2, 3, 16, 1_024))
    shutil.rmtree(root / "store" / RELEASED)
    with opened(root, seed=1, **{"privacy.export": export}) as device:
        assert told(asked(device, 2)) == whole[:2]
        assert told(asked(device)) == whole


def test_sizes_and_nearness_are_told_roughly_and_the_largest_group_first(root: Path) -> None:
    with opened(root) as device:
        given = asked(device)
    sizes = [one.passages for one in given]
    assert sizes == sorted(sizes, reverse=True)
    assert all(size & (size - 1) == 0 for size in sizes)
    assert [one.closeness * 20 for one in given] == pytest.approx([round(one.closeness * 20) for one in given])


@pytest.mark.parametrize("export", PRIVATE)
def test_no_vector_of_a_private_passage_can_be_made_of_what_is_given(root: Path, export: str) -> None:
    given: list[Floats] = []

    def ask_around() -> None:
        for seed in range(4):
            with opened(root, seed=seed, **{"privacy.export": export}) as device:
                for most in range(1, 9):
                    given.extend(one.vector.astype(float) for one in asked(device, most))

    ask_around()
    (root / "documents" / "new.txt").write_text(LATER, encoding="utf-8")
    with opened(root, **{"privacy.export": export}) as device:
        device.build(memories=False)
        hidden = hidden_of(device)
    ask_around()
    given = list({one.tobytes(): one for one in given}.values())
    assert reach(given, hidden) < 0.95


@pytest.mark.parametrize("export", PRIVATE)
def test_what_is_given_is_the_same_whoever_the_patient_is(root: Path, export: str) -> None:
    with opened(root, **{"privacy.export": export}) as device:
        before = asked(device)
    (root / "documents" / "patient.txt").write_text(SECRET.format("Maria Lopez"), encoding="utf-8")
    with opened(root, **{"privacy.export": export}) as device:
        device.build(memories=False)
        after = asked(device)
    assert [one.passages for one in after] == [one.passages for one in before]
    assert np.allclose([one.vector for one in after], [one.vector for one in before], atol=1e-3)


def test_what_was_made_is_kept_until_documents_or_names_change(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = root / "store" / RELEASED / "centroids.npz"
    with opened(root, **{"privacy.export": "type-masking"}) as device:
        made: list[Content] = []
        show = device.export.shown_vectors

        def noting(passages: Content) -> NDArray[np.float32]:
            made.append(passages)
            return show(passages)

        monkeypatch.setattr(device.export, "shown_vectors", noting)
        first, often = told(asked(device)), len(made)
        assert told(asked(device)) == first
        assert len(made) == often > 0
        file.write_bytes(file.read_bytes()[:-100])
        assert told(asked(device)) == first
        KnownNames(root / "store" / NAMES).learn([("Apollo", "PERSON")])
        assert told(asked(device)) != first


def test_they_are_told_though_the_disk_keeps_them_not(root: Path) -> None:
    (root / "store" / RELEASED / "centroids.npz").mkdir(parents=True)  # nothing can be written in its place
    with opened(root) as device:
        first = told(asked(device))
        assert first
        assert told(asked(device)) == first


def test_every_request_is_in_the_ledger(root: Path) -> None:
    with opened(root) as device:
        given = sum(len(asked(device, most)) for most in (1, 3, 16))
        device.export.outgoing.write("run", "query.centroids", 0)
        assert {row.kind: row.count for row in device.export.outgoing.by_kind()}["vectors"] == given
