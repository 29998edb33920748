"""Masking with Presidio: what its analyser finds becomes the placeholder of its type (HyFedRAG 3.4, "Presidio")."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from fedrag_flwr.errors import SettingError
from fedrag_flwr.privacy.analyser import FURTHER_TYPES, PERSONAL_TYPES, PersonalDataAnalyser
from fedrag_flwr.privacy.known_names import KnownNames, PublicNames
from fedrag_flwr.privacy.masking import entity_masks
from fedrag_flwr.privacy.operators import Bundle, Change
from fedrag_flwr.privacy.patterns import identifier_anchor, identifier_pattern
from fedrag_flwr.privacy.persons import PERSON, Found, family_tokens, is_ordinary, is_written_as_name
from fedrag_flwr.privacy.rewriting import PLACEHOLDER, Replacement, placeholder, rewrite
from fedrag_flwr.privacy.rules import Span
from fedrag_flwr.text.base import Pipeline

if TYPE_CHECKING:
    from presidio_anonymizer import AnonymizerEngine

_NAMES = frozenset({PERSON, "ORGANIZATION", "LOCATION", "NRP"})
_KNOWN = "known"
_PASSING = frozenset({"DATE_TIME", "AGE", "TITLE"})  # masked where they stand: elsewhere they are words


class PresidioMasking:
    """Masks what Presidio and the recognisers of this package find, wherever else in the bundle it stands.

    It belongs before type masking in the chain, which then finds in other texts the names that this one has learnt.

    Parameters
    ----------
    pipeline
        Whose spaCy pipeline Presidio reads with.
    types
        Types to mask, of `PERSONAL_TYPES` and `FURTHER_TYPES`.
    public_names
        Names that the federation agrees to be public; they stay.
    names
        Private names found so far; by default those of this object's lifetime.
    """

    name = "presidio"

    def __init__(
        self,
        pipeline: Pipeline,
        types: Sequence[str] = PERSONAL_TYPES,
        public_names: Iterable[str] = (),
        names: KnownNames | None = None,
    ) -> None:
        self._types = frozenset(types)
        self._analyser = PersonalDataAnalyser(pipeline, types)
        self._public = PublicNames(public_names)
        self._names = KnownNames() if names is None else names

    def validate(self) -> None:
        """Refuse unknown types.

        Raises
        ------
        SettingError
            If a type to mask is none that can be found.
        """
        unknown = sorted(self._types - {*PERSONAL_TYPES, *FURTHER_TYPES})
        if unknown:
            raise SettingError(f"unknown types: {', '.join(unknown)}", where="mask-types")

    def operate(self, bundles: Sequence[Bundle]) -> list[Bundle]:
        """Mask each bundle; a person's name that is found in one, now or earlier, is masked in all of them."""
        found = [[self._private(bundle, text) for text in (*bundle.prose, *bundle.beside)] for bundle in bundles]
        for bundle, spans in zip(bundles, found, strict=True):
            self._learn(_forms(bundle, spans))
        return [self._mask(bundle, spans) for bundle, spans in zip(bundles, found, strict=True)]

    def _mask(self, bundle: Bundle, found: Sequence[Sequence[Span]]) -> Bundle:
        prose, changes = [], list(bundle.changes)
        for field, (text, spans) in enumerate(zip(bundle.prose, found, strict=False)):  # what lies beside comes last
            prose.append(self._anonymised(text, spans))
            changes += [Change(field, span.type, span.rule, masked=True) for span in spans]
        forms = dict.fromkeys([*_forms(bundle, found), *self._known(bundle)])
        masks = [mask for form in forms if form.type not in _PASSING for mask in _masks(form)]
        return rewrite(replace(bundle, prose=tuple(prose), changes=tuple(changes)), masks, self._public.ranges)

    def _known(self, bundle: Bundle) -> list[Found]:
        """The persons in a bundle that were found elsewhere, or that its device knows of."""
        if PERSON not in self._types:
            return []
        told = [Found(fact.text, PERSON, _KNOWN) for fact in bundle.known if fact.type == PERSON]
        found = [form for form in (*self._names.find(bundle), *told) if form.type == PERSON]
        return [form for form in found if not self._public.may_mean(form.text)]

    def _private(self, bundle: Bundle, text: str) -> list[Span]:
        """What the analyser finds in a text and neither is hidden already nor public in this bundle."""
        present = frozenset(name for one in bundle.prose for _, name in self._public.within(one))
        hidden = [match.span() for match in PLACEHOLDER.finditer(text)]
        return [
            span
            for span in self._analyser.find(text)
            if not any(span.start < end and start < span.end for start, end in hidden)
            and (span.type not in _NAMES or not self._public.covers(text[span.start : span.end], present))
        ]

    def _learn(self, forms: Iterable[Found]) -> None:
        self._names.learn(
            (name, PERSON)
            for form in forms
            if form.type == PERSON and is_written_as_name(form.text, PERSON)
            for name in (form.text, *family_tokens(form.text))
            if not self._public.may_mean(name) and not self._names.is_doubtful(name, self._types)
        )

    def _anonymised(self, text: str, spans: Sequence[Span]) -> str:
        from presidio_anonymizer.entities import OperatorConfig, RecognizerResult

        if not spans:
            return text
        operators = {kind: OperatorConfig("replace", {"new_value": placeholder(kind)}) for kind in self._types}
        results = [RecognizerResult(span.type, span.start, span.end, 1.0) for span in spans]
        return str(self._engine.anonymize(text, results, operators).text)

    @cached_property
    def _engine(self) -> AnonymizerEngine:
        from presidio_anonymizer import AnonymizerEngine

        return AnonymizerEngine()  # type: ignore[no-untyped-call, unused-ignore]


def _forms(bundle: Bundle, found: Sequence[Sequence[Span]]) -> list[Found]:
    """What was found in a bundle's texts and beside them, as it is written there."""
    texts = (*bundle.prose, *bundle.beside)
    return [
        Found(text[span.start : span.end], span.type, span.rule)
        for text, spans in zip(texts, found, strict=True)
        for span in spans
    ]


def _masks(form: Found) -> list[Replacement]:
    """Mask the form wherever else it stands in a bundle; an everyday word alone tells nothing."""
    if form.type in _NAMES:
        return [] if is_ordinary(form.text) else entity_masks(form)
    pattern, anchor = identifier_pattern(form.text), identifier_anchor(form.text)
    return [Replacement(pattern, anchor, placeholder(form.type), form.type, form.rule, masked=True)]
