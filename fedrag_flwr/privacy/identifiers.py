"""Structured identifiers: e-mail, phone, bank, network, official and account numbers, told from ordinary quantities."""

from __future__ import annotations

import ipaddress
import re

from fedrag_flwr.privacy.rules import MONTH, OF_WHOM, Span, is_count, rule, scan
from fedrag_flwr.privacy.word_lists import STOP_WORDS

IDENTIFIER_TYPES = ("EMAIL", "URL", "PHONE", "IBAN", "CREDIT_CARD", "IP", "MAC", "SSN", "ID")
OPTIONAL_TYPES = ("DATE_OF_BIRTH",)
_LEAST_ADDRESS = 4  # letters and digits: "::" and "::1" are every machine's own, and stand in programs


def find_identifiers(text: str, types: frozenset[str]) -> list[Span]:
    """Find the structured identifiers of the wanted types in a probed text; the first rule to fire names a span."""
    plain = not any(char.isdigit() or char in "@:" for char in text)
    return scan(text, types, _WITHOUT_DIGITS if plain else _RECOGNISERS)


# --- checks -------------------------------------------------------------------------------------

_YEAR = r"(?:1[5-9]|20)\d\d"
_DATE = r"\d{1,2}(?P<mark>[/.-])\d{1,2}(?P=mark)\d{4}"
_SOCIAL_DIGITS = {"chi": 10, "cpr": 10, "bsn": 9, "cpf": 11, "ahv": 13, "avs": 13}
_RANGE = re.compile(r"\d{1,2}\.\d{1,2}(?:\s*-\s*|\s+)\d{1,2}\.\d{1,2}")  # of a pH


def _digits(match: re.Match[str]) -> str:
    return "".join(char for char in match["it"] if char.isdigit())


def _is_trunk_number(match: re.Match[str]) -> bool:
    told = match["it"]
    mixed = "." in told and re.search(r"[ /-]", told) is not None  # opening hours, a date with a dose
    return 8 <= len(_digits(match)) <= 12 and not mixed and not re.match(rf"{_DATE}(?!\d)", told)


def _is_social(match: re.Match[str]) -> bool:
    """Tell a number from years, a date or measurements behind what is also an abbreviation of other things."""
    told, fewest = match["it"], _SOCIAL_DIGITS.get(re.split(r"\W", match[0], maxsplit=1)[0].casefold(), 0)
    return len(_digits(match)) >= fewest and not re.fullmatch(rf"{_YEAR} ?[-/] ?{_YEAR}|{_DATE}", told)


def _is_dated(match: re.Match[str]) -> bool:
    """Tell a number that begins with a date of birth, as in Denmark or Sweden: day and month, or month and day."""
    first, month, last = (int(match["it"][-11:][at : at + 2]) for at in (0, 2, 4))
    return 1 <= month <= 12 and (1 <= first % 40 <= 31 or 1 <= last % 60 <= 31)


def luhn(digits: str) -> bool:
    """Check the last digit of a card number (ISO/IEC 7812-1)."""
    doubled = [int(char) * (1 + index % 2) for index, char in enumerate(reversed(digits))]
    return sum(value - 9 if value > 9 else value for value in doubled) % 10 == 0


def iban(text: str) -> bool:
    """Check the control digits of an account number (ISO 13616)."""
    compact = "".join(char for char in text if char.isalnum()).upper()
    if not (15 <= len(compact) <= 34 and compact.isascii()):
        return False
    return int("".join(str(int(char, 36)) for char in compact[4:] + compact[:4])) % 97 == 1


def _is_card(match: re.Match[str]) -> bool:
    digits = _digits(match)
    return 13 <= len(digits) <= 19 and digits[0] in "23456" and luhn(digits)


def _is_address(match: re.Match[str]) -> bool:
    if sum(map(str.isalnum, match["it"])) < _LEAST_ADDRESS:
        return False
    try:
        ipaddress.ip_address(match["it"])
    except ValueError:
        return False
    return True


