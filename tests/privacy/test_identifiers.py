"""Structured identifiers are found, and ordinary numbers are left alone."""

import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fedrag_flwr.privacy.identifiers import IDENTIFIER_TYPES, find_identifiers, iban, luhn
from fedrag_flwr.privacy.normalise import clean, probe
from fedrag_flwr.privacy.replacement import identifier_pattern

ALL = frozenset(IDENTIFIER_TYPES)

POSITIVE = [
    ("Write to maria.lopez@example.org today.", "EMAIL", "maria.lopez@example.org"),
    ("Write to maria.lopez (at) example (dot) org.", "EMAIL", "maria.lopez (at) example (dot) org"),
    ("Log in at https://bob:hunter2@host.example/a?b=1 now", "URL", "https://bob:hunter2@host.example/a?b=1"),
    ("See https://host.example/x?id=3&token=abc123", "URL", "https://host.example/x?id=3&token=abc123"),
    ("Call +44 20 7946 0958 at once.", "PHONE", "+44 20 7946 0958"),
    ("Her number: 625-124-2141.", "PHONE", "625-124-2141"),
    ("(790)091-7442 is the fax", "PHONE", "(790)091-7442"),
    ("Phone: 079 7602 9803", "PHONE", "079 7602 9803"),
    ("You can call 33 93 31", "PHONE", "33 93 31"),
    ("My IBAN is GB82 WEST 1234 5698 7654 32.", "IBAN", "GB82 WEST 1234 5698 7654 32"),
    ("my iban is gb12spfc66723974480868", "IBAN", "gb12spfc66723974480868"),
    ("Charge 4929 8349 1142 4945 please", "CREDIT_CARD", "4929 8349 1142 4945"),
    ("The card 4929834911424945 is lost", "CREDIT_CARD", "4929834911424945"),
    ("The server 192.168.10.45 is down", "IP", "192.168.10.45"),
    ("The server 3b20:9a3a:1b2f:7ce:9ef1:4787:85fc:261e is down", "IP", "3b20:9a3a:1b2f:7ce:9ef1:4787:85fc:261e"),
    ("Seen at 2001:db8::8a2e:370:7334.", "IP", "2001:db8::8a2e:370:7334"),
    ("The adapter 00:1B:44:11:3A:B7 answers", "MAC", "00:1B:44:11:3A:B7"),
    ("The adapter de:ad:be:ef:ca:fe answers", "MAC", "de:ad:be:ef:ca:fe"),
    ("The adapter dead.beef.cafe answers", "MAC", "dead.beef.cafe"),
    ("Use https://host.example/reset?token=QwErTy please", "URL", "https://host.example/reset?token=QwErTy"),
    ("SSN 596-88-1225", "SSN", "596-88-1225"),
    ("social security number is 596881225", "SSN", "596881225"),
    ("NINO QQ 12 34 56 C".replace("QQ", "AB"), "SSN", "AB 12 34 56 C"),
    ("Admitted under MRN 83920-11.", "ID", "83920-11"),
    ("my driver's license number is LH329609T", "ID", "LH329609T"),
    ("Policy number: ZX-449201", "ID", "ZX-449201"),
    ("My account 12345678 is blocked", "ID", "12345678"),
    ("Passport 533401921 was stolen", "ID", "533401921"),
    ("Transfer it to ACC-12345678", "ID", "ACC-12345678"),
    ("Her number is 20-4471-889-3", "ID", "20-4471-889-3"),
    # Between the cue and the number stands of whom it is, as sources write it, or a mark.
    ("The mrn of Lena Marchbanksy is 483217.", "ID", "483217"),
    ("The mrn of Dr. Lena M. Marchbanksy Jr. is 483217.", "ID", "483217"),
    ("The policy number of Otmar Winter is ZX-449201.", "ID", "ZX-449201"),
    ("The phone of Otmar Winter is 555-0143.", "PHONE", "555-0143"),
    ("The ssn of Otmar Winter was 596881225.", "SSN", "596881225"),
    ("The iban of Otmar Winter is gb12spfc66723974480868.", "IBAN", "gb12spfc66723974480868"),
    ("Her medical record number (48213)", "ID", "48213"),
    ("Her MRN, 48213, was noted.", "ID", "48213"),
    ("Seen again, MRN123456", "ID", "MRN123456"),
    # Labels of hospitals, and numbers of which two digits are enough behind a sure one.
    ("The id of Otmar Winter is 48321.", "ID", "48321"),
    ("Encounter ID: 48321", "ID", "48321"),
    ("Accession number: 20-4471", "ID", "20-4471"),
    ("Visit no. P-7731", "ID", "P-7731"),
    ("MR# 12345", "ID", "12345"),
    ("M.R.N. 12345", "ID", "12345"),
    ("Med Rec # 12345", "ID", "12345"),
    ("MRN A-12", "ID", "A-12"),
    ("Chart no. 334", "ID", "334"),
    # Fixed formats, and short numbers on which somebody is reached.
    ("Born as 010160-1234.", "SSN", "010160-1234"),
    ("Her number, 19600101-1234, was taken.", "SSN", "19600101-1234"),
    ("It is 756.9217.0769.85 there", "SSN", "756.9217.0769.85"),
    ("It is 123.456.789-09 there", "SSN", "123.456.789-09"),
    ("It is RSSMRA85T10A562S there", "SSN", "RSSMRA85T10A562S"),
    ("CHI 010160 1234", "SSN", "010160 1234"),
    ("Aadhaar 1234 5678 9012", "SSN", "1234 5678 9012"),
    ("NHI ABC1234", "SSN", "ABC1234"),
    ("Ring 020.7946.0958 now", "PHONE", "020.7946.0958"),
    ("Ph: 555 1234", "PHONE", "555 1234"),
    ("Dr on call: bleep 4521", "PHONE", "4521"),
    ("Ward 3, ext. 4521", "PHONE", "4521"),
    # A match that takes in the word or number beside it is tried without it.
    ("Paid by 4111 1111 1111 1111 12/27.", "CREDIT_CARD", "4111 1111 1111 1111"),
    ("On 12/03/2024 4111 1111 1111 1111 paid.", "CREDIT_CARD", "4111 1111 1111 1111"),
    ("Transfer to ES91 2100 0418 4502 0005 1332 by Friday.", "IBAN", "ES91 2100 0418 4502 0005 1332"),
    ("Enquiries: 020 7946 0018 24 hours a day.", "PHONE", "020 7946 0018"),
    # Numbers in groups, and what follows them.
    ("Her hospital number 483 217 was noted.", "ID", "483 217"),
    ("The account number 1234 5678 9012 was closed.", "ID", "1234 5678 9012"),
    ("Her account 1934 5678 with Barclays", "ID", "1934 5678"),
    ("Her account 1234 5678, then another", "ID", "1234 5678"),
    ("Policy number: ZX 449201", "ID", "ZX 449201"),
    ("policy number: zx 449201", "ID", "zx 449201"),
    ("The patient 4521 50 mg a day", "ID", "4521"),
    ("MRN 4483921 12/03/2024 reviewed", "ID", "4483921"),
    ("MRN 4483921 12 March 2024", "ID", "4483921"),
    ("MRN: 4483921\n12/03/2024 reviewed", "ID", "4483921"),
    # What begins with a letter or with 0 is no quantity, whatever word follows.
    ("MRN1234567 shows anaemia.", "ID", "MRN1234567"),
    ("P1234567 reports pain.", "ID", "P1234567"),
    ("07700900123 always rings.", "ID", "07700900123"),
    ("Use 07700900123 weekdays.", "ID", "07700900123"),
    # Separators of three characters.
    ("Phone: 555 - 123 - 4567", "PHONE", "555 - 123 - 4567"),
    ("Tel.: 030 / 901820", "PHONE", "030 / 901820"),
    ("From abroad +49 30 / 901820", "PHONE", "+49 30 / 901820"),
    ("From abroad +49 (0) 30 / 901820", "PHONE", "+49 (0) 30 / 901820"),
]

