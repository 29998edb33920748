"""A device from Python: it builds, answers, streams, and its documents come and go."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from fedrag_flwr import Answer, Device
from fedrag_flwr.errors import ModelMissingError, NotFoundError, SettingError, SourceError, StoreError

SMALL = "smollm2-135m"


@pytest.fixture
def device(home: Path, folders: Path) -> Iterator[Device]:
    with Device("bridges", documents=folders / "bridges", models_generator=SMALL) as device:
        device.build()
        yield device


def test_it_answers_with_evidence_from_its_documents(device: Device) -> None:
    answer = device.ask("Who designed Tarn Bridge?")
    assert isinstance(answer, Answer)
    assert answer.text == "Odile Varro"
    assert answer.path == "memorizer"
    assert answer.evidence[0].document == "tarn"
    assert "Odile Varro" in answer.evidence[0].text
    assert 0.0 < answer.confidence <= 1.0
    assert answer.origin.startswith("From memory: ")
    assert str(answer) == f"Odile Varro\n{answer.origin}"
    assert answer
    assert "<mark>Odile Varro</mark>" in answer._repr_html_()


def test_text_of_documents_is_escaped_in_a_notebook(device: Device, folders: Path) -> None:
    file = folders / "bridges" / "mill.md"
    file.write_text("# Mill\n\nThe mill <b>wheel</b> & the `<script>` tag belong to Imke Harn.\n", encoding="utf-8")
    device.build()
    assert "<script>" not in device.ask("Who owns the mill wheel tag?")._repr_html_()


def test_an_answer_is_streamed_while_it_is_written(device: Device) -> None:
    stream = device.stream("Which kinds of vehicle can cross the river there today?")
    texts = list(stream)
    assert len(texts) > 1
    assert all(len(later) > len(earlier) for earlier, later in pairwise(texts))
    assert stream.answer.question == "Which kinds of vehicle can cross the river there today?"
    assert list(stream) == []


def test_what_goes_wrong_in_a_stream_is_raised_where_the_answer_is_read(device: Device) -> None:
    stream = device.stream("   ")
    assert list(stream) == []
    with pytest.raises(SettingError, match="no question"):
        _ = stream.answer


def test_documents_come_and_go(home: Path, folders: Path, tmp_path: Path) -> None:
    with Device("own", models_generator=SMALL) as device:
        device.add(folders / "bridges" / "tarn.md", folders / "railways" / "viaduct.md")
        assert set(device.documents["document"]) == {"tarn", "viaduct"}
        assert "Ottilie Brackenridge" in device.ask("Who built the Quill Viaduct?").text
        assert len(device.memories) == device.edge.describe().items
        with pytest.raises(SourceError, match="replace=True"):
            device.add(folders / "bridges" / "tarn.md")
        with pytest.raises(NotFoundError, match="vault"):
            device.remove("viaduct", "vault")
        assert set(device.documents["document"]) == {"tarn", "viaduct"}
        device.remove("viaduct")
        assert set(device.documents["document"]) == {"tarn"}
        assert "Ottilie" not in device.ask("Who built the Quill Viaduct?").text
        assert device.ranked("Who designed Tarn Bridge?")["title"][0].startswith("Tarn Bridge")
        device.remove("tarn")
        assert device.documents.empty
    assert (folders / "bridges" / "tarn.md").exists()  # copies went, not the files


@pytest.mark.parametrize(("file", "named"), [("missing.md", "no such file"), ("movie.mp4", "kind that is not read")])
def test_files_that_cannot_be_added_are_named(home: Path, tmp_path: Path, file: str, named: str) -> None:
    (tmp_path / "movie.mp4").write_bytes(b"x")
    with Device("own", models_generator=SMALL) as device, pytest.raises(SourceError, match=named):
        device.add(tmp_path / file)


def test_two_files_of_one_name_are_not_added(home: Path, tmp_path: Path) -> None:
    files = [tmp_path / folder / "notes.txt" for folder in ("a", "b")]
    for file in files:
        file.parent.mkdir()
        file.write_text(f"Of the folder {file.parent.name}.")
    with Device("own", models_generator=SMALL) as device:
        with pytest.raises(SourceError, match=r"notes\.txt: two files"):
            device.add(*files, replace=True)
        assert device.folder is not None
        assert list(device.folder.iterdir()) == []


def test_a_device_without_memory_says_what_to_do(home: Path, folders: Path) -> None:
    with Device("bridges", documents=folders / "bridges") as device:
        with pytest.raises(StoreError, match=r"build\(\)"):
            device.ask("Who designed Tarn Bridge?")
        with pytest.raises(StoreError, match=r"build\(\)"):
            device.stream("Who designed Tarn Bridge?")
    with pytest.raises(SourceError, match="no such folder"):
        Device("bridges", documents=folders / "nowhere")
    with (
        Device("bridges", documents=folders / "bridges", models_generator="no-such") as device,
        pytest.raises(ModelMissingError, match="no-such"),
    ):
        device.build()
    with pytest.raises(SettingError, match="device-name"):
        Device("../bridges")


def test_a_rebuilt_device_and_one_opened_again_answer_alike(home: Path, folders: Path) -> None:
    with Device("bridges", documents=folders / "bridges", models_generator=SMALL) as device:
        first = device.build()
        assert device.build(rebuild=True).items == first.items
    with Device("bridges", models_generator=SMALL) as again:
        assert again.ask("Who designed Tarn Bridge?").text == "Odile Varro"


def test_removing_a_document_leaves_a_picture_of_its_name(home: Path, folders: Path) -> None:
    picture = folders / "bridges" / "tarn.png"
    picture.write_bytes(b"\x89PNG")
    with Device("bridges", documents=folders / "bridges", models_generator=SMALL) as device:
        device.build()
        device.remove("tarn")
        assert device.documents.empty
    assert picture.exists()
    assert not (folders / "bridges" / "tarn.md").exists()


def test_a_memory_stays_where_its_documents_cannot_be_read_again(home: Path, folders: Path) -> None:
    with Device("bridges", documents=folders / "bridges", models_generator=SMALL) as device:
        device.build()
        (folders / "bridges" / "tarn.md").unlink()
        with pytest.raises(SourceError):
            device.build(rebuild=True)
        assert device.ask("Who designed Tarn Bridge?").text == "Odile Varro"
