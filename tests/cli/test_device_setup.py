"""`fedrag device`: what it writes, that Flower reads it, that nothing is overwritten, how keys follow each other."""

import json
import shlex
import stat
from pathlib import Path
from typing import NoReturn

import pytest
import tomli_w
from click.testing import Result
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from flwr.common.config import parse_config_args
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from fedrag_flwr import device_files
from fedrag_flwr.cli import app
from fedrag_flwr.device_files import DeviceFiles, public_half


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home without devices, beside a folder of documents and an authority."""
    monkeypatch.setenv("FEDRAG_HOME", str(tmp_path / "home"))
    (tmp_path / "documents").mkdir()
    (tmp_path / "ca.crt").write_text("an authority", encoding="utf-8")
    return tmp_path


def run(*words: str) -> Result:
    return CliRunner().invoke(app, ["device", *words])


def made(home: Path, *more: str) -> DeviceFiles:
    """A device after its init."""
    words = ("--documents", str(home / "documents"), "--root-certificates", str(home / "ca.crt"))
    result = run("init", "ward-3", *words, "--superlink", "fed.example:8000", *more)
    assert result.exit_code == 0, result.output
    return DeviceFiles.of("ward-3")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_flower_reads_what_init_wrote(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)  # its processes run elsewhere: what is relative here is written in full
    (home / "ward.source.toml").touch()
    named = ("--source", "sqlite:///a b.db", "--source", "ward.source.toml", "--source", "neo4j://reader@10.0.0.5:7687")
    files = made(home, "--set", "export=ldp", "--set", "epsilon=0.5", *named)
    wanted = {
        "device-name": "ward-3",
        "data-path": str(home / "documents"),
        "sources": f"'sqlite:///{home}/a b.db' {home}/ward.source.toml neo4j://reader@10.0.0.5:7687",
        "export": "ldp",
        "epsilon": 0.5,
    }
    assert files.read().own == wanted
    assert parse_config_args([str(files.config)]) == wanted
    key = serialization.load_ssh_private_key(files.key.read_bytes(), None)
    public = serialization.load_ssh_public_key(public_half(files.key).read_bytes())
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    assert isinstance(public, ec.EllipticCurvePublicKey)
    assert key.curve.name == "secp384r1"
    assert key.public_key().public_numbers() == public.public_numbers()


def test_paths_among_further_settings_are_written_in_full(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    for name in ("names.txt", "asked.jsonl", "trained"):
        (home / name).touch()
    changes = {
        "public-names": ("names.txt", str(home / "names.txt")),
        "training-questions": ("asked.jsonl", str(home / "asked.jsonl")),
        "weights": ("trained", "trained"),
        "model-path": ("not-here.gguf", "not-here.gguf"),
        "topics": (str(home / "names.txt"), str(home / "names.txt")),
    }
    own = made(home, *(word for key, (told, _) in changes.items() for word in ("--set", f"{key}={told}"))).read().own
    assert {key: own[key] for key in changes} == {key: written for key, (_, written) in changes.items()}


def test_only_the_owner_reads(home: Path) -> None:
    files = made(home)
    assert mode(files.root) == 0o700
    assert {mode(path) for path in (files.config, files.key, files.supernode)} == {0o600}


def test_the_command_has_tls_and_a_key_unless_told(home: Path) -> None:
    files = made(home)
    lines = dict(line.split("=", 1) for line in shlex.split(files.supernode.read_text()))
    assert lines["SUPERLINK"] == "fed.example:8000"
    assert lines["TRANSPORT"].split() == [
        *("--root-certificates", str(home / "ca.crt")),
        *("--auth-supernode-private-key", str(files.key)),
    ]
    plain = run("init", "open", "--documents", str(home / "documents"), "--plain-i-know")
    assert "--insecure" in plain.output
    assert 'TRANSPORT="--insecure"' in DeviceFiles.of("open").supernode.read_text()


def test_nothing_is_overwritten(home: Path) -> None:
    files = made(home)
    before = {path.name: path.read_bytes() for path in files.root.iterdir()}
    again = run("init", "ward-3", "--documents", str(home))
    assert again.exit_code == 1
    assert "there already" in again.output
    assert {path.name: path.read_bytes() for path in files.root.iterdir()} == before


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("../up", "--documents", "."), "cannot be a device's name"),
        (("", "--documents", "."), "cannot be a device's name"),
        (("ward",), "needs documents"),
        (("ward", "--documents", "/nowhere/at/all"), "is not there"),
        (("ward", "--documents", ".", "--root-certificates", "none.crt"), "is not there"),
        (("ward", "--documents", ".", "--set", "exprot=ldp"), "not a setting of a device"),
        (("ward", "--documents", ".", "--set", "epsilon=-1"), "epsilon"),
        (("ward", "--documents", ".", "--set", "gpu-layers=many"), "gpu-layers"),
        (("ward", "--documents", ".", "--set", "export"), "KEY=VALUE"),
        (("ward", "--documents", ".", "--set", "device-name=other"), "no further setting"),
        (("ward", "--documents", ".", "--superlink", "a b"), "space"),
    ],
)
def test_what_is_refused(home: Path, words: tuple[str, ...], said: str) -> None:
    result = run("init", *words)
    assert result.exit_code == 1
    assert said in result.output
    assert not list(home.glob("home/devices/local/*/*"))


def test_show_never_tells_the_private_key(home: Path) -> None:
    files = made(home)
    secret = files.key.read_text().splitlines()[1]
    for result in (run("show", "ward-3"), run("show", "ward-3", "--json")):
        assert result.exit_code == 0
        assert secret not in result.output
    assert json.loads(run("show", "ward-3", "--json").output)["config"] == files.read().own
    assert "no such device" in run("show", "nobody").output


def test_show_hides_the_passwords_of_sources(home: Path) -> None:
    urls = ("postgresql://reader:ab/cd@10.0.0.5/ward", "neo4j://reader:${WARD_PASSWORD}@10.0.0.5:7687")
    made(home, *(word for url in urls for word in ("--source", url)))
    for words in ((), ("--json",)):
        shown = run("show", "ward-3", *words).stdout
        assert "ab/cd" not in shown
        assert "postgresql://reader:${SOURCE_PASSWORD}@10.0.0.5/ward" in shown
        assert urls[1] in shown


def test_a_rotation_cut_between_its_two_files_goes_on(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> NoReturn:
        raise OSError("the disk is full")

    files = made(home)
    public = public_half(files.next_key)
    public.write_text("of an earlier rotation, cut at its end", encoding="ascii")
    with monkeypatch.context() as patch:
        patch.setattr(device_files, "replace_file", full)
        assert run("rotate-key", "ward-3").exit_code == 1
    assert files.next_key.exists()
    assert not public.exists()
    following = files.next_key.read_bytes()
    assert "no next key" in run("rotate-key", "ward-3", "--finish").output  # nobody was shown it yet
    again = run("rotate-key", "ward-3")
    assert again.exit_code == 0, again.output
    shown = public.read_bytes()
    assert shown.decode().strip() in again.output
    assert run("rotate-key", "ward-3", "--finish").exit_code == 0
    assert (files.key.read_bytes(), public_half(files.key).read_bytes()) == (following, shown)
    key = serialization.load_ssh_private_key(following, None)
    told = serialization.load_ssh_public_key(shown)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    assert key.public_key() == told


def test_a_next_key_follows_only_when_told(home: Path) -> None:
    files = made(home)
    first, public = files.key.read_bytes(), public_half(files.key).read_bytes()
    assert run("rotate-key", "ward-3", "--finish").exit_code == 1
    assert run("rotate-key", "ward-3").exit_code == 0
    assert files.key.read_bytes() == first
    assert run("rotate-key", "ward-3").exit_code == 1
    following, following_public = files.next_key.read_bytes(), public_half(files.next_key).read_bytes()
    assert following_public != public
    assert run("rotate-key", "ward-3", "--finish").exit_code == 0
    assert (files.key.read_bytes(), public_half(files.key).read_bytes()) == (following, following_public)
    assert mode(files.key) == 0o600
    assert not files.next_key.exists()


def test_a_build_keeps_to_the_device_s_own_settings(home: Path) -> None:
    (home / "documents" / "pier.md").write_text("# Pier\n\nThe Pier of Ferren was built by Odile Varro in 1911.\n")
    files = made(home, "--set", "model-path=smollm2-135m")
    with files.config.open("a", encoding="utf-8") as config:
        config.write("[settings.memory]\ntokens-per-kilotoken = 0\n")
    built = run("build", "ward-3", "--json")
    assert built.exit_code == 0, built.output
    report = json.loads(built.stdout)
    assert (report["device"], report["documents"], report["cost"]["llm_calls"]) == ("ward-3", 1, 0)
    assert report["items"] > 0
    assert files.key.exists()


@pytest.mark.parametrize("text", ["device-name = ", "other = 1\n", "data-path = ['a']\n", "[export]\na = 1\n"])
def test_a_damaged_file_is_named(home: Path, text: str) -> None:
    files = made(home)
    files.config.write_text(text, encoding="utf-8")
    shown = run("show", "ward-3")
    assert shown.exit_code == 1
    assert "device.toml" in shown.output.replace("\n", "")


@given(st.text(st.characters(codec="utf-8"), max_size=40), st.booleans(), st.integers(-5, 5), st.floats(0, 9))
def test_any_value_is_read_back(tmp_path_factory: pytest.TempPathFactory, a: str, b: bool, c: int, d: float) -> None:
    config: dict[str, bool | int | float | str] = {"data-path": a, "share-documents": b, "group-size": c, "epsilon": d}
    files = DeviceFiles(tmp_path_factory.getbasetemp() / "written" / "device")
    files.root.mkdir(parents=True, exist_ok=True)
    files.config.write_bytes(tomli_w.dumps(config).encode())
    assert files.read().own == config
