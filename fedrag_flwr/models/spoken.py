"""A text told piece by piece while a model writes it."""

from __future__ import annotations

import codecs

from fedrag_flwr.models.base import Heard


class Spoken:
    """Tells a text as it grows: whole characters only, and no space before or after all of it.

    The pieces joined are the text that its bytes make, without the space around it.

    Parameters
    ----------
    heard
        Is told each new piece.
    """

    def __init__(self, heard: Heard) -> None:
        self._heard = heard
        self._decoder = codecs.getincrementaldecoder("utf-8")("ignore")
        self._begun = False
        self._space = ""  # told when something follows it

    def add_bytes(self, piece: bytes) -> None:
        """Go on by the bytes of a token, which may end within a character."""
        self.add(self._decoder.decode(piece))

    def add(self, piece: str) -> None:
        """Go on by a piece of text."""
        text = self._space + piece if self._begun else piece.lstrip()
        told = text.rstrip()
        self._space = text[len(told) :]
        if told:
            self._begun = True
            self._heard(told)
