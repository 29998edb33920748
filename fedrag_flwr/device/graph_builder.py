"""Building a device's knowledge graph: what changed is read, encoded, cut and summed up; the rest stays as it is."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import chain
from typing import TypeVar

from fedrag_flwr.errors import NotFoundError
from fedrag_flwr.knowledge_graph.communities import CutSettings, modularity, recut
from fedrag_flwr.knowledge_graph.graph import KnowledgeGraph
from fedrag_flwr.knowledge_graph.resolution import Floats
from fedrag_flwr.knowledge_graph.statements import Statement, statements_of
from fedrag_flwr.knowledge_graph.summaries import Summarizer, subgraph_of
from fedrag_flwr.memory.store import MemoryStore
from fedrag_flwr.memory.store.change import content_id, missing
from fedrag_flwr.memory.store.graph_store import GraphStore, Kind, StoredCommunity, TextVector, as_dict
from fedrag_flwr.models.base import Encoder
from fedrag_flwr.records import Cost, Passage, Progress
from fedrag_flwr.text.model_tuples import Extractor
from fedrag_flwr.text.pipeline import Pipeline

T = TypeVar("T")
CUT_WITH = "cut-with"  # meta key: the settings that the communities were cut with
_DOCUMENTS_AT_ONCE, _TEXTS_AT_ONCE, _COMMUNITIES_AT_ONCE = 32, 1024, 64  # a build that is killed goes on from there


@dataclass(frozen=True, slots=True)
class GraphReport:
    """What a refresh found and made.

    `read`, `encoded` and `summarised` count documents, vectors and communities that were new; the others all there are.
    `largest` is the number of entities in the largest community.
    """

    statements: int
    entities: int
    relations: int
    communities: int
    largest: int
    modularity: float
    read: int
    encoded: int
    summarised: int
    seconds: float

    def told(self) -> tuple[str, ...]:
        """What the graph holds, as a build's report tells it."""
        counts = ("entities", "relations", "communities", "largest")
        return (*(f"{name}={getattr(self, name)}" for name in counts), f"modularity={self.modularity:.3f}")


