"""What a device may be called, and names for what its people ask."""

from __future__ import annotations

import re
import uuid

from fedrag_flwr.errors import SettingError

_DEVICE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
RESERVED = frozenset({"bank", "fusion", "server"})


def is_name(name: str) -> bool:
    """Whether a device may be called so."""
    return bool(_DEVICE_NAME.fullmatch(name)) and name not in RESERVED and not name.startswith("bank-")


def valid_name(name: str) -> str:
    """Check a device's name, which stands in every reference to what the device owns.

    Raises
    ------
    SettingError
        It is not a plain word, or it is reserved for the server.
    """
    if not is_name(name):
        raise SettingError(
            "this cannot be a device's name",
            where="device-name",
            fix="use 1 to 64 letters, digits, '.', '_' and '-', beginning with a letter or digit; not bank or fusion",
        )
    return name


def new_id() -> str:
    """A name for a question put at a device, which says nothing of it."""
    return f"asked-{uuid.uuid4().hex}"
