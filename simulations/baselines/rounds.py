"""Baselines that retrieve in rounds: by questions that the model asks, or by names in what was found."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fedrag_flwr.models.base import Grammar, Prompt
from fedrag_flwr.records import EvidenceUnit
from fedrag_flwr.retrieval.base import within
from simulations.baselines.entities import entities
from simulations.baselines.reading import Construction, Meter, Reading
from simulations.baselines.substrate import Substrate

_DONE = "done"
_QUESTION = r'[A-Z] [^?\n]{8,120} "?"'
_FIRST = Grammar(f"root ::= {_QUESTION}")
_NEXT = Grammar(f'root ::= "{_DONE}" | question\nquestion ::= {_QUESTION}')
_MOST_TOKENS = 64  # the grammar ends a question; one that is cut would be taken for the end of all
_NOTHING = "nothing yet"

_SYSTEM = (
    "You take a question apart. You see the question and what was found so far, and reply with the next simple "
    "question whose answer is still needed. It names everything in full and asks for one fact. "
    f"Reply '{_DONE}' when what was found answers the question."
)
_BORN = "In which town was the director of Red Kite born?"
_HIGHER = "Which is higher, Mount Ferran or Mount Oska?"
_EXAMPLES = (
    (f"Question: {_BORN}\nFound: {_NOTHING}", "Who directed Red Kite?"),
    (f"Question: {_BORN}\nFound:\n- Who directed Red Kite? Tomas Hale", "In which town was Tomas Hale born?"),
    (f"Question: {_HIGHER}\nFound: {_NOTHING}", "How high is Mount Ferran?"),
    (
        f"Question: {_HIGHER}\nFound:\n"
        "- How high is Mount Ferran? 2,310 metres\n- How high is Mount Oska? 2,645 metres",
        _DONE,
    ),
)


class Steps:
    """Asks the model for the next simple question, retrieves for it and answers it, then hands on all of it.

    Each round reads its share of the evidence budget. Steps and their answers stand first among the evidence, then the
    passages of all rounds and of the question itself, in turn.
    """

    def __init__(self, substrate: Substrate) -> None:
        self._substrate = substrate
        self.construction = Construction()

    def find(self, question: str, meter: Meter) -> list[EvidenceUnit]:
        """Go on until the model says that it has enough, repeats itself, or finds nothing; at most `rounds` times."""
        limits = self._substrate.limits
        steps: list[tuple[str, str]] = []
        hits = [self._substrate.nearest(question)]
        for _ in range(limits.rounds):
            asked = meter.complete(decompose_prompt(question, steps), _NEXT if steps else _FIRST, _MOST_TOKENS).strip()
            if not asked.endswith("?") or asked.casefold() in {step.casefold() for step, _ in steps}:
                break
            hits.append(self._substrate.nearest(asked))
            units = within(self._substrate.passage_units(asked, hits[-1]), limits.words // limits.rounds)
            answer = meter.read(asked, units).text
            if not answer:
                break
            steps.append((asked, answer))
        notes = [
            self._substrate.unit(f"step-{number}", f"{asked} {answer}", 0.0)
            for number, (asked, answer) in enumerate(steps, 1)
        ]
        in_turn = [name for rank in range(limits.passages) for found in hits for name in found[rank : rank + 1]]
        notes = within(notes, limits.words // 2)  # a model that rambles must not crowd out the passages
        return [*notes, *self._substrate.passage_units(question, in_turn)]


def decompose_prompt(question: str, steps: Sequence[tuple[str, str]]) -> Prompt:
    """Ask for the next simple question after steps of (question, answer)."""
    found = "".join(f"\n- {asked} {answer}" for asked, answer in steps) or f" {_NOTHING}"
    return Prompt(_SYSTEM, f"Question: {question}\nFound:{found}", _EXAMPLES)


def iterative(substrate: Substrate) -> Reading:
    """Simple questions and their answers, with the passages that they led to."""
    return Reading(substrate, Steps(substrate))


_USEFUL = 3  # sentences of each round


class FilterRequery:
    """Asks again with the names in the sentences that come nearest to the query among what was retrieved.

    The original trains a labeller of words and a writer of queries; here the encoder chooses whole sentences.
    """

    def __init__(self, substrate: Substrate) -> None:
        self._substrate = substrate
        self.construction = Construction()

    def find(self, question: str, meter: Meter) -> list[EvidenceUnit]:
        """Give the passages of useful sentences, round by round, then the others that were retrieved."""
        query = question
        useful: list[int] = []
        hits: list[str] = []
        for _ in range(self._substrate.limits.rounds):
            found = self._substrate.nearest(query)
            hits += found
            fresh = self._useful(query, found, useful)
            useful += fresh
            names = [name for name in self._names(fresh) if name.casefold() not in query.casefold()]
            if not names:
                break
            query = f"{question} {' '.join(names)}"
        passages = [self._substrate.sentences[row].passage_id for row in useful]
        return self._substrate.passage_units(question, [*passages, *hits])

    def _useful(self, query: str, found: Iterable[str], known: Iterable[int]) -> list[int]:
        """The places of the sentences in some passages that come nearest to a query, those known already left out."""
        scores = self._substrate.sentence_scores(query)
        rows = {self._substrate.places[one.id] for name in found for one in self._substrate.by_id[name].sentences}
        return sorted(rows - set(known), key=lambda row: (-float(scores[row]), row))[:_USEFUL]

    def _names(self, rows: Iterable[int]) -> list[str]:
        sentences = [self._substrate.sentences[row] for row in rows]
        named = (fact for one in sentences for fact in entities(self._substrate.by_id[one.passage_id], one))
        return list({fact.anchor: fact.text for fact in named}.values())


def filter_requery(substrate: Substrate) -> Reading:
    """What rounds of retrieval gather, read once."""
    return Reading(substrate, FilterRequery(substrate))
