"""A relational database as a source that is read, and asked (HyFedRAG 3.3)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.retrieval.base import ranked
from fedrag_flwr.sources.base import SourceHit
from fedrag_flwr.sources.source_search import (
    Contents,
    Entity,
    Kept,
    MappedSource,
    Pool,
    SearchTools,
    TextVectors,
    bounded,
    entities_of,
    unit_interval,
)
from fedrag_flwr.sources.sql.contents import read_tables
from fedrag_flwr.sources.sql.database import Database
from fedrag_flwr.sources.sql.mapping import SqlMapping
from fedrag_flwr.sources.sql.records import RecordReader, SqlRecord
from fedrag_flwr.sources.sql.side_index import Scored, SideIndex, words_of
from fedrag_flwr.text.words import normalise_anchor

# of the whole question's natural-language score against eq. 3's, averaged over entities: a tagger misses some of them,
# and one name may have hundreds of records; 0 is the paper's
QUESTION_SHARE = 0.5
MATCHED_SHARE = 0.7  # of both together against the reranker's score; 0 is the paper's eq. 4
DEPTH = 20  # records that each entity, and the whole question, bring at most (N)
RERANKED = 12  # records that are reranked
# the weights of eq. 3 (lambda 1 to 4; the paper tunes them by hand and does not name them)
EXACT, BOOLEAN, NATURAL, PHRASE = 0.6, 0.1, 0.1, 0.2


class SqlSource(MappedSource[SqlRecord]):
    """A database through a mapping; read-only, with bound parameters, time limits and row limits; raises SourceError
    where the database cannot be reached, or the mapping does not fit it.
    """

    kind = "sql"
    missing = "no mapped table has a record with text"

    def __init__(self, mapping: SqlMapping, tools: SearchTools) -> None:
        self.mapping = mapping
        self._tools = tools
        self._vectors = TextVectors(tools.encoder)
        self._database = Database(mapping.url)
        self._readers = [RecordReader(self._database, record, mapping.name) for record in mapping.record]
        self._side: Kept[SideIndex] = Kept()
        super().__init__(mapping.name, self._database)

    def search(self, question: str, k: int) -> tuple[SourceHit, ...]:
        """Find at most k records, best first; raises SourceError where the database fails or takes longer than its
        limit.
        """
        found = self.candidates(question)
        scores = MATCHED_SHARE * found.matched + (1.0 - MATCHED_SHARE) * found.semantic
        by_id = {record.document_id: record for record in found.found}
        return tuple(
            SourceHit(one.passage_id, record.title, record.text, one.score)
            for one in ranked(list(by_id), scores, k)
            for record in (by_id[one.passage_id],)
        )

    def candidates(self, question: str) -> Pool[SqlRecord]:
        """Merge the pools of a question's entities, and score them by eq. 3 and by the reranker."""
        asked = bounded(question)
        entities = entities_of(asked, self._tools.pipeline)
        index = self._index()
        queries = [words_of(entity.text) for entity in entities]
        boolean = [index.find(words, "boolean", DEPTH) for words in queries]
        natural = [index.find(words, "natural", DEPTH) for words in queries]
        whole = index.find(words_of(asked), "natural", DEPTH)
        pool = {one: pair[0] for found in (*boolean, *natural, whole) for one, pair in found.items()}
        if not pool or not entities:
            return Pool((), np.zeros(0), np.zeros(0))
        records = list(pool.values())
        named = fused(
            _exact(entities, records),
            shares(boolean, list(pool)),
            shares(natural, list(pool)),
            self._phrases(entities, records),
        ).mean(axis=0)
        matched = QUESTION_SHARE * shares([whole], list(pool))[0] + (1.0 - QUESTION_SHARE) * named
        best = np.argsort(-matched, kind="stable")[:RERANKED]
        kept = [records[place] for place in best]
        semantic = self._tools.relevance(asked, [_whole(record) for record in kept])
        return Pool(tuple(kept), matched[best], semantic)

    def _phrases(self, entities: Sequence[Entity], records: Sequence[SqlRecord]) -> NDArray[np.float64]:
        named = self._vectors.of([entity.text for entity in entities])
        return unit_interval(named @ self._vectors.of([_whole(record) for record in records]).T)

    def _index(self) -> SideIndex:
        contents = self._read(self.mapping.refresh_seconds)
        return self._side.get(contents.version, 0.0, lambda: SideIndex(contents.parts))

    def _read_all(self) -> Contents[SqlRecord]:
        return read_tables(self._database, self._readers, self.mapping.most_rows, self.mapping.read_seconds)


def fused(
    exact: NDArray[np.float64],
    boolean: NDArray[np.float64],
    natural: NDArray[np.float64],
    phrase: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Fuse the four scores of n records for each of e entities, all of shape (e, n) and in [0, 1] (eq. 3)."""
    return EXACT * exact + BOOLEAN * boolean + NATURAL * natural + PHRASE * phrase


def shares(found: Sequence[Scored], ids: Sequence[str]) -> NDArray[np.float64]:
    """Bring engines' scores to [0, 1]: as shares of the entity's best score, shape (e, n); 0 where nothing was found.

    Eq. 3 caps scores at constants of MySQL's unit (3 and 1), which is not FTS5's.
    """
    scored = [{one: score for one, (_, score) in each.items()} for each in found]
    best = [max(scores.values(), default=0.0) or 1.0 for scores in scored]
    rows = [[scores.get(one, 0.0) / top for one in ids] for scores, top in zip(scored, best, strict=True)]
    return np.array(rows, dtype=np.float64).reshape(len(found), len(ids))


def _exact(entities: Sequence[Entity], records: Sequence[SqlRecord]) -> NDArray[np.float64]:
    """Say which records (n) hold which entities (e) word for word, shape (e, n)."""
    texts = [f" {normalise_anchor(_whole(record))} " for record in records]
    return np.array([[float(f" {entity.anchor} " in text) for text in texts] for entity in entities])


def _whole(record: SqlRecord) -> str:
    return f"{record.title}\n{record.text}".strip()
