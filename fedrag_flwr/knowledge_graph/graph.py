"""A device's knowledge graph: entities, the relations between them, and the sentences that state these (DGRAG 3.2)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from fedrag_flwr.knowledge_graph.resolution import Floats, resolve
from fedrag_flwr.knowledge_graph.statements import Statement

_TOLD = 3  # statements that describe an entity or a relation
Edge = tuple[str, str]  # two entities in ascending order


@dataclass(frozen=True, slots=True)
class Entity:
    """A thing; `statements` are the rows of the graph's statements that have it as an end."""

    id: str
    name: str
    statements: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Relation:
    """What is said of a head and a tail; `weight` is the sum over the statements that say it."""

    id: str
    head: str
    tail: str
    words: str  # the commonest of its wordings
    statements: tuple[int, ...]
    weight: float


@dataclass(frozen=True)
class KnowledgeGraph:
    """Entities and relations by id, over the statements of all passages."""

    statements: tuple[Statement, ...]
    entities: Mapping[str, Entity]
    relations: Mapping[str, Relation]
    ends: tuple[tuple[str, ...], ...]  # by statement, the entities of its ends

    @classmethod
    def of(
        cls, statements: Sequence[Statement], contexts: Mapping[str, Floats], titles: Mapping[str, str]
    ) -> KnowledgeGraph:
        """Resolve entities, by each passage's vector, (dimension,), and each document's title, and gather relations."""
        found = resolve(statements, contexts, titles)
        rows: defaultdict[str, list[int]] = defaultdict(list)
        pairs: defaultdict[Edge, list[int]] = defaultdict(list)
        told = tuple(tuple(found.of[one.document_id, end.key] for end in one.things) for one in statements)
        for row, ends in enumerate(told):
            for end in dict.fromkeys(ends):
                rows[end].append(row)
            if len(ends) == 2 and ends[0] != ends[1]:
                pairs[ends[0], ends[1]].append(row)
        entities = {name: Entity(name, found.names[name], tuple(rows[name])) for name in sorted(rows)}
        relations = {}
        for (head, tail), stated in sorted(pairs.items()):
            words = Counter(statements[row].relation for row in stated)
            common = min(words, key=lambda text: (-words[text], text))
            name = _relation_id(head, tail)
            weight = sum(statements[row].weight for row in stated)
            relations[name] = Relation(name, head, tail, common, tuple(stated), weight)
        return cls(tuple(statements), entities, relations, told)

    @cached_property
    def edges(self) -> dict[Edge, float]:
        """Undirected edges with their weights."""
        weights: defaultdict[Edge, float] = defaultdict(float)
        for one in self.relations.values():
            weights[min(one.head, one.tail), max(one.head, one.tail)] += one.weight
        return dict(sorted(weights.items()))

    @cached_property
    def neighbours(self) -> dict[str, dict[str, float]]:
        """By entity, its neighbours with the weights of the edges."""
        beside: defaultdict[str, dict[str, float]] = defaultdict(dict)
        for (one, other), weight in self.edges.items():
            beside[one][other] = weight
            beside[other][one] = weight
        return dict(beside)

    def relation_of(self, row: int) -> str | None:
        """The relation that a statement tells; None where an end is no entity."""
        ends = self.ends[row]
        return _relation_id(*ends) if len(ends) == 2 and ends[0] != ends[1] else None

    def documents(self, rows: Sequence[int]) -> list[str]:
        """The documents in which statements stand, sorted."""
        return sorted({self.statements[row].document_id for row in rows})

    def said(self, row: int) -> str:
        """A statement in words."""
        one = self.statements[row]
        return f"{one.head.text} {one.relation} {one.tail.text}"

    def entity_text(self, entity: Entity) -> str:
        """An entity as the encoder reads it: its name and its plainest statements."""
        return f"{entity.name}. {'. '.join(map(self.said, self._plainest(entity.statements)))}."

    def relation_text(self, relation: Relation) -> str:
        """A relation as the encoder reads it: its plainest statements."""
        return f"{'. '.join(dict.fromkeys(map(self.said, self._plainest(relation.statements))))}."

    def _plainest(self, rows: Sequence[int]) -> list[int]:
        return sorted(rows, key=lambda row: (-self.statements[row].weight, row))[:_TOLD]


def _relation_id(head: str, tail: str) -> str:
    return f"{head}\x1f{tail}"
