"""Devices that each know one domain, and questions from all: OpenStax textbooks, NIH collections (MedQuAD)."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from fedrag_flwr.records import Document
from fedrag_flwr.sources.base import make_document
from simulations.corpora.sentences import json_lines

TRAIN_SHARE = 0.4
COLLECTIONS = {
    "1_CancerGov_QA": "cancer",
    "2_GARD_QA": "rare",
    "3_GHR_QA": "genetics",
    "4_MPlus_Health_Topics_QA": "health",
    "5_NIDDK_QA": "digestive",
    "6_NINDS_QA": "nerves",
}


@dataclass(frozen=True, slots=True)
class DomainQuestion:
    """A question with the device (`domain`) and the document that hold its answer; `choices` of a multiple choice."""

    id: str
    text: str
    answer: str
    domain: str
    document: str
    split: str
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Domains:
    """Documents by device, and questions about all of them."""

    documents: Mapping[str, tuple[Document, ...]]
    questions: tuple[DomainQuestion, ...]

    def dealt(self, split: str, home: int, foreign: int, seed: int) -> dict[str, list[DomainQuestion]]:
        """By device, questions asked there: so many of its own domain and so many of each other (DGRAG 4.2)."""
        rng = np.random.default_rng(seed)
        asked: dict[str, list[DomainQuestion]] = {}
        for device in sorted(self.documents):
            asked[device] = []
            for domain in sorted(self.documents):
                pool = [one for one in self.questions if one.split == split and one.domain == domain]
                count = min(home if domain == device else foreign, len(pool))
                asked[device] += [pool[row] for row in rng.choice(len(pool), count, replace=False)]
        return asked


def read_domains(name: str, data: Path, most: int = 0) -> Domains:
    """Read ``openstax`` or ``medquad`` from the folder of evaluation data.

    With `most` above 0 each device has so many documents, those with most questions; other questions go.
    """
    return _limited({"openstax": _openstax, "medquad": _medquad}[name](data), most)


def _limited(domains: Domains, most: int) -> Domains:
    if not most:
        return domains
    asked = Counter(one.document for one in domains.questions)
    documents = {
        device: tuple(sorted(own, key=lambda one: (-asked[one.id], one.id))[:most])
        for device, own in domains.documents.items()
    }
    kept = {one.id for own in documents.values() for one in own}
    return Domains(documents, tuple(one for one in domains.questions if one.document in kept))


def _openstax(data: Path) -> Domains:
    """Four textbooks; a document is a module, a question one of those at the end of a section."""
    modules: defaultdict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for row in json_lines(data / "openstax_passages.jsonl.gz"):
        modules[row["domain"], row["module"]].append(row)
    documents: defaultdict[str, list[Document]] = defaultdict(list)
    for (domain, module), rows in modules.items():
        documents[domain].append(make_document(module, rows[0]["title"], _sectioned(rows)))
    questions = [
        DomainQuestion(
            row["id"],
            row["question"],
            row["answer"],
            row["domain"],
            row["gold_module"],
            split_of(row["id"]),
            tuple(row["choices"] or ()) if row["kind"] == "multiple_choice" else (),
        )
        for row in json_lines(data / "openstax_qa.jsonl.gz")
    ]
    return Domains({name: tuple(found) for name, found in documents.items()}, tuple(questions))


def _medquad(data: Path) -> Domains:
    """Six collections; a document holds the answers about one focus, a question asks for one of them."""
    documents: defaultdict[str, list[Document]] = defaultdict(list)
    questions = []
    for row in json_lines(data / "medquad.jsonl.gz"):
        if row["collection"] not in COLLECTIONS:
            continue
        device = COLLECTIONS[row["collection"]]
        name = row["doc_id"].replace("/", "-")
        answers = [" ".join(one["answer"].split()) for one in row["qa"]]
        documents[device].append(make_document(name, row["focus"], "\n\n".join(answers)))
        for one, answer in zip(row["qa"], answers, strict=True):
            questions.append(
                DomainQuestion(f"{name}-{one['qid']}", one["question"], answer, device, name, split_of(one["qid"]))
            )
    return Domains({name: tuple(found) for name, found in documents.items()}, tuple(questions))


def _sectioned(rows: Sequence[Mapping[str, Any]]) -> str:
    """The texts of a module, those of a section under its heading."""
    parts: list[str] = []
    for section, own in groupby(rows, key=itemgetter("section")):
        parts += [f"## {section}"] if section else []
        parts += [row["text"] for row in own]
    return "\n\n".join(parts)


def split_of(question_id: str) -> str:
    """Whether a question is for fitting or for reporting, by its id alone."""
    draw = int(hashlib.sha256(question_id.encode()).hexdigest()[:8], 16) / 2**32
    return "train" if draw < TRAIN_SHARE else "dev"
