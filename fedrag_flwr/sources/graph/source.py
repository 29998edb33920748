"""A property graph as a source that is read, and asked (HyFedRAG 3.3)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.retrieval.base import ranked
from fedrag_flwr.sources.base import SourceHit
from fedrag_flwr.sources.graph.contents import Named, document_id, own_statements, read_graph
from fedrag_flwr.sources.graph.mapping import GraphMapping
from fedrag_flwr.sources.graph.match import EntityIndex, Matches
from fedrag_flwr.sources.graph.paths import (
    Statement,
    Vertex,
    check_mapping,
    path_query,
    paths_to_subject,
    statements_of,
)
from fedrag_flwr.sources.graph.proposal import open_graph
from fedrag_flwr.sources.source_search import (
    Contents,
    Entity,
    Kept,
    MappedSource,
    Pool,
    SearchTools,
    bounded,
    entities_of,
    word_shares,
)
from fedrag_flwr.text.words import normalise_anchor

# of the words of a question that a statement holds, rare ones counting more, against its entities: it tells apart what
# hangs on one name; 0 is the paper's
QUESTION_SHARE = 0.5
ALPHA = 0.2  # of both together against the reranker's score of the statement (eq. 2)
THRESHOLD = 0.7  # least cosine of an entity and a name that match by meaning (tau)
NEAR = 3  # names that an entity matches by meaning at most (K)
FETCHED = 2_000  # statements that one query brings at most
RERANKED = 24  # statements that are reranked
STATEMENTS = 3  # of one subject that a hit tells, best first; 1 is the paper's deduplication


class GraphSource(MappedSource[Named]):
    """A property graph through a mapping; read-only, with bound parameters, time limits and row limits; raises
    SourceError where the graph cannot be reached, or the mapping does not fit it.
    """

    kind = "graph"
    missing = "nothing is said of any subject"

    def __init__(self, mapping: GraphMapping, tools: SearchTools) -> None:
        self.mapping = mapping
        self._tools = tools
        self._store = open_graph(mapping.url, mapping.database)
        schema = self._store.schema()
        check_mapping(mapping, schema)
        self._paths = paths_to_subject(mapping, schema)
        super().__init__(mapping.name, self._store)
        self._index: Kept[EntityIndex] = Kept()

    def search(self, question: str, k: int) -> tuple[SourceHit, ...]:
        """Find at most k subjects, best first; a hit's text are the subject's best statements; raises SourceError where
        the graph fails or takes longer than its limit.
        """
        found = self.candidates(question)
        scores = ALPHA * found.matched + (1.0 - ALPHA) * found.semantic
        order = sorted(range(len(scores)), key=lambda place: (-scores[place], found.found[place].text))
        by_subject: defaultdict[Vertex, list[int]] = defaultdict(list)
        for place in order:
            by_subject[found.found[place].subject].append(place)
        subjects = {document_id(self.mapping, subject): places for subject, places in by_subject.items()}
        best = ranked(list(subjects), np.array([scores[places[0]] for places in subjects.values()]), k)
        return tuple(self._hit(one.passage_id, one.score, found, subjects[one.passage_id]) for one in best)

    def candidates(self, question: str) -> Pool[Statement]:
        """Match a question's entities, follow their paths to subjects, and score the statements by eq. 2's parts."""
        asked = bounded(question)
        index = self._entity_index()
        linked = index.named_in(asked)
        said = [one for one in entities_of(asked, self._tools.pipeline) if not _within(one, linked)]
        entities = [*linked, *said]
        matches = index.match(entities, THRESHOLD, NEAR)
        if not any(matches):  # rather a distant name than nothing: "a broken wrist" is "Fracture of wrist (disorder)"
            matches = index.match(entities, THRESHOLD / 2, NEAR)
        statements = self._statements({vertex for found in matches for vertex in found}, index)
        held = word_shares(asked, [one.text for one in statements])
        matched = QUESTION_SHARE * held + (1.0 - QUESTION_SHARE) * _entity_scores(entities, matches, statements)
        best = np.argsort(-matched, kind="stable")[:RERANKED]
        kept = tuple(statements[place] for place in best)
        return Pool(kept, matched[best], self._tools.relevance(asked, [one.text for one in kept]))

    def _hit(self, name: str, score: float, found: Pool[Statement], places: Sequence[int]) -> SourceHit:
        chosen = [found.found[place] for place in places[:STATEMENTS]]
        text = "\n".join(dict.fromkeys(one.text for one in chosen))
        return SourceHit(name, chosen[0].title, text, score)

    def _statements(self, vertices: Collection[Vertex], index: EntityIndex) -> list[Statement]:
        # a set's own order is another in each process, and decides between equals
        in_order = sorted(vertices, key=lambda one: (one.label, one.key))
        by_label: defaultdict[str, list[object]] = defaultdict(list)
        for vertex in in_order:
            by_label[vertex.label].append(index.vertices[vertex].key)
        if not by_label:
            return []
        subjects = [index.vertices[vertex] for vertex in in_order if vertex.label == self.mapping.subject]
        own = [statement for subject in subjects for statement in own_statements(subject)]
        found = {(statement.subject, statement.text): statement for statement in own}
        with self._store.session(self.mapping.seconds) as session:
            for path in self._paths:
                ends = {"entity": path[0].start, "subject": path[-1].end}
                for end in ("entity", "subject"):
                    if keys := by_label.get(ends[end]):
                        query = path_query(path, self.mapping, end, FETCHED)
                        for statement in statements_of(path, session.rows(query, {"keys": keys}), self.mapping):
                            if statement.subject not in index.vertices:
                                continue
                            found.setdefault((statement.subject, statement.text), statement)
        return list(found.values())

    def _entity_index(self) -> EntityIndex:
        contents = self._read(self.mapping.refresh_seconds)
        return self._index.get(contents.version, 0.0, lambda: EntityIndex(contents.parts, self._tools.encoder))

    def _read_all(self) -> Contents[Named]:
        with self._store.session(self.mapping.read_seconds) as session:
            return read_graph(session, self.mapping, self._paths)


def _within(entity: Entity, linked: Sequence[Entity]) -> bool:
    return any(f" {entity.anchor} " in f" {one.anchor} " for one in linked)


def _entity_scores(
    entities: Sequence[Entity], matches: Sequence[Matches], statements: Sequence[Statement]
) -> NDArray[np.float64]:
    """Score n statements by the entities that they hold, averaged over those that any statement holds, shape (n,).

    The paper scores a statement by the one entity that led to it; the mean tells a path between two things that the
    question names from a path that touches one. An entity that is no vertex, such as a date, is held word for word.
    """
    texts = [f" {normalise_anchor(one.text)} " for one in statements]
    rows = []
    for entity, found in zip(entities, matches, strict=True):
        if found:
            rows.append([max(found.get(vertex, 0.0) for vertex in one.vertices) for one in statements])
        else:
            rows.append([float(f" {entity.anchor} " in text) for text in texts])
    held = [row for row in rows if any(row)]
    return np.mean(np.array(held), axis=0) if held else np.zeros(len(statements))
