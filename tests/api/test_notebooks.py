"""The example notebooks run from the first cell to the last, over a part of the demo's documents."""

import shutil
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from fedrag_flwr.demo import CORPUS

EXAMPLES = Path(__file__).parents[2] / "examples"
ASKED_ABOUT = ("cassini-huygens", "giotto", "voyager-1", "sputnik-1", "titan-iv", "r-7", "titan", "mars")
FIRST = """
from pathlib import Path
import fedrag_flwr.demo
fedrag_flwr.demo.CORPUS = Path({folder!r})
settings = {{"models.generator": "smollm2-135m", "memory.tokens-per-kilotoken": 0}}
settings |= {{"inference.passages": 2, "inference.max-answer-tokens": 8}}  # a small model reads, and writes, little
"""


@pytest.mark.parametrize("notebook", sorted(EXAMPLES.glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_runs(notebook: Path, home: Path, tmp_path: Path) -> None:
    for file in CORPUS.rglob("*.md"):
        if file.stem in ASKED_ABOUT:
            (folder := tmp_path / "corpus" / file.parent.name).mkdir(parents=True, exist_ok=True)
            shutil.copy(file, folder)
    content = nbformat.read(notebook, as_version=4)  # type: ignore[no-untyped-call]
    first = next(cell for cell in content.cells if cell.cell_type == "code")
    assert first.source.startswith("settings = ")
    first.source = FIRST.format(folder=str(tmp_path / "corpus"))
    NotebookClient(content, timeout=600).execute()
    assert all(cell.execution_count for cell in content.cells if cell.cell_type == "code")
