"""Finding what to protect in a bundle: persons by the token classifier and by rules, other types by the pipeline."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fedrag_flwr.privacy.classified import find_names, is_agreed, names_something_else
from fedrag_flwr.privacy.normalise import clean, normal_name, probe
from fedrag_flwr.privacy.operators import Bundle
from fedrag_flwr.privacy.replacement import PLACEHOLDER
from fedrag_flwr.privacy.token_classifier import marks
from fedrag_flwr.privacy.word_lists import (
    ALSO_WORDS,
    GIVEN_NAMES,
    PARTICLES,
    SHORT_TITLES,
    STOP_WORDS,
    THINGS,
    TITLES,
    is_ordinary,
)
from fedrag_flwr.text.pipeline import Pipeline

WORD = r"[^\W\d_]+(?:['’-][^\W\d_]+)*"
NAME = r"(?-i:[A-ZÀ-ÖØ-ÞĀ-Ž])[^\W\d_]*(?:['’-][^\W\d_]+)*"
TOKEN = re.compile(rf"{WORD}\.?")
_NAME_TOKEN = re.compile(NAME)
_INITIAL = re.compile(r"(?:[A-Z]\.){1,3}|[A-Z]")
BY_GIVEN_NAME = "given-name"  # the rules
_FAMILY_FIRST = "family-first"  # "Lopez, Maria" and "LOPEZ Maria"
_TOLD_AFTER = re.compile(
    r"\s+(?:and|or|says?|said|asks|asked|tells|told|writes|wrote|explain(?:s|ed)|repl(?:ies|ied))\b"
)
_NAME_BEGINS = re.compile(
    r"(?:\A|[\n.!?:;|(\[\"“/=>-]\s{0,3}|\b(?:of|for|by|is|was|name|patient|pt|client|mother|father|re|dear|and|mrs?|ms|dr)\.?\s)\Z",
    re.IGNORECASE,
)
_LONGEST_CUE = 10  # characters: "patient. "
_SHORTEST_CAPITALS = 4  # letters: "MRI Maria" tells no family name
_SAINTS = frozenset({"st", "saint", "san", "santa"})


def whole_names(text: str) -> Iterator[tuple[str, str]]:
    """Find common given names in a text in mixed case, each with the capitalised word that follows, and the rule."""
    tokens = list(TOKEN.finditer(text))
    for index, token in enumerate(tokens):
        first = bare(token[0])
        if first.split("-")[0].casefold() not in GIVEN_NAMES or not first[0].isupper():
            continue
        if index and bare(tokens[index - 1][0]).casefold() in _SAINTS:
            continue
        end, following = _family_name(text, tokens, index)
        alone = not following or all(word in GIVEN_NAMES for word in following)
        if family := _family_before(text, tokens, index) if alone else "":
            yield family, _FAMILY_FIRST
        whole = text[token.start() : end]
        if names_something_else(text, token.start(), end):
            continue
        if following or family or not (first.isupper() or first.casefold() in ALSO_WORDS):
            yield whole, BY_GIVEN_NAME


def _family_before(text: str, tokens: Sequence[re.Match[str]], index: int) -> str:
    """Find the family name before a given name: "Lopez, Maria", "van den Berg, Jan", "LOPEZ Maria".

    It stands where a sentence, a line or a field begins, or behind a word such as "patient"; a comma behind anything
    else ends what comes before ("Thanks to Ibuprofen, Anna slept"). "" where there is none.
    """
    if not index:
        return ""
    last, given = tokens[index - 1], tokens[index]
    word, between = last[0], text[last.end() : given.start()]
    lower = word.casefold()
    if not _NAME_TOKEN.fullmatch(word) or lower in STOP_WORDS | GIVEN_NAMES | THINGS | TITLES:
        return ""
    start = index - 1
    if re.fullmatch(r",[^\S\n]{0,2}", between):
        if _TOLD_AFTER.match(text, given.end()):  # "Protein, Maria says, ..."
            return ""
        particles = PARTICLES - {"of"}
        while start and tokens[start - 1][0].casefold() in particles and text[tokens[start - 1].end()] == " ":
            start -= 1
    elif not (between == " " and word.isupper() and len(word) >= _SHORTEST_CAPITALS and not given[0].isupper()):
        return ""
    if start and tokens[start - 1][0] == "of" and not word.isupper():  # "the king of Spain, Philip"
        return ""
    if not _NAME_BEGINS.search(text[max(0, tokens[start].start() - _LONGEST_CUE) : tokens[start].start()]):
        return ""
    return text[tokens[start].start() : last.end()]


def bare(word: str) -> str:
    """A word without the full stop or the possessive at its end."""
    return re.sub(r"['’][sS]?$", "", word.rstrip("."))


def _family_name(text: str, tokens: Sequence[re.Match[str]], index: int) -> tuple[int, list[str]]:
    """Follow a given name to the end of the family name, and one word further to see what it names."""
    end = tokens[index].start() + len(bare(tokens[index][0]))
    if end < tokens[index].end():
        return end, []
    following: list[str] = []
    for token in tokens[index + 1 : index + 5]:
        word = token[0]
        if not re.fullmatch(r"\s+", text[end : token.start()]) or "\n" in text[end : token.start()]:
            break
        lower = word.rstrip(".").casefold()
        if lower in PARTICLES or _INITIAL.fullmatch(word):
            end = token.end()
            continue
        if not _NAME_TOKEN.match(word) or lower in STOP_WORDS:
            break
        following.append(lower)
        if len(following) == 1:
            end = token.start() + len(bare(word))
        else:
            break
    if len(following) == 2 and following[1] not in THINGS:
        following.pop()
    return (end, following) if following else (tokens[index].start() + len(bare(tokens[index][0])), [])


PERSON = "PERSON"
KNOWN = "known"  # the rule of a form that the bundle's documents tell

_TITLED = re.compile(
    rf"\b(?P<title>{'|'.join(sorted(TITLES))})\b\.?\s+(?P<it>{WORD}(?:\s+{WORD}){{0,3}})", re.IGNORECASE
)
_TITLED_WORD = re.compile(rf"\b(?i:{'|'.join(sorted(SHORT_TITLES))})\b\.?[^\S\n]{{1,3}}(?P<word>{NAME})")
_AFTER_TITLE = re.compile(rf"\b(?:{'|'.join(sorted(SHORT_TITLES))})\.?[^\S\n]$", re.IGNORECASE)
_INTRODUCED = re.compile(
    r"\b(?:(?:my|his|her|whose|full|patient's|client's|customer's|partner's|maiden) name (?:is|was)|calls? me|"
    r"name\s*[:=]|patient\s*[:=]|(?<!\ba )patient(?= (?-i:[A-Z]))|signed by|regards,?|sincerely,?|on behalf of|"
    r"yours,)\s+"
    rf"(?P<it>{WORD}(?:\s+{WORD}){{0,3}})",
    re.IGNORECASE,
)
_LABELLED = re.compile(
    rf"\b(?i:directed by|written by|author|contact|attn|from|to|cc|dear)\s*:\s*({NAME}(?: {NAME}){{1,2}})"
)
# From the beginnings of words alone: tried at each letter of a long run of capitals, it takes quadratic time.
_LISTED = re.compile(rf"(?<!\w){NAME}(?: {NAME})?(?:, {NAME}(?: {NAME})?)*,? and {NAME}(?: {NAME})?")
_ADDRESSED = re.compile(
    rf"(?:^|[.!?]\s+)(?P<it>{NAME}), (?:can|could|would|will|may|please|thank|thanks|do you|are you|I)\b"
    rf"|(?:^|\n)(?P<speaker>{NAME}):\s*\\?[\"“]",
)
_WITH_TITLE = "titled-word"  # "Mrs. May": the word is a name beside the title alone
_CERTAIN = frozenset({"title", "introduction", BY_GIVEN_NAME, _WITH_TITLE})
_LEAST_TOLD = 0.1  # chance of a name where the words around show that one may stand there
_BETWEEN_WORDS = re.compile(r"[\s_]+")
_SHORT_NAME = re.compile(r"Ng|[A-Z][aeiouy]|[AEIOUY][a-z]")  # "Wu" and "Ng", but not "Pt" or "MA"
_UNDERSCORE = re.compile(rf"({PLACEHOLDER.pattern})|_")
_SMALL = STOP_WORDS | PARTICLES
_LONGEST_TITLE = 7  # "prof. ", and what shows that a word begins there


@dataclass(frozen=True, slots=True)
class Found:
    """A sensitive surface form: its type and the rule that found it."""

    text: str
    type: str
    rule: str


def find_entities(bundles: Sequence[Bundle], pipeline: Pipeline, types: frozenset[str]) -> list[list[Found]]:
    """Find the surface forms of the wanted types in each bundle: known spans, persons, typed facts of the others."""
    typed = _typed(bundles, pipeline, types)
    found = []
    for bundle in bundles:
        texts, beside = [_apart(text) for text in bundle.prose], [_apart(text) for text in bundle.beside]
        forms = [form for text in _read_together(bundle) for form in typed.get(text, ())]
        forms += [Found(fact.text, fact.type, KNOWN) for fact in bundle.known if fact.type in types]
        if PERSON in types:
            read = [form for text in beside for form in _classified(text)]
            told = [form for text in texts for form in _classified(text)]
            forms += [*read, *(form for form in told if not _is_acquitted(form, " ".join(beside), read))]
            for text in (*texts, *beside):
                forms += _by_rule(in_mixed_case(text))
                forms += _beside(text, forms)
        found.append(_tidy(forms, " ".join((*texts, *beside))))
    return found


def find_certain(text: str) -> list[str]:
    """Find the persons whom a title, an introduction or a common given name shows."""
    found = _tidy(_by_rule(in_mixed_case(_apart(clean(text)))), text)
    return [form.text for form in found if form.rule in _CERTAIN]


def _typed(bundles: Sequence[Bundle], pipeline: Pipeline, types: frozenset[str]) -> dict[str, list[Found]]:
    """What the pipeline finds of these types in each text that it reads."""
    texts = list(dict.fromkeys(text for bundle in bundles for text in _read_together(bundle) if text))
    if not types or not texts:
        return {}
    read = zip(texts, pipeline.facts([in_mixed_case(text) for text in texts]), strict=True)
    return {
        text: [
            Found(fact.text, fact.type, "recogniser")
            for fact in facts
            if fact.type in types and (fact.type != PERSON or is_agreed(text, fact.text))
        ]
        for text, facts in read
    }


def _read_together(bundle: Bundle) -> list[str]:
    """A bundle's prose as one text, each line closed like a sentence, and each text beside it."""
    return [_joined(bundle.prose), *(_joined([text]) for text in bundle.beside)]


