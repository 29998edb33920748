"""llama.cpp behind a few calls: its code for this processor, tokens, sequences of the key-value cache, grammars."""

from __future__ import annotations

import ctypes
import logging
import os
import tempfile
import threading
import weakref
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.errors import ModelError, PromptError
from fedrag_flwr.models.base import Grammar
from fedrag_flwr.models.download import require_space

State = bytes
_ALL_LAYERS = 0x7FFFFFFF
_CPU_BATCH = 128  # tokens in one pass: as fast as 256 and 512, and smaller
_GPU_BATCH = 512
_CANDIDATE = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])

# The matrix tiles (AMX) of this code end the process with an illegal instruction where GCC before 12.4 or 13.3 left out
# their set-up as a dead store (https://github.com/ggml-org/llama.cpp/pull/26954). Only code that records that it was
# compiled without that step is offered; the next best has the processor's other instructions.
_TILES, _KEPT = "sapphirerapids", b"-fno-dse"

_log = logging.getLogger(__name__)
_log_callbacks: list[object] = []  # llama.cpp keeps a pointer to the callback: it must live as long as the process
_loading = threading.Lock()


def library() -> Any:
    """Give llama.cpp's functions, ready for this processor; raises ModelError where llama-cpp-python is not installed,
    or there is no room in the temporary folder.
    """
    with _loading:  # a second thread would find no processor to run on
        return _prepared()


@cache
def _prepared() -> Any:
    try:
        from llama_cpp import llama_cpp as llama
    except ImportError as error:
        raise ModelError("llama-cpp-python is not installed", fix="pip install llama-cpp-python") from error
    callback = llama.llama_log_callback(_to_logging)
    _log_callbacks.append(callback)
    llama.llama_log_set(callback, ctypes.c_void_p(0))
    llama.llama_backend_init()
    _load_variant(llama)
    return llama


def _load_variant(llama: Any) -> None:
    """Where llama.cpp's code for processors lies in files of its own (GGML_BACKEND_DL), load what fits best."""
    try:
        variants = usable(Path(llama.__file__).parents[1] / "bin")
        if not variants:
            return
        with tempfile.TemporaryDirectory() as offered:
            for path in variants:
                (Path(offered) / path.name).symlink_to(path)
            # by the library that will use it: a wheel may hold ggml twice
            llama._lib.ggml_backend_load_all_from_path(ctypes.c_char_p(os.fsencode(offered)))
    except OSError as error:
        fix = "make room in the temporary folder"
        raise ModelError(f"llama.cpp's code cannot be chosen: {error.strerror}", fix=fix) from error


def instructions() -> str:
    """What the code that llama.cpp has loaded uses of this processor, such as ``AVX2, AVX512_VNNI, AMX_INT8``; raises
    ModelError where llama-cpp-python is not installed, or there is no room in the temporary folder.
    """
    told: str = library().llama_print_system_info().decode("utf-8", "replace")
    features = (feature.partition("=") for feature in told.removeprefix("CPU : ").split("|"))
    return ", ".join(name.strip() for name, _, on in features if on.strip() == "1")


def usable(folder: Path) -> list[Path]:
    """Of llama.cpp's code for kinds of processors what may be loaded where the processor fits."""
    return [path for path in folder.glob("*ggml-cpu*") if _TILES not in path.name or _keeps_set_up(path)]


def _keeps_set_up(path: Path) -> bool:
    try:
        return _KEPT in path.read_bytes()
    except OSError:  # then the next best is used
        return False


def _to_logging(level: int, text: bytes, _: object) -> None:
    _log.debug("llama.cpp (%d): %s", level, text.decode("utf-8", "replace").rstrip())


def requantize(source: Path, target: Path, size: int) -> None:
    """Write a GGUF file's weights as Q8_0; raises ModelError where the disk is too full, or llama.cpp cannot read the
    source or write the target.

    Parameters
    ----------
    source
        A file of any quantisation; of a coarser one, nothing that it holds is lost.
    size
        Bytes that it will have.
    """
    require_space(target.parent, size, target.name)
    llama = library()
    options = llama.llama_model_quantize_default_params()
    options.nthread, options.ftype, options.allow_requantize = 1, llama.LLAMA_FTYPE_MOSTLY_Q8_0, True
    if llama.llama_model_quantize(str(source).encode(), str(target).encode(), ctypes.byref(options)):
        target.unlink(missing_ok=True)
        raise ModelError("the weights cannot be written as Q8_0", where=source.name, fix="verify the file and the disk")


