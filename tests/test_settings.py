"""Settings: the app's defaults are the program's, and a wrong value names the key, the value and what is allowed."""

import re
import tomllib
from pathlib import Path

import pytest
from flwr.common.config import get_fused_config_from_dir, parse_config_args
from hypothesis import given
from hypothesis import strategies as st

from fedrag_flwr.device.modes import TOP_K
from fedrag_flwr.errors import SettingError
from fedrag_flwr.hypergraph.base import LearningSettings
from fedrag_flwr.settings import FEDRAG_PARTS, Plain, Settings, fedrag_home
from server_app.run import check_run

ROOT = Path(__file__).parents[1]
PYPROJECT = ROOT / "pyproject.toml"


def published() -> dict[str, Plain]:
    """The app's run config as Flower flattens it."""
    config = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["tool"]["flwr"]["app"]["config"]
    flat: dict[str, Plain] = {}
    for key, value in config.items():
        if isinstance(value, dict):
            flat.update({f"{key}.{name}": inner for name, inner in value.items()})
        else:
            flat[key] = value
    return flat


def test_the_published_defaults_are_the_programs() -> None:
    ours = Settings().flat()
    assert published() == ours
    assert {key: type(value) for key, value in published().items()} == {k: type(v) for k, v in ours.items()}


def test_every_published_key_has_a_comment() -> None:
    text = PYPROJECT.read_text(encoding="utf-8")
    section = text[text.index("[tool.flwr.app.config]") : text.index("[tool.ruff]")]
    lines = [line for line in section.splitlines() if re.match(r"[a-z-]+ = ", line)]
    assert len(lines) == len(Settings().flat())
    assert [line for line in lines if not re.search(r"\s# \S.{5,}$", line)] == []


PAPERS: dict[str, Plain] = {  # FD-RAG 5.1, C.2 and Table 6
    "memory.delta": 0.8,
    "memory.tokens-per-kilotoken": 58,
    "privacy.epsilon": 1.0,
    "privacy.group-size": 5,
    "federation.devices": 5,
}


def test_the_preset_is_fd_rags_own_settings() -> None:
    """As `flwr run . --run-config` reads it; a default that moves away from the paper belongs into the preset, too."""
    preset = parse_config_args([str(ROOT / "presets" / "fd-rag.toml")])
    assert preset == {"memory.delta": 0.8, "memory.tokens-per-kilotoken": 58, "retrieval.order": "similarity"}
    settings = Settings.from_config(get_fused_config_from_dir(ROOT, preset))
    told = settings.flat()
    assert {key: told[key] for key in PAPERS} == PAPERS
    learning = LearningSettings()
    assert (learning.threshold, learning.intra_weight, learning.units_per_edge) == (0.5, 0.6, 4)
    assert (learning.steps, learning.learning_rate, TOP_K) == (300, 0.05, 5)
    assert {key for key, value in Settings().flat().items() if told[key] != value} == preset.keys()


@pytest.mark.parametrize("file", sorted((ROOT / "presets").glob("*.toml")), ids=lambda file: file.stem)
def test_a_preset_changes_what_it_names_and_can_be_run(file: Path) -> None:
    preset = parse_config_args([str(file)])
    told = Settings.from_config(get_fused_config_from_dir(ROOT, preset))
    check_run(told)
    assert {key for key, value in Settings().flat().items() if told.flat()[key] != value} == preset.keys()


