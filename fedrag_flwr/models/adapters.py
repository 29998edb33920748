"""What a generator was fitted with for one task: low-rank weights and the instruction that they were fitted under.

An adapter travels with the code as JSON, like all weights that were fitted here, and belongs to one model file: to any
other weights its numbers mean nothing, so a generator of another file works without.
"""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from fedrag_flwr.errors import ModelError
from fedrag_flwr.files import replace_file

FOLDER = Path(__file__).with_name("weights")
SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Adapter:
    """Low-rank weights (LoRA) for one model and one task.

    Parameters
    ----------
    task
        The task of the prompts that it is for (`Prompt.task`).
    instruction
        The system text that it was fitted under; it stands in for a prompt's own, and for its worked examples.
    models
        SHA-256 of the model files that it fits.
    sha256
        Of `content`, in hex.
    content
        The weights as a GGUF file.
    """

    task: str
    instruction: str
    models: tuple[str, ...]
    sha256: str
    content: bytes

    @property
    def id(self) -> str:
        """Task and the start of the weights' hash."""
        return f"{self.task}@{self.sha256[:12]}"


def adapters_of(model_sha256: str, folder: Path | None = None) -> dict[str, Adapter]:
    """The adapters in a folder (default: the shipped ones) that fit a model file, by task; no others are decoded.

    Raises
    ------
    ModelError
        A file is torn or of another schema, or two fit this model for one task.
    """
    found: dict[str, Path] = {}
    for path in sorted((folder or FOLDER).glob("*.json")):
        fields = _fields(path)
        if model_sha256 not in fields["models"]:
            continue
        if (other := found.setdefault(fields["task"], path)) != path:
            raise ModelError(
                "two adapters fit one model and task", where=f"{other.name}, {path.name}", fix="remove one of them"
            )
    return {task: read_adapter(path) for task, path in found.items()}


def read_adapter(path: Path) -> Adapter:
    """Read an adapter's file.

    Raises
    ------
    ModelError
        The file is torn, of another schema, or its weights are not the ones that it names.
    """
    fields = _fields(path)
    try:
        content = base64.b64decode(fields["gguf"], validate=True)
    except (ValueError, TypeError) as error:
        raise ModelError("the adapter cannot be read", where=path.name, fix="restore the file") from error
    if hashlib.sha256(content).hexdigest() != fields["sha256"]:
        raise ModelError("the adapter's weights are not what it says", where=path.name, fix="restore the file")
    return Adapter(fields["task"], fields["instruction"], tuple(fields["models"]), fields["sha256"], content)


@lru_cache(maxsize=8)
def _fields(path: Path) -> dict[str, Any]:
    """A file's fields, their types checked; its weights are not decoded yet."""
    try:
        fields: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        texts = [fields["task"], fields["instruction"], fields["sha256"], fields["gguf"], *fields["models"]]
        whole = all(isinstance(text, str) and text for text in texts) and isinstance(fields["models"], list)
        schema = fields["schema"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError("the adapter cannot be read", where=path.name, fix="restore the file") from error
    if schema != SCHEMA:
        raise ModelError("the adapter is of another schema", where=path.name, fix="restore the file")
    if not whole:
        raise ModelError("the adapter cannot be read", where=path.name, fix="restore the file")
    return fields


def write_adapter(path: Path, adapter: Adapter, manifest: dict[str, object]) -> None:
    """Write an adapter's file, with what it was fitted on and by."""
    fields = {
        "schema": SCHEMA,
        "manifest": manifest,
        "task": adapter.task,
        "instruction": adapter.instruction,
        "models": list(adapter.models),
        "sha256": adapter.sha256,
        "gguf": base64.b64encode(adapter.content).decode(),
    }
    replace_file(path, (json.dumps(fields, indent=1) + "\n").encode(), 0o644)
