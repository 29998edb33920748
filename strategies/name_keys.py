"""Under which keys the server knows devices' names: the first one under which a name takes part keeps it."""

from __future__ import annotations

from pathlib import Path

from fedrag_flwr.files import replace_file
from fedrag_flwr.sqlite_errors import own_errors


class NameKeys:
    """One file a name, which holds the public key of its device; who deletes a file lets another key have the name.

    Parameters
    ----------
    folder
        Holds the files; names are such as a device may have.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def fits(self, name: str, key: bytes) -> bool:
        """Whether a name is known under this key, or not known yet."""
        return self._known(name) in (b"", key)

    def keep(self, name: str, key: bytes) -> None:
        """Know a name under a key from now on, if it has one and the name is not known yet.

        Raises
        ------
        StoreError
            The file cannot be written.
        """
        if key and not self._known(name):
            with own_errors(self._folder, name):
                self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
                replace_file(self._folder / name, key)

    def _known(self, name: str) -> bytes:
        path = self._folder / name
        return path.read_bytes() if path.is_file() else b""