WRONG: list[tuple[str, Plain, str]] = [
    ("memory.delta", 1.5, "less than or equal to 1"),
    ("memory.delta", "0.8", "valid number"),
    ("memory.delta", True, "valid number"),
    ("memory.alpha", -0.1, "greater than or equal to 0"),
    ("federation.devices", 5.0, "valid integer"),
    ("memory.tokens-per-kilotoken", -1, "greater than or equal to 0"),
    ("models.generation-cache", "false", "valid boolean"),
    ("models.generation-cache", 1, "valid boolean"),
    ("models.threads", 0, "greater than or equal to 1"),
    ("models.context-tokens", 100, "greater than or equal to 512"),
    ("models.generator", 7, "valid string"),
    ("models.read-seconds", float("inf"), "less than or equal to 3600"),
    ("models.read-seconds", float("nan"), "not allowed"),
    ("hypergraph.grouping", "dealt", "'learned', 'k-means' or 'random'"),
    ("fedrag.without", "owners, others", "memories, owners, summaries, reading, cache"),
    ("inference.abstain-below", 1.2, "less than or equal to 1"),
    ("graph.written-by", "hand", "'rules' or 'model'"),
    ("privacy.export", "plain", "'none', 'type-masking' or 'ldp'"),
    ("privacy.epsilon", 0, "greater than 0"),
    ("privacy.group-size", 1, "greater than or equal to 2"),
    ("federation.quorum", 1.1, "less than or equal to 1"),
    ("federation.round-timeout", 0, "greater than 0"),
    ("seed", -1, "greater than or equal to 0"),
    ("seed", "7", "valid integer"),
    ("memory", 3, "not allowed"),
]


@pytest.mark.parametrize(("key", "value", "allowed"), WRONG)
def test_a_wrong_value_names_key_value_and_what_is_allowed(key: str, value: Plain, allowed: str) -> None:
    with pytest.raises(SettingError) as refused:
        Settings.from_config({key: value})
    said = str(refused.value)
    assert key.rpartition(".")[2] in said
    assert repr(value) in said
    assert allowed in said
    assert "pyproject.toml" in refused.value.fix


@pytest.mark.parametrize("group", ["models", "server"])
def test_an_address_goes_with_the_name_of_the_model_there(group: str) -> None:
    address: dict[str, Plain] = {f"{group}.generator": "http://127.0.0.1:8080/v1"}
    named = Settings.from_config(address | {f"{group}.generator-name": "m"})
    assert named.server_models.generator_name == "m"
    with pytest.raises(SettingError, match=rf"'{group}.generator-name' = '' .*needs the name"):
        Settings.from_config(address)
    assert Settings.from_config({f"{group}.generator": "m.gguf"}).server_models.generator == "m.gguf"


def test_the_server_has_the_devices_models_but_for_its_own_generator() -> None:
    devices: dict[str, Plain] = {"models.generator": "small", "models.threads": 2}
    assert Settings.from_config(devices).server_models == Settings.from_config(devices).models
    both = Settings.from_config(devices | {"server.generator": "large"})
    assert (both.server_models.generator, both.server_models.threads, both.models.generator) == ("large", 2, "small")


def test_there_are_no_more_settings_than_somebody_has_a_reason_to_change() -> None:
    assert len(Settings().flat()) <= 80


GROUPS = {key.partition(".")[0] for key in Settings().flat() if "." in key}
KEY = rf"(?:{'|'.join(sorted(GROUPS))})\.[a-z][a-z-]*"
NAMED = re.compile(rf"""(?<=["'`]){KEY}(?=["'`= ])|(?<![\w./-]){KEY}(?==[^=])""")  # in quotes, or as it is set
SPEAKING = [  # whatever tells people or programs to set something
    ROOT / "README.md",
    ROOT / "Makefile",
    *(path for name in ("docs", "examples", "presets", "deploy", "simulations") for path in (ROOT / name).rglob("*")),
]
FILES = {"md", "py", "pem", "json", "jsonl", "html", "csv", "sqlite", "key"}  # `privacy.md` is a page


def test_what_pages_and_scripts_set_is_a_setting() -> None:
    known, wrong = Settings().flat().keys(), []
    for path in SPEAKING:
        if path.suffix in (".md", ".py", ".ipynb", ".toml", ".sh", "") and path.is_file():
            named = set(NAMED.findall(path.read_text(encoding="utf-8"))) - known
            wrong += [f"{path.name}: {key}" for key in named if key.partition(".")[2] not in FILES]
    assert wrong == []