@dataclass(frozen=True, eq=False)
class GraphBuilder:
    """Brings a store's graph up to date with its documents."""

    store: MemoryStore  # the device's memory: documents, passages and their vectors
    encoder: Encoder  # this and the pipeline are those that the store was made with
    pipeline: Pipeline
    extractor: Extractor  # finds what documents state
    summarizer: Summarizer  # sums up communities
    settings: CutSettings  # of the cut

    @cached_property
    def _graphs(self) -> GraphStore:
        return GraphStore(self.store.database, self.encoder.dimension)

    @property
    def _cut_with(self) -> str:
        return content_id(json.dumps(asdict(self.settings), sort_keys=True))

    @property
    def cost(self) -> Cost:
        """What a model has done so far."""
        return self.extractor.cost + self.summarizer.cost

    def refresh(self, progress: Progress) -> GraphReport:
        """Extract, resolve, encode, cut and sum up what is new since the last time; each step is kept as it is done;
        raises StoreError where the store cannot be written.
        """
        start = time.perf_counter()
        read = self._extract(progress)
        graph = self.graph()
        encoded = self._encode(
            "entity", {i: graph.entity_text(one) for i, one in graph.entities.items()}, graph, progress
        )
        encoded += self._encode(
            "relation", {i: graph.relation_text(one) for i, one in graph.relations.items()}, graph, progress
        )
        groups = self._cut(graph)
        summarised = self._summarise(graph, groups, progress)
        if self.store.meta(CUT_WITH) != self._cut_with:
            self.store.set_meta(CUT_WITH, self._cut_with)  # last: one that was killed before it cuts the same again
        assignment = {name: number for number, names in enumerate(groups.values()) for name in names}
        return GraphReport(
            len(graph.statements),
            len(graph.entities),
            len(graph.relations),
            len(groups),
            max(map(len, groups.values()), default=0),
            modularity(graph.edges, assignment),
            read,
            encoded,
            summarised,
            time.perf_counter() - start,
        )

    def graph(self) -> KnowledgeGraph:
        """The graph over the statements that are kept; raises NotFoundError where the documents keep changing while
        they are read.
        """
        return once_more(self._graph)

    # --- steps ------------------------------------------------------------------------------------

    def _graph(self) -> KnowledgeGraph:
        units = self.store.units("paragraph")
        contexts: dict[str, Floats] = dict(zip(units.ids, units.vectors, strict=True))
        titles = {passage.document_id: passage.title for passage in self.store.passages()}
        statements = self._graphs.statements()
        if absent := [one.passage_id for one in statements if one.passage_id not in contexts]:
            raise missing("passage", absent)
        return KnowledgeGraph.of(statements, contexts, titles)

    def _extract(self, progress: Progress) -> int:
        waiting = self._graphs.unread(self.extractor.id)
        for done in range(0, len(waiting), _DOCUMENTS_AT_ONCE):
            names = waiting[done : done + _DOCUMENTS_AT_ONCE]
            progress("extract", done, len(waiting))
            parsed = self.pipeline.parse(self.store.document(name) for name in names)
            found: list[Statement] = []
            for passages in parsed:
                by_id: dict[str, Passage] = {part.passage.id: part.passage for part in passages}
                found += statements_of(self.extractor.extract(passages), by_id)
            self._graphs.put_statements(names, found, self.extractor.id)
        progress("extract", len(waiting), len(waiting))
        return len(waiting)

    def _encode(self, kind: Kind, texts: Mapping[str, str], graph: KnowledgeGraph, progress: Progress) -> int:
        known = self._graphs.vectors(kind)
        digests = {name: content_id(text) for name, text in texts.items()}
        new = [name for name in texts if name not in known or known[name].digest != digests[name]]
        gone = [name for name in known if name not in texts]
        rests = graph.entities if kind == "entity" else graph.relations
        if gone:
            self._graphs.put_vectors(kind, (), gone)
        for done in range(0, len(new), _TEXTS_AT_ONCE):
            names = new[done : done + _TEXTS_AT_ONCE]
            progress(f"encode {kind}", done, len(new))
            vectors = self.encoder.encode([texts[name] for name in names])
            self._graphs.put_vectors(
                kind,
                [
                    TextVector(name, digests[name], vector, tuple(graph.documents(rests[name].statements)))
                    for name, vector in zip(names, vectors, strict=True)
                ],
            )
        progress(f"encode {kind}", len(new), len(new))
        return len(new)

    def _cut(self, graph: KnowledgeGraph) -> dict[str, tuple[str, ...]]:
        """The members of each community, by the id that stands for its content; all are cut anew by other settings."""
        vectors = {name: one.vector for name, one in self._graphs.vectors("entity").items()}
        alike = self.store.meta(CUT_WITH) in (None, self._cut_with)
        known = self._graphs.communities() if alike else {}
        titles, sentences = self._told()
        changed = {
            member
            for name, one in known.items()
            if _content(name) != _content(self._id(graph, one.members, titles, sentences))
            for member in one.members
        }
        assignment = recut(graph.edges, vectors, as_dict(known), changed, self.settings)
        groups: defaultdict[int, list[str]] = defaultdict(list)
        for name, number in assignment.items():
            groups[number].append(name)
        return {self._id(graph, names, titles, sentences): tuple(names) for names in groups.values()}

    def _summarise(self, graph: KnowledgeGraph, groups: Mapping[str, Sequence[str]], progress: Progress) -> int:
        known = self._graphs.communities()
        new = [name for name in groups if name not in known]
        gone = [name for name in known if name not in groups]
        titles, sentences = self._told() if new else ({}, {})
        if gone:
            self._graphs.put_communities((), gone)
        for done in range(0, len(new), _COMMUNITIES_AT_ONCE):
            names = new[done : done + _COMMUNITIES_AT_ONCE]
            progress("summarise", done, len(new))
            self._graphs.put_communities(
                StoredCommunity(
                    name,
                    tuple(groups[name]),
                    self.summarizer.summarize(subgraph_of(graph, groups[name], titles, sentences)),
                    tuple(graph.documents(_rows(graph, groups[name]))),
                )
                for name in names
            )
        progress("summarise", len(new), len(new))
        return len(new)

    def _told(self) -> tuple[dict[str, str], dict[str, str]]:
        """The title of each passage and the text of each sentence."""
        titles = {passage.id: passage.title for passage in self.store.passages()}
        return titles, {one.id: one.text for one in self.store.sentences()}

    def _id(
        self, graph: KnowledgeGraph, members: Iterable[str], titles: Mapping[str, str], sentences: Mapping[str, str]
    ) -> str:
        """Stands for the members, all that is stated of them in which words and titles, and the way of summing up."""
        present = [name for name in sorted(members) if name in graph.entities]
        told = [graph.statements[row] for row in _rows(graph, present)]
        content = [
            *present,
            *(f"{one.passage_id} {one.head.text} {one.relation} {one.tail.text}" for one in told),
            *(titles[one.passage_id] for one in told),
            *(sentences[one.sentence_id] for one in told),
        ]
        return f"{content_id(*content)}-{content_id(self.summarizer.id)[:8]}"


def once_more(read: Callable[[], T]) -> T:
    """What several reads of a store give: a commit between them may take what one names from the next, but once."""
    try:
        return read()
    except NotFoundError:
        return read()


def _rows(graph: KnowledgeGraph, members: Iterable[str]) -> list[int]:
    return sorted(set(chain.from_iterable(graph.entities[name].statements for name in members)))


def _content(community: str) -> str:
    return community.partition("-")[0]