def _joined(texts: Sequence[str]) -> str:
    lines = [line.strip() for text in texts for line in _apart(text).splitlines()]
    return " ".join(line if line[-1] in ".!?:;," else f"{line}." for line in lines if line)


def _classified(text: str) -> list[Found]:
    folded = probe(text)
    return [Found(folded[span.start : span.end], PERSON, span.rule) for span in find_names(folded)]


def name_tokens(name: str) -> list[str]:
    """Give the words of a name that stand for the person by themselves, and the halves of double ones."""
    return [token for tokens in _tokens_by_word(name) for token in tokens]


def family_tokens(name: str) -> list[str]:
    """Give the last of the words that stand for the person by themselves, and its halves where it is double."""
    return (_tokens_by_word(name) or [[]])[-1]


def _tokens_by_word(name: str) -> list[list[str]]:
    words = [word.strip(".,'’()\"-") for word in _BETWEEN_WORDS.split(probe(name))]
    told = [[word, *(half for half in word.split("-") if half != word and not is_ordinary(half))] for word in words]
    alone = [[token for token in tokens if _stands_alone(token)] for tokens in told]
    return [tokens for tokens in alone if tokens]


def _stands_alone(word: str) -> bool:
    if word.casefold() in PARTICLES | TITLES or word.casefold() in STOP_WORDS:
        return False
    return len(word) > 2 or _SHORT_NAME.fullmatch(word) is not None