def test_parts_of_fedrag_are_left_out_by_their_names() -> None:
    parts = Settings.from_config({"fedrag.without": " owners,cache, "}).fedrag
    assert [part for part in FEDRAG_PARTS if not parts.has(part)] == ["owners", "cache"]


@pytest.mark.parametrize("key", ["colour", "memory.colour", "memory.top_k", "models.generator.name", "Memory.delta"])
def test_an_unknown_key_is_named(key: str) -> None:
    with pytest.raises(SettingError, match=r"is not a setting"):
        Settings.from_config({key: 1})


@pytest.mark.parametrize(
    "config", [{"seed": 1, "seed.x": 2}, {"seed.x": 2, "seed": 1}, {"memory.delta": 0.5, "memory": 1}]
)
def test_what_is_a_value_has_no_part_and_what_has_parts_no_value(config: dict[str, int]) -> None:
    with pytest.raises(SettingError, match=r"'(seed|memory)' is given a value and settings of its own"):
        Settings.from_config(config)


def test_all_wrong_values_are_told_at_once() -> None:
    with pytest.raises(SettingError) as refused:
        Settings.from_config({"seed": -1, "memory.delta": 2.0, "colour": "red"})
    assert all(key in str(refused.value) for key in ("seed", "memory.delta", "colour"))


def test_a_long_wrong_value_is_cut() -> None:
    with pytest.raises(SettingError) as refused:
        Settings.from_config({"seed": "x" * 10_000})
    assert len(str(refused.value)) < 400


FLOATS = [key for key, value in Settings().flat().items() if isinstance(value, float)]


@pytest.mark.parametrize("key", FLOATS)
def test_an_int_stands_for_a_float(key: str) -> None:
    value = 0 if key == "memory.alpha" else 1
    read = Settings.from_config({key: value}).flat()[key]
    assert isinstance(read, float)
    assert read == value


@given(st.integers(0, 2**31), st.floats(0, 1), st.booleans(), st.text(max_size=20))
def test_settings_survive_their_flat_form(seed: int, delta: float, cache: bool, home: str) -> None:
    given_ones: dict[str, Plain] = {"seed": seed, "memory.delta": delta, "models.generation-cache": cache, "home": home}
    read = Settings.from_config(given_ones)
    assert Settings.from_config(read.flat()) == read
    assert {key: read.flat()[key] for key in given_ones} == given_ones


def test_a_digest_stands_for_all_settings() -> None:
    changed = [Settings.from_config({"seed": 8}), Settings.from_config({"memory.delta": 0.7}), Settings()]
    assert len({one.digest() for one in changed}) == 3
    assert Settings.from_config(Settings().flat()).digest() == Settings().digest()


@pytest.mark.parametrize(
    ("strategy", "baselines", "systems"),
    [
        ("memory-fusion", "", ("memory-fusion",)),
        ("memory-fusion", "local-rag", ("memory-fusion", "local-rag")),
        ("no-rag", " local-rag , no-rag,, ", ("no-rag", "local-rag")),
    ],
)
def test_systems_are_named_once_the_own_first(strategy: str, baselines: str, systems: tuple[str, ...]) -> None:
    assert Settings.from_config({"strategy": strategy, "baselines": baselines}).systems == systems


def test_sets_of_documents_are_kept_apart() -> None:
    keys = {Settings.from_config({"data.root": root}).data_key for root in ("demo", "/a/docs", "/b/docs", "/a/docs/x")}
    assert len(keys) == 4
    assert all("/" not in key for key in keys)


@pytest.mark.parametrize(
    ("configured", "environment", "expected"),
    [("/a", "/b", "/a"), ("", "/b", "/b"), ("~/x", None, str(Path.home() / "x"))],
)
def test_home(configured: str, environment: str | None, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FEDRAG_HOME", raising=False)
    if environment:
        monkeypatch.setenv("FEDRAG_HOME", environment)
    assert fedrag_home(configured) == Path(expected)
