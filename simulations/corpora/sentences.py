"""The multi-hop files: their rows as published, and their sentences, encoded once and kept under the project's home."""

import gzip
import hashlib
import io
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.files import replace_file
from fedrag_flwr.hypergraph.base import Units
from fedrag_flwr.models.load import load_encoder
from fedrag_flwr.records import Document
from fedrag_flwr.settings import fedrag_home
from fedrag_flwr.text.segment import under_title
from simulations.corpora.multihop import read_multihop

DATASETS = {"HotpotQA": "hotpotqa", "2WikiMultiHopQA": "2wikimultihopqa", "MuSiQue": "musique"}
_CUT = re.compile(r"(?<=[.!?])[\"')]?\s+(?=[\"'(]?[A-Z0-9])")
_FEWEST_CHARACTERS = 20
_BLOCK = 4_000  # sentences encoded and kept at once: an interrupted run goes on with the next block


def json_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a compressed file of JSON lines."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def rows_of(path: Path, split: str, limit: int) -> Iterator[dict[str, Any]]:
    """The first rows of a split of a multi-hop file, as published; none of a setting other than ``distractor``."""
    of_split = (row for row in json_lines(path) if row["split"] == split)
    yield from islice((row for row in of_split if row.get("setting", "distractor") == "distractor"), limit)


def sentences_of(documents: Iterable[Document]) -> list[str]:
    """Split documents at sentence ends by their punctuation, each sentence under its title, each once."""
    split = (
        under_title(document.title, part.strip())
        for document in documents
        for part in _CUT.split(document.text)
        if len(part.strip()) >= _FEWEST_CHARACTERS
    )
    return list(dict.fromkeys(split))


def whole_words(part: str, text: str) -> re.Match[str] | None:
    """Where a part first stands in a text as whole words, in any case."""
    return re.search(rf"(?<!\w){re.escape(part)}(?!\w)", text, re.IGNORECASE)


def pooled_documents(data: Path, limit: int | None = None) -> list[Document]:
    """Give the paragraphs of all rows of the three datasets, taken from each in turn: a prefix holds all three."""
    pools = [read_multihop(data / f"{name}.jsonl.gz", None, limit, None).documents for name in DATASETS.values()]
    in_turn = (document for document in chain.from_iterable(zip_longest(*pools)) if document is not None)
    return list({document.id: document for document in in_turn}.values())


def encoded(texts: Sequence[str], said: str) -> NDArray[np.float32]:
    """Encode texts, unit rows of shape (texts, dimension), a block at a time; one that was encoded before is read.

    `said`: what the texts are, for the line that tells of the progress.
    """
    encoder = load_encoder(threads=1)
    folder = fedrag_home() / "benchmarks" / "vectors"
    folder.mkdir(parents=True, exist_ok=True)
    parts = [np.zeros((0, encoder.dimension), dtype=np.float32)]
    for start in range(0, len(texts), _BLOCK):
        block = list(texts[start : start + _BLOCK])
        kept = folder / f"{hashlib.sha256(json.dumps([encoder.id, block]).encode()).hexdigest()[:32]}.npy"
        if not kept.is_file():
            file = io.BytesIO()
            np.save(file, encoder.encode(block))
            replace_file(kept, file.getvalue())
            print(f"encoded {start + len(block)} of {len(texts)} {said}", flush=True)
        parts.append(np.load(kept))
    return np.concatenate(parts)


def sentence_units(vectors: NDArray[np.float32]) -> Units:
    """Name the rows of a matrix as sentences."""
    return Units("sentence", tuple(f"s{row:06d}" for row in range(len(vectors))), vectors)
