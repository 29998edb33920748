"""Numbers of medical records, insurances and devices, told by the words before them."""

from __future__ import annotations

import re

from fedrag_flwr.privacy.rules import OF_WHOM, Span, is_count, rule, scan

RECORD_TYPES = ("MEDICAL_RECORD", "INSURANCE", "DEVICE_ID")

_FILLER = rf"[\s:#(,]*(?:(?:number|no\.?|nr|num|id|code|identifier|is|was|of)\b[\s:#.(,]*|[#:=(,]\s*){{0,4}}{OF_WHOM}"
_NUMBER = r"(?P<it>(?:[a-z]{1,6}[-/ ]?)?\d[\da-z]*(?:[-/.][\da-z]+)*)(?![\w])"
_MEDICAL = (
    r"\b(?:mrn|medical record|health record|patient(?: record| file| chart)?(?= ?(?:id|no|nr|num|#|identifier))|"
    r"chart|hospital (?:number|no|id)|nhs|case file|accession|specimen|encounter)"
)
_INSURED = (
    r"\b(?:(?:health |medical )?insurance|policy|medicare|medicaid|mbi|member(?:ship)?|subscriber|beneficiary|"
    r"health plan|group (?:number|no)|claim)"
)
_DEVICE = (
    r"\b(?:imei|meid|udi|udid|device|serial|s/n|pacemaker|implant|pump|monitor|scanner|machine)"
    r"(?= ?(?:id\b|no\b|nr\b|num|serial|identifier|#|:|s/n|\(?\d))"
)


def _telling(match: re.Match[str]) -> bool:
    """Accept what has at least four digits, is no year and counts nothing."""
    digits = sum(char.isdigit() for char in match["it"])
    return digits >= 4 and re.fullmatch(r"(?:1[89]|20)\d\d", match["it"]) is None and not is_count(match)


_RULES = (
    rule("MEDICAL_RECORD", "record-number", rf"(?:{_MEDICAL}\b{_FILLER}|\b(?=mrn\d)){_NUMBER}", _telling),
    rule("INSURANCE", "insurance-number", rf"{_INSURED}\b{_FILLER}{_NUMBER}", _telling),
    rule("INSURANCE", "medicare-beneficiary", r"\b(?P<it>[1-9][a-z][a-z\d]\d-?[a-z][a-z\d]\d-?[a-z]{2}\d{2})\b"),
    rule("DEVICE_ID", "device-identifier", rf"{_DEVICE}(?:[\s:#]*s/n\b)?{_FILLER}{_NUMBER}", _telling),
    rule("DEVICE_ID", "unique-device-identification", r"(?P<it>\(01\)\d{14}(?:\(\d{2}\)[\w-]{1,20}){0,4})"),
)


def find_record_numbers(text: str) -> list[Span]:
    """Find the numbers of records, insurances and devices in a probed text."""
    return scan(text, frozenset(RECORD_TYPES), _RULES)
