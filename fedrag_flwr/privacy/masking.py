"""Type masking: sensitive spans become placeholders such as [PERSON] (FD-RAG D.3, "Type Masking")."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from fedrag_flwr.errors import SettingError
from fedrag_flwr.privacy.identifiers import IDENTIFIER_TYPES, OPTIONAL_TYPES, find_identifiers
from fedrag_flwr.privacy.normalise import normal_name, normal_names, probe
from fedrag_flwr.privacy.operators import Bundle
from fedrag_flwr.privacy.persons import PERSON, Found, find_entities, is_ordinary, name_tokens
from fedrag_flwr.privacy.rewriting import Range, Replacement, placeholder, rewrite
from fedrag_flwr.text.base import Pipeline

ENTITY_TYPES = ("PERSON", "ORG", "GPE", "LOC", "FAC", "NORP", "DATE", "EVENT", "PRODUCT", "WORK_OF_ART")
DEFAULT_MASK_TYPES = (PERSON, *IDENTIFIER_TYPES)
_WORD = re.compile(r"[\w'-]+")


class TypeMasking:
    """Replaces persons, structured identifiers and, where asked, other entities by their types.

    Parameters
    ----------
    pipeline
        Finds typed facts; asked only when an entity type is masked.
    mask_types
        Types to mask, of `IDENTIFIER_TYPES`, `OPTIONAL_TYPES` and `ENTITY_TYPES`.
    public_names
        Names that the federation agrees to be public; they stay.
    """

    name = "type-masking"

    def __init__(
        self, pipeline: Pipeline, mask_types: Sequence[str] = DEFAULT_MASK_TYPES, public_names: Iterable[str] = ()
    ) -> None:
        self._pipeline = pipeline
        self._types = frozenset(mask_types)
        self._public = normal_names(public_names)
        self._longest = max((len(name.split()) for name in self._public), default=0)

    def validate(self) -> None:
        """Refuse unknown types.

        Raises
        ------
        SettingError
            If a type to mask is none that can be found.
        """
        known = {*IDENTIFIER_TYPES, *OPTIONAL_TYPES, *ENTITY_TYPES}
        unknown = sorted(self._types - known)
        if unknown:
            raise SettingError(
                f"unknown types: {', '.join(unknown)}",
                where="mask-types",
                fix=f"choose from {', '.join(sorted(known))}",
            )

    def operate(self, bundles: Sequence[Bundle]) -> list[Bundle]:
        """Mask each bundle; a span found in one text is masked in all texts of its bundle, in any case."""
        found = find_entities(bundles, self._pipeline, self._types & frozenset(ENTITY_TYPES))
        return [self._mask(bundle, forms) for bundle, forms in zip(bundles, found, strict=True)]

    def _mask(self, bundle: Bundle, forms: Sequence[Found]) -> Bundle:
        identified = rewrite(bundle, self._identifiers(bundle))
        present = frozenset(name for text in bundle.prose for _, name in self._public_in(text))
        private = [form for form in forms if not self._is_public(form, present)]
        replacements = [entry for form in private for entry in entity_masks(form)]
        return rewrite(identified, replacements, lambda text: [span for span, _ in self._public_in(text)])

    def _identifiers(self, bundle: Bundle) -> list[Replacement]:
        wanted = self._types & frozenset(IDENTIFIER_TYPES + OPTIONAL_TYPES)
        masks = {}
        for text in (*bundle.prose, *bundle.anchors):
            folded = probe(text)
            for span in find_identifiers(folded, wanted):
                surface = folded[span.start : span.end]
                masks.setdefault(
                    surface, Replacement(_exact(surface), placeholder(span.type), span.type, span.rule, True)
                )
        return list(masks.values())

    def _is_public(self, form: Found, present: frozenset[str]) -> bool:
        name = normal_name(form.text)
        return name in self._public or any(f" {name} " in f" {public} " for public in present)

    def _public_in(self, text: str) -> list[tuple[Range, str]]:
        if not self._public:
            return []
        words = list(_WORD.finditer(probe(text)))
        found = []
        for start in range(len(words)):
            for end in range(min(len(words), start + self._longest), start, -1):
                span = (words[start].start(), words[end - 1].end())
                name = normal_name(text[slice(*span)])
                if name in self._public:
                    found.append((span, name))
                    break
        return found


def entity_masks(form: Found) -> list[Replacement]:
    """Mask an entity wherever it is written, in any case, and each part of a person's name."""
    value = placeholder(form.type)
    whole = Replacement(surface_pattern(form.text), value, form.type, form.rule, True)
    if form.type != PERSON:
        return [whole]
    parts = [part for part in name_tokens(form.text) if part != form.text]
    return [whole, *(Replacement(part_pattern(part), value, PERSON, f"{form.rule}-part", True) for part in parts)]


def surface_pattern(surface: str) -> re.Pattern[str]:
    """Match a surface form as whole words in any case, with any white space between its words.

    A single everyday word that is also a name is matched with a capital only.
    """
    words = probe(surface).split()
    if len(words) == 1:
        return part_pattern(words[0])
    return re.compile(rf"(?<!\w){r'[\s,.-]{1,3}'.join(map(_word_pattern, words))}(?!\w)", re.IGNORECASE)


def part_pattern(word: str) -> re.Pattern[str]:
    """Match one word of a name with any initials before it."""
    forms = {word, word.title(), word.upper()} if is_ordinary(word) else {word}
    either = "|".join(sorted(re.escape(form.rstrip(".")) for form in forms))
    initials = r"(?<!\w)(?:(?-i:[A-Z])\.\s?){0,3}"
    return re.compile(rf"{initials}(?<!\w)(?:{either})(?!\w)", 0 if is_ordinary(word) else re.IGNORECASE)


def _word_pattern(word: str) -> str:
    return re.escape(word.rstrip(".,")) + (r"[.,]?" if word[-1] in ".," else "")


def _exact(surface: str) -> re.Pattern[str]:
    """Match an identifier with the same letters and digits, however they are separated."""
    if "@" in surface or "/" in surface:
        return re.compile(rf"(?<!\w){re.escape(surface)}", re.IGNORECASE)
    characters = [re.escape(char) for char in surface if char.isalnum()]
    lead = re.escape(surface[: len(surface) - len(surface.lstrip("+("))])
    return re.compile(rf"(?:{lead})?(?<!\w){r'[^\w\n]{0,2}'.join(characters)}(?!\w)", re.IGNORECASE)


def masked_only(bundle: Bundle) -> Bundle:
    """Give a bundle without its record of changes."""
    return replace(bundle, changes=())
