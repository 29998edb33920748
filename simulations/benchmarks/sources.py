"""How well do text, SQL and graph sources find and tell what answers a question (HyFedRAG tables 1 and 2, fig. 7)?

MedQuAD's answers as text, by their own questions; Synthea's tables as text, as an SQLite database and as a
Ladybug graph, by questions that exactly one record answers. A hit counts if its text states subject, thing and answer.
Every searcher weighs two scores; the weight is chosen by MRR on train questions, all else is reported on dev questions.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pandas import DataFrame, concat

from fedrag_flwr.loaded_models import Models, load_models
from fedrag_flwr.models.encoder import LateInteractionReranker
from fedrag_flwr.records import Document, Passage
from fedrag_flwr.retrieval.sparse import Bm25Retriever, words
from fedrag_flwr.settings import fedrag_home
from fedrag_flwr.sources.base import make_document
from fedrag_flwr.sources.graph.source import GraphSource
from fedrag_flwr.sources.source_search import SearchTools, unit_interval
from fedrag_flwr.sources.sql.source import SqlSource
from fedrag_flwr.sources.text_search import TextSearch, TextSearchSettings, WordMatch, held_share
from simulations.bench.frame import Bench
from simulations.bench.kept_rows import KeptRows
from simulations.corpora.sentences import json_lines
from simulations.corpora.source_rows import (
    LABELS,
    ONE_SIDED,
    TEXTS,
    WEIGHTS,
    Candidate,
    CorpusOnce,
    Forms,
    Search,
    dev_table,
    fitted_weights,
    pooled,
    searched,
    sweep,
    with_derived,
)
from simulations.corpora.synthea import (
    WORDINGS,
    Listed,
    RecordQuestion,
    asked_rows,
    questions_of,
    read_synthea,
    relevant,
    write_database,
    write_graph,
)

ARCHIVES = ("synthea_112", "synthea_922_obs")
MEDQUAD, SEED = "medquad", 7
MEDQUAD_WORDS = 300
EACH = 50  # questions of each kind, wording and split, asked of Synthea as text
RECORDS = 8  # of the questions of Synthea as text, of each kind: asked of database and graph, too
EQUATION_1 = TextSearchSettings(alpha=0.8, lead_cost=0.0)  # with `tfidf_cosine` at one weight for all questions

States = Callable[[RecordQuestion, Document], bool]


def tfidf_cosine(documents: Sequence[Document]) -> WordMatch:
    """Score by the cosine of TF-IDF rows of question and whole document (HyFedRAG eq. 1)."""
    from sklearn.feature_extraction.text import TfidfVectorizer  # type: ignore[import-untyped, unused-ignore]

    vectorizer = TfidfVectorizer(tokenizer=words, token_pattern=None, sublinear_tf=True)
    rows = vectorizer.fit_transform(f"{document.title}\n{document.text}" for document in documents)

    def match(question: str) -> NDArray[np.float64]:
        return unit_interval((rows @ vectorizer.transform([question]).T).toarray().ravel())

    return match


def run(bench: Bench) -> None:
    """Search all sources in all forms, and compare the searchers."""
    searcher = Searcher.of(bench)
    found = {MEDQUAD: searcher.medquad()}
    for archive in bench.sized(ARCHIVES, ARCHIVES[:1]):
        found[archive] = searcher.synthea(archive, *bench.sized((EACH, RECORDS), (1, 1)))
    tabulate(bench, found)


@dataclass(frozen=True, slots=True)
class Searcher:
    """Searches sets of records in all forms, and keeps what was found."""

    bench: Bench
    models: Models
    encoder: CorpusOnce

    @classmethod
    def of(cls, bench: Bench) -> Searcher:
        """With the models of the settings."""
        models = load_models(bench.settings.models, fedrag_home(bench.settings.home))
        return cls(bench, models, CorpusOnce(models.encoder))

    def tools(self, *, late: bool) -> SearchTools:
        """What a source searches with."""
        reranker = LateInteractionReranker(self.models.encoder) if late else None
        return SearchTools(self.encoder, self.models.pipeline, reranker)

    def medquad(self) -> Forms:
        """Answers of MedQuAD as text."""
        told = {
            one["qid"]: (sheet["focus"], one)
            for sheet in json_lines(self.bench.data() / "medquad.jsonl.gz")
            for one in sheet["qa"]
            if 20 <= len(one["answer"].split()) <= MEDQUAD_WORDS
        }
        count, asked = self.bench.sized((1_000, 600), (6, 4))
        chosen = random.Random(SEED).sample(list(told.values()), count)
        documents = tuple(make_document(one["qid"], focus, one["answer"]) for focus, one in chosen)
        questions = [
            RecordQuestion(document.id, MEDQUAD, "train" if number % 2 else "dev", one["question"], (document.id,))
            for number, (document, (_, one)) in enumerate(zip(documents[:asked], chosen, strict=False))
        ]
        return self._text_forms(MEDQUAD, documents, questions, lambda question, document: document.id in question.told)

    def synthea(self, name: str, each: int, records: int) -> Forms:
        """An archive of Synthea as text, database and graph."""
        tables = read_synthea(self.bench.data() / f"{name}.tar.gz")
        most = self.bench.sized(None, 8)
        questions, fewer = (questions_of(tables, count, SEED)[:most] for count in (each, min(each, records)))
        if self.bench.quick:
            tables = asked_rows(tables, questions, 4)
        out, tools = self.bench.out, self.tools(late=True)
        sql = SqlSource(write_database(tables, out / f"{name}.db"), tools)
        graph = GraphSource(write_graph(tables, out / f"{name}.lbug"), tools)

        def in_database(question: RecordQuestion) -> list[Candidate]:
            found = sql.candidates(question.text)
            hits = zip(found.found, found.matched, found.semantic, strict=True)
            return [_candidate(question, one.document_id, f"{one.title}\n{one.text}", a, b) for one, a, b in hits]

        def in_graph(question: RecordQuestion) -> list[Candidate]:
            found = graph.candidates(question.text)
            hits = zip(found.found, found.matched, found.semantic, strict=True)
            return [_candidate(question, str(one.subject), one.text, a, b) for one, a, b in hits]

        def states(question: RecordQuestion, document: Document) -> bool:
            return relevant(question.told, f"{document.title}\n{document.text}")

        forms = self._text_forms(name, sql.read().documents, questions, states)
        searches = {"sql": in_database, "graph": in_graph}
        return forms | {form: searched(self._rows(f"{name}-{form}"), fewer, one) for form, one in searches.items()}

    def _text_forms(
        self, name: str, documents: Sequence[Document], questions: Sequence[RecordQuestion], states: States
    ) -> Forms:
        """Records as text by BM25, the hybrid and eq. 1; `states` says whether one answers a question."""
        by_id = {document.id: document for document in documents}
        bm25 = Bm25Retriever([Passage(one.id, one.id, one.title, one.text, ()) for one in documents])
        hybrid, listed = TextSearchSettings(), Listed(tuple(documents))

        def by_words(question: RecordQuestion) -> list[Candidate]:
            ranking = bm25.rank(question.text, 20)
            return [Candidate(p.passage_id, states(question, by_id[p.passage_id]), p.score, 0.0) for p in ranking]

        def by(settings: TextSearchSettings, match: Callable[[Sequence[Document]], WordMatch] = held_share) -> Search:
            source = TextSearch(listed, self.tools(late=False), settings, match)

            def search(question: RecordQuestion) -> list[Candidate]:
                found = source.candidates(question.text)
                pairs = zip(found.documents, found.lexical, found.semantic, strict=True)
                return [Candidate(one.id, states(question, one), float(a), float(b)) for one, a, b in pairs]

            return search

        searches = {"bm25": by_words, "text": by(hybrid), "eq1": by(EQUATION_1, tfidf_cosine)}
        rows = {form: searched(self._rows(f"{name}-{form}"), questions, one) for form, one in searches.items()}
        return with_derived(rows, hybrid.lead_cost)

    def _rows(self, form: str) -> KeptRows:
        self.bench.tell(form)
        return self.bench.rows(form, self.encoder.id, self.bench.sized("all", "quick"))


def _candidate(question: RecordQuestion, record: str, text: str, first: float, second: float) -> Candidate:
    return Candidate(record, relevant(question.told, text), float(first), float(second))


def tabulate(bench: Bench, found: dict[str, Forms]) -> None:
    """Fit the weights, and write the tables and the chart of all sets."""
    sets = {MEDQUAD: found[MEDQUAD]}
    for archive in (name for name in found if name != MEDQUAD):
        for wording in WORDINGS:
            forms = found[archive].items()
            kept = {form: [row for row in each if row.question.startswith(wording)] for form, each in forms}
            sets[f"{archive}, {wording}"] = kept
    sets["all, as text"] = pooled({name: {form: rows[form] for form in TEXTS} for name, rows in sets.items()})
    weights = fitted_weights(list(found.values()))
    tables = [dev_table(rows, weights).assign(set=name) for name, rows in sets.items()]
    bench.table("search", concat(tables).set_index("set").reset_index(), "Dev questions.")
    lines = {
        f"{name}, {LABELS[form]}": [mrr for mrr, _ in sweep(rows[form], "dev")]
        for name, rows in sets.items()
        for form in rows
        if form not in ONE_SIDED
    }
    by_weight = DataFrame(lines, index=WEIGHTS)
    bench.table("weights", by_weight.round(4).T.rename_axis("MRR at weight").reset_index())
    loose = f"{ARCHIVES[0]}, {WORDINGS[1]}"
    drawn = [f"{MEDQUAD}, {LABELS['eq1']}", *(f"{loose}, {LABELS[form]}" for form in ("text", "sql", "graph"))]
    bench.chart("weights", by_weight[[name for name in drawn if name in by_weight]], "alpha", "MRR, dev questions")
