"""Presidio's analyser over the device's own text pipeline beside this package's rules, without the network."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from fedrag_flwr.privacy.addresses import ADDRESS, find_addresses
from fedrag_flwr.privacy.classified import find_names
from fedrag_flwr.privacy.identifiers import (
    IDENTIFIER_TYPES,
    OPTIONAL_TYPES,
    RECORD_TYPES,
    find_identifiers,
    find_record_numbers,
)
from fedrag_flwr.privacy.normalise import probe
from fedrag_flwr.privacy.persons import PERSON, find_certain, in_mixed_case
from fedrag_flwr.privacy.replacement import surface_pattern
from fedrag_flwr.privacy.rules import MONTH, Rule, Span, rule, scan
from fedrag_flwr.privacy.word_lists import is_clinical
from fedrag_flwr.text.pipeline import Pipeline

if TYPE_CHECKING:
    from presidio_analyzer import AnalyzerEngine, RecognizerResult
    from presidio_analyzer.nlp_engine import SpacyNlpEngine

PERSONAL_TYPES = (PERSON, ADDRESS, *IDENTIFIER_TYPES, *OPTIONAL_TYPES, *RECORD_TYPES)
FURTHER_TYPES = ("AGE", "DATE_TIME", "LOCATION", "NRP", "ORGANIZATION", "TITLE")
LEAST_SCORE = 0.35

_OURS = {  # Presidio's names of what goes by another one here
    "EMAIL_ADDRESS": "EMAIL",
    "PHONE_NUMBER": "PHONE",
    "IBAN_CODE": "IBAN",
    "IP_ADDRESS": "IP",
    "MAC_ADDRESS": "MAC",
    "US_SSN": "SSN",
    "UK_NHS": "MEDICAL_RECORD",
    "US_MBI": "INSURANCE",
}
_LABELS = {
    "GPE": "LOCATION",
    "LOC": "LOCATION",
    "FAC": "LOCATION",
    "ORG": "ORGANIZATION",
    "NORP": "NRP",
    "DATE": "DATE_TIME",
    "TIME": "DATE_TIME",
}
_IGNORED = (
    *("CARDINAL", "EVENT", "LANGUAGE", "LAW", "MONEY", "ORDINAL", "PERCENT", "PERSON", "PRODUCT", "QUANTITY"),
    "WORK_OF_ART",
)
_DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_PLAIN_RULES: tuple[Rule, ...] = (
    rule("AGE", "age", r"\b(?P<it>\d{1,3})(?=[ -]?(?:year|yr|month|week|day)s?[ -]?old\b|[ -]?y/?o\b)"),
    rule("AGE", "age-cue", r"\b(?:aged?|turn(?:ed|s|ing)?)\b[\s:]+(?:is\s+)?(?P<it>\d{1,3})(?![\w%.,/-]\d|\w)"),
    rule("TITLE", "form-of-address", r"\b(?P<it>(?:mr|mrs|ms|miss|mx|dr|prof)\.?)(?=\s+[a-z])"),
)
_FIXED_DATE = "|".join(
    (
        r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}",
        rf"\b{_DAY}\b",
        rf"\b{MONTH}\.?\s+\d",
        rf"\d(?:st|nd|rd|th)?\s+(?:of\s+)?{MONTH}\b",
        r"\b(?:1[5-9]|20)\d\d\b",
    )
)
_DATES = (rule("DATE_TIME", "date", rf"(?P<it>{_FIXED_DATE})"),)
_IDENTIFIERS = frozenset((*IDENTIFIER_TYPES, *OPTIONAL_TYPES))
_PLAIN = frozenset(entry.type for entry in _PLAIN_RULES)


class PersonalDataAnalyser:
    """Finds personal data with Presidio: its recognisers, the rules of this package, and the text pipeline's entities.

    A text that is all lower or all upper case is read in mixed case as well. Nothing is fetched: the list of top-level
    domains is the one that comes with its package. Types to find are of `PERSONAL_TYPES` and `FURTHER_TYPES`.
    """

    def __init__(self, pipeline: Pipeline, types: Iterable[str] = PERSONAL_TYPES) -> None:
        self._pipeline = pipeline
        self._types = frozenset(types)

    def find(self, text: str) -> list[Span]:
        """Find the spans of the wanted types in a cleaned text; of two that overlap, what both cover is one span."""
        folded = probe(text)
        found = self._read(folded)
        mixed = in_mixed_case(folded)
        if mixed != folded and len(mixed) == len(folded):
            found += self._read(mixed)
        return _merged(span for span in found if span.type in self._types and not self._is_common(folded, span))

    def _read(self, text: str) -> list[Span]:
        results = self._engine.analyze(text, "en", score_threshold=LEAST_SCORE)
        return [*_own(text), *(_span(result) for result in results if result.end > result.start)]

    @staticmethod
    def _is_common(text: str, span: Span) -> bool:
        """Tell what the pipeline takes for personal and is not: a clinical term, or a time that names no date."""
        if span.type == "DATE_TIME":
            return not scan(text[span.start : span.end], frozenset({"DATE_TIME"}), _DATES)
        return span.type in _LABELS.values() and is_clinical(text, span.start, span.end)

    @cached_property
    def _engine(self) -> AnalyzerEngine:
        from presidio_analyzer import AnalyzerEngine, RecognizerRegistry

        stay_offline()
        nlp_engine = _nlp_engine(self._pipeline)
        registry = RecognizerRegistry()
        registry.load_predefined_recognizers(languages=["en"], nlp_engine=nlp_engine)
        return AnalyzerEngine(registry=registry, nlp_engine=nlp_engine, supported_languages=["en"])


def stay_offline() -> None:
    """Let the library that Presidio's e-mail recogniser asks for domains use the list that it brought."""
    import tldextract

    tldextract.tldextract.TLD_EXTRACTOR = tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None)


