"""Where paragraphs and sentences begin and end."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from fedrag_flwr.text.lexicon import ABBREVIATIONS, CLOSING_ABBREVIATIONS
from fedrag_flwr.text.words import normalise_line, normalise_text

if TYPE_CHECKING:
    from spacy.tokens import Doc

TITLE_SEPARATOR = " › "
MAX_WORDS = 180
_MAX_CHARS = 6_000  # what spaCy parses in one piece; longer runs are cut before
_MAX_RUN = 1_000  # characters without a sentence's end: the parse of a table or a scan may be as deep as it is long
_MAX_SENTENCE_TOKENS = 90
_FRAGMENT_WORDS = 7
_PLAIN_LEVEL = 7  # a plain-text heading stands below the six of Markdown

_MOST_HEADING = 200  # characters; what is longer is text, and does not stand before every sentence below it
_HEADING = re.compile(r"(#{1,6})\s+(\S.*)$")
_UNDERLINE = re.compile(r"(=|-){3,}$")
_HEADLINE = re.compile(r"[A-Z0-9][^;:,]*$")
_BULLET = re.compile(r"(?:[-*+•‣▪◦·]|\(?\d{1,2}[.)]|\(?[a-z]\))\s+(?=\S)")
_RULE = re.compile(r"[\W_]+$")
_ROW = re.compile(r"[^:;]{1,60}: [^;]*(?:; [^:;]{1,60}: [^;]*)+")
_TERMINAL = re.compile(r"[.!?…。！？][\"'”’»)\]]*$")
_CUT = re.compile(r"[.!?…](?:[\"'”’»)\]]|\[[^\]\s]{1,4}\])*\s+|[。！？]")  # with quotes, brackets and notes behind it


@dataclass(frozen=True, slots=True)
class Block:
    """One paragraph of running text under its running title."""

    title: str
    text: str


def document_title(title: str) -> str:
    """Give the document's part of a passage's running title (headings follow it after `TITLE_SEPARATOR`)."""
    return title.split(TITLE_SEPARATOR, 1)[0]


def subject_of(title: str) -> str:
    """Give what a passage's running title names, without the bracket that tells it from others of its name."""
    return re.sub(r"\s*\([^)]*\)\s*$", "", document_title(title))


def under_title(title: str, text: str) -> str:
    """Give a text with its title in front, or the text alone where it has none."""
    return f"{title}. {text}" if title else text


def blocks(title: str, text: str) -> list[Block]:
    """Split a document into paragraphs.

    Blank lines separate paragraphs. Headings (Markdown, or one short line without a full stop before a longer
    paragraph) join the running title; one with nothing under it is a paragraph by itself. Items of a list and runs of
    short fragments become one paragraph. A run of text too long to parse in one piece is cut at a sentence end.
    """
    title = normalise_line(title)
    headings: dict[int, str] = {}
    found: list[Block] = []
    fragments: list[str] = []
    bare = 0  # level of the last heading as long as nothing stands under it

    def running_title() -> str:
        parts = [title, *(headings[level] for level in sorted(headings))]
        return TITLE_SEPARATOR.join(part for part in parts if part)

    def flush() -> None:
        if fragments:
            found.extend(Block(running_title(), piece) for piece in _pieces(_join_fragments(fragments)))
            fragments.clear()

    def close(level: int) -> None:
        """End what stands under headings of a level and deeper."""
        if bare and level <= bare:
            fragments.append(headings.pop(bare))
        flush()

    for level, chunk in _chunks(normalise_text(text)):
        if level:
            close(level)
            for deeper in [key for key in headings if key >= level]:
                del headings[deeper]
            bare = level if chunk.casefold() != title.casefold() else 0
            if bare:
                headings[level] = chunk
            continue
        bare = 0
        if _is_fragment(chunk):
            fragments.append(chunk)
            continue
        if len(fragments) == 1 and len(fragments[0]) <= _MOST_HEADING and _HEADLINE.match(fragments[0]):
            headings[_PLAIN_LEVEL] = fragments.pop()
        flush()
        found.extend(Block(running_title(), piece) for piece in _pieces(chunk))
    close(bare)
    return found


def _chunks(text: str) -> Iterator[tuple[int, str]]:
    """Yield (heading level, heading) and (0, paragraph)."""
    lines: list[str] = []
    for line in [*text.split("\n"), ""]:
        heading = _heading(line)
        underlined = _UNDERLINE.match(line) if len(lines) == 1 and not _BULLET.match(lines[0]) else None
        if underlined and len(lines[0]) <= _MOST_HEADING and not _TERMINAL.search(lines[0]):
            yield (1 if underlined[1] == "=" else 2), lines.pop()
        elif heading or not line or _RULE.match(line):
            if paragraph := _join_lines(lines):
                yield 0, paragraph
            lines = []
            if heading and not _RULE.match(heading[1]):
                yield heading
        else:
            lines.append(line)


def _heading(line: str) -> tuple[int, str] | None:
    """Level and text of a heading; a very long one is none."""
    if (found := _HEADING.match(line)) is None:
        return None
    text = found[2].rstrip().rstrip("#").rstrip() or found[2].rstrip()
    return (len(found[1]), text) if len(text) <= _MOST_HEADING else None


