"""Text search: a pool found by words and one found by vectors, merged, then ordered by both (after HyFedRAG eq. 1)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.errors import EmptySourceError
from fedrag_flwr.records import Document, Passage
from fedrag_flwr.retrieval.base import Ranking, ranked, searchable_text
from fedrag_flwr.retrieval.sparse import Bm25Retriever, Bm25Settings, content_words
from fedrag_flwr.sources.base import Reading, Source, SourceHit
from fedrag_flwr.sources.source_search import Kept, SearchTools, bounded, content_version, unit_interval

WordMatch = Callable[[str], NDArray[np.float64]]  # a question's score with each of n documents, in [0, 1], shape (n,)

# Repetition counts for next to nothing: that a sheet says the name of a disease ten times makes it no better an answer
# than one that says it twice. Chosen on the training questions of simulations/benchmarks/sources.py.
_BM25 = Bm25Settings(k1=0.2, b=1.0, frequency="lucene", inverse_frequency="lucene")


def held_share(documents: Sequence[Document]) -> WordMatch:
    """Score by the share of a question's words that a document holds, rare words counting more.

    It is BM25 over `content_words`, divided by the sum of the words' inverse document frequencies, which is what a
    document would get that repeats all of them without end. Words that no document holds do not count.
    """
    passages = [Passage(one.id, one.id, one.title, one.text, ()) for one in documents]
    bm25 = Bm25Retriever(passages, _BM25, split=content_words)
    holding = Counter(word for passage in passages for word in set(content_words(searchable_text(passage))))
    rarity = {word: math.log1p((len(passages) - count + 0.5) / (count + 0.5)) for word, count in holding.items()}

    def match(question: str) -> NDArray[np.float64]:
        limit = sum(rarity.get(word, 0.0) for word in content_words(question))
        return unit_interval(bm25.scores(question) / (limit or 1.0))

    return match


@dataclass(frozen=True, slots=True)
class TextSearchSettings:
    """How text is searched; chosen on training questions of simulations/benchmarks/sources.py, which fits `alpha`."""

    # Weight of the words against the meaning where the best two documents by meaning are alike, in [0, 1].
    alpha: float = 0.7
    lead_cost: float = 12.0  # how fast that weight falls when one document leads by meaning, from 0 (`word_weight`)
    depth: int = 20  # documents that each pool gives
    block_words: int = 120  # words of the blocks into which long documents are cut for the encoder


def word_weight(semantic: NDArray[np.floating], alpha: float, lead_cost: float) -> float:
    """Weigh words against meaning for one question: ``alpha / (1 + lead_cost * lead)``, in [0, 1].

    The lead of the best document by meaning over the second tells how sure the vectors are of it: little where records
    differ in a date or in one name, much where one text alone is about what is asked. Ours; eq. 1 has alpha alone.

    Parameters
    ----------
    semantic
        Scores of the candidates by meaning, in [0, 1], shape (n,).
    alpha, lead_cost
        As in `TextSearchSettings`.
    """
    best = np.sort(semantic)[::-1][:2]
    lead = float(best[0] - best[1]) if len(best) == 2 else 0.0
    return alpha / (1.0 + lead_cost * lead)


@dataclass(frozen=True, slots=True)
class TextCandidates:
    """The merged pools for one question: the documents, and both scores in [0, 1], shape (n,)."""

    documents: tuple[Document, ...]
    blocks: tuple[str, ...]  # of each document the block nearest to the question
    lexical: NDArray[np.float64]
    semantic: NDArray[np.float64]

    def order(self, alpha: float, lead_cost: float, k: int) -> Ranking:
        """Rank the candidates by both scores, weighted by `word_weight`; at most k document ids, best first."""
        weight = word_weight(self.semantic, alpha, lead_cost)
        scores = weight * self.lexical + (1.0 - weight) * self.semantic
        return ranked([document.id for document in self.documents], scores, k)


class TextSearch:
    """Makes any source searchable, over all that it reads; `match` scores the words of documents."""

    def __init__(
        self,
        source: Source,
        tools: SearchTools,
        settings: TextSearchSettings | None = None,
        match: Callable[[Sequence[Document]], WordMatch] = held_share,
    ) -> None:
        self.source = source
        self.settings = settings or TextSearchSettings()
        self._tools = tools
        self._match = match
        self._documents: Kept[tuple[Document, ...]] = Kept()
        self._index: Kept[_TextIndex] = Kept()

    @property
    def id(self) -> str:
        """That of the source."""
        return self.source.id

    def read(self) -> Reading:
        """Read the source's documents; errors as the source's own."""
        return self.source.read()

    def version(self) -> str:
        """Give a digest over all documents."""
        return content_version(self._read())

    def search(self, question: str, k: int) -> tuple[SourceHit, ...]:
        """Find at most k documents, best first; a hit's text is the document's block nearest to the question; raises
        SourceError where the documents cannot be read.
        """
        found = self.candidates(question)
        read = {
            document.id: (document.title, block) for document, block in zip(found.documents, found.blocks, strict=True)
        }
        return tuple(
            SourceHit(one.passage_id, *read[one.passage_id], one.score)
            for one in found.order(self.settings.alpha, self.settings.lead_cost, k)
        )

    def candidates(self, question: str) -> TextCandidates:
        """Merge both pools for a question and score them by words and by the reranker."""
        return self._current().candidates(bounded(question), self._tools, self.settings.depth)

    def _read(self) -> tuple[Document, ...]:
        def read() -> tuple[Document, ...]:
            try:
                return self.source.read().documents
            except EmptySourceError as error:
                if error.bare:  # whether it may be empty is asked where memories are built
                    return ()
                raise

        # where it tells cheaply whether it may have changed
        stamp: Callable[[], str] = getattr(self.source, "stamp", str)
        return self._documents.get(stamp(), 0.0, read)

    def _current(self) -> _TextIndex:
        documents = self._read()
        return self._index.get(
            content_version(documents),
            0.0,
            lambda: _TextIndex(documents, self._match(documents), self._tools, self.settings),
        )


class _TextIndex:
    """One version of the documents: words of whole documents, vectors of their blocks."""

    def __init__(
        self, documents: tuple[Document, ...], match_words: WordMatch, tools: SearchTools, settings: TextSearchSettings
    ) -> None:
        self._documents = documents
        self._match_words = match_words
        cut = [_blocks(document, settings.block_words) for document in documents]
        self._texts = [block for blocks in cut for block in blocks]
        self._starts = np.cumsum([0, *(len(blocks) for blocks in cut)])
        titles = [document.title for document, blocks in zip(documents, cut, strict=True) for _ in blocks]
        self._vectors = tools.encoder.encode([f"{t}\n{b}".strip() for t, b in zip(titles, self._texts, strict=True)])

    def candidates(self, question: str, tools: SearchTools, depth: int) -> TextCandidates:
        if not self._documents:
            return TextCandidates((), (), np.zeros(0), np.zeros(0))
        lexical = self._match_words(question)
        near = self._vectors @ tools.encoder.encode([question])[0]
        dense = np.maximum.reduceat(near, self._starts[:-1])
        pool = sorted({*_top(lexical, depth, above=0.0), *_top(dense, depth)})
        best = [self._starts[row] + int(np.argmax(near[self._starts[row] : self._starts[row + 1]])) for row in pool]
        blocks = tuple(self._texts[place] for place in best)
        documents = tuple(self._documents[row] for row in pool)
        if tools.reranker is None:
            semantic = unit_interval(dense[pool])
        else:
            titled = [f"{one.title}\n{block}".strip() for one, block in zip(documents, blocks, strict=True)]
            semantic = tools.relevance(question, titled)
        return TextCandidates(documents, blocks, lexical[pool], semantic)


def _blocks(document: Document, most_words: int) -> list[str]:
    """Cut a text at line ends into blocks of about so many words; a longer line is cut within."""
    blocks: list[list[str]] = [[]]
    for line in document.text.splitlines():
        split = line.split()
        for start in range(0, len(split), most_words):
            piece = split[start : start + most_words]
            if blocks[-1] and len(blocks[-1]) + len(piece) > most_words:
                blocks.append([])
            blocks[-1].extend(piece)
    return [" ".join(block) for block in blocks]


def _top(scores: NDArray[np.floating], k: int, above: float = -np.inf) -> list[int]:
    order = np.argsort(-scores, kind="stable")[:k]
    return [int(row) for row in order if scores[row] > above]