def _is_grouped_phone(match: re.Match[str]) -> bool:
    area = re.match(r"\((\d+)\)", match["it"])
    is_year = area is not None and re.fullmatch(_YEAR, area[1]) is not None
    return 6 <= len(_digits(match)) <= 15 and not is_year


def _is_called(match: re.Match[str]) -> bool:
    is_time = re.fullmatch(rf"{_YEAR} ?[-/] ?{_YEAR}", match["it"]) is not None
    return not is_time and not is_count(match) and not _RANGE.fullmatch(match["it"])


def _is_called_short(match: re.Match[str]) -> bool:
    after = match.string[match.end() :][:40]
    measured = _QUANTITY_AFTER.match(after) or re.match(rf"\s?{_UNIT}", after, re.IGNORECASE)
    return not (re.fullmatch(_YEAR, match["it"]) or is_count(match) or measured)


_SURE_CUE = re.compile(
    r"\b(?:mrn\b|m\.r\.n|(?:mr|med(?:ical)? rec(?:ord)?)\b[\s.]*(?:#|no\b|nr\b|num)|chart\s?(?:#|no\.))", re.IGNORECASE
)
_FEWEST, _FEWEST_SURE = 4, 2  # digits of a record's number; the latter where nothing but one can follow


def _is_numbered(match: re.Match[str]) -> bool:
    plain, cue = match["it"].strip(), match[0][: match.start("it") - match.start()]
    if (
        len(_digits(match)) < (_FEWEST_SURE if _SURE_CUE.search(cue) else _FEWEST)
        or plain.partition(" ")[0].casefold() in STOP_WORDS
        or is_count(match)
    ):
        return False
    return not re.fullmatch(rf"{_YEAR}|\d{{1,3}}(?:,\d{{3}})+(?:\.\d+)?|\d+\.\d+", plain)


_QUANTITY_AFTER = re.compile(
    r"(?:[.,]\d|\s?(?:%|°|[eE][+-]?\d|[x×*]\s?10\b|\$|€|£|(?:km|kg|cm|mm|nm|mi|ly|au|pc|kpc|hz|khz|mhz|ghz|kb|mb|gb|tb|"
    r"kw|mw|gw|kj|mj|m|g|t|s|h|k|w|v|j|l|n|pa|ev|years?|light|thousand|million|billion|trillion|square|cubic|metric|us|"
    r"euro|people|men|women|children|feet|foot|miles?|kilomet\w+|met(?:re|er)s?|hectares?|percent|"
    r"(?!(?:is|was|has|does|this|its|us|as|plus|minus|expires|belongs|needs)\b)[a-z-]+s)\b))",
    re.IGNORECASE,
)
_QUANTITY_BEFORE = re.compile(
    r"(?:[$€£¥~≈<>=±]\s?|\d[.,]|\b(?:about|approximately|approx\.?|around|roughly|nearly|almost|over|"
    r"exceeding|some|than|exactly|"
    r"population(?: of)?|total(?:l?ing)? (?:of)?|distance of|worth|costs?|up to|between|jd|"
    r"julian (?:date|day)|norad|hd|hip|tic|kic|2mass|isbn|doi|pmid|arxiv|gaia dr\d)[:\s]{1,2})$",
    re.IGNORECASE,
)
_NUMBER_CUE = re.compile(
    r"(?:\b(?:accounts?|acct|card|number|numbers|nr|no|num|id|ref|reference|member|customer|serial)\b[.:#\s]*(?:is|was|are)?|#)"
    r"[\s:]*$",
    re.IGNORECASE,
)


def is_quantity(text: str, start: int, end: int) -> bool:
    """Tell whether what stands around a number shows that it measures or counts."""
    return bool(_QUANTITY_BEFORE.search(text[max(0, start - 40) : start]) or _QUANTITY_AFTER.match(text[end:][:40]))


