"""Names that a device knows: public ones, and private ones in its documents."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

from fedrag_flwr.privacy.bundles import item_bundle
from fedrag_flwr.privacy.classified import find_names
from fedrag_flwr.privacy.ledger import DurableFile
from fedrag_flwr.privacy.normalise import normal_name, normal_names, probe
from fedrag_flwr.privacy.operators import Bundle
from fedrag_flwr.privacy.persons import PERSON, Found, name_tokens
from fedrag_flwr.privacy.register import Register
from fedrag_flwr.privacy.replacement import Range, is_short
from fedrag_flwr.privacy.word_lists import PARTICLES, SHORT_TITLES, is_ordinary
from fedrag_flwr.records import MemoryItem
from fedrag_flwr.text.words import normalise_anchor

_NAME_WORD = re.compile(r"[\w'-]+")


class PublicNames:
    """Public names by their normal forms."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._names = normal_names(names)
        self._longest = max((len(name.split()) for name in self._names), default=0)
        self._words = frozenset(word for name in self._names for word in name.split())

    def may_mean(self, name: str) -> bool:
        """Tell whether a name is a word of a public one, which others than its bearer may mean."""
        return normal_name(name) in self._words

    def covers(self, form: str, present: frozenset[str]) -> bool:
        """Tell whether a form is public: itself, as a part of a public name in the text, or after a role.

        `present` are the normal forms of the public names in the same texts, as `within` gives them.
        """
        name = normal_name(form)
        title, _, bare = name.partition(" ")
        if title.rstrip(".") in SHORT_TITLES:
            name = bare
        if name in self._names or any(f" {name} " in f" {public} " for public in present):
            return True
        longer = [public for public in present if " " in public and name.endswith(f" {public}")]
        return any(not find_names(name.removesuffix(public)) for public in longer)

    def within(self, text: str) -> list[tuple[Range, str]]:
        """Find the longest public names in a text: where they stand, and their normal forms."""
        if not self._names:
            return []
        words = list(_NAME_WORD.finditer(probe(text)))
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


RULE = "elsewhere"
_SCHEMA = """CREATE TABLE IF NOT EXISTS names (
    name TEXT PRIMARY KEY, lead TEXT NOT NULL, words INTEGER NOT NULL, type TEXT NOT NULL, pending INTEGER NOT NULL
    ) WITHOUT ROWID"""
_WORD = re.compile(r"[^\W_]+")
_BETWEEN = re.compile(r"[\s,._'-]{1,3}")  # what may stand between two words of a name, as in `patterns`
_MOST_WORDS = 8

Place = Literal["prose", "anchor"]


