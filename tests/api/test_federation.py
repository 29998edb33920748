"""A federation from Python: the strategies over devices in this process, answers, and tables."""

import json
from pathlib import Path

import pytest

from fedrag_flwr import Device, Federation
from fedrag_flwr.errors import DocumentError, SettingError, SourceError

SMALL = "smollm2-135m"
QUESTIONS = [
    {"question": "When did Tarn Bridge open?", "home": "bridges", "answer": "1924"},
    {"question": "Who built the Quill Viaduct?", "home": "bridges", "answer": "Ottilie Brackenridge"},
]


def test_a_device_answers_from_another_ones_memory(home: Path, folders: Path) -> None:
    with Federation.from_folders(folders, strategy="memory-fusion", models_generator=SMALL) as federation:
        assert federation.devices == ("bridges", "railways")
        assert set(federation.build()) == {"bridges", "railways"}
        own = federation.ask("Who designed Tarn Bridge?", at="bridges")
        assert own.text == "Odile Varro"
        assert own.evidence[0].document == "tarn"
        assert federation.ask("When did Tarn Bridge open?", at="railways").text == "1924"
        with pytest.raises(SettingError, match="nobody"):
            federation.ask("Who designed Tarn Bridge?", at="nobody")
        with pytest.raises(SettingError, match="no question"):
            federation.ask(" ")


def test_many_questions_make_a_table(home: Path, folders: Path) -> None:
    with Federation.from_folders(folders, strategy="local-memory", models_generator=SMALL) as federation:
        table = federation.run(QUESTIONS)
    assert list(table["id"]) == ["q1", "q2"]
    assert list(table["right"]) == [True, False]
    assert table["answer"][0] == "1924"
    assert table["path"][1] == "abstained"


def test_strategies_are_compared_over_a_file(home: Path, folders: Path, tmp_path: Path) -> None:
    file = tmp_path / "qa.jsonl"
    file.write_text("".join(json.dumps({"id": f"n{at}", **one}) + "\n" for at, one in enumerate(QUESTIONS)))
    with Federation.from_folders(folders, models_generator=SMALL) as federation:
        table = federation.compare(["memory-fusion", "local-memory"], file)
        again = federation.compare(["local-rag"], file)
        replayed = federation.compare(["local-rag"], file)
    assert list(table.index) == ["memory-fusion", "local-memory"]
    assert table["ACC"]["local-memory"] == 0.5
    assert Path(table.attrs["results"], "report.html").is_file()
    for one in (table, again, replayed):
        assert (one[["Mean latency", "p50", "p95"]] > 0).all(axis=None)


def test_devices_of_their_own_make_a_federation(home: Path, folders: Path) -> None:
    devices = [Device(name, documents=folders / name, models_generator=SMALL) for name in ("bridges", "railways")]
    with Federation.of(devices, strategy="memory-fusion", models_generator=SMALL) as federation:
        federation.build()
        assert federation.ask("When did Tarn Bridge open?", at="railways").text == "1924"
    with devices[0] as device:  # the federation built its store
        assert device.ask("Who designed Tarn Bridge?").text == "Odile Varro"


def test_what_cannot_be_a_federation_is_told_at_once(home: Path, folders: Path, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="memory-fusio"):
        Federation.from_folders(folders, strategy="memory-fusio")
    with pytest.raises(SourceError, match="no such folder"):
        Federation.from_folders(tmp_path / "nowhere")
    with pytest.raises(SourceError, match="no folder in it"):
        Federation.from_folders(folders / "bridges")
    with pytest.raises(SettingError, match="names of their own"):
        Federation.of([])
    with Federation.from_folders(folders) as federation:
        with pytest.raises(SettingError, match="best-of-all"):
            federation.compare(["best-of-all"], QUESTIONS)
        with pytest.raises(SettingError, match="no device is called 'bridge'"):
            federation.run([{"question": "Who designed Tarn Bridge?", "home": "bridge"}])
        with pytest.raises(DocumentError, match="question 1"):
            federation.run([{"home": "bridges"}])
