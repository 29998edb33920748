"""ColBERT checkpoints by path: what a folder gives, held to the model's own layers, and folders that are none.

The checkpoint is a real one in ColBERT's own file format, with a tiny BERT of random weights.
"""

import json
import string
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import BertConfig, BertModel, BertTokenizerFast

from fedrag_flwr.errors import ModelError, ModelMissingError
from fedrag_flwr.models import LateInteractionReranker, load_encoder
from fedrag_flwr.models.colbert import ColbertEncoder
from fedrag_flwr.records import Passage
from fedrag_flwr.retrieval import LateInteractionRetriever, QuestionVectors, TokenTable

HIDDEN, WIDTH, QUESTION_LENGTH = 16, 8, 12
WORDS = ("who", "built", "the", "tarn", "bridge", "odile", "varro", "designed", "salt", "##ed", "museum")
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[unused0]", "[unused1]")
PASSAGES = ["Odile Varro designed the bridge.", "The salted museum!"]
QUESTION = "Who built the tarn bridge?"


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint as ColBERT writes it."""
    folder = tmp_path_factory.mktemp("colbert")
    (folder / "vocab.txt").write_text("\n".join([*SPECIAL, *WORDS, *string.punctuation]))
    tokenizer = BertTokenizerFast(  # type: ignore[no-untyped-call, unused-ignore]
        vocab_file=str(folder / "vocab.txt"), do_lower_case=True
    )
    tokenizer.save_pretrained(str(folder))
    torch.manual_seed(0)
    config = BertConfig(  # type: ignore[no-untyped-call, unused-ignore]
        vocab_size=len(SPECIAL) + len(WORDS) + len(string.punctuation),
        hidden_size=HIDDEN,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
    )
    config.architectures = ["HF_ColBERT"]
    config.save_pretrained(str(folder))
    model = BertModel(config)  # type: ignore[no-untyped-call, unused-ignore]
    weights = {f"bert.{name}": value.contiguous() for name, value in model.state_dict().items()}
    save_file({**weights, "linear.weight": torch.randn(WIDTH, HIDDEN)}, str(folder / "model.safetensors"))
    told: dict[str, object] = {
        "query_maxlen": QUESTION_LENGTH,
        "doc_maxlen": 20,
        "mask_punctuation": True,
        "dim": WIDTH,
    }
    told |= {"query_token_id": "[unused0]", "doc_token_id": "[unused1]", "attend_to_mask_tokens": False}
    (folder / "artifact.metadata").write_text(json.dumps(told))
    return folder


def changed(own: Path, folder: Path, change: Callable[[Path], object]) -> Path:
    """A copy of the checkpoint with a change."""
    folder.mkdir(parents=True)
    for file in own.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    change(folder)
    return folder


def by_hand(folder: Path, ids: list[int], seen: list[int]) -> np.ndarray:
    """What BERT's layers and the projection give for tokens, in unit rows."""
    weights = load_file(str(folder / "model.safetensors"))
    model = BertModel(BertConfig.from_pretrained(str(folder)))  # type: ignore[no-untyped-call, unused-ignore]
    model.train(False)
    bert = {name.removeprefix("bert."): value for name, value in weights.items() if name.startswith("bert.")}
    model.load_state_dict(bert)
    with torch.no_grad():
        hidden = model(input_ids=torch.tensor([ids]), attention_mask=torch.tensor([seen])).last_hidden_state[0]
        vectors = (hidden @ weights["linear.weight"].T).numpy()
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


def ids_of(folder: Path, *tokens: str) -> list[int]:
    names = (folder / "vocab.txt").read_text().split("\n")
    return [names.index(token) for token in tokens]


def test_a_question_is_marked_and_filled_up_with_masks(own: Path) -> None:
    [vectors] = ColbertEncoder(own).token_embeddings([QUESTION], asked=True)
    words = ("[CLS]", "[unused0]", "who", "built", "the", "tarn", "bridge", "?", "[SEP]")
    ids = ids_of(own, *words, *["[MASK]"] * (QUESTION_LENGTH - len(words)))
    wanted = by_hand(own, ids, [1] * len(words) + [0] * (QUESTION_LENGTH - len(words)))
    assert vectors.shape == (QUESTION_LENGTH, WIDTH)
    assert vectors == pytest.approx(wanted, abs=1e-5)


def test_a_passage_is_marked_and_its_punctuation_left_out(own: Path) -> None:
    first, second = ColbertEncoder(own).token_embeddings(PASSAGES)
    words = ("[CLS]", "[unused1]", "the", "salt", "##ed", "museum", "!", "[SEP]")
    wanted = by_hand(own, ids_of(own, *words), [1] * len(words))
    assert second == pytest.approx(np.delete(wanted, words.index("!"), axis=0), abs=1e-5)
    assert len(first) == len(["[CLS]", "[D]", "odile", "varro", "designed", "the", "bridge", "[SEP]"])


def test_long_texts_are_cut(own: Path) -> None:
    encoder = ColbertEncoder(own)
    [passage] = encoder.token_embeddings(["bridge " * 100])
    [question] = encoder.token_embeddings(["bridge " * 100], asked=True)
    assert (len(passage), len(question)) == (20, QUESTION_LENGTH)
    [empty] = encoder.token_embeddings([""])
    assert len(empty) == 3
    assert encoder.token_embeddings([]) == []


