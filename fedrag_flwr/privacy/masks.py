"""Type masking: sensitive spans become placeholders such as [PERSON] (FD-RAG D.3, "Type Masking")."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from fedrag_flwr.errors import SettingError
from fedrag_flwr.privacy.analyser import PERSONAL_TYPES, PersonalDataAnalyser
from fedrag_flwr.privacy.classified import RULE, SURE, find_numbers
from fedrag_flwr.privacy.identifiers import IDENTIFIER_TYPES, OPTIONAL_TYPES, find_identifiers
from fedrag_flwr.privacy.known_names import KnownNames, PublicNames
from fedrag_flwr.privacy.normalise import probe
from fedrag_flwr.privacy.operators import Bundle
from fedrag_flwr.privacy.persons import PERSON, Found, family_tokens, find_entities, is_written_as_name, name_tokens
from fedrag_flwr.privacy.replacement import (
    PLACEHOLDER,
    Replacement,
    identifier_mask,
    name_replacement,
    placeholder,
    rewrite,
)
from fedrag_flwr.privacy.rules import Span
from fedrag_flwr.records import Fact
from fedrag_flwr.text.pipeline import Pipeline

ENTITY_TYPES = ("PERSON", "ORG", "GPE", "LOC", "FAC", "NORP", "DATE", "EVENT", "PRODUCT", "WORK_OF_ART")
DEFAULT_MASK_TYPES = (PERSON, *IDENTIFIER_TYPES)
_CALENDAR = "DATE"  # no name: what is a date in one sentence is a number in the next


class TypeMasking:
    """Replaces persons, structured identifiers and, where asked, other entities by their types; raises SettingError
    where a type to mask is none that can be found.

    Parameters
    ----------
    pipeline
        Finds typed facts; asked only when an entity type is masked.
    mask_types
        Types to mask, of `IDENTIFIER_TYPES`, `OPTIONAL_TYPES` and `ENTITY_TYPES`, with an analyser also of its.
    public_names
        Names that the federation agrees to be public; they stay.
    names
        Private names found so far; by default those of this object's lifetime.
    analyser
        Presidio's, where what it finds is masked as well (HyFedRAG 3.4).
    """

    def __init__(
        self,
        pipeline: Pipeline,
        mask_types: Sequence[str] = DEFAULT_MASK_TYPES,
        public_names: Iterable[str] = (),
        names: KnownNames | None = None,
        analyser: PersonalDataAnalyser | None = None,
    ) -> None:
        self._pipeline = pipeline
        self._types = frozenset(mask_types)
        self._entities = self._types & frozenset(ENTITY_TYPES)
        self._public = PublicNames(public_names)
        self._names = KnownNames() if names is None else names
        self._analyser = analyser
        known = {*IDENTIFIER_TYPES, *OPTIONAL_TYPES, *ENTITY_TYPES, *(PERSONAL_TYPES if analyser else ())}
        unknown = sorted(self._types - known)
        if unknown:
            raise SettingError(
                f"unknown types: {', '.join(unknown)}",
                where="mask-types",
                fix=f"choose from {', '.join(sorted(known))}",
            )

    @property
    def name(self) -> str:
        """Which of both finders are asked."""
        return "type-masking" if self._analyser is None else "presidio-masking"

    def operate(self, bundles: Sequence[Bundle]) -> list[Bundle]:
        """Mask each bundle; a name found in one, now or earlier, is masked in all of them."""
        entities = [
            [form for form in forms if not self._is_doubtful(form)]
            for forms in find_entities(bundles, self._pipeline, self._entities)
        ]
        analysed = [self._analysed(bundle) for bundle in bundles]
        private = [
            self._private(bundle, [*forms, *(form for form in more if form.type in ENTITY_TYPES)])
            for bundle, forms, more in zip(bundles, entities, analysed, strict=True)
        ]
        self._names.learn(name for forms in private for form in forms for name in self._lasting(form))
        return [
            self._mask(bundle, forms, [form for form in more if form.type not in ENTITY_TYPES])
            for bundle, forms, more in zip(bundles, private, analysed, strict=True)
        ]

    def _mask(self, bundle: Bundle, forms: Sequence[Found], numbers: Sequence[Found]) -> Bundle:
        recurring = [form for form in self._names.find(bundle) if not self._public.may_mean(form.text)]
        known = (*bundle.known, *(Fact(form.text, form.type, "") for form in recurring))
        identified = rewrite(bundle, self._identifiers(replace(bundle, known=known), numbers))
        again = self._private(bundle, [form for form in recurring if form.type in self._entities])
        replacements = [entry for form in dict.fromkeys([*forms, *again]) for entry in entity_masks(form)]
        return rewrite(identified, replacements, self._public.ranges)

    def _analysed(self, bundle: Bundle) -> list[Found]:
        """What the analyser finds in a bundle's texts and beside them, but for what is hidden there already."""
        found: list[Found] = []
        if self._analyser is None:
            return found
        for text in (*bundle.prose, *bundle.beside):
            folded = probe(text)
            hidden = [match.span() for match in PLACEHOLDER.finditer(text)]
            found += [
                Found(folded[span.start : span.end], span.type, "presidio")  # whoever found it, all that it finds lasts
                for span in self._analyser.find(text)
                if span.type in self._types and not any(span.start < end and start < span.end for start, end in hidden)
            ]
        return found

    def _private(self, bundle: Bundle, forms: Sequence[Found]) -> list[Found]:
        """Leave out what is public in this bundle."""
        present = frozenset(name for text in bundle.prose for _, name in self._public.within(text))
        return [form for form in forms if not self._public.covers(form.text, present)]

    def _lasting(self, form: Found) -> list[tuple[str, str]]:
        """What of a private form is masked in other texts too: the whole, and the family name of a person.

        A word of a public name alone is not, for it may be meant; nor is what describes and does not name, nor what the
        classifier is not sure of.
        """
        if form.type == _CALENDAR or form.rule == RULE or not is_written_as_name(form.text, form.type):
            return []
        tokens = family_tokens(form.text) if form.type == PERSON else []
        return [
            (name, form.type)
            for name in dict.fromkeys([form.text, *tokens])
            if not self._public.may_mean(name) and not self._names.is_doubtful(name, self._types)
        ]

    def _is_doubtful(self, form: Found) -> bool:
        """Whether one word that looks like a name is mostly something else in the device's documents."""
        return form.rule in (RULE, SURE) and " " not in form.text and self._names.is_doubtful(form.text, self._types)

    def _identifiers(self, bundle: Bundle, numbers: Sequence[Found]) -> list[Replacement]:
        wanted = self._types & frozenset(IDENTIFIER_TYPES + OPTIONAL_TYPES)
        masks = {form.text: identifier_mask(form.text, form.type) for form in numbers}
        folded = [probe(text) for text in (*bundle.prose, *bundle.anchors)]
        told = [
            *(_told(text, span) for text in folded for span in find_identifiers(text, wanted)),
            *(Found(fact.text, fact.type, "known") for fact in bundle.known if fact.type in wanted),
            *(_told(text, span) for text in folded for span in find_numbers(text, wanted)),
        ]
        for form in told:
            masks.setdefault(form.text, identifier_mask(form.text, form.type))
        return list(masks.values())


def _told(text: str, span: Span) -> Found:
    return Found(text[span.start : span.end], span.type, span.rule)


def entity_masks(form: Found) -> list[Replacement]:
    """Mask an entity wherever it is written, in any case, and each part of a person's name."""
    value = placeholder(form.type)
    whole = name_replacement(form.text, value, form.type, masked=True)
    if form.type != PERSON:
        return [whole]
    parts = [part for part in name_tokens(form.text) if part != form.text]
    return [whole, *(name_replacement(part, value, PERSON, masked=True) for part in parts)]