def _join_lines(lines: list[str]) -> str:
    """Join wrapped lines with spaces and list items with semicolons, unless they end as sentences do."""
    parts: list[str] = []
    in_list = False
    for line in lines:
        bullet = _BULLET.match(line)
        if bullet and (in_list or _opens_list(bullet[0], parts[-1:])):
            line = line[bullet.end() :]
            if in_list and parts and not re.search(r"[.!?;:,]$", parts[-1]):
                parts[-1] += ";"
            in_list = True
        parts.append(line)
    return " ".join(parts)


def _opens_list(mark: str, before: list[str]) -> bool:
    """Whether an item's mark begins a list: "15." at the start of a wrapped line may be the end of a date."""
    number = mark.strip(" ().")
    return not number.isalnum() or number in ("1", "a") or not before or re.search(r"[.!?:;]$", before[0]) is not None


def _join_fragments(fragments: list[str]) -> str:
    return " ".join(part if re.search(r"[.!?;:,]$", part) else f"{part};" for part in fragments).rstrip(";")


def _is_fragment(chunk: str) -> bool:
    """Whether a chunk is a short one without an end; a table's row, whose cells have heads, stands by itself."""
    if _ROW.fullmatch(chunk):
        return False
    return len(chunk.split()) <= _FRAGMENT_WORDS and not re.search(r"[.!?;:,…]['\"”’)\]]*$", chunk)


def _pieces(chunk: str) -> Iterator[str]:
    """Cut an over-long run of text at sentence ends; one without any at semicolons, commas or spaces, else anywhere."""
    start = begin = 0  # of the piece, and of the sentence in it
    for end in (*(match.end() for match in _CUT.finditer(chunk)), len(chunk)):
        if begin > start and (end - start > _MAX_CHARS or end - begin > _MAX_RUN):
            yield chunk[start:begin].strip()
            start = begin
        while end - begin > _MAX_RUN:
            most = begin + _MAX_RUN
            marks = (chunk.rfind(mark, begin + _MAX_RUN // 2, most) for mark in ("; ", ", ", " "))
            begin = next((mark + 1 for mark in marks if mark >= 0), most)
            yield chunk[start:begin].strip()
            start = begin
        begin = end
    if last := chunk[start:].strip():
        yield last


# --- sentences ----------------------------------------------------------------------------------

_INITIALISM = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]?$")
_OPENERS = frozenset({"DET", "PRON", "ADP", "SCONJ", "CCONJ", "ADV", "AUX"})


def sentence_spans(doc: Doc) -> list[tuple[int, int]]:
    """Find the sentences of a parsed paragraph as token spans (start, end).

    The parser's boundaries are corrected: none after initials and abbreviations, before a lower-case word or in the
    middle of unpunctuated text; a full stop before a capital letter is one. Sentences without a letter or digit are
    dropped.
    """
    starts = [0]
    for index in range(1, len(doc)):
        if _breaks(doc, index, index - starts[-1]):
            starts.append(index)
    bounds = [*starts, len(doc)]
    spans = [(start, end) for start, end in pairwise(bounds) if end > start]
    return [(start, end) for start, end in spans if any(char.isalnum() for char in doc[start:end].text)]


def _breaks(doc: Doc, index: int, length: int) -> bool:
    """Decide whether a sentence starts at token `index`, `length` tokens after the last one."""
    following = doc[index]
    if not doc[index - 1].whitespace_:
        return False
    if not any(char.isalnum() for char in following.text) and following.text not in "\"'“‘«([":
        return False
    last = index - 1
    while last > 0 and doc[last].text in "\"'”’»)]" and not doc[last - 1].whitespace_:
        last -= 1
    ending = doc[last].text
    if ending == "." and last and _INITIALISM.match(doc[last - 1].text + "."):
        ending = doc[last - 1].text + "."
    word = ending.rstrip(".").casefold()
    opener = following.pos_ in _OPENERS and following.text[:1].isupper()
    if len(ending) > 1 and ending.endswith("."):
        if word in ABBREVIATIONS:
            return False
        if word in CLOSING_ABBREVIATIONS or _INITIALISM.match(ending):
            return opener
    if following.text[:1].islower() and following.text.islower():
        return False
    if ending == ".":
        return following.text[:1].isupper() or bool(following.is_sent_start)
    if not following.is_sent_start:
        return False
    return bool(_TERMINAL.search(ending)) or length > _MAX_SENTENCE_TOKENS


def groups(doc: Doc, spans: list[tuple[int, int]], most: int = MAX_WORDS) -> list[list[tuple[int, int]]]:
    """Group the sentences of a paragraph so that no group exceeds `most` words, unless one sentence does."""
    total = sum(_words(doc, span) for span in spans)
    parts = -(-total // most)
    if parts <= 1:
        return [spans] if spans else []
    target = total / parts  # even parts, no stub at the end
    grouped: list[list[tuple[int, int]]] = [[]]
    count = 0
    for span in spans:
        words = _words(doc, span)
        if grouped[-1] and (count + words > most or count >= target):
            grouped.append([])
            count = 0
        grouped[-1].append(span)
        count += words
    return grouped


def _words(doc: Doc, span: tuple[int, int]) -> int:
    return len(doc[span[0] : span[1]].text.split())


def document_of(unit: str) -> str:
    """The id of the document that a passage's or a sentence's id begins with."""
    return unit.rpartition("#")[0]


def passage_of(sentence: str) -> str:
    """The id of the passage that a sentence's id begins with."""
    return sentence.rpartition(".")[0]