def _is_account(match: re.Match[str]) -> bool:
    if _NUMBER_CUE.search(match.string[max(0, match.start() - 40) : match.start()]):
        return True
    digits = _digits(match)
    if digits != match["it"] or digits.startswith("0"):
        return True  # no quantity is written so
    return not (digits.endswith("0000") or is_quantity(match.string, *match.span("it")))


def _is_hyphenated(match: re.Match[str]) -> bool:
    text = match["it"]
    is_date = re.match(r"(?:\d{4}-\d{1,2}-\d{1,2}|\d{1,2}-\d{1,2}-\d{4})\Z", text)
    is_book = re.search(r"\b(?:isbn|issn|doi)\b[-\s:\d]*$", match.string[: match.start()], re.IGNORECASE)
    return 7 <= len(_digits(match)) <= 20 and not is_date and not is_book


# --- rules, in the order of their precedence ----------------------------------------------------

_HOST = r"[\w-]+(?:\.[\w-]+)+"
_PHONE_CUE = (
    r"\b(?:ph(?=\.?\s?[:#])|call(?:ed|ing)?|phone[ds]?|telephone|tel|mobile|mob|cell(?:phone)?|fax|dial(?:led)?|whatsapp|sms|pager|"
    r"hotline|landline|reach(?:ed)?|answering|ring|text)\b"
)
_DIALLED = r"(?:[\s:.,]|\((?!\d{1,5}\)))"  # but not the bracket of an area code
_ID_CUE = (
    r"\b(?:mrn|medical record|patient|hospital|chart|case|nhs|medicare|medicaid|health (?:insurance|card|plan)|"
    r"insurance|policy|passport|identity card|id card|national id|driv(?:er|ing)'?s? licen[sc]e|licen[sc]e|tax|vat|"
    r"account|acct|customer|client|member(?:ship)?|employee|staff|student|badge|booking|reference|invoice|order|"
    r"claim|subscriber|registration|routing|sort code|swift|bic|imei|serial|npi|dea|badge|accession|pid|emr|med rec|"
    r"mr(?=\s?#)|id(?=\s?[:#]|\sof\b)|"
    r"(?:record|file|pt|pat|hosp|mr|encounter|visit|admission|episode|specimen|sample|lab|unit|ur|reg|person|subject)"
    r"\.?(?=\s?(?:id|no|nr|num(?:ber)?)\b))(?:\b|(?<=\.))"
)
_UNIT = (
    r"(?:[%°]|(?:mg|mcg|ug|ml|dl|cl|l|g|kg|km|m|cm|mm|bpm|mmhg|iu|kcal|h|"
    r"(?:year|yr|month|week|day|hour|hr|min|minute|second|tablet|pill|dose|unit|mile|euro|dollar)s?|times|beds|people|"
    r"percent|thousand|million|billion|(?:jan|feb|sept?|oct|nov|dec)[a-z]*|mar(?:ch)?|apr(?:il)?|"
    r"may(?=,? \d)|june?|july?|aug(?:ust)?)\b)"
)
# More of a number after a space. What follows a long one is rather another number, as is the first part of a date.
_GROUP = (
    rf"[^\S\n](?!\d\d?[-/.]\d\d?[-/.]\d)(?:(?<!\d{{6}}\s)\d{{2,}}|(?!{_YEAR}(?!\d))\d{{4,}})"
    rf"(?!\d|[.,]\d|[^\S\n]?{_UNIT})"
)
_RECORD = (
    r"(?P<it>(?:(?:(?<=[#:]\s)|(?<=number\s))[a-z]{1,4} |(?-i:[A-Z]{1,4}) |[a-z]{1,4}[-/]?|[-/])?"
    rf"\d[\da-z]*(?:[-/][\da-z]+|{_GROUP})*)(?!\w)"
)


