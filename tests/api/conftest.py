"""Documents and settings of the Python interface's tests."""

from pathlib import Path

import pytest

TARN = (
    "# Tarn Bridge\n\nTarn Bridge was designed by the engineer Odile Varro. It opened in 1924 and crosses the river "
    "Ossel. The bridge is 312 metres long.\n"
)
VIADUCT = (
    "# Quill Viaduct\n\nThe Quill Viaduct was built by Ottilie Brackenridge between 1887 and 1891. It carries the "
    "railway over the Marrow Valley.\n"
)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of the test's own; models stay where they are, and the smallest one reads."""
    monkeypatch.setenv("FEDRAG_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def folders(tmp_path: Path) -> Path:
    """Two devices' folders with a document each."""
    for device, name, text in (("bridges", "tarn", TARN), ("railways", "viaduct", VIADUCT)):
        folder = tmp_path / "devices" / device
        folder.mkdir(parents=True)
        (folder / f"{name}.md").write_text(text, encoding="utf-8")
    return tmp_path / "devices"
