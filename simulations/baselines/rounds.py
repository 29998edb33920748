"""Baselines that retrieve in rounds: by questions that the model asks, or by names in what was found."""

from __future__ import annotations

from collections.abc import Sequence

from fedrag_flwr.models.base import Grammar, Prompt
from fedrag_flwr.records import EvidenceUnit
from fedrag_flwr.retrieval.base import within
from simulations.baselines.entities import entities
from simulations.baselines.reading import Finder, Meter

_DONE = "done"
_QUESTION = r'[A-Z] [^?\n]{8,120} "?"'
_FIRST = Grammar(f"root ::= {_QUESTION}")
_NEXT = Grammar(f'root ::= "{_DONE}" | question\nquestion ::= {_QUESTION}')
_MOST_TOKENS = 64  # the grammar ends a question; one that is cut would be taken for the end of all
_NOTHING = "nothing yet"
_USEFUL = 3  # sentences of each round

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


class Steps(Finder):
    """Asks the model for the next simple question, retrieves for it and answers it, then hands on all of it.

    Each round reads its share of the evidence budget. Steps and their answers stand first among the evidence, then the
    passages of all rounds and of the question itself, in turn.
    """

    def find(self, question: str, meter: Meter) -> list[EvidenceUnit]:
        """Go on until the model says that it has enough, repeats itself, or finds nothing; at most `rounds` times."""
        substrate, limits = self._substrate, self._substrate.limits
        steps: list[tuple[str, str]] = []
        hits = [substrate.nearest(question)]
        for _ in range(limits.rounds):
            asked = meter.complete(decompose_prompt(question, steps), _NEXT if steps else _FIRST, _MOST_TOKENS).strip()
            if not asked.endswith("?") or asked.casefold() in {step.casefold() for step, _ in steps}:
                break
            hits.append(substrate.nearest(asked))
            units = within(substrate.passage_units(asked, hits[-1]), limits.words // limits.rounds)
            answer = meter.read(asked, units).text
            if not answer:
                break
            steps.append((asked, answer))
        notes = [substrate.unit(f"step-{number}", " ".join(step), 0.0) for number, step in enumerate(steps, 1)]
        in_turn = [name for rank in range(limits.passages) for found in hits for name in found[rank : rank + 1]]
        notes = within(notes, limits.words // 2)  # a model that rambles must not crowd out the passages
        return [*notes, *substrate.passage_units(question, in_turn)]


def decompose_prompt(question: str, steps: Sequence[tuple[str, str]]) -> Prompt:
    """Ask for the next simple question after steps of (question, answer)."""
    found = "".join(f"\n- {asked} {answer}" for asked, answer in steps) or f" {_NOTHING}"
    return Prompt(_SYSTEM, f"Question: {question}\nFound:{found}", _EXAMPLES)


class FilterRequery(Finder):
    """Asks again with the names in the sentences that come nearest to the query among what was retrieved.

    The original trains a labeller of words and a writer of queries; here the encoder chooses whole sentences.
    """

    def find(self, question: str, meter: Meter) -> list[EvidenceUnit]:
        """Give the passages of useful sentences, round by round, then the others that were retrieved."""
        substrate, query = self._substrate, question
        useful: list[int] = []
        hits: list[str] = []
        for _ in range(substrate.limits.rounds):
            found = substrate.nearest(query)
            hits += found
            scores = substrate.sentence_scores(query)
            rows = {substrate.places[one.id] for name in found for one in substrate.by_id[name].sentences}
            fresh = sorted(rows - set(useful), key=lambda row: (-float(scores[row]), row))[:_USEFUL]
            useful += fresh
            sentences = [substrate.sentences[row] for row in fresh]
            facts = (fact for one in sentences for fact in entities(substrate.by_id[one.passage_id], one))
            names = {fact.anchor: fact.text for fact in facts if fact.text.casefold() not in query.casefold()}
            if not names:
                break
            query = f"{question} {' '.join(names.values())}"
        passages = [substrate.sentences[row].passage_id for row in useful]
        return substrate.passage_units(question, [*passages, *hits])