NEGATIVE = [
    "Saturn orbits the Sun at a mean distance of 1,433,000,000 kilometres.",
    "The gap is 1,433,000 kilometres wide and 1 433 000 km long.",
    "One astronomical unit is 149597870 km, or 149597870.7 kilometres, or 149597870700 metres.",
    "Light travels 299792458 metres in a second.",
    "Apollo 11 landed on 20 July 1969 at 20:17:40 UTC and left on 1969-07-21.",
    "Voyager 1, launched on 5 September 1977, was 24,400,000,000 km away in 2024.",
    "The budget was $1433000000, about 1200000000 euro.",
    "Between 1969-1972 twelve people walked on the Moon.",
    "Its orbit takes 10759.22 days; its mass is 5.6834e26 kg and its density 0.687 g/cm3.",
    "Pi is 3.14159265358979 and e is 2.718281828.",
    "Julian date 2451545 is noon of 1 January 2000.",
    "The asteroid is 101955 Bennu; the star is HD 209458; the galaxy is NGC 4258.",
    "The flight software was version 10.2.14.3 of the release.",
    "Its population of 14160467 is spread over 2,194 square kilometres.",
    "The probe sent 7500000 images and 12345678 bytes back.",
    "Its coordinates are 28.5728 N, 80.6490 W; the pad is 39A.",
    "The book is ISBN 978-3-16-148410-0.",
    "At 13:45:10 the ratio was 4:3:2.",
    "In Haskell 98 the line x :: Int gives a type, and :: alone is none.",
    "The loopback address ::1 is every machine's own.",
    "The telescope has 18 segments, each 1.32 m across, at -233 degrees.",
    "STS-51-L lasted 73 seconds; Soyuz TMA-19 flew in 2010.",
    "It cost 10 000 000 000 dollars and weighs 6 200 kg.",
    "The range is 1000000-2000000 km.",
    "The mission ran from 2004-06-30 to 2017-09-15.",
    "Call the function std::vector at line 1200.",
    "The range is 1000000 - 2000000 km.",
    "They flew from 1969 - 1972, see the text (1969-1972).",
    "In that case, 4500 people would leave, and the staff of the record company is 1200 people.",
    "The hospital (1200 beds in all) opened; the patient had 12000 platelets.",
    "THE HOSPITAL WITH 1200 BEDS",
    "The pH: 7.35 to 7.45 holds, or pH: 7.35-7.45; chart 12 and file 12 show it.",
    "It is open 08.00-16.30 daily; on 05.03.2021 20 mg were given, on 03.04.2021 08 00 none.",
    "She holds a BSN, 2018-2020; the CPR was 30-2 100 120 bpm, the chi 12.5 34.7, the CHI 2019-2020.",
    "The knee extension 120 degrees, ext. 500 mg; the extension was 450 metres.",
    "It has a record number (64) of countries, and reached chart number 10.",
    "It opened on 01.02.1990 with version 01.12.34; the ratio is 999999-1234.",
    "In the record 4500 people came, a visit of 4500 people; the extension 2019 of the line.",
]