class KnownNames:
    """The device's private names, by digests of their words; raises StoreError where the file cannot be opened.

    A text is read once, word by word: the time grows with its length, not with the number of names. A recogniser sees
    a name in one sentence and not in the next; with this, what it saw in one is found in both, now and in later rounds.

    Parameters
    ----------
    path
        The device's own file, which holds digests and types; without one, names last as long as the object.

    Attributes
    ----------
    searched
        Whether any operator looks for them; where none does, none counts as known.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.searched = True
        self._inform: Callable[[], None] = _nothing_new
        self._file = DurableFile(path, "list of known names", _SCHEMA)
        self._seen = -1
        self._types: dict[str, str] = {}
        self._lengths: dict[str, tuple[int, ...]] = {}
        self._register = Register()

    def informed_by(self, inform: Callable[[], None]) -> None:
        """Have `know` called where documents have changed, before texts that were read by then are rewritten.

        So no text leaves under what older documents show than those that it is from.
        """
        self._inform = inform

    def tell(self, bundles: Sequence[Bundle]) -> list[Bundle]:
        """Give the bundles with what the documents show of the names in them, after asking whether those changed."""
        self._inform()
        return [self._register.tell(bundle) for bundle in bundles]

    def know(self, register: Register) -> None:
        """Look from now on for what documents show to be private, and hear them about what is doubtful."""
        self._register = register
        facts = {fact: None for group in register.spans.values() for fact in group}
        self.learn(
            (form, fact.type)
            for fact in facts
            for form in (fact.text, *(name_tokens(fact.text) if fact.type == PERSON else ()))
        )

    def __len__(self) -> int:
        """How many names are looked for, as forms; it only grows."""
        if not self.searched:
            return 0
        self._refresh()
        return len(self._types)

    def is_doubtful(self, name: str, types: frozenset[str]) -> bool:
        """Tell whether a recogniser that gave a name one of these types may have erred, as documents use the name."""
        return self._register.doubts(name, types)

    def learn(self, forms: Iterable[tuple[str, str]]) -> None:
        """Remember (name, type) pairs durably; what tells nothing elsewhere is left out.

        That is a single everyday word, behind a title too: "Mrs. May" is a name where it stands, and "may" is none.

        What is known as something else and turns out to be a person's name counts as one more name.
        """
        persons_last = sorted(forms, key=lambda form: form[1] == PERSON)
        wanted = {key: kind for name, kind in persons_last for key in _keys(name)}
        self._refresh()
        rows = [
            (digest, key.lead, len(key.words), kind, 1)
            for key, kind in wanted.items()
            if (digest := self._missing(key, kind))
        ]
        if rows:
            with self._file.writing() as connection:
                connection.executemany("INSERT OR IGNORE INTO names VALUES (?, ?, ?, ?, ?)", rows)
            self._load()

    def find(self, bundle: Bundle, among: frozenset[str] | None = None) -> list[Found]:
        """Find known names in a bundle's texts as they are written there.

        A name of one word is found in prose only, and where it is not in lower case: there it is as often a word. One
        of two letters has to have a capital, and one only. `among` are digests of the names to look for, as `pending`
        gives them; by default all.
        """
        self._refresh()
        if not self._types:
            return []
        found = [form for text in bundle.prose for form in self._in_text(text, "prose", among)]
        said = {normalise_anchor(form.text) for form in found}
        listed = [form for anchor in bundle.anchors for form in self._in_text(anchor, "anchor", among)]
        return list(dict.fromkeys([*found, *(form for form in listed if form.text not in said)]))

    def leads(self) -> Mapping[str, str]:
        """The digest of each name's first word, by the digest of the name."""
        if not self.searched:
            return {}
        with self._file.reading() as connection:
            return dict(connection.execute("SELECT name, lead FROM names").fetchall())

    def pending(self) -> frozenset[str]:
        """Digests of the names learnt since `settle`: what was shared before may hold them in clear."""
        if not self.searched:
            return frozenset()
        with self._file.reading() as connection:
            return frozenset(row[0] for row in connection.execute("SELECT name FROM names WHERE pending"))

    def settle(self, names: Iterable[str]) -> None:
        """Record that what was shared before names were known is withdrawn or will be released anew."""
        rows = [(name,) for name in names]
        if rows:
            with self._file.writing() as connection:
                connection.executemany("UPDATE names SET pending = 0 WHERE name = ?", rows)

    def holding(self, items: Iterable[MemoryItem], names: frozenset[str]) -> list[str]:
        """Give the ids of the memories in which one of these names stands."""
        return [item.id for item in items if self.find(item_bundle(item), names)]

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _missing(self, key: _Key, kind: str) -> str:
        """The digest under which a name is yet to be known; "" where nothing is missing."""
        known = self._types.get(key.digest)
        if known is None:
            return key.digest
        return key.person if known != PERSON == kind and key.person not in self._types else ""

    def _in_text(self, text: str, place: Place, among: frozenset[str] | None) -> Iterator[Found]:
        folded = probe(text)
        words = list(_WORD.finditer(folded))
        spelt = [word[0].casefold() for word in words]
        for start, first in enumerate(spelt):
            for count in self._lengths.get(_digest(place, (first,), "lead"), ()):
                end = start + count
                key = _Key(place, tuple(spelt[start:end]))
                if len(key.words) < count or key.digest not in self._types:
                    continue
                if among is not None and among.isdisjoint((key.digest, key.person)):
                    continue
                form = folded[words[start].start() : words[end - 1].end()]
                whole = all(
                    _BETWEEN.fullmatch(folded, words[i].end(), words[i + 1].start()) for i in range(start, end - 1)
                )
                if whole and (count > 1 or _is_written_as_one(form)):
                    yield Found(form, self._types.get(key.person, self._types[key.digest]), RULE)

    def _refresh(self) -> None:
        """Read the file anew where another process has written to it."""
        with self._file.reading() as connection:
            (version,) = connection.execute("PRAGMA data_version").fetchone()
        if version != self._seen:
            self._load()
            self._seen = version

    def _load(self) -> None:
        with self._file.reading() as connection:
            rows = connection.execute("SELECT name, lead, words, type FROM names").fetchall()
        lengths: defaultdict[str, set[int]] = defaultdict(set)
        for _, lead, words, _ in rows:
            lengths[lead].add(words)
        self._types = {name: kind for name, _, _, kind in rows}
        self._lengths = {lead: tuple(sorted(counts)) for lead, counts in lengths.items()}


def lead_digests(text: str) -> set[str]:
    """The digest of each word of a text as if a name began with it: without one of `KnownNames.leads` it holds none."""
    return {_digest("prose", (word.casefold(),), "lead") for word in _WORD.findall(probe(text))}


@dataclass(frozen=True, slots=True)
class _Key:
    """The words of a name as they stand in a place."""

    place: Place
    words: tuple[str, ...]

    @property
    def digest(self) -> str:
        return _digest(self.place, self.words)

    @property
    def person(self) -> str:
        """The digest of what was known as something else before."""
        return _digest(self.place, self.words, "person")

    @property
    def lead(self) -> str:
        return _digest(self.place, self.words[:1], "lead")


def _is_written_as_one(word: str) -> bool:
    """Whether a word by itself may be a name: one of two letters, such as "Ng", only with one capital."""
    return word.istitle() if is_short(word) else not word.islower()


def _keys(name: str) -> list[_Key]:
    """The words of a name in prose and in anchors, without its title; none where they tell nothing."""
    words = [word.casefold() for word in _WORD.findall(probe(name))]
    written = _untitled(words)
    listed = _untitled(_WORD.findall(probe(normalise_anchor(name))))
    if not 0 < len(written) <= _MOST_WORDS:
        return []
    if len(written) == 1 and (is_ordinary(written[0]) or (len(words) > 1 and written[0] in PARTICLES)):
        return []
    return [_Key("prose", written), *([_Key("anchor", listed)] if len(listed) > 1 else [])]


def _untitled(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(words[1:] if words and words[0] in SHORT_TITLES else words)


@lru_cache(maxsize=65_536)
def _digest(place: Place, words: tuple[str, ...], what: str = "name") -> str:
    """Digest of a name's words, or of what it begins with."""
    return hashlib.sha256("\0".join((what, place, *words)).encode()).hexdigest()[:32]


def _nothing_new() -> None:
    """Where an export filter is used without a device, nobody has documents that change."""