class LlamaEngine:
    """A loaded GGUF model with one context that several sequences share; raises ModelError where llama-cpp-python is
    not installed, or the file is not one that it can load.

    Sequence 0 holds the prompt; others fork from it and share its cells.

    Parameters
    ----------
    path
        The GGUF file.
    context_tokens
        Cells of the key-value cache; at most what the model was trained for.
    threads
        Threads for prompts and for generation.
    gpu_layers
        Layers on the GPU; -1: all.
    sequences
        Most sequences at once.
    """

    def __init__(
        self,
        path: Path,
        *,
        context_tokens: int,
        threads: int,
        gpu_layers: int = 0,
        sequences: int = 9,
    ) -> None:
        self._c: Any = library()
        model = self._load(path, gpu_layers)
        self._vocab = self._c.llama_model_get_vocab(model)
        self._model = model
        self.context_tokens = min(context_tokens, self._c.llama_model_n_ctx_train(model))
        self.on_gpu = gpu_layers != 0
        self.batch_tokens = min(_GPU_BATCH if self.on_gpu else _CPU_BATCH, self.context_tokens)
        self.vocabulary: int = self._c.llama_vocab_n_tokens(self._vocab)
        self._context = self._open(model, path, threads, sequences)
        self._memory = self._c.llama_get_memory(self._context)
        self._batch = self._c.llama_batch_init(self.batch_tokens, 0, 1)
        self._candidates = np.zeros(self.vocabulary, dtype=_CANDIDATE)
        self.close: Callable[[], object] = weakref.finalize(
            self, _free, self._c, self._batch, self._context, self._model
        )

    def metadata(self, key: str) -> str:
        """Give a value of the file's metadata; empty where it has none."""
        length = self._c.llama_model_meta_val_str(self._model, key.encode(), None, 0)
        if length < 0:
            return ""
        buffer = ctypes.create_string_buffer(length + 1)
        self._c.llama_model_meta_val_str(self._model, key.encode(), buffer, length + 1)
        return buffer.value.decode("utf-8", "replace")

    def tokenize(self, text: str, *, control: bool = False) -> list[int]:
        """Split a text into tokens; `control` reads control tokens in it."""
        data = text.encode("utf-8", "replace")
        room = len(data) + 8
        tokens = (self._c.llama_token * room)()
        count = self._c.llama_tokenize(self._vocab, data, len(data), tokens, room, False, control)
        if count < 0:
            raise PromptError("the text cannot be split into tokens")
        return list(tokens[:count])

    def text(self, tokens: Sequence[int]) -> str:
        """Join tokens to a text; a character that ends torn is left out."""
        return b"".join(map(self.piece, tokens)).decode("utf-8", "ignore")

    def piece(self, token: int) -> bytes:
        """The bytes of a token; they may begin or end within a character."""
        buffer = ctypes.create_string_buffer(512)
        length = self._c.llama_token_to_piece(self._vocab, token, buffer, len(buffer), 0, False)
        return buffer.raw[: max(length, 0)]

    def special_text(self, name: str) -> str:
        """Give the text of the ``bos`` or ``eos`` token; empty where there is none."""
        token = getattr(self._c, f"llama_vocab_{name}")(self._vocab)
        return self._c.llama_vocab_get_text(self._vocab, token).decode("utf-8", "replace") if token >= 0 else ""

    def ends(self, token: int) -> bool:
        """Say whether a token ends the turn."""
        return bool(self._c.llama_vocab_is_eog(self._vocab, token))

    def extend(self, tokens: Sequence[int], start: int) -> NDArray[np.float32]:
        """Evaluate prompt tokens in sequence 0 from a position on; give the last one's logits, shape (vocabulary,)."""
        for first in range(0, len(tokens), self.batch_tokens):
            block = tokens[first : first + self.batch_tokens]
            positions = range(start + first, start + first + len(block))
            self._decode(block, positions, [0] * len(block), all_logits=False)
        return self._logits(len(block) - 1).copy()

    def step(self, tokens: Sequence[int], positions: Sequence[int], sequences: Sequence[int]) -> NDArray[np.float32]:
        """Evaluate one token each of several places; give all logits, shape (n, vocabulary), until the next call."""
        self._decode(tokens, positions, sequences, all_logits=True)
        return np.stack([self._logits(i) for i in range(len(tokens))])

    def truncate(self, length: int) -> bool:
        """Cut sequence 0 to a length; False where the model's memory cannot be cut."""
        return bool(self._c.llama_memory_seq_rm(self._memory, 0, length, -1))

    def fork(self, sequence: int) -> None:
        """Begin a sequence as a copy of sequence 0."""
        self._c.llama_memory_seq_cp(self._memory, 0, sequence, -1, -1)

    def drop(self, sequence: int) -> None:
        """Forget a sequence."""
        self._c.llama_memory_seq_rm(self._memory, sequence, -1, -1)

    def clear(self) -> None:
        """Forget all sequences."""
        self._c.llama_memory_clear(self._memory, False)

    def save(self) -> State:
        """Copy the state of sequence 0 out of the context."""
        size = self._c.llama_state_seq_get_size(self._context, 0)
        buffer = (ctypes.c_uint8 * size)()
        return bytes(memoryview(buffer)[: self._c.llama_state_seq_get_data(self._context, buffer, size, 0)])

    def restore(self, state: State) -> bool:
        """Put a saved state in place of everything; False where it does not fit."""
        self.clear()
        buffer = (ctypes.c_uint8 * len(state)).from_buffer_copy(state)
        return bool(self._c.llama_state_seq_set_data(self._context, buffer, len(state), 0) > 0)

    def grammar(self, grammar: Grammar) -> GrammarState:
        """Compile a GBNF grammar whose first rule is ``root``; raises ModelError where the grammar does not parse."""
        return GrammarState(self._c, self._compile(grammar), self._candidates)

    def _compile(self, grammar: Grammar) -> Any:
        from llama_cpp._utils import suppress_stdout_stderr

        with suppress_stdout_stderr(disable=False):  # the parser writes its complaints, with the grammar, to stderr
            sampler = self._c.llama_sampler_init_grammar(self._vocab, grammar.encode(), b"root")
        if not sampler:
            raise ModelError("the grammar does not parse", fix="check the GBNF rules; the first is called root")
        return sampler

    def _load(self, path: Path, gpu_layers: int) -> Any:
        if not path.is_file():
            raise ModelError("the model file does not exist", where=path.name)
        params = self._c.llama_model_default_params()
        params.n_gpu_layers = _ALL_LAYERS if gpu_layers < 0 else gpu_layers
        model = self._c.llama_model_load_from_file(str(path).encode(), params)
        if not model:
            raise ModelError("the file is not a model that llama.cpp can load", where=path.name, fix="verify the file")
        return model

    def _open(self, model: Any, path: Path, threads: int, sequences: int) -> Any:
        params = self._c.llama_context_default_params()
        params.n_ctx = self.context_tokens
        params.n_batch = params.n_ubatch = self.batch_tokens
        params.n_threads = params.n_threads_batch = threads
        params.n_seq_max = sequences
        params.kv_unified = True  # sequences share cells: a fork costs nothing
        params.no_perf = True
        if not self.on_gpu:  # measured on one thread: prompts of 768 tokens are a third slower with it
            params.flash_attn_type = self._c.LLAMA_FLASH_ATTN_TYPE_DISABLED
        context = self._c.llama_init_from_model(model, params)
        if not context:
            self._c.llama_model_free(model)
            raise ModelError("no memory for the model's context", where=path.name, fix="lower context-tokens")
        self.context_tokens = int(self._c.llama_n_ctx(context))
        return context

    def _decode(
        self, tokens: Sequence[int], positions: Sequence[int], sequences: Sequence[int], *, all_logits: bool
    ) -> None:
        """Run one batch for the logits of all its tokens, or of the last."""
        batch, count = self._batch, len(tokens)
        batch.n_tokens = count
        for i in range(count):
            batch.token[i] = tokens[i]
            batch.pos[i] = positions[i]
            batch.n_seq_id[i] = 1
            batch.seq_id[i][0] = sequences[i]
            batch.logits[i] = all_logits or i == count - 1
        code = self._c.llama_decode(self._context, batch)
        if code:
            self.clear()
            fix = "raise context-tokens or shorten the prompt"
            if code == 1:
                raise PromptError("the context is full", fix=fix)
            raise ModelError(f"llama.cpp failed with code {code}", fix=fix)

    def _logits(self, row: int) -> NDArray[np.float32]:
        pointer = self._c.llama_get_logits_ith(self._context, row)
        return np.ctypeslib.as_array(pointer, shape=(self.vocabulary,))


class GrammarState:
    """Where one text stands in a grammar."""

    def __init__(self, library: Any, sampler: Any, candidates: NDArray[np.void]) -> None:
        self._c = library
        self._sampler = sampler
        self._candidates = candidates
        weakref.finalize(self, library.llama_sampler_free, sampler)

    def clone(self) -> GrammarState:
        """Begin another text at the same place."""
        return GrammarState(self._c, self._c.llama_sampler_clone(self._sampler), self._candidates)

    def allowed(self, tokens: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Say which tokens may come next, shape of `tokens`."""
        candidates = self._candidates[: len(tokens)]
        candidates["id"], candidates["logit"] = tokens, 0.0
        data = candidates.ctypes.data_as(self._c.llama_token_data_p)
        array = self._c.llama_token_data_array(data, len(tokens), -1, False)
        self._c.llama_sampler_apply(self._sampler, ctypes.byref(array))
        return np.asarray(np.isfinite(candidates["logit"]))

    def accept(self, token: int) -> None:
        """Go on past a token that is allowed."""
        self._c.llama_sampler_accept(self._sampler, token)


def _free(library: Any, batch: Any, context: Any, model: Any) -> None:
    library.llama_batch_free(batch)
    library.llama_free(context)
    library.llama_model_free(model)
