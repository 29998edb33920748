"""Type masking: sensitive spans become placeholders such as [PERSON] (FD-RAG D.3, "Type Masking")."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from fedrag_flwr.errors import SettingError
from fedrag_flwr.privacy.given_names import GIVEN_NAMES
from fedrag_flwr.privacy.identifiers import IDENTIFIER_TYPES, OPTIONAL_TYPES, Span, find_identifiers
from fedrag_flwr.privacy.normalise import normal_name, normal_names, probe
from fedrag_flwr.privacy.operators import Bundle
from fedrag_flwr.privacy.patterns import (
    anchor_pattern,
    identifier_anchor,
    identifier_pattern,
    part_pattern,
    surface_pattern,
)
from fedrag_flwr.privacy.persons import PERSON, Found, find_entities, name_tokens
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
        masks: dict[str, Replacement] = {}
        for text in (*bundle.prose, *bundle.anchors):
            folded = probe(text)
            for span in find_identifiers(folded, wanted):
                surface = folded[span.start : span.end]
                masks.setdefault(surface, _identifier_mask(surface, span))
        for fact in bundle.known:
            if fact.type in wanted:
                masks.setdefault(fact.text, _identifier_mask(fact.text, Span(0, len(fact.text), fact.type, "known")))
        return list(masks.values())

    def _is_public(self, form: Found, present: frozenset[str]) -> bool:
        """Tell whether a form is public: itself, as a part of a public name in the text, or after a role."""
        name = normal_name(form.text)
        if name in self._public or any(f" {name} " in f" {public} " for public in present):
            return True
        longer = [public for public in present if " " in public and name.endswith(f" {public}")]
        return any(GIVEN_NAMES.isdisjoint(name.removesuffix(public).split()) for public in longer)

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
    whole = Replacement(surface_pattern(form.text), anchor_pattern(form.text), value, form.type, form.rule, masked=True)
    if form.type != PERSON:
        return [whole]
    return [
        whole,
        *(
            Replacement(part_pattern(part), anchor_pattern(part), value, PERSON, f"{form.rule}-part", masked=True)
            for part in name_tokens(form.text)
            if part != form.text
        ),
    ]


def _identifier_mask(surface: str, span: Span) -> Replacement:
    return Replacement(
        identifier_pattern(surface),
        identifier_anchor(surface),
        placeholder(span.type),
        span.type,
        span.rule,
        masked=True,
    )