def is_written_as_name(form: str, kind: str) -> bool:
    """Tell whether a form is written as names are: "Ludwig van Beethoven", but not "the engineers of the mill"."""
    small = PARTICLES if kind == PERSON else STOP_WORDS
    words = probe(form).split()
    capital = [any(char.isupper() for char in word) for word in words]
    return any(capital) and all(has or word.casefold() in small for has, word in zip(capital, words, strict=True))


def _is_acquitted(form: Found, beside: str, read: Sequence[Found]) -> bool:
    """Tell whether what looks like a name by itself is none in the sentence that it was taken from.

    A fragment is a bad witness: "Xenon." is a person to a recogniser, "xenon as propellant" is not.
    """
    likely = {one.text.casefold() for one in read if one.type == form.type}
    told = form.text.casefold()
    stands = re.search(rf"(?<!\w){re.escape(told)}(?!\w)", beside.casefold())
    return bool(stands) and not any(told in name or name in told for name in likely)


def _apart(text: str) -> str:
    """Read the words of "MARIA_LOPEZ" apart, but not those of a placeholder."""
    return _UNDERSCORE.sub(lambda found: found[1] or " ", text)


def in_mixed_case(text: str) -> str:
    """Capitalise the words of a text that is all lower or all upper case, so that names can be told."""
    bare = PLACEHOLDER.sub("", text)
    if not (bare.islower() or bare.isupper()):
        return text

    def cased(match: re.Match[str]) -> str:
        lower = match[0].lower()
        before = text[max(0, match.start() - _LONGEST_TITLE) : match.start()]
        is_name = lower not in STOP_WORDS or (lower in ALSO_WORDS and _AFTER_TITLE.search(before))
        return match[0].title() if is_name else lower

    return TOKEN.sub(cased, text)


