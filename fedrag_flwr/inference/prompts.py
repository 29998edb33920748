"""The prompts of the slow path. Their worked examples are the project's own and occur in no dataset."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fedrag_flwr.models.base import Grammar, Prompt
from fedrag_flwr.records import EvidenceUnit, MemoryItem

UNKNOWN = "unknown"
ANSWERING = "answers"  # the task of questions over evidence, for which a model may have been fitted

# One line without a line break: the answer and nothing else.
ANSWER_GRAMMAR = Grammar(r"root ::= [^\n]+")

# A bracket without a number, mostly a pronunciation or a name in another script: tokens that tell nothing.
_ASIDE = re.compile(r" ?\([^()0-9]*\)")

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
        "- (Tomas Hale) Tomas Hale (12 March 1952 – 2 June 2010) was a film director, born in the port of Sandmouth.\n"
        "- (Red Kite (film)) Red Kite is a 1987 adventure film directed by Tomas Hale.\n"
        "- (Sandmouth) Sandmouth is a port known for its salt.\n"
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
        "Notes:\n"
        "- (Lowen Rovers) Lowen Rovers play at the Mill Ground, which has 4,120 seats.\n"
        "- (Peter Aske) Peter Aske is a retired defender who spent his whole career at Lowen Rovers.\n"
        "Question: How many seats has the ground of the club for which Peter Aske played?",
        "4,120",
    ),
    (
        "Notes:\n"
        "- (Elm Library) The Elm Library was founded in 1888.\n"
        "- (Elm Library) Its reading room seats ninety.\n"
        "Question: What did the Elm Library cost to build?",
        UNKNOWN,
    ),
    (
        "Notes:\n"
        "- (Vera Lind) Vera Lind was a Danish painter.\n"
        "- (Paul Stamm) Paul Stamm (born 1911) was a Danish painter and printmaker.\n"
        "Question: Were Vera Lind and Paul Stamm of the same nationality?",
        "yes",
    ),
    (
        "Notes:\n"
        "- (The Glass Orchard) The Glass Orchard is a novel by Irma Feld, first published in 1974.\n"
        "- (Irma Feld) Irma Feld worked as a nurse before she turned to writing.\n"
        "- (Irma Feld) She won the Corin Prize.\n"
        "Question: What was the first occupation of the author of The Glass Orchard?",
        "nurse",
    ),
    (
        "Notes:\n"
        "- (Arden Monthly) Arden Monthly was a literary magazine that ran from 1902 to 1939.\n"
        "- (Farm and Field) Farm and Field is a weekly paper started in 1921.\n"
        "Question: Which was started first, Arden Monthly or Farm and Field?",
        "Arden Monthly",
    ),
    (
        "Notes:\n"
        "- (Silver Tide) Silver Tide is the third album by the band Coral Lane, released on 4 May 1998.\n"
        "- (Coral Lane) Coral Lane was formed in Bexport by the singer Dina Rook.\n"
        "Question: The singer Dina Rook formed the band that made which 1998 album?",
        "Silver Tide",
    ),
    (
        "Notes:\n"
        "- (Alder Lake) Alder Lake is a lake in Wend County.\n"
        "- (Brook Fell) Brook Fell is a hill in the north of Ossland.\n"
        "Question: Are both Alder Lake and Brook Fell lakes?",
        "no",
    ),
    (
        "Notes:\n"
        "- (Battle of Tarn) The Battle of Tarn was fought between 3 and 9 July 1642.\n"
        "- (Hugo Brand) General Hugo Brand lost an arm in the Battle of Tarn.\n"
        "Question: When did the battle in which Hugo Brand lost an arm begin?",
        "3 July 1642",
    ),
    (
        "Notes:\n"
        "- (Nora Vance) Nora Vance played Lady Orm in the comedy The Long Supper.\n"
        "- (The Long Supper) The Long Supper is a 1966 comedy written by Felix Amory and set in Old Town.\n"
        "Question: Who wrote the 1966 comedy in which Nora Vance played Lady Orm?",
        "Felix Amory",
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

    Memories stand first, as short question-answer notes; then the units in their order, those under one title together.
    """
    notes = [f"- {item.question} {item.answer}" for item in memories]
    under: dict[tuple[str, str], list[str]] = {}
    for unit in units:  # units without a title do not belong together
        under.setdefault((unit.title, "" if unit.title else unit.id), []).append(_ASIDE.sub("", unit.text))
    notes += [f"- ({title}) {' '.join(told)}" if title else f"- {' '.join(told)}" for (title, _), told in under.items()]
    return Prompt(_SYSTEM, "Notes:\n" + "\n".join(notes) + f"\nQuestion: {question}", _EXAMPLES, ANSWERING)


def closed_book_prompt(question: str) -> Prompt:
    """Ask a question of the model alone."""
    return Prompt(_CLOSED_BOOK, f"Question: {question}", _CLOSED_BOOK_EXAMPLES)
