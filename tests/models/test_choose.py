"""Which generator `auto` means: a table of what was found, and real trials with a small model for others."""

import json
import math
import sys
import threading
import time
from pathlib import Path

import pytest

from fedrag_flwr.errors import ModelError
from fedrag_flwr.loaded_models import load_models
from fedrag_flwr.models import choose
from fedrag_flwr.models.choose import (
    TRIALS,
    Trial,
    form_for_machine,
    free_memory,
    has_tiles,
    kept,
    meant_by_auto,
    memory_needed,
    pick,
)
from fedrag_flwr.models.registry import DEFAULT_GENERATOR, REGISTRY, ModelFile, known
from fedrag_flwr.settings import Settings

GB = 1_000_000_000


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A model cache of the test's own, empty."""
    monkeypatch.setenv("FEDRAG_HOME", str(tmp_path / "home"))
    (tmp_path / "home" / "models").mkdir(parents=True)
    return tmp_path / "home" / "models"


@pytest.fixture
def two(home: Path, smollm2: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The tests' model at hand under the names of a smaller and of a larger one."""
    packaged = known("smollm2-135m")
    for name in ("smaller", "larger"):
        monkeypatch.setitem(REGISTRY, name, ModelFile(name, f"{name}.gguf", packaged.sha256, packaged.size))
        (home / f"{name}.gguf").symlink_to(smollm2)
    monkeypatch.setattr(choose, "GENERATORS", ("smaller", "larger"))
    return home


PICKED = [
    ("no other", [], "s"),
    ("quick", [("m", Trial(2 * GB, 3 * GB, 4.9))], "m"),
    ("just in time", [("m", Trial(2 * GB, 3 * GB, 5.0))], "m"),
    ("slow", [("m", Trial(2 * GB, 3 * GB, 5.1))], "s"),
    ("no memory", [("m", Trial(3 * GB, 2 * GB))], "s"),
    ("memory to the byte", [("m", Trial(3 * GB, 3 * GB, 1.0))], "m"),
    ("cannot be loaded", [("m", Trial(1 * GB, 2 * GB))], "s"),
    ("the largest of two", [("m", Trial(1 * GB, 9 * GB, 1.0)), ("l", Trial(2 * GB, 9 * GB, 2.0))], "l"),
    ("the largest is slow", [("m", Trial(1 * GB, 9 * GB, 1.0)), ("l", Trial(2 * GB, 9 * GB, 6.0))], "m"),
    ("the largest does not fit", [("m", Trial(1 * GB, 9 * GB, 1.0)), ("l", Trial(9 * GB, 8 * GB))], "m"),
    ("both are slow", [("m", Trial(1 * GB, 9 * GB, 7.0)), ("l", Trial(2 * GB, 9 * GB, 6.0))], "s"),
]


@pytest.mark.parametrize(("larger", "name"), [row[1:] for row in PICKED], ids=[row[0] for row in PICKED])
def test_the_largest_that_fits_and_is_quick_is_picked(larger: list[tuple[str, Trial]], name: str) -> None:
    choice = pick("s", larger, 5.0)
    assert choice.name == name
    assert all(other in choice.why for other, _ in larger if name == "s")


@pytest.mark.parametrize(
    ("name", "gigabytes"), [(DEFAULT_GENERATOR, 1.14), (f"{DEFAULT_GENERATOR}-q8", 1.85), ("qwen2.5-coder-1.5b", 1.95)]
)
def test_memory_is_reckoned_from_the_file(name: str, gigabytes: float) -> None:
    assert memory_needed(known(name)) / GB == pytest.approx(gigabytes, abs=0.01)


def test_the_system_tells_what_is_free() -> None:
    assert 1 << 20 < free_memory() <= sys.maxsize


def test_where_none_is_at_hand_the_default_is_meant_and_nothing_is_fetched(home: Path, tmp_path: Path) -> None:
    choice = meant_by_auto()
    assert choice.name in (DEFAULT_GENERATOR, f"{DEFAULT_GENERATOR}-q8")
    assert "fetched when it is first asked" in choice.why
    assert list(home.iterdir()) == []
    assert load_models(Settings().models, tmp_path).generator_id.startswith(known(choice.name).file)


def test_a_file_that_is_not_whole_is_not_at_hand(two: Path) -> None:
    (two / "larger.gguf").unlink()
    (two / "larger.gguf").write_bytes(b"GGUF")
    assert (meant_by_auto().name, meant_by_auto().why) == ("smaller", "no larger one is at hand")


def test_what_was_measured_is_kept(two: Path, tmp_path: Path) -> None:
    first = meant_by_auto(seconds=1e6)
    assert (first.name, first.why.startswith("takes ")) == ("larger", True)
    path = two / TRIALS
    trials = json.loads(path.read_text())
    [(name, trial)] = trials.items()
    assert "threads=1 gpu=0" in name
    assert 0 < trial["seconds"] < math.inf
    assert meant_by_auto(seconds=trial["seconds"] / 2).name == "smaller"
    path.write_text(json.dumps({name: trial | {"seconds": 9.0}}))
    assert meant_by_auto().why == "larger takes 9.0 s for a usual prompt, more than 5"
    settings = Settings.from_config({"models.read-seconds": 10.0})
    assert load_models(settings.models, tmp_path).generator_id.startswith("larger.gguf-")


def test_many_that_ask_at_once_try_once(home: Path) -> None:
    tried: list[int] = []

    def attempt() -> float:
        tried.append(1)
        time.sleep(0.2)
        return 1.5

    threads = [threading.Thread(target=kept, args=("a model", 1, attempt)) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert tried == [1]
    assert kept("a model", 1, attempt).seconds == 1.5


def fails() -> float:
    raise ModelError("no room")


def test_what_does_not_fit_or_cannot_be_used_is_kept_as_such(home: Path) -> None:
    assert not kept("large", sys.maxsize, fails).fits
    assert kept("broken", 1, fails).seconds == math.inf
    assert kept("broken", 1, lambda: 1.0).seconds == math.inf
    assert kept("another", 1, lambda: 1.0).seconds == 1.0


TORN: list[str | None] = ["", "[]", "{", '{"a model": {"seconds": 1}}', '{"a model": 3}', None]


@pytest.mark.parametrize("torn", TORN)
def test_a_torn_file_is_written_anew_and_where_none_can_be_another_trial_is_made(home: Path, torn: str | None) -> None:
    if torn is None:
        (home / TRIALS).mkdir()
    else:
        (home / TRIALS).write_text(torn)
    assert kept("a model", 1, lambda: 2.0).seconds == 2.0
    assert kept("a model", 1, lambda: 3.0).seconds == (3.0 if torn is None else 2.0)


@pytest.mark.skipif(not has_tiles(), reason="no matrix tiles, or llama.cpp was compiled without them")
def test_with_matrix_tiles_the_8_bit_copy_is_written_and_meant(two: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = ModelFile("smaller-q8", "smaller-q8.gguf", "0" * 64, 1, made_from="smaller")
    monkeypatch.setitem(REGISTRY, "smaller-q8", wrong)
    assert form_for_machine("smaller") == "smaller"  # the copy was not what it has to be, so it is not used
    assert "smaller-q8.gguf" not in {path.name for path in two.iterdir()}
    made = known("smollm2-135m")
    assert form_for_machine("larger") == "larger"
    copy = ModelFile("larger-q8", "larger-q8.gguf", made.sha256, made.size, made_from="larger")
    monkeypatch.setitem(REGISTRY, "larger-q8", copy)
    (two / "larger-q8.gguf").symlink_to((two / "larger.gguf").readlink())
    (two / "larger.gguf").unlink()  # the copy suffices
    assert form_for_machine("larger") == "larger-q8"
    assert meant_by_auto(seconds=1e6).name == "larger-q8"
    written, measured, wrong_copy = sorted(one["seconds"] for one in json.loads((two / TRIALS).read_text()).values())
    assert (written, wrong_copy) == (0.0, math.inf)
    assert measured > 0.0
