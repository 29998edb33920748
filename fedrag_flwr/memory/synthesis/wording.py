"""Words of questions: tokens written out with mentions replaced, subjects that stand alone, finished questions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fedrag_flwr.memory.synthesis.classes import Classes, plain
from fedrag_flwr.memory.synthesis.lexicon import TIME_NOUNS, VAGUE_NOUNS
from fedrag_flwr.memory.synthesis.mentions import Mentions
from fedrag_flwr.memory.synthesis.parts import Part

if TYPE_CHECKING:
    from spacy.tokens import Token

MAX_WORDS = 24
_DATED = re.compile(
    r"\b(?:in|on|from|since|until|till|to|by|during|between|and) (?:[A-Z]\w+ )?(?:\d{1,2},? )?(?:[A-Z]\w+,? )?"
    r"(?:1\d{3}|20\d{2})\b(?! [A-Z])"
)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with its answer and how natural and useful it is, higher is better."""

    question: str
    answer: str
    type: str
    score: float
    kind: str = "single"


class Wording:
    """Writes the words of one paragraph's questions.

    Parameters
    ----------
    mentions
        What the paragraph's pronouns and short names stand for.
    classes
        What the document's names are.
    """

    def __init__(self, mentions: Mentions, classes: Classes) -> None:
        self.mentions = mentions
        self.classes = classes

    def render(self, tokens: Sequence[Token], gone: frozenset[int] = frozenset(), keep: str = "") -> str | None:
        """Write tokens out with mentions replaced, or None when one of them stays unclear.

        `keep` is the entity whose own pronouns stay pronouns, because the question names it already.
        """
        pieces: list[str] = []
        done: set[int] = set()
        indices = {token.i for token in tokens}
        for position, token in enumerate(tokens):
            if token.i in gone or token.i in done:
                continue
            referent = self.mentions.referent(token)
            if referent is not None and not (keep and plain(referent.text) == plain(keep)):
                covered = range(referent.start, referent.end)
                if all(index in indices for index in covered if token.doc[index].tag_ != "POS"):
                    done.update(covered)
                    ending = ("’" if referent.text.endswith("s") else "’s") if referent.possessive else ""
                    ending = ending.replace("’", "'")
                    pieces.append(referent.text + ending + " ")
                    continue
            if self.mentions.unresolved(token):
                return None
            pointing = token.lower_ in ("this", "these", "that", "those") and token.dep_ == "det"
            word = "the" if pointing and token.head.pos_ in ("NOUN", "PROPN") and token.head.i > token.i else token.text
            mixed = any(char.isupper() or char.isdigit() for char in word[1:])
            if (
                token.is_sent_start
                and token.pos_ != "PROPN"
                and not mixed
                and token.ent_type_ not in ("PERSON", "ORG", "GPE", "LOC", "FAC")
            ):
                word = word[:1].lower() + word[1:]
            following = tokens[position + 1] if position + 1 < len(tokens) else None
            contiguous = following is not None and following.i == token.i + 1 and following.i not in gone
            pieces.append(word + (token.whitespace_ if contiguous else " "))
        return tidy("".join(pieces))

    def _specific(self, part: Part) -> bool:
        text = self.render(part.tokens)
        return text is not None and any(char.isupper() or char.isdigit() for char in text)

    def subject_text(self, part: Part) -> str | None:
        """Write a subject so that it stands alone: a nameless "the mirror" is tied to the document's topic."""
        text = self.render(part.tokens)
        if text is None or part.head is None or len(text.split()) > 14:
            return None
        topic = self.mentions.topic
        if re.search(r"[A-Z0-9]", text) or topic is None or part.head.pos_ == "PROPN":
            return text
        return self._grounded(text, part.head)

    def _grounded(self, text: str, head: Token) -> str:
        """Tie a nameless noun phrase to the topic: "a rover" becomes "the rover of Chandrayaan-3"."""
        topic = self.mentions.topic
        if topic is None or head.lemma_.lower() in VAGUE_NOUNS | TIME_NOUNS or head.pos_ != "NOUN" or " of " in text:
            return text
        first, _, rest = text.partition(" ")
        if re.match(r"[a-z]+ the [a-z]", text) and first not in ("the", "a", "an"):
            return f"{text} of {topic.name}"
        if first.lower() in ("the", "a", "an") and rest:
            return f"the {rest} of {topic.name}"
        numbered = head.tag_ == "NNS" and any(child.dep_ == "nummod" for child in head.children)
        return f"the {text} of {topic.name}" if numbered else text

    def _keep(self, part: Part) -> str:
        return self.mentions.entity(part.head) if part.head is not None else ""

    def question(self, question: str, answer: str, type_: str, score: float, kind: str = "single") -> Asked:
        """Finish a question's text; one that is too long or too short scores 0."""
        text = tidy(question)
        text = text[:1].upper() + text[1:]
        words = len(text.split())
        if words > MAX_WORDS or words < 3:
            score = 0.0
        elif re.search(r"\s['’]s\b|\b(?:an?|the) (?:in|on|at|of|by|with|from|to)\b", text):
            score = 0.0  # the answer took a word away that the rest needs
        elif type_ in ("DATE", "YEAR") and _DATED.search(text):
            score = 0.0  # the sentence tells two dates, and which of them is asked for is not sure
        elif not (balanced(text) and balanced(answer)) or " there be" in text:
            score = 0.0
        elif words > 16:
            score *= 0.8
        return Asked(text + "?", answer, type_, score, kind)


def balanced(text: str) -> bool:
    """Whether brackets and quotation marks come in pairs."""
    pairs = text.count("(") == text.count(")") and text.count("[") == text.count("]")
    return pairs and text.count('"') % 2 == 0 and text.count("“") == text.count("”")


def tidy(text: str) -> str:
    """Close the gaps that left-out words leave: double spaces, spaces before commas, loose punctuation."""
    text = re.sub(r"\s+", " ", text)
    text = re.sub(r"\s+([,.;:!?’)])", r"\1", text)
    text = re.sub(r"\(\s*\)|,\s*,", "", text)
    return text.strip(" ,;:–—-")