@pytest.mark.parametrize(("text", "kind", "expected"), POSITIVE)
def test_identifiers_are_found_with_their_type(text: str, kind: str, expected: str) -> None:
    found = [(text[span.start : span.end], span.type) for span in find_identifiers(probe(clean(text)), ALL)]
    assert found == [(expected, kind)]


@pytest.mark.parametrize("between", ["\x0b", "\x0c", "\r", "\x1c", "\x1f", "\x85", "\u2028"])
def test_what_parts_lines_and_fields_parts_numbers_from_words(between: str) -> None:
    said = f"ssn 123-45-6789{between}Which ward has the card 4111 1111 1111 1111{between}Call 0171-555-0199{between}Ann"
    text = probe(clean(said))
    found = [text[span.start : span.end] for span in find_identifiers(text, ALL)]
    assert found == ["123-45-6789", "4111 1111 1111 1111", "0171-555-0199"]


@pytest.mark.parametrize("text", NEGATIVE)
def test_ordinary_numbers_are_no_identifiers(text: str) -> None:
    assert [text[span.start : span.end] for span in find_identifiers(probe(text), ALL)] == []


@pytest.mark.parametrize("text", ["DOB: 12/03/1971", "She was born on 4 May 1980.", "date of birth is March 3, 1999"])
def test_dates_of_birth_only_where_asked(text: str) -> None:
    assert not find_identifiers(text, ALL)
    assert [span.type for span in find_identifiers(text, ALL | {"DATE_OF_BIRTH"})] == ["DATE_OF_BIRTH"]


def test_check_digits() -> None:
    assert luhn("4929834911424945")
    assert not luhn("4929834911424946")
    assert iban("GB82 WEST 1234 5698 7654 32")
    assert not iban("GB82 WEST 1234 5698 7654 33")


_WORDS = """
MRN mrn patient number phone call card ssn iban of is Lena account office AB ab (at) (dot) a__b x.org ( ) # - / . 1 12
483 217 4521 4483921 0 00 020 7946 555 +49 (0) 4111 1111 de89 a March may 2024 12/03/2024 19
"""
_PIECES = st.sampled_from(_WORDS.split())


@example(pieces=[("12/03/2024", " ")] * 3 + [("office", " ")])  # no number begins within a date
@given(st.lists(st.tuples(_PIECES, st.sampled_from([" ", "  ", "\n", ", ", ": "])), max_size=14))
@settings(max_examples=400, deadline=None)
def test_what_is_found_is_matched_where_it_stands(pieces: list[tuple[str, str]]) -> None:
    text = "".join(map("".join, pieces))
    for span in find_identifiers(text, ALL):
        matches = identifier_pattern(text[span.start : span.end]).finditer(text)
        assert any(match.start() <= span.start and span.end <= match.end() for match in matches)


def test_a_hostile_text_takes_linear_time() -> None:
    start = time.process_time()
    for piece in (
        *("1-", "1 ", "a.", "a@", "12:", "(1", "name at ", "policy number ", "call me on the ", "4111 ", "44 "),
        *("mrn of ", "phone of a is ", "case, (", "gb82 west ", "020 7946 ", "patient 11 "),
    ):
        find_identifiers(piece * (20_000 // len(piece)), ALL)
    for cue, mark in (("policy of", " "), ("mrn ", "#"), ("phone ", "("), ("call ", ", "), ("mrn of x is", " ")):
        find_identifiers(cue + mark * 20_000, ALL)
    assert time.process_time() - start < 5.0
