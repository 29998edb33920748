"""What a community is about, in few words: subjects, main entities, key relations (DGRAG 3.2 step 2)."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Literal

from fedrag_flwr.knowledge_graph.graph import KnowledgeGraph, Relation
from fedrag_flwr.models.base import Generator, Grammar, Prompt
from fedrag_flwr.records import Cost
from fedrag_flwr.text.segment import TITLE_SEPARATOR

Detail = Literal["full", "erased"]
NGRAM = 5  # words in a row that count as copied
_SUBJECTS, _ENTITIES, _RELATIONS = 4, 16, 10
_MOST_CHARACTERS = 1_500
_READ = 12  # statements that the model reads
_MOST_TOKENS = 90
_LEAST_PASSAGES = 2  # that tell a name, so that it is no detail of one
_WORD = re.compile(r"\w+")
_NUMBER = re.compile(r"\d")
_ONE_LINE = Grammar(r"root ::= [^\n]+")

_SYSTEM = (
    "You say in two or three short sentences what a part of a knowledge base is about: its subject, its main entities "
    "and how they are related. Give no numbers, no dates and no examples, and copy no sentence."
)
_EXAMPLES = (
    (
        "Subjects: Harbours of Vessland; Salt trade\n"
        "Entities: Port Ferren, Halden Company, salt, copper, customs house\n"
        "Notes:\n"
        "- Port Ferren exports salt and copper\n"
        "- Halden Company built the customs house in 1887\n"
        "- the customs house taxed salt",
        "The harbours of Vessland and their trade in salt and copper. Main entities are Port Ferren and the Halden "
        "Company, which exported goods, built the port's customs and paid taxes there.",
    ),
)


@dataclass(frozen=True, slots=True)
class Subgraph:
    """A community as it is to be summed up, the weightiest first."""

    subjects: tuple[str, ...]  # what the passages' titles name, with the headings below them
    entities: tuple[str, ...]  # names of its entities; those in `told_once` only one passage tells
    told_once: frozenset[str]
    relations: tuple[str, ...]  # its relations in words
    sources: tuple[str, ...]  # the sentences that state all this


@dataclass(frozen=True, slots=True)
class ExtractiveSummarizer:
    """Lists subjects, entities and relations, without a model.

    Titles and headings stay as subjects in any case but for numbers: they say what a device has.
    """

    # ``full``, or ``erased``: no numbers, no entity that only one passage tells, no wording of a relation.
    detail: Detail = "full"
    # Largest share of a summary's word 5-grams that may stand in its sources; relations go until it is kept, then
    # subjects, then entities.
    most_copied: float = 0.1

    @property
    def id(self) -> str:
        """Rules and settings."""
        return f"extractive-2|{self.detail}|{self.most_copied:g}"

    @property
    def cost(self) -> Cost:
        """Nothing, as no model is asked."""
        return Cost()

    def summarize(self, subgraph: Subgraph) -> str:
        """Subjects, main entities and key relations, as lists."""
        if self.detail == "erased":
            subgraph = erased(subgraph)
        subjects, entities = list(subgraph.subjects[:_SUBJECTS]), list(subgraph.entities[:_ENTITIES])
        relations = list(subgraph.relations[:_RELATIONS])
        copied = Copied(subgraph.sources)
        for parts in (relations, subjects, entities):
            while parts and copied.too_much(_listed(subjects, entities, relations), self.most_copied):
                parts.remove(max(parts, key=lambda told: (copied.longest(told), len(told), told)))
        return _listed(subjects, entities, relations)


@dataclass(slots=True)
class ModelSummarizer:
    """Asks a local model, and keeps of its words only sentences that copy little, alone and together; else lists."""

    generator: Callable[[], Generator]  # gives the model; called when it is first needed
    fallback: ExtractiveSummarizer  # where nothing is left of the model's words; its limits hold for these too
    seed: int = 0  # of the model
    cost: Cost = field(default_factory=Cost)  # what the model has done so far

    @property
    def id(self) -> str:
        """The model and the limits."""
        return f"model-2|{self.generator().id}|{self.fallback.id}"

    def summarize(self, subgraph: Subgraph) -> str:
        """Two or three sentences of the model's own."""
        shown = erased(subgraph) if self.fallback.detail == "erased" else subgraph
        (done,) = self.generator().complete(
            summary_prompt(shown), grammar=_ONE_LINE, max_tokens=_MOST_TOKENS, seed=self.seed
        )
        self.cost += Cost(done.seconds, 1, done.tokens_in, done.tokens_out, done.cached)
        copied = Copied(subgraph.sources)
        own, most = "", self.fallback.most_copied
        for one in _sentences(done.text):
            told = f"{own} {one}".strip()
            detailed = self.fallback.detail == "erased" and _NUMBER.search(one)
            if not detailed and copied.share(one) <= most and not copied.too_much(told, most):
                own = told
        return own or self.fallback.summarize(subgraph)


