"""What a device's own documents show to be private: a name or number found once is masked wherever it recurs."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from fedrag_flwr.privacy.identifiers import IDENTIFIER_TYPES, find_identifiers
from fedrag_flwr.privacy.normalise import clean, normal_name, probe
from fedrag_flwr.privacy.operators import Bundle
from fedrag_flwr.privacy.persons import PERSON, family_tokens, find_certain, name_tokens
from fedrag_flwr.privacy.replacement import is_short
from fedrag_flwr.privacy.word_lists import is_ordinary
from fedrag_flwr.records import Fact, Passage

_WORD = re.compile(r"[^\W_]+")
_LEAST_JOINED, _MOST_JOINED = 6, 40  # letters and digits of an identifier that is looked for across words
_TYPES = frozenset(IDENTIFIER_TYPES)
_UNTYPED = frozenset({"CONCEPT", "NAME"})  # noun phrases, and proper names of a type that the pipeline cannot tell


@dataclass(frozen=True, slots=True)
class Register:
    """Private names and identifiers by the words that tell them.

    A sentence seldom says all that its document knows: "Kowalska was admitted" names a person only to one who has read
    "Dr. Jadwiga Kowalska" elsewhere, and a bare number is a patient's only beside its label.
    """

    # Private names and identifiers by their words in lower case, names of two letters by these as they are written;
    # identifiers also by all their letters and digits joined, as another text groups them otherwise.
    spans: Mapping[str, tuple[Fact, ...]] = field(default_factory=dict)
    # The type that the pipeline gives a name, in normal form, most often; a whole name speaks for its last word too.
    types: Mapping[str, str] = field(default_factory=dict)
    # Words that are written in lower case more often than not; of two letters none, as "ng" says nothing of "Ng".
    common: frozenset[str] = frozenset()

    def tell(self, bundle: Bundle) -> Bundle:
        """Give a bundle with the known spans that its texts may hold."""
        if not self.spans:
            return bundle
        words = {word for text in (*bundle.prose, *bundle.anchors) for word in _told(text)}
        known = {fact: None for word in sorted(words & self.spans.keys()) for fact in self.spans[word]}
        return replace(bundle, known=(*bundle.known, *known)) if known else bundle

    def doubts(self, name: str, types: frozenset[str]) -> bool:
        """Tell whether a name is mostly of another type than these, or is made of everyday words alone."""
        usual = self.types.get(normal_name(name))
        everyday = all(is_ordinary(word) or word in self.common for word in _words(name))
        return everyday or (usual is not None and usual not in types)


def read_register(passages: Iterable[Passage]) -> Register:
    """Read the private names and identifiers out of passages, each as a whole.

    Names are those that a title, an introduction or a common given name shows; what only the classifier takes for a
    person is too uncertain to be masked everywhere. A word that these documents mostly write in lower case ends no name
    ("Ali Water Treatment"): it would be masked wherever it stands.
    """
    spans: defaultdict[str, dict[Fact, None]] = defaultdict(dict)
    types: defaultdict[str, Counter[str]] = defaultdict(Counter)
    lower: Counter[str] = Counter()
    certain: list[str] = []
    for passage in passages:
        for fact in passage.facts:
            if fact.type not in _UNTYPED:
                for name in {normal_name(part) for part in (fact.text, *family_tokens(fact.text))}:
                    types[name][fact.type] += 1
        for word in _WORD.findall(probe(passage.text)):
            lower[word.casefold()] += 1 if word.islower() else -1
        for text in (passage.title, passage.text):
            certain += find_certain(text)
            folded = probe(clean(text))
            for span in find_identifiers(folded, _TYPES):
                surface = folded[span.start : span.end]
                words = _words(surface)
                for word in {*words[:1], "".join(words)}:
                    spans[word][Fact(surface, span.type, "")] = None
    common = frozenset(word for word, balance in lower.items() if balance > 0 and not is_short(word))
    for form in (_without_common(form, common) for form in certain):
        for word in name_tokens(form):
            if not is_ordinary(word):
                spans[word if is_short(word) else word.casefold()][Fact(form, PERSON, "")] = None
    return Register(
        {word: tuple(facts) for word, facts in spans.items()},
        {name: _usual(counts) for name, counts in types.items()},
        common,
    )


def _without_common(name: str, common: frozenset[str]) -> str:
    """A name without the words behind its first that are common ones."""
    words = name.split()
    while len(words) > 1 and words[-1].casefold() in common:
        words.pop()
    return " ".join(words)


def _usual(counts: Counter[str]) -> str:
    """The most frequent type; a person where it is one as often as anything else."""
    return max(counts, key=lambda kind: (counts[kind], kind == PERSON, kind))


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(probe(text))]


def _told(text: str) -> Iterator[str]:
    """What a text may tell private spans by: its words, short ones as they are written too, and neighbours joined."""
    words = _words(text)
    yield from words
    yield from filter(is_short, _WORD.findall(probe(text)))
    for start in range(len(words)):
        joined = ""
        for word in words[start:]:
            joined += word
            if len(joined) > _MOST_JOINED:
                break
            if len(joined) >= _LEAST_JOINED and any(map(str.isdigit, joined)):
                yield joined