def test_batches_give_what_single_texts_give(own: Path) -> None:
    together = ColbertEncoder(own).token_embeddings(PASSAGES)
    single = [ColbertEncoder(own).token_embeddings([one])[0] for one in PASSAGES]
    for one, other in zip(together, single, strict=True):
        assert one == pytest.approx(other, abs=1e-5)


def test_late_interaction_ranks_by_the_checkpoint(own: Path) -> None:
    encoder = ColbertEncoder(own)
    questions = QuestionVectors(load_encoder(), tokens=encoder)
    corpus = [Passage(f"p{i}", f"d{i}", "", text, ()) for i, text in enumerate(PASSAGES)]
    found = LateInteractionRetriever(TokenTable.of(corpus, questions), questions).rank(QUESTION, 2)
    scores = LateInteractionReranker(encoder).score(QUESTION, PASSAGES)
    wanted = {f"p{i}": score for i, score in enumerate(scores.tolist())}
    assert {one.passage_id: one.score for one in found} == pytest.approx(wanted, abs=0.02)  # codes of eight bits
    assert found[0].passage_id == max(wanted, key=lambda name: wanted[name])
    assert encoder.id in LateInteractionRetriever(TokenTable.of(corpus, questions), questions).id


def test_the_projection_may_be_a_module_of_its_own(own: Path, tmp_path: Path) -> None:
    def split(folder: Path) -> None:
        weights = load_file(str(folder / "model.safetensors"))
        (folder / "1_Dense").mkdir()
        save_file({"linear.weight": weights.pop("linear.weight")}, str(folder / "1_Dense" / "model.safetensors"))
        plain = {name.removeprefix("bert."): value for name, value in weights.items()}
        save_file(plain, str(folder / "model.safetensors"))
        (folder / "artifact.metadata").unlink()
        told: dict[str, object] = {
            "query_prefix": "[unused0] ",
            "document_prefix": "[unused1] ",
            "skiplist_words": ["!", ".", "?"],
        }
        told |= {"query_length": QUESTION_LENGTH, "document_length": 20}
        (folder / "config_sentence_transformers.json").write_text(json.dumps(told))

    other = ColbertEncoder(changed(own, tmp_path / "split", split))
    for asked in (True, False):
        texts = [QUESTION] if asked else PASSAGES
        pairs = zip(
            other.token_embeddings(texts, asked=asked),
            ColbertEncoder(own).token_embeddings(texts, asked=asked),
            strict=True,
        )
        for one, wanted in pairs:
            assert one == pytest.approx(wanted, abs=1e-5)


def _with_module(folder: Path) -> None:
    (folder / "1_Dense").mkdir()
    save_file({"linear.weight": torch.ones(WIDTH, HIDDEN)}, str(folder / "1_Dense" / "model.safetensors"))


def _with_another_module(folder: Path) -> None:
    _with_module(folder)
    save_file({"linear.weight": torch.zeros(WIDTH, HIDDEN)}, str(folder / "1_Dense" / "model.safetensors"))


def _with_other_lengths(folder: Path) -> None:
    (folder / "artifact.metadata").write_text('{"doc_maxlen": 40}')


def _with_pylate_s_metadata(folder: Path) -> None:
    (folder / "artifact.metadata").unlink()
    (folder / "config_sentence_transformers.json").write_text('{"document_length": 20}')


def test_all_that_decides_the_vectors_is_in_the_id(own: Path, tmp_path: Path) -> None:
    changes = (_with_module, _with_another_module, _with_other_lengths, _with_pylate_s_metadata)
    folders = [own, *(changed(own, tmp_path / str(n) / own.name, change) for n, change in enumerate(changes))]
    assert len({ColbertEncoder(folder).id for folder in folders}) == len(folders)
    same = changed(own, tmp_path / "same" / own.name, lambda folder: folder)
    assert ColbertEncoder(same).id == ColbertEncoder(own).id


def _without_projection(folder: Path) -> None:
    weights = load_file(str(folder / "model.safetensors"))
    del weights["linear.weight"]
    save_file(weights, str(folder / "model.safetensors"))


def _wrong_projection(folder: Path) -> None:
    weights = load_file(str(folder / "model.safetensors"))
    save_file({**weights, "linear.weight": torch.zeros(WIDTH, HIDDEN + 1)}, str(folder / "model.safetensors"))


def _as_empty_pickle(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(b"")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_without_projection, "no projection"),
        (_wrong_projection, "does not fit"),
        (lambda folder: (folder / "model.safetensors").write_bytes(b"torn"), "weights cannot be read"),
        (_as_empty_pickle, "weights cannot be read"),
        (lambda folder: (folder / "model.safetensors").unlink(), "no projection"),
        (lambda folder: (folder / "config.json").unlink(), "cannot be loaded"),
        (lambda folder: (folder / "artifact.metadata").write_text("[]"), "settings cannot be read"),
        (lambda folder: (folder / "artifact.metadata").write_text('{"doc_maxlen": "long"}'), "doc_maxlen"),
        (lambda folder: (folder / "artifact.metadata").write_text('{"query_token_id": "[none]"}'), "markers"),
    ],
)
def test_a_checkpoint_must_be_one(own: Path, tmp_path: Path, change: Callable[[Path], object], said: str) -> None:
    with pytest.raises(ModelError, match=said):
        ColbertEncoder(changed(own, tmp_path / "other", change)).token_embeddings(["bridge"])


def test_a_path_without_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelMissingError):
        ColbertEncoder(tmp_path / "nowhere")
