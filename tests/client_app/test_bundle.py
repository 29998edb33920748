"""The bundle that Flower sends to every device: it can be built, holds the data of the program, and is small enough."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

from flwr.cli.build import build_fab_from_disk
from flwr.common.constant import FAB_MAX_SIZE

ROOT = Path(__file__).parents[2]


def test_the_bundle_holds_the_data_that_the_program_reads() -> None:
    built = build_fab_from_disk(ROOT)
    assert len(built) < FAB_MAX_SIZE
    held = set(zipfile.ZipFile(io.BytesIO(built)).namelist())
    package = ROOT / "fedrag_flwr"
    data = {path.relative_to(ROOT).as_posix() for kind in ("json", "jsonl") for path in package.rglob(f"*.{kind}")}
    assert "fedrag_flwr/models/spans.json" in data
    assert data <= held
