"""The local language model as an attacker: which name of a group fits the words around it?"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.answering.prompts import UNKNOWN
from fedrag_flwr.evaluation.metrics import accuracy
from fedrag_flwr.models.base import Generator, Grammar, Prompt
from fedrag_flwr.privacy.normalise import normal_name

NOTHING = "Nothing is known about it."
_SYSTEM = (
    "You restore names that were taken out of short notes. Reply with the name alone. Where names are listed, reply "
    "with the one of them that the note is most likely about."
)
_EXAMPLES = (
    (
        "Note: Who drew the bridge that opened at Linwick in 1931? [PERSON]\n"
        "Names: Vera Lind; Ada Morrow; Paul Stamm\nWhich name belongs in the place of [PERSON]?",
        "Ada Morrow",
    ),
    (
        "Note: In which year did the port of Norby open its salt museum? 1952\n"
        "Names: Sandmouth; Norby; Linwick\nThe name Norby may be false. Which name is the true one?",
        "Sandmouth",
    ),
    ("Note: Which river flows through [GPE] into the Baltic?\nWhich name belongs in the place of [GPE]?", "Norby"),
)
_ONE_LINE = Grammar(r"root ::= [^\n]+")


@dataclass(frozen=True, slots=True)
class Attacker:
    """Asks the model; `rng` shuffles the names in a prompt, so that their order tells nothing."""

    generator: Generator
    rng: np.random.Generator

    def prior(self, note: str, place: str, names: Sequence[str]) -> NDArray[np.float64]:
        """How much likelier the note makes each name than a note without words does, as log-ratios, shape (n,).

        `place` is the placeholder that stands in the note where the name was.
        """
        order = self.rng.permutation(len(names))
        listed = [names[number] for number in order]
        told, untold = (
            self.generator.score(_prompt(text, listed, f"Which name belongs in the place of {place}?"), listed).logprobs
            for text in (note, f"{NOTHING} {place}")
        )
        ratios = np.empty(len(names))
        ratios[order] = told - untold
        return ratios

    def choose(self, note: str, shown: str, names: Sequence[str]) -> str:
        """The name that the model takes for the true one, given a note in which a surrogate is shown."""
        listed = [names[number] for number in self.rng.permutation(len(names))]
        question = f"The name {shown} may be false. Which name is the true one?"
        prompt = _prompt(note, listed, question)
        return self.generator.complete(prompt, grammar=_one_of(listed), max_tokens=32)[0].text

    def guesses(self, note: str, place: str, true: str) -> bool:
        """Whether the model, without any list, names what a placeholder stands for."""
        prompt = _prompt(note, (), f"Which name belongs in the place of {place}?")
        guess = self.generator.complete(prompt, grammar=_ONE_LINE, max_tokens=16)[0].text
        return bool(accuracy(normal_name(guess), [normal_name(true)]))


def _one_of(names: Sequence[str]) -> Grammar:
    """A grammar whose only words are the names, and the word for not knowing."""
    return Grammar("root ::= " + " | ".join(json.dumps(name, ensure_ascii=False) for name in (*names, UNKNOWN)))


def _prompt(note: str, names: Sequence[str], question: str) -> Prompt:
    listed = f"Names: {'; '.join(names)}\n" if names else ""
    return Prompt(_SYSTEM, f"Note: {note}\n{listed}{question}", _EXAMPLES)
