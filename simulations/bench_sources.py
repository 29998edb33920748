"""How well text, SQL and graph sources find the record that answers a question (HyFedRAG tables 1 and 2, Fig. 7).

    python simulations/bench_sources.py [--data FOLDER] [--each 50] [--records 8] [--late 30] [--archives NAME ...]
                                        [--out FOLDER]

MedQuAD's answers are searched as text by their own questions. Synthea's tables (two archives) are searched as text, as
an SQLite database and as a Ladybug graph by questions made from single rows (`corpora/synthea.py`); exactly one
record answers each, and a hit counts if its text states subject, thing and answer. Text is asked up to ``--each``
questions of each kind, wording and split, database and graph the first ``--records`` of them. Every searcher scores
candidates by two numbers and a weight between them; it is chosen by MRR on train questions, everything else is reported
on dev questions. Rows are kept in ``$FEDRAG_HOME/bench_sources``, so a run that was stopped goes on. Prints Markdown
tables and writes ``sources.json`` and ``sources_alpha.svg``.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.errors import SettingError
from fedrag_flwr.models import LateInteractionReranker, load_encoder
from fedrag_flwr.records import Document, Passage
from fedrag_flwr.retrieval import Bm25Retriever, TextEncoder
from fedrag_flwr.settings import fedrag_home
from fedrag_flwr.sources import Reading, data_root, make_document
from fedrag_flwr.sources.graph.source import GraphSearchSettings, GraphSource
from fedrag_flwr.sources.source_search import SearchTools, TextVectors
from fedrag_flwr.sources.sql.source import SqlSearchSettings, SqlSource
from fedrag_flwr.sources.text_search import EQUATION_1, TextSearch, TextSearchSettings
from fedrag_flwr.text import SpacyPipeline
from simulations.corpora.source_rows import (
    LABELS,
    ONE_SIDED,
    TEXTS,
    WEIGHTS,
    Candidate,
    Row,
    dev_table,
    fitted_weights,
    kept_row,
    lead_cost_sweep,
    markdown,
    pooled,
    read_row,
    sweep,
    with_derived,
)
from simulations.corpora.synthea import (
    WORDINGS,
    RecordQuestion,
    questions_of,
    read_synthea,
    relevant,
    write_database,
    write_graph,
)
from simulations.reporting.folders import out_folder
from simulations.reporting.line_chart import line_chart
from simulations.reporting.row_file import RowFile, this_code

ARCHIVES = ("synthea_112", "synthea_922_obs")
MEDQUAD_RECORDS, MEDQUAD_WORDS, MEDQUAD_QUESTIONS = 1_000, 300, 300

States = Callable[[RecordQuestion, Document], bool]
Search = Callable[[RecordQuestion], list[Candidate]]


@dataclass(frozen=True, slots=True)
class Listed:
    """Documents as a source."""

    documents: tuple[Document, ...]
    id: str = "listed"

    def stamp(self) -> str:
        """They never change."""
        return self.id

    def read(self) -> Reading:
        """Give them."""
        return Reading(self.documents, ())


class CorpusOnce:
    """An encoder that several searches share: it encodes a corpus once, single questions each time."""

    def __init__(self, encoder: TextEncoder) -> None:
        self.id, self.dimension = encoder.id, encoder.dimension
        self._encoder, self._corpus = encoder, TextVectors(encoder)

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Encode texts to (n, dimension), unit rows."""
        return self._encoder.encode(texts) if len(texts) < 2 else self._corpus.of(texts)

    def token_embeddings(self, texts: Sequence[str], *, asked: bool = False) -> list[NDArray[np.float32]]:
        """Encode the tokens of texts."""
        return self._encoder.token_embeddings(texts, asked=asked)