_RECOGNISERS = (
    rule("URL", "credentials-in-url", r"(?P<it>\b[a-z][a-z0-9+.-]{1,15}://[^\s/@]{1,200}@[^\s<>\"')\]]+)"),
    rule(
        "URL",
        "secret-in-url",
        r"(?P<it>\bhttps?://[^\s<>\"'?]+\?[^\s<>\"']*?\b(?:token|key|api_?key|passw(?:or)?d|pwd|secret|session(?:_?id)?|"
        r"sig|signature|auth|access_token|code|email|user|ssn|phone)=[^\s<>\"']+)",
    ),
    rule("EMAIL", "email", rf"(?P<it>[\w.!#$%&'*+/=?^`{{|}}~-]{{1,64}}@(?:{_HOST}|\[[^\]\s]{{3,45}}\]|localhost\b))"),
    rule(
        "EMAIL",
        "email-spelt-out",
        r"(?P<it>\b[\w.+-]{1,64}\s?[(\[{]\s?at\s?[)\]}]\s?[\w-]{1,63}(?:\s?(?:\.|[(\[{]\s?dot\s?[)\]}])\s?[\w-]{1,63})+)",
    ),
    rule("EMAIL", "email-spaced", r"(?P<it>\b[\w.+-]{1,64}\s@\s?[\w-]{1,63}(?:\.[\w-]{1,63})+)"),
    rule(
        "IBAN",
        "iban-checksum",
        r"(?P<it>\b[a-z]{2}\d{2}(?:[ -]?[a-z0-9]{4}){2,7}(?:[ -]?[a-z0-9]{1,3})?\b)",
        lambda match: iban(match["it"]),
    ),
    rule(
        "IBAN",
        "iban-cue",
        rf"\biban\b[\s:#(,]*(?:(?:number|no\.?|is|was)[\s:#(,]*){{0,2}}{OF_WHOM}"
        r"(?P<it>[a-z]{2}\d{2}(?:[ .-]?(?:[a-z]{4}(?=[ .-]?\d)|[a-z0-9]*\d[a-z0-9]*)){2,9}\b)",
    ),
    rule("CREDIT_CARD", "card-luhn", r"(?<!\w)(?<!\d[.,])(?P<it>\d(?:[ -]?\d){12,18})(?![\w]|[.,]\d)", _is_card),
    rule(
        "CREDIT_CARD",
        "card-cue",
        r"\b(?:card|visa|mastercard|amex|american express|debit|cc)\b[\s:#(,]*"
        rf"(?:(?:number|no\.?|is|was|ending in)[\s:#(,]*){{0,3}}{OF_WHOM}"
        r"(?P<it>\d(?:[ -]?\d){11,18})(?!\w)",
    ),
    rule(
        "MAC",
        "mac",
        r"(?<![\w:-])(?P<it>[0-9a-f]{2}([:-])[0-9a-f]{2}(?:\2[0-9a-f]{2}){4}|(?:[0-9a-f]{4}\.){2}[0-9a-f]{4})(?![\w:-])",
    ),
    rule(
        "IP",
        "ipv4",
        r"(?<![\w.])(?<!version )(?<!release )(?<!section )(?P<it>\d{1,3}(?:\.\d{1,3}){3})(?![\w]|\.\d)",
        _is_address,
    ),
    rule(
        "IP",
        "ipv6",
        r"(?<![\w:.])(?P<it>[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,7}(?:(?<=:)\d{1,3}(?:\.\d{1,3}){3})?)(?![\w:])",
        _is_address,
    ),
    rule("SSN", "ssn", r"(?<![\w-])(?P<it>\d{3}-\d{2}-\d{4})(?![\w-])"),
    rule(
        "SSN",
        "ssn-cue",
        r"\b(?:ssn|social security|social insurance|national insurance|nino|chi|aadhaa?r|cpr|personnummer|pesel|bsn|"
        r"cpf|ahv|avs)\b[\s:#(,]*"
        rf"(?:(?:number|no\.?|is|was)[\s:#(,]*){{0,3}}{OF_WHOM}"
        r"(?P<it>(?:[a-z]{1,2} ?)?\d(?:[ -]?\d){5,12}(?:[a-d]| (?-i:[A-D]))?\b)",
        _is_social,
    ),
    rule("SSN", "dated-number", r"(?<![\w-])(?<!\d[.,])(?P<it>(?:\d\d)?\d{6}[-+]\d{4})(?![\w-])", _is_dated),
    rule("SSN", "ahv", r"(?<![\w.])(?P<it>756\.\d{4}\.\d{4}\.\d\d)(?![\w]|\.\d)"),
    rule("SSN", "cpf", r"(?<![\w.])(?P<it>\d{3}\.\d{3}\.\d{3}-\d\d)(?![\w-])"),
    rule("SSN", "codice-fiscale", r"\b(?P<it>[A-Z]{6}\d\d[A-EHLMPRST]\d\d[A-Z]\d{3}[A-Z])\b", case=True),
    rule(
        "SSN",
        "nhi-cue",
        rf"\bnhi\b[\s:#(,]*(?:(?:number|no\.?|is|was)[\s:#(,]*){{0,3}}{OF_WHOM}(?P<it>[a-z]{{3}}\d\d[a-z\d]{{2}}\b)",
    ),
    rule("SSN", "nino", r"\b(?P<it>[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d{2} ?\d{2} ?\d{2} ?[A-D])\b", case=True),
    rule(
        "ID",
        "record-number-cue",
        rf"(?:(?:{_ID_CUE}|\bm\.r\.n\.)[\s:#(,]*(?:(?:record|policy|file|card|account|number|no|nr|num|id|code|identifier|is|was)\b[\s:#.(,]*|"
        rf"[#:=(,]\s*){{0,4}}{OF_WHOM}|\b(?=mrn\d)){_RECORD}",
        _is_numbered,
    ),
    rule(
        "PHONE",
        "phone-international",
        r"(?<![\w+])(?P<it>(?:\+|00)[1-9](?:[ .()/-]{0,3}\d){6,14}(?:\s?(?:x|ext\.?)\s?\d{1,6})?)(?!\w)",
    ),
    rule(
        "PHONE",
        "phone-north-american",
        r"(?<![\w-])(?<!\d[.,])(?P<it>(?:1[ .-])?(?:\(\d{3}\)\s?|\d{3}(?:[ .-]| [-/] ))\d{3}(?:[ .-]| [-/] )\d{4}"
        r"(?:\s?(?:x|ext\.?)\s?\d{1,6})?)(?!\w|[.,]\d)",
    ),
    rule(
        "PHONE",
        "phone-area-code",
        r"(?<![\w(])(?P<it>\(\d{2,5}\)\s?\d{2,4}(?:[ -]?\d{2,4}){1,3}(?:x\d{1,6})?)(?!\w|[.,]\d)",
        _is_grouped_phone,
    ),
    rule(
        "PHONE",
        "phone-trunk-zero",
        r"(?<![\w:/.-])(?<!\d[., ])(?P<it>0\d{1,4}(?:[ /.-]\d{2,8}){1,4}(?:x\d{1,6})?)(?!\w|[.,:]\d)",
        _is_trunk_number,
    ),
    rule(
        "PHONE",
        "phone-pairs",
        r"(?<![\w-])(?<!\d[.,])(?P<it>\d{2}(?:-\d{2}){3,4}|\d{2}(?:\.\d{2}){4}|0\d(?: \d{2}){3,4})(?!\w|[.,-]\d)",
    ),
    rule(
        "PHONE",
        "phone-cue",
        rf"{_PHONE_CUE}{_DIALLED}*(?:(?:me|us|him|her|them|at|on|number|no\.?|is|was|to|the|back|home|work|office)\b{_DIALLED}*){{0,4}}"
        rf"{OF_WHOM}(?P<it>\+?\(?\d(?:[ .()/-]{{0,3}}\d){{5,14}}(?:x\d{{1,6}})?)(?!\w|,\d)",
        _is_called,
    ),
    rule(
        "PHONE",
        "extension",
        rf"\b(?:(?:pager|bleep|beeper)\b[\s:#.]{{0,3}}(?:(?:number|no\.?|is|was)\b[\s:#]*){{0,2}}{OF_WHOM}|"
        r"ext(?:ension|n)?\b[\s:#.]{0,3}(?:(?:number|no\.?)\b[\s:#]*)?)"
        r"(?P<it>\d{3,6})(?!\w|[.,]\d)",
        _is_called_short,
    ),
    rule(
        "PHONE",
        "phone-label-after",
        r"(?<![\w-])(?<!\d[.,/])(?P<it>\+?\(?\d(?:[ .()/-]{0,2}\d){5,14}(?:x\d{1,6})?)"
        r"[ -]?(?:office|fax|mobile|cell|home|work)(?=\s*(?:$|[\n,;.)\\]))",
    ),
    rule(
        "ID", "hyphenated-number", r"(?<![\w/-])(?<!\d[.,])(?P<it>\d{2,}-\d+(?:-\d+)+)(?![\w/-]|[.,]\d)", _is_hyphenated
    ),
    rule("ID", "slashed-number", r"(?<![\w/-])(?<!\d[.,])(?P<it>\d{2,}/\d{3,}/\d{3,})(?![\w/-]|[.,]\d)"),
    rule("ID", "long-digit-string", r"(?<![\w-])(?<!\d[.,])(?P<it>[a-z]{0,5}-?\d{7,}[a-z]?)(?!\w)", _is_account),
    rule(
        "DATE_OF_BIRTH",
        "date-of-birth",
        r"\b(?:born|dob|d\.o\.b\.?|date of birth|birth ?date|birthday)\b[\s:,]*(?:(?:on|in|is|was|the)\b[\s:]*){0,2}"
        rf"{OF_WHOM}"
        r"(?P<it>\d{1,4}[-/. ]\d{1,2}[-/. ]\d{1,4}|(?:\d{1,2}(?:st|nd|rd|th)?\s+)?(?:of\s+)?"
        rf"{MONTH}"
        r"\.?(?:\s+\d{1,2}(?:st|nd|rd|th)?\b)?,?(?:\s+\d{4})?)",
    ),
)
_WITHOUT_DIGITS = tuple(entry for entry in _RECOGNISERS if entry.name in {"email-spelt-out", "mac"})


