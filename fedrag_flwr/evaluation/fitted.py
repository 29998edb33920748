"""What the weights that travel with the code were fitted on, in their own words, and which code that is."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).parents[1]
_ROOMS = (_PACKAGE.name, "strategies", "client_app", "server_app", "simulations")  # beside each other, all or the first


@cache
def fitted_on() -> dict[str, str]:
    """The questions behind each file of weights, by its name."""
    told = {}
    for path in sorted(_PACKAGE.rglob("*.json")):
        fields = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(fields, dict):
            continue
        if manifest := fields.get("manifest"):  # of an adapter
            counts = ", ".join(f"{name} {count}" for name, count in manifest["examples_of"].items())
            told[path.stem] = f"{manifest['split']} examples: {counts}"
        elif "fitted_on" in fields:
            told[path.stem] = str(fields["fitted_on"])
    return told


@cache
def code_digest() -> str:
    """The start of a SHA-256 over the packages' files: two runs of one release may be of different code."""
    found, root = hashlib.sha256(), _PACKAGE.parent
    files = (path for room in _ROOMS for path in (root / room).rglob("*") if path.suffix in (".py", ".json"))
    for path in sorted(files):
        found.update(path.relative_to(root).as_posix().encode())
        found.update(hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()[:12]
