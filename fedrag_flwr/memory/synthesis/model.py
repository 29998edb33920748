"""Compositional question-answer drafts over a hyperedge, by a local language model (FD-RAG 4.1, Table 9)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from fedrag_flwr.errors import SettingError
from fedrag_flwr.memory.synthesis.grounding import NUMBERS, is_of_kind, normalise
from fedrag_flwr.memory.synthesis.plan import EdgeContext, Planner, Request
from fedrag_flwr.memory.synthesis.rules import Draft
from fedrag_flwr.models.base import Generator, Grammar, Prompt
from fedrag_flwr.records import Cost, Fact

DEFAULT_TOKENS_PER_KILOTOKEN = 58  # FD-RAG Table 6
_ITEM_TOKENS = 56  # most output tokens of one item
LEAST_TOKENS = 24  # with fewer left, no item is begun
_MOST_FACTS = 12

_SHAPES = {  # how a question of each type begins, and what its answer looks like
    "set": ("Which |What are |Who were |Who are ", "phrase"),
    "comparison": ("Which |Was |Is |Did ", "phrase"),
    "aggregation": ("How many ", "number"),
    "multi-hop": ("Who |Which |When |Where |What ", "phrase"),
    "post-processing": ("How many years |How long |How old |How much ", "number"),
    "false-premise": ("Was |Is |Did |Does |Were ", "denial"),
}
_RULES = r"""
clause ::= [^?\n]{12,140}
phrase ::= [A-Za-z0-9$€£] [^\n?.]{0,60}
number ::= ([0-9] [0-9,.]{0,8} | word) (" " [a-z]{2,14})?
word ::= "two" | "three" | "four" | "five" | "six" | "seven" | "eight" | "nine" | "ten"
denial ::= "No" """


def _grammar(starts: str, answer: str) -> Grammar:
    choices = " | ".join(f'"{start}"' for start in starts.split("|"))
    return Grammar(f'root ::= "Question: " ({choices}) clause "?\\nAnswer: " {answer} "\\n"{_RULES}')


_GRAMMARS = {kind: _grammar(*shape) for kind, shape in _SHAPES.items()}
_SYSTEM = (
    "You write one question with its short answer from a text and its facts. Use only what the text says. Name people, "
    "places and things in full, never with 'it', 'this' or 'the text'. The answer is a few words copied from the text, "
    "or a count, or yes or no. The line Type says which question to write. set: asks for all members of a group. "
    "comparison: compares two things. aggregation: counts or sums. multi-hop: joins two facts, the thing that joins "
    "them is described; the line Type says which name not to say. post-processing: needs a small step such as years "
    "between two dates. false-premise: asks whether something slightly wrong is so; the answer is no."
)
_EXAMPLE_TEXT = (
    "Facts: Lake Vessa | Mirren | 1931 | Orla Brandt | 1874 | 212 metres\n"
    "Text: Lake Vessa is 212 metres deep and lies north of Mirren. Orla Brandt, born in 1874, mapped the lake in 1931. "
    "Trout and perch live in it."
)
_EXAMPLES = (
    (f"Type: set\n{_EXAMPLE_TEXT}", "Question: Which fish live in Lake Vessa?\nAnswer: Trout and perch\n"),
    (
        f"Type: multi-hop, without the name Lake Vessa\n{_EXAMPLE_TEXT}",
        "Question: When was the person born who mapped the lake north of Mirren?\nAnswer: 1874\n",
    ),
    (
        f"Type: comparison\n{_EXAMPLE_TEXT}",
        "Question: Was the birth of Orla Brandt or the mapping of Lake Vessa earlier?\n"
        "Answer: the birth of Orla Brandt\n",
    ),
    (f"Type: aggregation\n{_EXAMPLE_TEXT}", "Question: How many kinds of fish live in Lake Vessa?\nAnswer: two\n"),
    (
        f"Type: post-processing\n{_EXAMPLE_TEXT}",
        "Question: How old was Orla Brandt when she mapped Lake Vessa?\nAnswer: 57\n",
    ),
    (f"Type: false-premise\n{_EXAMPLE_TEXT}", "Question: Does Lake Vessa lie south of Mirren?\nAnswer: No\n"),
)
_YEAR = re.compile(r"1\d{3}|20\d{2}")
_LINES = re.compile(r"^Question:\s*(?P<question>[^\n]+)\nAnswer:\s*(?P<answer>[^\n]+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Synthesis:
    """Drafts, how many completions gave none, by the type asked for and the reason, and what they cost."""

    drafts: tuple[Draft, ...]
    rejects: Mapping[tuple[str, str], int]
    cost: Cost


class ModelSynthesizer:
    """Makes compositional drafts of the six types with a language model, within a budget of output tokens.

    Parameters
    ----------
    generator
        The local model.
    budget
        Output tokens for each 1,000 tokens of the corpus; the paper's figure is 58.

    Raises
    ------
    SettingError
        The budget is negative.
    """

    def __init__(self, generator: Generator, budget: int = DEFAULT_TOKENS_PER_KILOTOKEN) -> None:
        if budget < 0:
            raise SettingError("is not negative", where="memory.tokens-per-kilotoken", fix="use 0 for no model items")
        self.generator = generator
        self.budget = budget

    @property
    def id(self) -> str:
        """Name and version of the prompt, and the model."""
        return f"model-2/{self.generator.id}"

    def drafts(
        self, edges: Sequence[EdgeContext], corpus_tokens: int, covered: Collection[str] = (), *, seed: int = 0
    ) -> Synthesis:
        """Ask the model for items over hyperedges, those with most uncovered facts first, until the budget is spent.

        Parameters
        ----------
        edges
            The hyperedges' contexts.
        corpus_tokens
            Tokens of the corpus that the budget refers to.
        covered
            Answers that other drafts give already.
        seed
            Handed to the generator.
        """
        left = self.budget * corpus_tokens // 1000
        rejects: Counter[tuple[str, str]] = Counter()
        cost = Cost()
        drafts: list[Draft] = []
        seen: set[str] = set()
        for request in Planner(edges, covered).requests():
            if left < LEAST_TOKENS:
                break
            prompt = Prompt(_SYSTEM, _tail(request), _EXAMPLES)
            limit = min(_ITEM_TOKENS, left)
            done = self.generator.complete(prompt, grammar=_GRAMMARS[request.kind], max_tokens=limit, seed=seed)[0]
            cost += Cost(done.seconds, 1, done.tokens_in, done.tokens_out, done.cached)
            left -= done.tokens_out
            draft = _draft(done.text, request)
            if isinstance(draft, str):
                rejects[request.kind, draft] += 1
            elif draft.question.lower() in seen:
                rejects[request.kind, "duplicate"] += 1
            else:
                seen.add(draft.question.lower())
                drafts.append(draft)
        return Synthesis(tuple(drafts), dict(rejects), cost)


def _tail(request: Request) -> str:
    facts = list(dict.fromkeys(fact.text for fact in request.context.telling))[:_MOST_FACTS]
    without = f", without the name {request.bridge}" if request.bridge else ""
    return f"Type: {request.kind}{without}\nFacts: {' | '.join(facts)}\nText: {' '.join(request.context.texts)}"


def _draft(text: str, request: Request) -> Draft | str:
    match = _LINES.search(text)
    if match is None:
        return "cut-short"
    question = " ".join(match["question"].split())
    answer = match["answer"].strip().rstrip(".").strip()
    if not question.endswith("?"):
        return "cut-short"
    support = support_of(question, answer, request.context)
    if not support:
        return "no-support"
    kind, bridge = request.kind, normalise(request.bridge)
    if bridge:
        support = request.context.unit_ids
        if f" {bridge} " in f" {normalise(question)} " or normalise(answer) == bridge:
            return "names-bridge"
    draft = Draft(question, answer, kind, _type_of(answer, request.context.telling), support)
    return draft if is_of_kind(draft) else replace(draft, kind="single")


def support_of(question: str, answer: str, edge: EdgeContext) -> tuple[str, ...]:
    """Give the units that hold the answer and most of the question; for a derived answer, two that share most words."""
    wanted = normalise(answer)
    texts = [normalise(text) for text in edge.texts]
    if not wanted:
        return ()
    words = set(normalise(question).split()) | set(wanted.split())
    shared = [len(words & set(text.split())) for text in texts]
    holding = [index for index, text in enumerate(texts) if f" {wanted} " in f" {text} "]
    if holding:  # another may hold the answer by chance: the memory would go with a document that does not tell it
        most = max(shared[index] for index in holding)
        return tuple(edge.unit_ids[index] for index in holding if shared[index] == most)[:4]
    best = sorted(range(len(texts)), key=lambda index: (-shared[index], index))[:2]
    return tuple(edge.unit_ids[index] for index in best if shared[index] >= 2)


def _type_of(answer: str, facts: Sequence[Fact]) -> str:
    wanted = normalise(answer)
    if wanted in ("yes", "no"):
        return "YESNO"
    for fact in facts:
        if fact.type != "CONCEPT" and normalise(fact.text) == wanted:
            return fact.type
    if _YEAR.fullmatch(wanted):
        return "YEAR"
    first, _, unit = wanted.partition(" ")
    if first.replace(".", "", 1).isdigit() and unit:
        return "QUANTITY"
    return "CARDINAL" if wanted.replace(".", "", 1).isdigit() or wanted in NUMBERS else ""
