"""Candidates by a language model: a fact is the answer, and the model writes its question (FD-RAG eq. 9, 10).

Told the answer, a small model writes good questions far more often than where it chooses both. Each question is asked
back over its passage. Only one that returns the answer may become a memory (the round-trip filter).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache

from fedrag_flwr.memory.generate.candidates import Candidate
from fedrag_flwr.memory.generate.verify import listed, normalise, says
from fedrag_flwr.models.base import Completion, Generator, Grammar, Prompt
from fedrag_flwr.records import Cost, Fact, Passage, Sentence

MOST = 2  # questions about a sentence
_QUESTION_TOKENS, _ANSWER_TOKENS = 48, 30
SURE = -0.25  # mean log-probability of a question: of 81 memories that a reader judged, 91 % of those left are right
SURE_OF_ANSWER = -0.3  # and of the answer that comes back
_MOST_WORDS_MORE = 5  # of the answer that comes back: "Klushino in the Smolensk region"

_WRITE = (
    "You get a text and some words of it. Write the question to which these words are the answer. The question names "
    "in full what it is about, so that a reader understands it without the text, and it does not hold the answer."
)
_LAKE = (
    "Lake Vessa\nLake Vessa is 212 metres deep and lies north of Mirren. Orla Brandt, born in 1874, mapped it in 1931 "
    "for the Land Office. She used a rowing boat."
)
_PARKING = (
    "Staff handbook: Parking\nPermits for the north car park cost 15 euros a month. Apply at the porter's desk before "
    "the 20th. If a permit is lost, the porter blocks it."
)
_EXAMPLES = (
    (f"{_LAKE}\n\nAnswer: 212 metres", "How deep is Lake Vessa?"),
    (f"{_PARKING}\n\nAnswer: porter", "Who blocks a lost parking permit?"),
    (f"{_LAKE}\n\nAnswer: 1874", "When was Orla Brandt, who mapped Lake Vessa, born?"),
    (f"{_PARKING}\n\nAnswer: 15 euros", "How much does a permit for the north car park cost a month?"),
    (f"{_LAKE}\n\nAnswer: Land Office", "For which office did Orla Brandt map Lake Vessa?"),
)
_ASK = "Answer the question from the passages with a few words of them. If they do not hold the answer, say: unknown."
_STARTS = {  # how a question for an answer of each type begins
    "PERSON": ("Who ", "Whose ", "To whom ", "By whom "),
    "DATE": ("When ", "On which ", "In which ", "Since when ", "Until when "),
    "YEAR": ("When ", "In which year "),
    "TIME": ("When ", "At what time ", "How long "),
    "GPE": ("Where ", "In which ", "Which "),
    "LOC": ("Where ", "Which ", "What "),
    "FAC": ("Where ", "Which ", "What "),
    "ORG": ("Which ", "Who ", "For which ", "By which ", "What "),
    "CARDINAL": ("How many ",),
    "QUANTITY": ("How ", "At what ", "What "),
    "MONEY": ("How much ", "What "),
    "PERCENT": ("What percentage ", "What share ", "How much "),
}
_OPEN = ("Which ", "What ", "Who ", "Where ")
_NEVER = frozenset({"CONCEPT", "NORP", "ORDINAL"})  # types that are seldom a whole answer: "French", "first"
_ONE = frozenset({"one", "1"})


@dataclass(frozen=True, slots=True)
class AnswerCandidate:
    """A fact that may be the answer of a memory, the sentence that tells it, and the passage around it."""

    passage: Passage
    sentence: Sentence
    fact: Fact


def answer_candidates(passage: Passage) -> Iterator[AnswerCandidate]:
    """The facts of a passage that may be answers: at most two a sentence, none that the title tells, none twice."""
    told = [normalise(passage.title)]
    for sentence in passage.sentences:
        found, half = 0, listed(sentence.text)  # of a list each name is a part of the answer only
        for fact in sentence.facts:
            text = normalise(fact.text)
            known = any(f" {text} " in f" {one} " for one in told)
            if fact.type in _NEVER or text in _ONE or fact.text in half or known:
                continue
            told.append(text)
            yield AnswerCandidate(passage, sentence, fact)
            found += 1
            if found == MOST:
                break


@dataclass(slots=True)
class ModelGenerator:
    """Writes a question for an answer, and asks it back."""

    generator: Generator  # the model
    seed: int = 0  # handed to it
    cost: Cost = field(default_factory=Cost)  # of all that it was asked

    def write(self, answer: AnswerCandidate) -> Candidate | None:
        """Write the question that a fact answers; None where the model is not sure of it or did not end it."""
        fact, passage = answer.fact, answer.passage
        prompt = Prompt(_WRITE, f"{_shown(passage)}\n\nAnswer: {fact.text}", _EXAMPLES)
        said = self._complete(prompt, _grammar(fact.type), _QUESTION_TOKENS)
        question = " ".join(said.text.split())
        if not question.endswith("?") or said.logprob < SURE:  # nan, where the model does not tell, is not below
            return None
        return Candidate(question, fact.text, "single", fact.type, (answer.sentence.id,))

    def returned(self, candidate: Candidate, answer: AnswerCandidate) -> Candidate | None:
        """The candidate, where its question, asked over the passage, gives its answer, and the model is sure of it.

        The answer may be `fuller` then.
        """
        prompt = Prompt(_ASK, f"{_shown(answer.passage)}\n\nQuestion: {candidate.question}")
        said = self._complete(prompt, None, _ANSWER_TOKENS)
        if said.logprob < SURE_OF_ANSWER or not agrees(said.text, candidate.answer):
            return None
        return replace(candidate, answer=fuller(candidate.answer, said.text, answer.sentence.text))

    def _complete(self, prompt: Prompt, grammar: Grammar | None, most: int) -> Completion:
        [said] = self.generator.complete(prompt, grammar=grammar, max_tokens=most, seed=self.seed)
        self.cost += Cost(said.seconds, 1, said.tokens_in, said.tokens_out, said.cached)
        return said


def _shown(passage: Passage) -> str:
    return f"{passage.title}\n{passage.text}" if passage.title else passage.text


@cache
def _grammar(answer_type: str) -> Grammar:
    starts = " | ".join(f'"{start}"' for start in _STARTS.get(answer_type, _OPEN))
    return Grammar(f'root ::= ({starts}) [^?\\n]{{8,140}} "?"')


def fuller(answer: str, given: str, sentence: str) -> str:
    """The given answer where it is longer and stands in the sentence: "phases of Venus" for "Venus"; else the old."""
    whole = given.strip().rstrip(".")
    found = re.search(re.escape(whole), sentence, re.IGNORECASE) if len(whole) > len(answer) else None
    return found[0] if found else answer


def agrees(given: str, expected: str) -> bool:
    """Whether two answers say the same: the given one has few words more, or more than half of the words in common."""
    first, second = normalise(given).split(), normalise(expected).split()
    if not first or not second:
        return False
    if says(given, expected):
        return len(first) <= len(second) + _MOST_WORDS_MORE
    common = sum((Counter(first) & Counter(second)).values())
    return 2 * common / (len(first) + len(second)) > 0.5