def _nlp_engine(pipeline: Pipeline) -> SpacyNlpEngine:
    from presidio_analyzer.nlp_engine import NerModelConfiguration, SpacyNlpEngine

    configuration = NerModelConfiguration(model_to_presidio_entity_mapping=_LABELS, labels_to_ignore=_IGNORED)
    engine = SpacyNlpEngine([{"lang_code": "en", "model_name": pipeline.id}], configuration)
    engine.nlp = {"en": pipeline.language}  # type: ignore[assignment, unused-ignore]
    return engine


def _own(text: str) -> Iterator[Span]:
    """What the rules of this package find in a probed text, those that say most first."""
    yield from find_identifiers(text, _IDENTIFIERS)
    yield from find_record_numbers(text)
    yield from find_addresses(text)
    yield from scan(text, _PLAIN, _PLAIN_RULES)
    yield from find_names(text)
    for form in find_certain(text):
        for match in surface_pattern(form).finditer(text):
            yield Span(*match.span(), PERSON, "person-rules")


def _span(result: RecognizerResult) -> Span:
    kind = _OURS.get(result.entity_type, result.entity_type)
    known = kind in PERSONAL_TYPES or kind in FURTHER_TYPES
    return Span(result.start, result.end, kind if known else "ID", "presidio")


def _merged(spans: Iterable[Span]) -> list[Span]:
    """Join what overlaps under the type of the longer one."""
    merged: list[Span] = []
    for span in sorted(spans, key=lambda one: (one.start, -one.end, _rank(one))):
        if not merged or span.start >= merged[-1].end:
            merged.append(span)
            continue
        last = merged[-1]
        longer = last if last.end - last.start >= span.end - span.start else span
        merged[-1] = Span(last.start, max(last.end, span.end), longer.type, longer.rule)
    return merged


def _rank(span: Span) -> int:
    """Of equal spans the type that says most counts: a record's or device's number, and last a number of any kind."""
    return 0 if span.type in (*RECORD_TYPES, *OPTIONAL_TYPES) else 1 + (span.type == "ID")
