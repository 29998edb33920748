"""The interface for Python: its names, and that importing it costs nothing."""

import subprocess
import sys
from pathlib import Path

import pytest

import fedrag_flwr
from fedrag_flwr import Settings
from fedrag_flwr.api.configured import configured
from fedrag_flwr.errors import SettingError

HEAVY = ("torch", "pandas", "numpy", "pydantic", "spacy", "flwr", "llama_cpp", "sentence_transformers")


def test_the_public_names_stay() -> None:
    assert fedrag_flwr.__all__ == ["Answer", "Device", "Federation", "Settings", "__version__"]
    assert dir(fedrag_flwr) == sorted(fedrag_flwr.__all__)
    for name in fedrag_flwr.__all__:
        assert getattr(fedrag_flwr, name)
    with pytest.raises(AttributeError, match="Devise"):
        _ = fedrag_flwr.Devise


def test_importing_the_package_loads_no_model_library() -> None:
    code = f"import sys, fedrag_flwr; print([name for name in {HEAVY!r} if name in sys.modules])"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"


def test_settings_are_given_by_keyword_mapping_or_file(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text("seed = 9\n[models]\nread-seconds = 8.0\n[memory]\ndelta = 0.7\n", encoding="utf-8")
    assert configured(None, {"models_read_seconds": 8.0}).models.read_seconds == 8.0
    assert (
        configured({"memory.delta": 0.7}, {"seed": 9}).flat()
        == Settings.from_config({"memory.delta": 0.7, "seed": 9}).flat()
    )
    told = configured(file, {"memory_delta": 0.8})
    assert (told.seed, told.models.read_seconds, told.memory.delta) == (9, 8.0, 0.8)
    assert configured(told, {}).flat() == told.flat()


@pytest.mark.parametrize(
    ("given", "changes", "named"),
    [
        (None, {"memory_detla": 0.7}, "memory.detla"),
        (None, {"memory_delta": "much"}, "memory.delta"),
        ({"nothing": 1}, {}, "nothing"),
        ("missing.toml", {}, "missing.toml"),
    ],
)
def test_what_is_no_setting_is_named(given: object, changes: dict[str, float | str], named: str) -> None:
    with pytest.raises(SettingError, match=named):
        configured(given, changes)  # type: ignore[arg-type]


def test_a_file_that_is_no_toml_is_named(tmp_path: Path) -> None:
    (tmp_path / "torn.toml").write_text("[memory\n", encoding="utf-8")
    with pytest.raises(SettingError, match="torn"):
        configured(tmp_path / "torn.toml", {})
    (tmp_path / "list.toml").write_text("[memory]\ndelta = [1]\n", encoding="utf-8")
    with pytest.raises(SettingError, match=r"memory\.delta"):
        configured(tmp_path / "list.toml", {})
