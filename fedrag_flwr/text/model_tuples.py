"""Evidence tuples by the local language model: at most five a passage, kept where both ends stand in it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from fedrag_flwr.models.base import Generator, Grammar, Prompt
from fedrag_flwr.records import Cost, EvidenceTuple
from fedrag_flwr.text.base import ParsedPassage
from fedrag_flwr.text.facts import typed_spans
from fedrag_flwr.text.lexicon import DOUBTING
from fedrag_flwr.text.mentions import PRONOUNS, Mention
from fedrag_flwr.text.segment import document_title
from fedrag_flwr.text.tuples import DENYING, MODALS, ParseExtractor, Relation, evidence_tuple
from fedrag_flwr.text.words import normalise_anchor

PROMPT = "model-tuples-2"
MOST = 5  # tuples of a passage (HKVM-RAG IV-E)
_TOKENS = 160  # most output tokens of a passage
_WORD = re.compile(r"\w+")
_NEGATIONS = DENYING | {"not", "no"}
_GRAMMAR = Grammar(
    f"root ::= line{' line?' * (MOST - 1)}\n"
    r"""line ::= part " | " part " | " part "\n"
part ::= [^|\n ] [^|\n]{0,59}
"""
)
_SYSTEM = (
    f"You list what a text states, as lines 'subject | relation | object', at most {MOST}, the most telling first. "
    "Subjects and objects are names, things, places, dates or amounts, copied from the text, and short. "
    "Write the title instead of he, she, it or they."
)
_EXAMPLES = (
    (
        "Title: Odile Varro\nText: Odile Varro was an engineer born in Lindmoor in 1881. She designed Tarn Bridge, "
        "which opened in 1924.",
        "Odile Varro | was | engineer\nOdile Varro | was born in | Lindmoor\nOdile Varro | was born in | 1881\n"
        "Odile Varro | designed | Tarn Bridge\nTarn Bridge | opened in | 1924\n",
    ),
    (
        "Title: The Glass Orchard\nText: The Glass Orchard is a novel by Irma Feld. It is set in Old Town.",
        "The Glass Orchard | is | novel\nThe Glass Orchard | was written by | Irma Feld\n"
        "The Glass Orchard | is set in | Old Town\n",
    ),
)


@dataclass(slots=True)
class ModelExtractor:
    """Tuples that a local language model lists under a grammar, one greedy completion for each passage.

    A tuple is dropped, and counted, whose line was cut short, whose relation is denied, whose head or tail does not
    stand in the passage or as its title, whose ends are the same, or that was listed before. The confidences are
    `ParseExtractor`'s, with the parse telling the ends' types: `factual` loses 0.3 of itself for an end that is the
    title where the sentence does not name it, and half where the sentence or the relation is hedged; `salience` and
    `bridge` are the same.
    """

    generator: Callable[[], Generator]  # gives the local model; called when it is first needed
    seed: int = 0  # handed to it
    dropped: Counter[str] = field(default_factory=Counter)  # tuples found so far and not kept, by reason
    cost: Cost = field(default_factory=Cost)  # what the model has done so far

    @property
    def id(self) -> str:
        """Version of the prompt, and the model with the start of its weights' hash."""
        return f"{PROMPT}/{self.generator().id}"

    def extract(self, passages: Sequence[ParsedPassage]) -> list[EvidenceTuple]:
        """Give the tuples of one document's passages, in reading order, each once for a passage."""
        return [one for parsed in passages for one in self._of_passage(parsed)]

    def _of_passage(self, parsed: ParsedPassage) -> Iterator[EvidenceTuple]:
        title = document_title(parsed.passage.title)
        prompt = Prompt(_SYSTEM, f"Title: {title}\nText: {' '.join(parsed.passage.text.split())}", _EXAMPLES)
        [done] = self.generator().complete(prompt, grammar=_GRAMMAR, max_tokens=_TOKENS, seed=self.seed)
        self.cost += Cost(done.seconds, 1, done.tokens_in, done.tokens_out, done.cached)
        lines = done.text.splitlines()
        if done.tokens_out >= _TOKENS and lines:
            lines.pop()
            self.dropped["cut short"] += 1
        read = PassageReading(parsed, title)
        seen: set[tuple[str, str, str]] = set()
        for line in lines:
            found = read.tuple_of(line)
            if isinstance(found, str):
                self.dropped[found] += 1
            elif (key := (found.head, found.relation, found.tail)) in seen:
                self.dropped["repeated"] += 1
            else:
                seen.add(key)
                yield found


