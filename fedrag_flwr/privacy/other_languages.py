"""What is in another language than English stays here: the recognisers of persons do not read it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fedrag_flwr.privacy.operators import Bundle
from fedrag_flwr.text.language import is_english

NOT_READ = "not in English"


class EnglishAlone:
    """Refuses texts in other languages, and what was taken from them."""

    name = "english"

    def operate(self, bundles: Sequence[Bundle]) -> list[Bundle]:
        """The bundles; those in another language come back with a refusal."""
        return [
            one if one.refusal or is_english(" ".join((*one.prose, *one.beside))) else replace(one, refusal=NOT_READ)
            for one in bundles
        ]
