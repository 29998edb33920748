"""How far documents and a question agree in words: the share of the question that they hold, or TF-IDF's cosine."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.records import Document, Passage
from fedrag_flwr.retrieval.base import searchable_text
from fedrag_flwr.retrieval.sparse import Bm25Retriever, Bm25Settings
from fedrag_flwr.retrieval.words import content_words, words
from fedrag_flwr.sources.searching import unit_interval

WordMatch = Callable[[str], NDArray[np.float64]]  # a question's score with each of n documents, in [0, 1], shape (n,)

# Repetition counts for next to nothing: that a sheet says the name of a disease ten times makes it no better an answer
# than one that says it twice. Chosen on the training questions of simulations/bench_sources.py.
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


def tfidf_cosine(documents: Sequence[Document]) -> WordMatch:
    """Score by the cosine of TF-IDF rows of question and whole document (HyFedRAG eq. 1)."""
    from sklearn.feature_extraction.text import TfidfVectorizer  # type: ignore[import-untyped, unused-ignore]

    vectorizer = TfidfVectorizer(tokenizer=words, token_pattern=None, sublinear_tf=True)
    rows = vectorizer.fit_transform(f"{document.title}\n{document.text}" for document in documents)

    def match(question: str) -> NDArray[np.float64]:
        return unit_interval((rows @ vectorizer.transform([question]).T).toarray().ravel())

    return match


WORD_MATCHES: dict[str, Callable[[Sequence[Document]], WordMatch]] = {"held": held_share, "tfidf": tfidf_cosine}
