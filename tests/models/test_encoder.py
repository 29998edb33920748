"""The encoder and late interaction on a real model."""

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedrag_flwr.errors import ModelError, ModelMissingError
from fedrag_flwr.models.base import Encoder
from fedrag_flwr.models.encoder import LateInteractionReranker, SentenceEncoder, has_bfloat16
from fedrag_flwr.models.files import resolve
from fedrag_flwr.models.load import load_encoder

ASKING, ROUNDS = 8, 20

TEXTS = ["Where was Ada Lovelace born?", "Ada Lovelace was born in London.", "Bananas are yellow."]


def test_the_default_encoder_is_known_by_content(encoder: SentenceEncoder) -> None:
    typed: Encoder = encoder
    assert typed.id == "all-minilm-l6-v2@53aa51172d14"
    assert typed.dimension == 384


def test_the_same_model_elsewhere_has_the_same_id(encoder: SentenceEncoder, tmp_path: Path) -> None:
    (tmp_path / "copy").symlink_to(resolve("all-minilm-l6-v2").parent)
    assert SentenceEncoder(tmp_path / "copy").id == encoder.id


@settings(max_examples=5)
@given(texts=st.lists(st.text(max_size=40), min_size=1, max_size=3))
def test_rows_are_unit_and_repeat(encoder: SentenceEncoder, texts: list[str]) -> None:
    vectors = encoder.encode(texts)
    assert vectors.shape == (len(texts), 384)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)
    assert (encoder.encode(texts) == vectors).all()


def test_nothing_gives_an_empty_matrix(encoder: SentenceEncoder) -> None:
    assert encoder.encode([]).shape == (0, 384)
    assert encoder.token_embeddings([]) == []


def test_company_changes_a_row_by_rounding_only(encoder: SentenceEncoder) -> None:
    together = encoder.encode([*TEXTS, "long " * 40])[:3]
    apart = np.concatenate([encoder.encode([text]) for text in TEXTS])
    assert (together * apart).sum(axis=1) == pytest.approx(1.0, abs=1e-3 if has_bfloat16() else 1e-6)
    assert together[0] @ together[1] > together[0] @ together[2]


def test_token_rows_are_unit_and_unpadded(encoder: SentenceEncoder) -> None:
    rows = encoder.token_embeddings([*TEXTS, ""])
    assert len({len(tokens) for tokens in rows}) > 1
    for tokens in rows:
        assert tokens.shape[1] == 384
        assert tokens.dtype == np.float32
        assert np.linalg.norm(tokens, axis=1) == pytest.approx(1, abs=1e-5)
    assert encoder.token_embeddings([TEXTS[2]])[0] == pytest.approx(rows[2], abs=1e-5)


def test_importing_and_making_one_loads_nothing() -> None:
    code = (
        "import sys\nfrom fedrag_flwr.models.encoder import SentenceEncoder\n"
        "from fedrag_flwr.models.generator import LlamaGenerator\nSentenceEncoder().id\n"
        "LlamaGenerator('x.gguf')\n"
        "heavy = {'torch', 'sentence_transformers', 'llama_cpp', 'jinja2', 'openai', 'requests'} & set(sys.modules)\n"
        "raise SystemExit(', '.join(sorted(heavy)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.stderr.strip() == ""


def test_a_missing_model_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ModelMissingError, match="no such model directory"):
        SentenceEncoder(tmp_path / "missing")
    empty = SentenceEncoder(tmp_path)
    with pytest.raises(ModelMissingError, match="no weights"):
        _ = empty.id


@pytest.mark.parametrize("config", ["{}", "[", '{"model_type": "bert"}'])
def test_a_broken_model_is_an_error(tmp_path: Path, config: str) -> None:
    (tmp_path / "config.json").write_text(config)
    (tmp_path / "model.safetensors").write_bytes(b"torn")
    with pytest.raises(ModelError, match="cannot be loaded"):
        SentenceEncoder(tmp_path).encode(["text"])


def test_one_encoder_serves_a_process() -> None:
    assert load_encoder() is load_encoder("") is load_encoder(threads=None)


def test_those_who_ask_together_get_one_model(tmp_path: Path) -> None:
    ready = threading.Barrier(ASKING)

    def ask(folder: Path) -> object:
        ready.wait()
        return load_encoder(str(folder))

    with ThreadPoolExecutor(ASKING) as pool:
        for number in range(ROUNDS):
            (folder := tmp_path / str(number)).mkdir()
            assert len(set(pool.map(ask, [folder] * ASKING))) == 1


def test_late_interaction_prefers_the_answer(encoder: SentenceEncoder) -> None:
    reranker = LateInteractionReranker(encoder)
    scores = reranker.score(TEXTS[0], [TEXTS[2], TEXTS[1], "", TEXTS[0]])
    assert scores.dtype == np.float32
    assert scores[3] == pytest.approx(1, abs=1e-5)
    assert scores[1] > scores[0]
    assert reranker.score(TEXTS[0], []).shape == (0,)


def test_late_interaction_is_the_mean_of_best_matches(encoder: SentenceEncoder) -> None:
    query, *texts = encoder.token_embeddings(TEXTS)
    expected = [(query @ tokens.T).max(axis=1).mean() for tokens in texts]
    assert LateInteractionReranker(encoder).score(TEXTS[0], TEXTS[1:]) == pytest.approx(expected, abs=1e-5)
