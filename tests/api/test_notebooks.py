"""The example notebooks run from the first cell to the last."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

EXAMPLES = Path(__file__).parents[2] / "examples"
SETTINGS = 'settings = {"models.generator": "smollm2-135m", "memory.tokens-per-kilotoken": 0}'  # a small model reads


@pytest.mark.parametrize("notebook", sorted(EXAMPLES.glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_runs(notebook: Path, home: Path) -> None:
    content = nbformat.read(notebook, as_version=4)  # type: ignore[no-untyped-call]
    first = next(cell for cell in content.cells if cell.cell_type == "code")
    assert first.source.startswith("settings = ")
    first.source = SETTINGS
    NotebookClient(content, timeout=600).execute()
    assert all(cell.execution_count for cell in content.cells if cell.cell_type == "code")
