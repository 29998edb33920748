"""A small corpus about space exploration in five silos, with questions for evaluation."""

from pathlib import Path
from typing import Final

__all__ = ["CORPUS", "PARTITION", "PARTITION_STRONG", "PUBLIC_NAMES", "QUESTIONS"]

_HERE: Final = Path(__file__).resolve().parent

CORPUS: Final[Path] = _HERE / "corpus"
QUESTIONS: Final[Path] = _HERE / "questions.jsonl"
PUBLIC_NAMES: Final[Path] = _HERE / "public_names.json"
PARTITION: Final[Path] = _HERE / "partition.jsonl"
PARTITION_STRONG: Final[Path] = _HERE / "partition_strong.jsonl"