def main() -> None:
    """Search, then print and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=data_root(), help="the folder with the datasets")
    parser.add_argument(
        "--each", type=int, default=50, help="of each kind, wording and split, asked of Synthea as text"
    )
    parser.add_argument("--records", type=int, default=8, help="so many of these are asked of database and graph, too")
    parser.add_argument("--archives", nargs="+", default=ARCHIVES, choices=ARCHIVES, help="of Synthea")
    parser.add_argument("--late", type=int, default=30, help="MedQuAD questions of each split by late interaction")
    parser.add_argument("--out", type=out_folder, default="docs/benchmarks")
    parser.add_argument("--seed", type=int, default=7)
    given = parser.parse_args()
    if given.data is None:
        raise SettingError("there is no evaluation data", where="--data", fix="name the folder or set FEDRAG_DATA")
    work = fedrag_home() / "bench_sources"
    work.mkdir(parents=True, exist_ok=True)
    results = {"medquad": _medquad(given.data, work, given.late, given.seed)}
    whole = [results["medquad"]]
    for archive in given.archives:
        rows = _synthea(given.data / f"{archive}.tar.gz", work, given.each, given.records, given.seed)
        whole.append(rows)
        for wording in WORDINGS:
            name = f"{archive}, {wording}"
            results[name] = {
                form: [row for row in each if row.question.startswith(wording)] for form, each in rows.items()
            }
    texts = {name: {form: rows[form] for form in TEXTS} for name, rows in results.items()}
    results["all, as text"] = pooled(texts)
    weights = fitted_weights(whole)
    tables = {name: dev_table(rows, weights) for name, rows in results.items()}
    for name, lines in tables.items():
        print(f"\n### {name}\n")
        print(markdown(lines))
    sweeps = {
        name: {form: sweep(rows[form], "dev") for form in rows if form not in ONE_SIDED}
        for name, rows in results.items()
    }
    body = {
        "tables": tables,
        "sweeps (weight 0 to 1: MRR, nDCG@10)": sweeps,
        "train, by cost of a lead (weight 0 to 1: MRR of text)": lead_cost_sweep(whole),
    }
    (given.out / "sources.json").write_text(json.dumps(body, indent=1) + "\n", encoding="utf-8")
    drawn = {f"{name}, {LABELS[form]}": [mrr for mrr, _ in sweeps[name][form]] for name, form in _drawn(results)}
    chart = line_chart(drawn, "alpha", "MRR, dev questions", WEIGHTS)
    (given.out / "sources_alpha.svg").write_text(chart, encoding="utf-8")


def _drawn(results: dict[str, dict[str, list[Row]]]) -> Iterator[tuple[str, str]]:
    loose = f"{ARCHIVES[0]}, {WORDINGS[1]}"
    for name, forms in {"medquad": ("text", "eq1"), loose: ("text", "sql", "graph")}.items():
        yield from ((name, form) for form in forms if name in results)


def _medquad(data: Path, work: Path, late: int, seed: int) -> dict[str, list[Row]]:
    with gzip.open(data / "medquad.jsonl.gz", "rt", encoding="utf-8") as lines:
        sheets = [json.loads(line) for line in lines]
    answers = [
        (make_document(one["qid"], sheet["focus"], one["answer"]), one["question"])
        for sheet in sheets
        for one in sheet["qa"]
        if 20 <= len(one["answer"].split()) <= MEDQUAD_WORDS
    ]
    draw = random.Random(seed)
    chosen = draw.sample(
        list({document.id: (document, asked) for document, asked in answers}.values()), MEDQUAD_RECORDS
    )
    questions = [
        RecordQuestion(document.id, "medquad", "train" if number % 2 else "dev", asked, (document.id,))
        for number, (document, asked) in enumerate(chosen[: 2 * MEDQUAD_QUESTIONS])
    ]
    documents = tuple(document for document, _ in chosen)

    def answers_it(question: RecordQuestion, document: Document) -> bool:
        return document.id in question.told

    kept = partial(kept_file, work, seed)
    rows = _text_forms("medquad", documents, questions, kept, answers_it)
    search = _text_search(documents, answers_it, EQUATION_1, _tools(late=True))
    return rows | {"eq1-late": searched(kept("medquad-eq1-late"), questions[: 2 * late], search)}


def _synthea(archive: Path, work: Path, each: int, records: int, seed: int) -> dict[str, list[Row]]:
    tables, name = read_synthea(archive), archive.name.partition(".")[0]
    questions, fewer = questions_of(tables, each, seed), questions_of(tables, min(each, records), seed)
    tools = _tools(late=True)
    sql, graph = write_database(tables, work / f"{name}.db"), write_graph(tables, work / f"{name}.lbug")

    def states(question: RecordQuestion, document: Document) -> bool:
        return relevant(question.told, f"{document.title}\n{document.text}")

    kept = partial(kept_file, work, seed)
    rows = _text_forms(name, SqlSource(sql, tools).read().documents, questions, kept, states)
    searches = {"sql": _sql_search(SqlSource(sql, tools)), "graph": _graph_search(GraphSource(graph, tools))}
    if name == ARCHIVES[1]:
        plain = SqlSource(sql, tools, SqlSearchSettings(question_share=0.0))
        searches["sql-entities"] = _sql_search(plain)
        searches["graph-entities"] = _graph_search(GraphSource(graph, tools, GraphSearchSettings(question_share=0.0)))
    return rows | {form: searched(kept(f"{name}-{form}"), fewer, one) for form, one in searches.items()}


def _sql_search(source: SqlSource) -> Search:
    def search(question: RecordQuestion) -> list[Candidate]:
        found = source.candidates(question.text)
        return [
            Candidate(one.document_id, relevant(question.told, f"{one.title}\n{one.text}"), float(first), float(second))
            for one, first, second in zip(found.records, found.matched, found.semantic, strict=True)
        ]

    return search


def _graph_search(source: GraphSource) -> Search:
    def search(question: RecordQuestion) -> list[Candidate]:
        found = source.candidates(question.text)
        return [
            Candidate(str(one.subject), relevant(question.told, one.text), float(first), float(second))
            for one, first, second in zip(found.statements, found.matched, found.semantic, strict=True)
        ]

    return search


def _text_forms(
    name: str,
    documents: Sequence[Document],
    questions: Sequence[RecordQuestion],
    kept: Callable[[str], RowFile],
    states: States,
) -> dict[str, list[Row]]:
    by_id = {document.id: document for document in documents}
    bm25 = Bm25Retriever([Passage(one.id, one.id, one.title, one.text, ()) for one in documents])

    def by_words(question: RecordQuestion) -> list[Candidate]:
        ranking = bm25.rank(question.text, 20)
        return [Candidate(p.passage_id, states(question, by_id[p.passage_id]), p.score, 0.0) for p in ranking]

    tools, hybrid = _tools(late=False), TextSearchSettings()
    searches = {
        "bm25": by_words,
        "text": _text_search(documents, states, hybrid, tools),
        "eq1": _text_search(documents, states, EQUATION_1, tools),
    }
    rows = {form: searched(kept(f"{name}-{form}"), questions, one) for form, one in searches.items()}
    return with_derived(rows, hybrid.lead_cost)


def _text_search(
    documents: Sequence[Document], states: States, settings: TextSearchSettings, tools: SearchTools
) -> Search:
    searched = TextSearch(Listed(tuple(documents)), tools, settings)

    def search(question: RecordQuestion) -> list[Candidate]:
        found = searched.candidates(question.text)
        pairs = zip(found.documents, found.lexical, found.semantic, strict=True)
        return [Candidate(one.id, states(question, one), float(a), float(b)) for one, a, b in pairs]

    return search


def _tools(*, late: bool) -> SearchTools:
    encoder = load_encoder(threads=1)
    return SearchTools(CorpusOnce(encoder), SpacyPipeline(), LateInteractionReranker(encoder) if late else None)


def kept_file(work: Path, seed: int, form: str) -> RowFile:
    """Where the rows of a form are kept; with another seed its records and questions are others."""
    return RowFile(work / f"{form}-{seed}.jsonl", this_code())


def searched(kept: RowFile, questions: Sequence[RecordQuestion], search: Search) -> list[Row]:
    """Search for the questions that are not in the file yet; the first of them pays for models and indexes."""
    known = {row.question: row for row in map(read_row, kept.rows())}
    todo = [question for question in questions if question.id not in known]
    if todo:
        search(todo[0])
    for number, question in enumerate(todo):
        start = time.perf_counter()
        candidates = search(question)
        row = Row(question.id, question.split, time.perf_counter() - start, tuple(candidates))
        kept.add(kept_row(row))
        known[question.id] = row
        if number % 25 == 0:
            print(f"{kept.path.stem}: {number} of {len(todo)}", flush=True)
    return [known[question.id] for question in questions]


if __name__ == "__main__":
    main()