Summarizer = ExtractiveSummarizer | ModelSummarizer


def summary_prompt(subgraph: Subgraph) -> Prompt:
    """Ask what a community is about."""
    notes = "\n".join(f"- {told}" for told in subgraph.relations[:_READ])
    user = (
        f"Subjects: {'; '.join(subgraph.subjects[:_SUBJECTS])}\n"
        f"Entities: {', '.join(subgraph.entities[:_ENTITIES])}\nNotes:\n{notes}"
    )
    return Prompt(_SYSTEM, user, _EXAMPLES)


def erased(subgraph: Subgraph) -> Subgraph:
    """A community without detail: no numbers, no entity that one passage alone tells, no wording of relations."""
    return Subgraph(
        tuple(one for one in subgraph.subjects if not _NUMBER.search(one)),
        tuple(one for one in subgraph.entities if one not in subgraph.told_once and not _NUMBER.search(one)),
        frozenset(),
        (),
        subgraph.sources,
    )


def subgraph_of(
    graph: KnowledgeGraph, members: Sequence[str], titles: Mapping[str, str], sentences: Mapping[str, str]
) -> Subgraph:
    """Gather what the summary of a community may draw on, by titles of passages and texts of sentences."""
    inside = set(members)
    entities = [graph.entities[name] for name in members]
    rows = sorted({row for entity in entities for row in entity.statements})
    passages: defaultdict[str, set[str]] = defaultdict(set)
    for entity in entities:
        passages[entity.id] |= {graph.statements[row].passage_id for row in entity.statements}
    weight: defaultdict[str, float] = defaultdict(float)
    relations = [one for one in _relations(graph, rows) if one.head in inside and one.tail in inside]
    for relation in relations:
        weight[relation.head] += relation.weight
        weight[relation.tail] += relation.weight
    entities.sort(key=lambda one: (-weight[one.id], -len(one.statements), one.id))
    relations.sort(key=lambda one: (-one.weight, -(weight[one.head] + weight[one.tail]), one.id))
    subjects = Counter(titles[graph.statements[row].passage_id] for row in rows)
    return Subgraph(
        tuple(_spoken(title) for title, _ in sorted(subjects.items(), key=lambda pair: (-pair[1], pair[0])) if title),
        tuple(dict.fromkeys(one.name for one in entities)),
        frozenset(one.name for one in entities if len(passages[one.id]) < _LEAST_PASSAGES),
        tuple(f"{_name(graph, one.head)} {one.words} {_name(graph, one.tail)}" for one in relations),
        tuple(dict.fromkeys(sentences[graph.statements[row].sentence_id] for row in rows)),
    )


def _relations(graph: KnowledgeGraph, rows: Iterable[int]) -> Iterator[Relation]:
    """The relations that statements tell, each once."""
    for name in dict.fromkeys(name for row in rows if (name := graph.relation_of(row)) is not None):
        yield graph.relations[name]


def _name(graph: KnowledgeGraph, entity: str) -> str:
    return graph.entities[entity].name


def _spoken(title: str) -> str:
    return title.replace(TITLE_SEPARATOR, ", ")


def _listed(subjects: Sequence[str], entities: Sequence[str], relations: Sequence[str]) -> str:
    parts = (
        ("Subjects", "; ".join(subjects)),
        ("Main entities", ", ".join(entities)),
        ("Key relations", "; ".join(relations)),
    )
    return " ".join(f"{name}: {told}." for name, told in parts if told)


def _sentences(text: str) -> list[str]:
    """The whole sentences of a text."""
    return [found[0].strip() for found in re.finditer(r"[^.!?]+[.!?]", text)]


class Copied:
    """What a text has in common with sources."""

    def __init__(self, sources: Iterable[str]) -> None:
        self._sources = [_words(source) for source in sources]
        self._grams = {gram for words in self._sources for gram in _grams(words)}

    def share(self, text: str) -> float:
        """Share of a text's word 5-grams that stand in the sources; 0 where it is shorter."""
        grams = list(_grams(_words(text)))
        return sum(gram in self._grams for gram in grams) / len(grams) if grams else 0.0

    def too_much(self, text: str, most: float) -> bool:
        """Whether a summary copies more than may be, or is too long to leave."""
        return self.share(text) > most or len(text) > _MOST_CHARACTERS

    def longest(self, text: str) -> int:
        """Most words in a row that a text has in common with one of the sources."""
        matcher = SequenceMatcher(None, autojunk=False)
        matcher.set_seq2(_words(text))
        found = 0
        for source in self._sources:
            matcher.set_seq1(source)
            found = max(found, matcher.find_longest_match().size)
        return found


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _grams(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    return (tuple(words[start : start + NGRAM]) for start in range(len(words) - NGRAM + 1))
