"""Dates, years, quantities, money, percentages and plain numbers, by rule."""

from __future__ import annotations

import re
from collections.abc import Iterator

_MONTHS = (
    "January|February|March|April|May|June|July|August|September|October|November|December|"
    "Jan\\.?|Feb\\.?|Mar\\.|Apr\\.?|Jun\\.?|Jul\\.?|Aug\\.?|Sept?\\.?|Oct\\.?|Nov\\.?|Dec\\.?"
)
_WORDS = (
    "(?:(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)(?:-(?:one|two|three|four|five|six|seven|eight|nine))?|"
    "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|"
    "eighteen|nineteen|a hundred|a thousand|a million|a dozen|dozens|half a)"
)
_SCALE = r"(?:[\s-](?:dozen|hundred|thousand|million|billion|trillion))"
_DIGITS = r"(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?"
_NUMBER = rf"{_DIGITS}{_SCALE}?(?:\s?(?:-|–|to)\s?{_DIGITS}{_SCALE}?)?"
_ANY = rf"(?:{_NUMBER}|\b(?i:{_WORDS}){_SCALE}?)"

UNIT_WORDS = (
    "(?:(?:kilo|centi|milli|micro|nano|mega|giga|tera)?(?:metre|meter|gram|gramme|watt|volt|hertz|byte|bit|pascal|joule|"
    "newton|second|litre|liter|tonne|ton|parsec|electronvolt)s?|(?:square|cubic|light|astronomical|nautical)[\\s-]"
    "(?:kilometre|kilometer|metre|meter|mile|foot|feet|inch|inche|yard|year|day|hour|minute|second|unit)s?|"
    "miles?|foot|feet|inch(?:es)?|yards?|acres?|hectares?|pounds?|ounces?|stone|gallons?|barrels?|knots?|degrees?|"
    "arcseconds?|arcminutes?|kelvins?|horsepower|pixels?|megapixels?|carats?|calories|"
    "years?|months?|weeks?|days?|hours?|minutes?|decades?|centuries|millennia|nights?)"
)
_SYMBOLS = (
    r"(?:km2?|cm2?|mm2?|nm|m[23]|kg|mg|lbs?|oz|ft|mi|mph|kph|km/h|kHz|MHz|GHz|Hz|kW|MW|GW|kWh|MWh|kV|kN|MN|kPa|MPa|GPa|"
    r"bar|atm|kB|KB|MB|GB|TB|PB|Mbps|Gbps|au|AU|ly|pc|kpc|Mpc|eV|keV|MeV|GeV|ms|min|hrs?|yrs?|ha|mL|ml|rpm|°\s?[CFK]|°|"
    r"m/s|km/s|dB)"
)
_LETTERS = "(?:m|g|s|h|K|W|V|L|l|t)"
_PER = (
    r"(?:\s?/\s?(?:s|h|hr|m|m2|m3|km|km2|kg|day|year|second|hour)\b"
    r"|\s(?:per|a|an)\s(?:second|minute|hour|day|week|month|year|mile)\b)"
)

_RULES: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "MONEY",
        re.compile(
            rf"(?:\b(?:US|A|C|NZ|HK))?[$€£¥₹]\s?{_NUMBER}(?:\s?(?:bn|mn|m|k)\b)?"
            rf"|(?<![\w.,]){_ANY}\s(?i:(?:US\s|U\.S\.\s|American\s|Canadian\s|Australian\s)?dollars?|euros?|"
            r"pounds sterling|yen|rupees|cents|francs|roubles|rubles|USD|EUR|GBP)\b"
        ),
    ),
    ("PERCENT", re.compile(rf"(?<![\w.,]){_ANY}\s?(?:%|percent\b|per cent\b)")),
    (
        "DATE",
        re.compile(
            rf"\b(?:\d{{1,2}}(?:st|nd|rd|th)?(?:\s?[-–]\s?\d{{1,2}})?\s(?:of\s)?)?(?:{_MONTHS})(?!\w)"
            rf"(?:\s\d{{1,2}}(?:st|nd|rd|th)?\b(?!\s?(?:,\d|\d)))?(?:(?:\s?,)?\s(?:of\s)?\d{{4}}\b)?"
            r"|\b\d{4}-\d{2}-\d{2}\b|\b\d{1,2}/\d{1,2}/\d{4}\b"
            r"|\b(?:(?:early|mid|late)[\s-](?:to\slate\s)?)?(?:1\d|20)\d0'?s\b"
            r"|\b(?:(?:early|mid|late)[\s-])?(?:\d{1,2}(?:st|nd|rd|th)|(?i:first|second|third|fourth|fifth|sixth|seventh|eighth|"
            r"ninth|tenth|eleventh|twelfth|\w+teenth|twentieth|twenty-first))[\s-]century(?:\s(?:BCE?|AD|CE)\b)?"
            r"|\b(?:1\d|20)\d\d\s?(?:[-–/]|to)\s?(?:(?:1\d|20)\d\d|\d\d)\b(?![,.]\d)"
        ),
    ),
    (
        "YEAR",
        re.compile(
            r"(?<![\w.,$€£#/-])(?:1\d{3}|20\d{2})\b(?![,.]\d)(?!\s?%)(?!-\w)"
            r"|\b(?:AD|CE)\s\d{1,4}\b|\b\d{1,4}\s(?:BCE?|AD|CE)\b"
        ),
    ),
    (
        "QUANTITY",
        re.compile(
            rf"(?<![\w.,$€£])(?:[-−+±~]\s?)?{_ANY}(?:(?:\s|-)?(?:{_SYMBOLS})(?!\w)|\s{_LETTERS}(?![\w'’.-]\w)(?!\w)|"
            rf"(?:\s|-)(?i:{UNIT_WORDS})\b){_PER}?"
        ),
    ),
    ("CARDINAL", re.compile(rf"(?<![\w.,-]){_NUMBER}(?![\w%]|-[^\W\d])|(?<!-)\b(?i:{_WORDS}){_SCALE}?\b(?!-[^\W\d])")),
)
_MONTH = re.compile(rf"\b(?:{_MONTHS})(?!\w)")
_BARE_MONTH = re.compile(r"(?:May|March|Jan|Dec|Sep|Jun)$")
_TIME_WORD = re.compile(
    r"\d|\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b|\b(?:spring|summer|autumn|winter|century|decade)\b",
    re.IGNORECASE,
)


def numeric_spans(text: str) -> Iterator[tuple[int, int, str]]:
    """Find dates, years, quantities, money, percentages, numbers as (start, end, type) in characters; may overlap."""
    for label, pattern in _RULES:
        for found in pattern.finditer(text):
            if label == "DATE" and _BARE_MONTH.match(found[0]):
                continue  # a name or a verb as likely as a month
            yield found.start(), found.end(), label


def is_telling_date(text: str) -> bool:
    """Say whether a date phrase names a time at all ("1977", "last Monday", not "annual" or "recently")."""
    return bool(_TIME_WORD.search(text) or _MONTH.search(text))
