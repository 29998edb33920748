"""The encoder and the rerankers on real models."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedrag_flwr.errors import ModelError, ModelMissingError
from fedrag_flwr.models import (
    CrossEncoderReranker,
    Encoder,
    LateInteractionReranker,
    Reranker,
    SentenceEncoder,
    load_encoder,
    load_reranker,
    resolve,
)

TEXTS = ["Where was Ada Lovelace born?", "Ada Lovelace was born in London.", "Bananas are yellow."]


def test_the_default_encoder_is_known_by_content(encoder: SentenceEncoder) -> None:
    typed: Encoder = encoder
    assert typed.id == "all-minilm-l6-v2@53aa51172d14"
    assert typed.dimension == 384


def test_the_same_model_elsewhere_has_the_same_id(encoder: SentenceEncoder, tmp_path: Path) -> None:
    (tmp_path / "copy").symlink_to(resolve("all-minilm-l6-v2").parent)
    assert SentenceEncoder(tmp_path / "copy").id == encoder.id


@settings(max_examples=5, deadline=None)
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
    assert together == pytest.approx(apart, abs=1e-5)
    assert together[0] @ together[1] > together[0] @ together[2]


def test_token_rows_are_unit_and_unpadded(encoder: SentenceEncoder) -> None:
    rows = encoder.token_embeddings([*TEXTS, ""])
    assert len({len(tokens) for tokens in rows}) > 1
    for tokens in rows:
        assert tokens.shape[1] == 384
        assert tokens.dtype == np.float32
        assert np.linalg.norm(tokens, axis=1) == pytest.approx(1, abs=1e-5)
    assert encoder.token_embeddings([TEXTS[2]])[0] == pytest.approx(rows[2], abs=1e-5)


def test_one_pass_gives_texts_and_tokens_alike(encoder: SentenceEncoder) -> None:
    texts = [*TEXTS, "long " * 40]
    vectors, tokens = encoder.encode_with_tokens(texts)
    assert vectors == pytest.approx(encoder.encode(texts), abs=1e-5)
    for rows, expected in zip(tokens, encoder.token_embeddings(texts), strict=True):
        assert rows == pytest.approx(expected, abs=1e-5)
    assert encoder.encode_with_tokens([])[0].shape == (0, 384)


def test_importing_and_making_one_loads_nothing() -> None:
    code = (
        "import sys\nfrom fedrag_flwr.models import SentenceEncoder, LlamaGenerator\nSentenceEncoder().id\n"
        "LlamaGenerator('x.gguf')\n"
        "heavy = {'torch', 'sentence_transformers', 'llama_cpp', 'jinja2', 'openai', 'requests'} & set(sys.modules)\n"
        "raise SystemExit(', '.join(sorted(heavy)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.stderr.strip() == ""


@pytest.mark.parametrize("kind", [SentenceEncoder, CrossEncoderReranker])
def test_a_missing_model_is_an_error(kind: type[SentenceEncoder] | type[CrossEncoderReranker], tmp_path: Path) -> None:
    with pytest.raises(ModelMissingError, match="no such model directory"):
        kind(tmp_path / "missing")
    empty = kind(tmp_path)
    with pytest.raises(ModelMissingError, match="no weights"):
        _ = empty.id


@pytest.mark.parametrize("config", ["{}", "[", '{"model_type": "bert"}'])
def test_a_broken_model_is_an_error(tmp_path: Path, config: str) -> None:
    (tmp_path / "config.json").write_text(config)
    (tmp_path / "model.safetensors").write_bytes(b"torn")
    with pytest.raises(ModelError, match="cannot be loaded"):
        SentenceEncoder(tmp_path).encode(["text"])
    with pytest.raises(ModelError, match="cannot be loaded"):
        CrossEncoderReranker(tmp_path).score("query", ["text"])


def test_one_encoder_serves_a_process() -> None:
    assert load_encoder() is load_encoder()


def test_late_interaction_prefers_the_answer(encoder: SentenceEncoder) -> None:
    reranker: Reranker = load_reranker(encoder=encoder)
    assert isinstance(reranker, LateInteractionReranker)
    assert reranker.id == f"maxsim({encoder.id})"
    scores = reranker.score(TEXTS[0], [TEXTS[2], TEXTS[1], "", TEXTS[0]])
    assert scores.dtype == np.float32
    assert scores[3] == pytest.approx(1, abs=1e-5)
    assert scores[1] > scores[0]
    assert reranker.score(TEXTS[0], []).shape == (0,)


def test_late_interaction_is_the_mean_of_best_matches(encoder: SentenceEncoder) -> None:
    query, *texts = encoder.token_embeddings(TEXTS)
    expected = [(query @ tokens.T).max(axis=1).mean() for tokens in texts]
    assert LateInteractionReranker(encoder).score(TEXTS[0], TEXTS[1:]) == pytest.approx(expected, abs=1e-5)


def tiny_cross_encoder(folder: Path, labels: int) -> Path:
    import torch
    from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

    torch.manual_seed(0)
    tokenizer = AutoTokenizer.from_pretrained(resolve("all-minilm-l6-v2").parent)  # type: ignore[no-untyped-call]
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    config = BertConfig(vocab_size=len(tokenizer), num_labels=labels, **sizes)  # type: ignore[no-untyped-call]
    BertForSequenceClassification(config).save_pretrained(folder)  # type: ignore[no-untyped-call]
    tokenizer.save_pretrained(folder)
    return folder


def test_a_cross_encoder_gives_one_score_for_each_text(encoder: SentenceEncoder, tmp_path: Path) -> None:
    path = tiny_cross_encoder(tmp_path / "cross", labels=1)
    reranker = load_reranker(str(path), encoder=encoder)
    assert reranker.id.startswith("cross@")
    scores = reranker.score(TEXTS[0], TEXTS)
    assert scores.shape == (3,)
    assert scores.dtype == np.float32
    assert (reranker.score(TEXTS[0], TEXTS) == scores).all()
    assert reranker.score(TEXTS[0], []).shape == (0,)


def test_a_classifier_is_not_a_reranker(tmp_path: Path) -> None:
    path = tiny_cross_encoder(tmp_path / "classes", labels=3)
    with pytest.raises(ModelError, match="more than one score"):
        CrossEncoderReranker(path).score(TEXTS[0], TEXTS)
