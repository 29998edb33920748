"""Type masking: sensitive spans become placeholders such as [PERSON] (FD-RAG D.3, "Type Masking")."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from fedrag_flwr.errors import SettingError
from fedrag_flwr.privacy.identifiers import IDENTIFIER_TYPES, OPTIONAL_TYPES, find_identifiers
from fedrag_flwr.privacy.known_names import KnownNames, PublicNames
from fedrag_flwr.privacy.normalise import probe
from fedrag_flwr.privacy.operators import Bundle
from fedrag_flwr.privacy.patterns import (
    anchor_pattern,
    identifier_anchor,
    identifier_pattern,
    lower_pattern,
    surface_pattern,
    upper_pattern,
)
from fedrag_flwr.privacy.persons import PERSON, Found, family_tokens, find_entities, is_written_as_name, name_tokens
from fedrag_flwr.privacy.rewriting import Replacement, placeholder, rewrite
from fedrag_flwr.privacy.rules import Span
from fedrag_flwr.records import Fact
from fedrag_flwr.text.base import Pipeline

ENTITY_TYPES = ("PERSON", "ORG", "GPE", "LOC", "FAC", "NORP", "DATE", "EVENT", "PRODUCT", "WORK_OF_ART")
DEFAULT_MASK_TYPES = (PERSON, *IDENTIFIER_TYPES)
_CALENDAR = "DATE"  # no name: what is a date in one sentence is a number in the next


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
    names
        Private names found so far; by default those of this object's lifetime.
    """

    name = "type-masking"

    def __init__(
        self,
        pipeline: Pipeline,
        mask_types: Sequence[str] = DEFAULT_MASK_TYPES,
        public_names: Iterable[str] = (),
        names: KnownNames | None = None,
    ) -> None:
        self._pipeline = pipeline
        self._types = frozenset(mask_types)
        self._entities = self._types & frozenset(ENTITY_TYPES)
        self._public = PublicNames(public_names)
        self._names = KnownNames() if names is None else names

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
        """Mask each bundle; a name found in one, now or earlier, is masked in all of them."""
        found = find_entities(bundles, self._pipeline, self._entities)
        private = [self._private(bundle, forms) for bundle, forms in zip(bundles, found, strict=True)]
        self._names.learn(name for forms in private for form in forms for name in self._lasting(form))
        return [self._mask(bundle, forms) for bundle, forms in zip(bundles, private, strict=True)]

    def _mask(self, bundle: Bundle, forms: Sequence[Found]) -> Bundle:
        recurring = [form for form in self._names.find(bundle) if not self._public.may_mean(form.text)]
        known = (*bundle.known, *(Fact(form.text, form.type, "") for form in recurring))
        identified = rewrite(bundle, self._identifiers(replace(bundle, known=known)))
        again = self._private(bundle, [form for form in recurring if form.type in self._entities])
        replacements = [entry for form in dict.fromkeys([*forms, *again]) for entry in entity_masks(form)]
        return rewrite(identified, replacements, self._public.ranges)

    def _private(self, bundle: Bundle, forms: Sequence[Found]) -> list[Found]:
        """Leave out what is public in this bundle."""
        present = frozenset(name for text in bundle.prose for _, name in self._public.within(text))
        return [form for form in forms if not self._public.covers(form.text, present)]

    def _lasting(self, form: Found) -> list[tuple[str, str]]:
        """What of a private form is masked in other texts too: the whole, and the family name of a person.

        A word of a public name alone is not, for it may be meant; nor is what describes and does not name.
        """
        if form.type == _CALENDAR or not is_written_as_name(form.text, form.type):
            return []
        tokens = family_tokens(form.text) if form.type == PERSON else []
        return [
            (name, form.type)
            for name in dict.fromkeys([form.text, *tokens])
            if not self._public.may_mean(name) and not self._names.is_doubtful(name, self._types)
        ]

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


def entity_masks(form: Found) -> list[Replacement]:
    """Mask an entity wherever it is written, in any case, and each part of a person's name."""
    value = placeholder(form.type)
    whole = name_replacement(form.text, value, form.type, form.rule, masked=True)
    if form.type != PERSON:
        return [whole]
    parts = [part for part in name_tokens(form.text) if part != form.text]
    return [whole, *(name_replacement(part, value, PERSON, f"{form.rule}-part", masked=True) for part in parts)]


def name_replacement(name: str, value: str, kind: str, rule: str, *, masked: bool) -> Replacement:
    """Put a value in the place of a name, or of one word of it, in texts and anchors."""
    patterns = surface_pattern(name), anchor_pattern(name)
    return Replacement(*patterns, value, kind, rule, masked, lower_pattern(name), upper_pattern(name))


def _identifier_mask(surface: str, span: Span) -> Replacement:
    return Replacement(
        identifier_pattern(surface),
        identifier_anchor(surface),
        placeholder(span.type),
        span.type,
        span.rule,
        masked=True,
    )