def _by_rule(text: str) -> list[Found]:
    """What rules find in a text in mixed case."""
    forms = []
    for match in _TITLED.finditer(text):
        name = _leading_name(match["it"])
        if name and (name[0].isupper() or match["title"].casefold() in SHORT_TITLES):
            forms.append(Found(name, PERSON, "title"))
    for match in _INTRODUCED.finditer(text):
        name = _leading_name(match["it"])
        if name and _is_likely(text, match.start("it"), name):
            forms.append(Found(name, PERSON, "introduction"))
    for match in _TITLED_WORD.finditer(text):
        word = bare(match["word"])
        if word.casefold() in _SMALL:
            forms.append(Found(f"{text[match.start() : match.start('word')]}{word}", PERSON, _WITH_TITLE))
    forms += [Found(name, PERSON, "introduction") for name in _LABELLED.findall(text)]
    for match in _ADDRESSED.finditer(text):
        name = match["it"] or match["speaker"]
        if name.casefold() not in STOP_WORDS and _is_likely(
            text, match.start("it" if match["it"] else "speaker"), name
        ):
            forms.append(Found(name, PERSON, "addressed"))
    return [*forms, *(Found(form, PERSON, rule) for form, rule in whole_names(text))]


def _is_likely(text: str, start: int, name: str) -> bool:
    """Whether the classifier does not rule out what stands where a name may: "name: example" tells none."""
    return bool(marks(text).name[start : start + len(name)].max(initial=0.0) >= _LEAST_TOLD)


def _beside(text: str, forms: Sequence[Found]) -> list[Found]:
    """Find the other names of a list, at least half of which are known to be persons."""
    persons = {form.text for form in forms if form.type == PERSON}
    found = []
    for match in _LISTED.finditer(text):
        names = re.split(r",? and |, ", match[0])
        others = [name for name in names if name not in persons]
        if others and len(names) > 2 and 2 * len(others) <= len(names):
            found += [Found(name, PERSON, "list") for name in others]
    return found


def _leading_name(words: str) -> str:
    """Keep the words up to the first that cannot belong to a name."""
    kept: list[str] = []
    capitalised = False
    for word in words.split():
        lower = word.casefold()
        is_name = word[0].isupper()
        if (
            lower in TITLES
            or (lower in STOP_WORDS and lower not in PARTICLES)
            or (capitalised and not is_name and lower not in PARTICLES)
        ):
            break
        if not is_name and lower not in PARTICLES and len(kept) == 2:
            break
        capitalised = capitalised or is_name
        kept.append(word)
    while kept and kept[-1].casefold() in PARTICLES:
        kept.pop()
    return " ".join(kept)


def _tidy(forms: Sequence[Found], text: str) -> list[Found]:
    """Forms without what stands around names, each once; a form that is there as a placeholder alone is no name."""
    kept: dict[tuple[str, str], Found] = {}
    told = PLACEHOLDER.sub(" ", text).casefold()
    for form in forms:
        is_name = form.type == PERSON and form.rule != _WITH_TITLE
        name = _trim_person(form.text) if is_name else form.text.strip(" .,;:()\"'’")
        masked = PLACEHOLDER.search(f"[{name.strip('[]')}]") and name.strip("[]").casefold() not in told
        if name and normal_name(name) and not masked:
            kept.setdefault((name, form.type), Found(name, form.type, form.rule))
    return list(kept.values())


def _trim_person(name: str) -> str:
    """Cut titles, possessives and ordinary words off the ends; a designation such as a probe's number is no person."""
    words = re.sub(r"['’]s\b", "", probe(name)).replace("\n", " ").split()
    while words and (words[0].strip(".,").casefold() in TITLES | STOP_WORDS or not any(map(str.isalpha, words[0]))):
        words.pop(0)
    while words and ((words[-1].islower() and words[-1] in STOP_WORDS) or not any(map(str.isalpha, words[-1]))):
        words.pop()
    trimmed = " ".join(words).strip(" .,;:()\"'")
    return "" if len(trimmed) < 2 or any(char.isdigit() for char in name) else trimmed
