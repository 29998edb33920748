"""The prompts of the slow path. Their worked examples are the project's own and occur in no dataset."""

from __future__ import annotations

from collections.abc import Sequence

from fedrag_flwr.models.base import Grammar, Prompt
from fedrag_flwr.records import EvidenceUnit, MemoryItem

UNKNOWN = "unknown"

# One line without a line break: the answer and nothing else.
ANSWER_GRAMMAR = Grammar(r"root ::= [^\n]+")

_SYSTEM = (
    "You answer questions from the notes that come with them. Reply with the answer alone: a name, a date, a number "
    "or a few words copied from the notes; yes or no where the question asks for it. "
    f"Reply '{UNKNOWN}' when the notes do not hold the answer."
)

_EXAMPLES = (
    (
        "Notes:\n"
        "- (Harbour Bridge) The bridge at Linwick was drawn by the engineer Ada Morrow and opened in May 1931.\n"
        "- (Harbour Bridge) It carries two tram lines.\n"
        "Question: Who designed the Linwick bridge?",
        "Ada Morrow",
    ),
    (
        "Notes:\n"
        "- (Red Kite) The film Red Kite was directed by Tomas Hale.\n"
        "- (Tomas Hale) Hale was born in the port of Sandmouth in 1952.\n"
        "- (Sandmouth) Sandmouth exports salt.\n"
        "Question: In which town was the director of Red Kite born?",
        "Sandmouth",
    ),
    (
        "Notes:\n"
        "- (Mount Ferran) Mount Ferran rises to 2,310 metres.\n"
        "- (Mount Oska) Mount Oska, the higher neighbour, reaches 2,645 metres.\n"
        "Question: Which is higher, Mount Ferran or Mount Oska?",
        "Mount Oska",
    ),
    (
        "Notes:\n- (Elm Library) The Elm Library was founded in 1888.\n- (Elm Library) Its reading room seats ninety.\n"
        "Question: What did the Elm Library cost to build?",
        UNKNOWN,
    ),
    (
        "Notes:\n"
        "- (Vera Lind) Vera Lind studied in Norby.\n"
        "- (Paul Stamm) The painter Paul Stamm studied in Norby as well.\n"
        "Question: Did Vera Lind and Paul Stamm study in the same town?",
        "yes",
    ),
)

_CLOSED_BOOK = (
    "You answer questions from what you know. Reply with the answer alone: a name, a date, a number or a few words. "
    f"Reply '{UNKNOWN}' when you do not know."
)

_CLOSED_BOOK_EXAMPLES = (
    ("Question: What is the chemical symbol of iron?", "Fe"),
    ("Question: What did the mayor of Linwick eat yesterday?", UNKNOWN),
)


def evidence_prompt(question: str, units: Sequence[EvidenceUnit], memories: Sequence[MemoryItem] = ()) -> Prompt:
    """Ask a question over evidence units and memories (FD-RAG Table 10, in our words).

    The units stand in reading order of their relevance; memories stand first, as short question-answer notes.
    """
    notes = [f"- {item.question} {item.answer}" for item in memories]
    notes += [f"- ({unit.title}) {unit.text}" if unit.title else f"- {unit.text}" for unit in units]
    return Prompt(_SYSTEM, "Notes:\n" + "\n".join(notes) + f"\nQuestion: {question}", _EXAMPLES)


def closed_book_prompt(question: str) -> Prompt:
    """Ask a question of the model alone."""
    return Prompt(_CLOSED_BOOK, f"Question: {question}", _CLOSED_BOOK_EXAMPLES)
