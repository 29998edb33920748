"""The multilingual encoder is written from its packed file; it brings questions to passages of any language."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from fedrag_flwr.errors import ModelHashError
from fedrag_flwr.models.load import load_encoder
from fedrag_flwr.models.multilingual import multilingual_folder, write_encoder

WIDTH, WIDE, PLACES, KINDS = 32, 64, 16, 2
PIECES = ["<s>", "<pad>", "</s>", "<unk>", "▁", "▁dam", "er", "▁query", ":"]


def packed() -> bytes:
    """A model of one layer in the layout of the real file; quantised weights are 0.5 on the diagonal, others 0."""
    text = "".join(PIECES).encode()
    ends = np.cumsum([0, *(len(piece.encode()) for piece in PIECES)]).astype("<u4")
    scores = np.array([0, 0, 0, 0, *(-1.0 - at for at in range(len(PIECES) - 4))], "<f4")
    head = b"E5S1" + struct.pack("<I7ifi", 1, WIDTH, 1, 2, WIDE, len(PIECES), PLACES, KINDS, 1e-12, 32)
    head += struct.pack("<5iQ", len(PIECES), 0, 2, 1, 3, len(text)) + ends.tobytes() + scores.tobytes() + text
    head += struct.pack("<iI", 0, 0)
    shapes = {
        "emb.word": (len(PIECES), WIDTH, True),
        "emb.pos": (PLACES, WIDTH, False),
        "emb.type": (KINDS, WIDTH, False),
        **{f"emb.ln.{part}": (1, WIDTH, False) for part in "wb"},
        **{f"l0.{name}.w": (WIDTH, WIDTH, True) for name in ("q", "k", "v", "ao")},
        **{f"l0.{name}.b": (1, WIDTH, False) for name in ("q", "k", "v", "ao", "fo")},
        **{f"l0.{name}.{part}": (1, WIDTH, False) for name in ("aln", "oln") for part in "wb"},
        "l0.fi.w": (WIDE, WIDTH, True),
        "l0.fi.b": (1, WIDE, False),
        "l0.fo.w": (WIDTH, WIDE, True),
    }
    directory = sum(2 + len(name) + 5 + 16 for name in shapes) + 4
    at, entries, bodies = len(head) + directory, b"", b""
    for name, (rows, width, quantised) in shapes.items():
        body = _quantised(rows, width) if quantised else np.full(rows * width, name.endswith("w"), "<f4").tobytes()
        entries += struct.pack("<H", len(name)) + name.encode()
        entries += struct.pack("<BIQQ", quantised, rows * width, at + len(bodies), len(body))
        bodies += body
    return head + struct.pack("<i", len(shapes)) + entries + bodies


def _quantised(rows: int, width: int) -> bytes:
    """0.5 on the diagonal: blocks of a scale and 32 codes of four bits, of which 8 stands for 0."""
    codes = (8 + 2 * np.eye(rows, width)).astype(np.uint8).reshape(-1, 2, 16)
    scale = np.full((len(codes), 1), 0.25, "<f2").view(np.uint8)
    return np.concatenate([scale, codes[:, 0] | codes[:, 1] << 4], axis=1).astype(np.uint8).tobytes()


def test_weights_sizes_and_pieces_of_a_packed_file(tmp_path: Path) -> None:
    (tmp_path / "made").mkdir()
    write_encoder(packed(), tmp_path / "made")
    made = SentenceTransformer(str(tmp_path / "made"), device="cpu")
    weights = {name: value.numpy() for name, value in made.state_dict().items()}
    told = {name.partition("auto_model.")[2]: value for name, value in weights.items()}
    assert told["encoder.layer.0.output.dense.weight"] == pytest.approx(0.5 * np.eye(WIDTH, WIDE))
    assert told["embeddings.word_embeddings.weight"] == pytest.approx(0.5 * np.eye(len(PIECES), WIDTH))
    assert made.tokenizer.tokenize("query: dam\n damer") == ["▁query", ":", "▁dam", "▁dam", "er"]
    assert np.linalg.norm(made.encode(["dam"]), axis=1) == pytest.approx(1.0, abs=1e-5)


def test_a_file_that_is_not_the_expected_one_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FEDRAG_HOME", str(tmp_path))
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "e5-small-q4.bin").write_bytes(packed())
    with pytest.raises(ModelHashError):
        multilingual_folder()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("question", "passages"),
    [
        ("Wie tief ist der See?", ["Er misst an der tiefsten Stelle 251 Meter.", "Die Miete ist monatlich zu zahlen."]),
        (
            "Qui répare le toit ?",
            ["Les réparations de la toiture incombent au bailleur.", "Le castor bâtit des digues."],
        ),
        ("How much is the deposit?", ["Die Kaution beträgt drei Monatsmieten.", "Der Biber ist nachtaktiv."]),
    ],
)
def test_questions_find_their_passages_in_other_languages(question: str, passages: list[str]) -> None:
    encoder = load_encoder("multilingual-e5-small")
    assert encoder.id.startswith("multilingual-e5-small@")
    right, wrong = encoder.encode(passages) @ encoder.encode([question])[0]
    assert right > wrong + 0.1