Extractor = ParseExtractor | ModelExtractor


def extractor_of(written_by: Literal["rules", "model"], generator: Callable[[], Generator], seed: int) -> Extractor:
    """What finds tuples, by the setting `graph.written-by`."""
    return ModelExtractor(generator, seed) if written_by == "model" else ParseExtractor()


class PassageReading:
    """Finds in a parsed passage what the model says of it."""

    def __init__(self, parsed: ParsedPassage, title: str) -> None:
        self._parsed = parsed
        self._title = title
        self._spans = typed_spans(parsed.doc, title)
        self._lines = [_plain(parsed.doc[start:end].text) for start, end in parsed.spans]

    def tuple_of(self, line: str) -> EvidenceTuple | str:
        """The tuple of one line, or the reason why it is none."""
        parts = [part.strip() for part in line.split("|")]
        if len(parts) != 3 or not all(parts):
            return "not three parts"
        words = parts[1].lower()
        if _NEGATIONS & set(words.split()):
            return "denied"
        head, tail = self._mention(parts[0]), self._mention(parts[2])
        if head is None or tail is None:
            return "head not in the passage" if head is None else "tail not in the passage"
        if normalise_anchor(head.text) == normalise_anchor(tail.text):
            return "ends are the same"
        place = self._sentence(head, tail)
        hedged = bool((MODALS | DOUBTING) & set(words.split()) or DOUBTING & set(self._lines[place].split()))
        relation = Relation(self._here(head, place), words, self._here(tail, place), hedged)
        return evidence_tuple(relation, self._parsed.passage.id, 1.0 - place / len(self._lines))

    def _mention(self, text: str) -> Mention | None:
        """What the model's words mention: the title, a typed fact or a part of one, or other words of the passage."""
        if self._title and (text.lower() in PRONOUNS or normalise_anchor(text) == normalise_anchor(self._title)):
            return Mention(self._title, "NAME", is_title=True)
        anchor, plain = normalise_anchor(text), _plain(text)
        for span in self._spans:
            if anchor and span.anchor == anchor:
                return Mention(self._parsed.doc[span.start : span.end].text, span.type)
        if not plain.strip() or not any(plain in line for line in self._lines):
            return None
        around = (s.type for s in self._spans if plain in _plain(self._parsed.doc[s.start : s.end].text))
        return Mention(text, next(around, "CONCEPT"))

    def _sentence(self, head: Mention, tail: Mention) -> int:
        """The first sentence that names most of the two ends; one that names only the title comes last."""
        ends = (head, tail)
        named = [(sum(_plain(end.text) in line for end in ends if not end.is_title), line) for line in self._lines]
        worth = [(others, any(_plain(end.text) in line for end in ends if end.is_title)) for others, line in named]
        return worth.index(max(worth))

    def _here(self, end: Mention, place: int) -> Mention:
        """An end as a sentence mentions it: the title is resolved where the sentence does not name it."""
        resolved = end.is_title and _plain(end.text) not in self._lines[place]
        return Mention(end.text, end.type, end.is_title, resolved)


def _plain(text: str) -> str:
    """The words of a text in lower case, each between spaces, so that whole words are found in it."""
    return f" {' '.join(_WORD.findall(text.lower()))} "
