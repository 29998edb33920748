"""Names that a federation agrees to be public: they stay, wherever a text holds them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from fedrag_flwr.privacy.given_names import GIVEN_NAMES, SHORT_TITLES
from fedrag_flwr.privacy.normalise import normal_name, normal_names, probe
from fedrag_flwr.privacy.rewriting import Range

_WORD = re.compile(r"[\w'-]+")


class PublicNames:
    """Public names by their normal forms.

    Parameters
    ----------
    names
        As the federation writes them.
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._names = normal_names(names)
        self._longest = max((len(name.split()) for name in self._names), default=0)
        self._words = frozenset(word for name in self._names for word in name.split())

    def may_mean(self, name: str) -> bool:
        """Tell whether a name is a word of a public one, which others than its bearer may mean."""
        return normal_name(name) in self._words

    def covers(self, form: str, present: frozenset[str]) -> bool:
        """Tell whether a form is public: itself, as a part of a public name in the text, or after a role.

        Parameters
        ----------
        form
            A name as it is written.
        present
            The normal forms of the public names in the same texts, as `within` gives them.
        """
        name = normal_name(form)
        title, _, bare = name.partition(" ")
        if title.rstrip(".") in SHORT_TITLES:
            name = bare
        if name in self._names or any(f" {name} " in f" {public} " for public in present):
            return True
        longer = [public for public in present if " " in public and name.endswith(f" {public}")]
        return any(GIVEN_NAMES.isdisjoint(name.removesuffix(public).split()) for public in longer)

    def within(self, text: str) -> list[tuple[Range, str]]:
        """Find the longest public names in a text: where they stand, and their normal forms."""
        if not self._names:
            return []
        words = list(_WORD.finditer(probe(text)))
        found = []
        for start in range(len(words)):
            for end in range(min(len(words), start + self._longest), start, -1):
                span = (words[start].start(), words[end - 1].end())
                name = normal_name(text[slice(*span)])
                if name in self._names:
                    found.append((span, name))
                    break
        return found

    def ranges(self, text: str) -> list[Range]:
        """Where public names stand in a text."""
        return [span for span, _ in self.within(text)]