# --- numbers of records, insurances and devices ---------------------------------------------------

RECORD_TYPES = ("MEDICAL_RECORD", "INSURANCE", "DEVICE_ID")

_FILLER = rf"[\s:#(,]*(?:(?:number|no\.?|nr|num|id|code|identifier|is|was|of)\b[\s:#.(,]*|[#:=(,]\s*){{0,4}}{OF_WHOM}"
_RECORD_NUMBER = r"(?P<it>(?:[a-z]{1,6}[-/ ]?)?\d[\da-z]*(?:[-/.][\da-z]+)*)(?![\w])"
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


_RECORD_RULES = (
    rule("MEDICAL_RECORD", "record-number", rf"(?:{_MEDICAL}\b{_FILLER}|\b(?=mrn\d)){_RECORD_NUMBER}", _telling),
    rule("INSURANCE", "insurance-number", rf"{_INSURED}\b{_FILLER}{_RECORD_NUMBER}", _telling),
    rule("INSURANCE", "medicare-beneficiary", r"\b(?P<it>[1-9][a-z][a-z\d]\d-?[a-z][a-z\d]\d-?[a-z]{2}\d{2})\b"),
    rule("DEVICE_ID", "device-identifier", rf"{_DEVICE}(?:[\s:#]*s/n\b)?{_FILLER}{_RECORD_NUMBER}", _telling),
    rule("DEVICE_ID", "unique-device-identification", r"(?P<it>\(01\)\d{14}(?:\(\d{2}\)[\w-]{1,20}){0,4})"),
)


def find_record_numbers(text: str) -> list[Span]:
    """Find the numbers of records, insurances and devices in a probed text."""
    return scan(text, frozenset(RECORD_TYPES), _RECORD_RULES)
