"""Summaries by the device's model over masked evidence, checked against it (HyFedRAG 3.4)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from fedrag_flwr.errors import FedragError
from fedrag_flwr.models.base import Generator, Grammar, Prompt
from fedrag_flwr.privacy.operators import Bundle, Change
from fedrag_flwr.privacy.replacement import PLACEHOLDER
from fedrag_flwr.privacy.word_lists import STOP_WORDS

_ONE_LINE = Grammar(r"root ::= [^\n]+")
_SUMMARY_TOKENS = 72
_WORTH_IT = 240  # characters from which a summary is shorter than what it sums up
_SUMMARY_WORD = re.compile(r"\w+(?:[.,:/-]\w+)*")
_SUMMARISE = (
    "You sum up a record in one or two sentences, as far as it bears on the question. Keep numbers, dates and words in "
    "square brackets exactly as they are. Add nothing that the record does not say."
)
_SUMMARY_EXAMPLES = (
    (
        "Question: Why was the bridge at Linwick closed?\n"
        "Record: (Linwick Bridge) The bridge was opened in 1931. [PERSON] drew it. In March 1974 an inspection found "
        "cracks in two of the eight piers, and the council closed it for fourteen months. It carries two tram lines.",
        "The Linwick Bridge was closed for fourteen months after an inspection in March 1974 found cracks in two of "
        "its eight piers.",
    ),
)


@dataclass(frozen=True, slots=True)
class ModelSummary:
    """Lets the model sum up the last text of a bundle that has a question; it belongs last in the chain.

    The model sees only what the operators before it left. Its summary is taken where it brings nothing of its own: each
    name, number and placeholder in it stands in the text or the title. So nothing that was masked comes
    back, whatever the model knows or guesses. Else the masked text leaves as it is, as it does where the
    model cannot be asked, for instance because the text does not fit its context.
    """

    generator: Callable[[], Generator]  # gives the model, called when it is first needed
    name = "summary"

    def operate(self, bundles: Sequence[Bundle]) -> list[Bundle]:
        """Sum up each bundle that has a question and a long text."""
        return [self._sum_up(bundle) if bundle.question and bundle.prose else bundle for bundle in bundles]

    def _sum_up(self, bundle: Bundle) -> Bundle:
        field = len(bundle.prose) - 1
        title, text = bundle.prose[0], bundle.prose[field]
        if len(text) < _WORTH_IT:
            return bundle
        asked = Prompt(_SUMMARISE, f"Question: {bundle.question}\nRecord: ({title}) {text}", _SUMMARY_EXAMPLES)
        try:
            [written] = self.generator().complete(asked, grammar=_ONE_LINE, max_tokens=_SUMMARY_TOKENS)
            told = written.text.strip()
        except FedragError:
            told = ""  # one text must not cost a round all its others
        taken = 0 < len(told) < len(text) and brings_nothing(told, bundle.prose)
        change = Change(field, "TEXT", masked=False)
        prose = (*bundle.prose[:field], told) if taken else bundle.prose
        return replace(bundle, prose=prose, changes=(*bundle.changes, change))


def brings_nothing(summary: str, sources: Sequence[str]) -> bool:
    """Tell whether each name, number and placeholder of a summary stands in one of its sources.

    A word counts as a name where it has a capital or a digit; one that opens a sentence and is an everyday word does
    not. Words are compared without case, so that a name cannot hide behind another spelling of the same letters.
    """
    known = {word.casefold() for source in sources for word in _SUMMARY_WORD.findall(PLACEHOLDER.sub(" ", source))}
    masks = {mask for source in sources for mask in PLACEHOLDER.findall(source)}
    if not set(PLACEHOLDER.findall(summary)) <= masks:
        return False
    told = _SUMMARY_WORD.findall(PLACEHOLDER.sub(" ", summary))
    return all(
        word.casefold() in known or (word.casefold() in STOP_WORDS and word.isalpha())
        for word in told
        if word != word.lower() or any(char.isdigit() for char in word)
    )
