"""A model's weights written anew in a form that matrix tiles (AMX) and processors without AVX-512 multiply faster."""

from __future__ import annotations

import ctypes
from pathlib import Path

from fedrag_flwr.errors import ModelError
from fedrag_flwr.models.download import require_space
from fedrag_flwr.models.llama import library


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
