"""A model's weights written anew in a form that matrix tiles (AMX) and processors without AVX-512 multiply faster."""

from __future__ import annotations

import ctypes
import logging
import os
import tempfile
import threading
from functools import cache
from pathlib import Path
from typing import Any

from fedrag_flwr.errors import ModelError
from fedrag_flwr.models.download import require_space

# The matrix tiles (AMX) of this code end the process with an illegal instruction where GCC before 12.4 or 13.3 left out
# their set-up as a dead store (https://github.com/ggml-org/llama.cpp/pull/26954). Only code that records that it was
# compiled without that step is offered; the next best has the processor's other instructions.
_TILES, _KEPT = "sapphirerapids", b"-fno-dse"

_log = logging.getLogger(__name__)
_log_callbacks: list[object] = []  # llama.cpp keeps a pointer to the callback: it must live as long as the process
_loading = threading.Lock()


def library() -> Any:
    """Give llama.cpp's functions, ready for this processor.

    Raises
    ------
    ModelError
        llama-cpp-python is not installed, or there is no room in the temporary folder.
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
    """What the code that llama.cpp has loaded uses of this processor, such as ``AVX2, AVX512_VNNI, AMX_INT8``.

    Raises
    ------
    ModelError
        llama-cpp-python is not installed, or there is no room in the temporary folder.
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
    """Write a GGUF file's weights as Q8_0.

    Parameters
    ----------
    source
        A file of any quantisation; of a coarser one, nothing that it holds is lost.
    target
        Where the copy goes.
    size
        Bytes that it will have.

    Raises
    ------
    ModelError
        The disk is too full, or llama.cpp cannot read the source or write the target.
    """
    require_space(target.parent, size, target.name)
    llama = library()
    options = llama.llama_model_quantize_default_params()
    options.nthread, options.ftype, options.allow_requantize = 1, llama.LLAMA_FTYPE_MOSTLY_Q8_0, True
    if llama.llama_model_quantize(str(source).encode(), str(target).encode(), ctypes.byref(options)):
        target.unlink(missing_ok=True)
        raise ModelError("the weights cannot be written as Q8_0", where=source.name, fix="verify the file and the disk")
