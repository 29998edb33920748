"""Questions beside passages that tell their answers or do not, from training rows that no confidence is fitted on.

Questions are those of the sets, the steps and triples that the multi-hop sets give with them, and those that templates
make of sentences. To most belongs a question that its passage does not answer: of another thing, another name, or
something else of the same thing.
"""

import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fedrag_flwr.memory.generate.rules import candidates_of
from fedrag_flwr.records import Document
from fedrag_flwr.sources.base import make_document
from fedrag_flwr.text.pipeline import Pipeline
from simulations.answers.sets import read_set
from simulations.corpora.domain_data import DomainQuestion, Domains, read_domains
from simulations.corpora.sentences import json_lines, whole_words

MULTIHOP = ("hotpotqa", "2wikimultihopqa", "musique")
MOST = {"medquad": 400, "openstax": 900}  # questions
BESIDE = {"medquad": 180, "openstax": 200}  # documents of which templates ask
PARAGRAPHS = 4_300  # of the multi-hop sets, of which templates ask
LONGEST = 900  # characters of a passage
SHORT = 6  # words from which an answer is a text and no span
SLOPPY = 0.12  # share of questions in small letters and without a mark
ELSE = 0.12  # share of the templates' passages of which something else is asked
NAMES_BEFORE = 30  # names to draw others from
DRAWN = 40  # examples among which one of the same kind is looked for

# A relation of 2WikiMultiHopQA's triples, asked in words of our own.
ASKED: Mapping[str, tuple[str, ...]] = {
    "director": ("Who directed {}?", "Who is the director of {}?", "Which person directed {}?"),
    "country of citizenship": ("What is the nationality of {}?", "Which country is {} from?"),
    "date of birth": ("When was {} born?", "What is the date of birth of {}?", "In which year was {} born?"),
    "country": ("In which country is {}?", "Which country is {} in?"),
    "date of death": ("When did {} die?", "What is the date of death of {}?"),
    "place of birth": ("Where was {} born?", "What is the birthplace of {}?"),
    "father": ("Who is the father of {}?", "Who was {}'s father?"),
    "publication date": ("When was {} released?", "When did {} come out?"),
    "country of origin": ("Which country does {} come from?",),
    "place of death": ("Where did {} die?", "What is the place of death of {}?"),
    "performer": ("Who performed {}?", "Who sang {}?"),
    "composer": ("Who composed the music of {}?", "Who wrote the music for {}?"),
    "spouse": ("Who is the spouse of {}?", "Who was {} married to?"),
    "mother": ("Who is the mother of {}?", "Who was {}'s mother?"),
    "cause of death": ("How did {} die?", "What did {} die of?"),
    "award received": ("Which award did {} receive?",),
    "educated at": ("Where did {} study?",),
}
# What a short passage about a thing seldom tells.
SOMETHING_ELSE = (
    *("How much does {} cost?", "What is the phone number of {}?", "How tall is {}?", "What is the population of {}?"),
    *("When does {} open?", "What colour is {}?", "How many people work for {}?", "Who is the treasurer of {}?"),
    *("What is the email address of {}?", "How many rooms are there in {}?", "Who owns {}?", "How long is {}?"),
    *("What is the capital of {}?", "What did {} cost in total?", "Who is in charge of {}?", "Who repaired {}?"),
    *("How often does {} take place?", "What is the deadline for {}?", "Who criticised {}?", "How heavy is {}?"),
    *("Who lent money to {}?", "How many windows are in {}?", "Who sold {}?", "What does {} eat?"),
)


@dataclass(frozen=True, slots=True)
class SpanExample:
    """A question beside a passage; `span` are the answer's characters in it, None where it is none of its words."""

    question: str
    title: str
    text: str
    answered: bool
    span: tuple[int, int] | None = None


def span_examples(data: Path, seed: int, tell: Callable[[str], None]) -> list[SpanExample]:
    """All examples, in an order that depends on the seed alone."""
    draw = random.Random(seed)
    reserved = {one.question_id for name in (*MULTIHOP, *MOST) for one in read_set(name, data, "train").questions}
    rows = {
        name: [row for row in json_lines(data / f"{name}.jsonl.gz") if row["split"] == "train"] for name in MULTIHOP
    }
    found: list[SpanExample] = []
    for own in rows.values():
        found += (one for row in own if row["id"] not in reserved for one in _of_row(row, draw))
    found += _of_triples([row for row in rows["2wikimultihopqa"] if row["id"] not in reserved], draw)
    domains = {name: read_domains(name, data) for name in MOST}
    for name, read in (("medquad", _of_sections), ("openstax", _of_modules)):
        asked = [one for one in domains[name].questions if one.split == "train" and one.id not in reserved]
        draw.shuffle(asked)
        found += read(domains[name], asked[: MOST[name]], draw)
    tell(f"{len(found)} examples of questions that people asked")
    found += _of_templates(_template_documents(rows, domains, draw), draw)
    tell(f"{len(found)} examples")
    return [_sloppy(one) if draw.random() < SLOPPY else one for one in found]


def _of_row(row: Mapping[str, Any], draw: random.Random) -> Iterator[SpanExample]:
    """The row's question beside a gold paragraph that holds its answer and two others; the steps of its answer."""
    gold, others = _parted(row)
    answers = [row["answer"], *row["aliases"]]
    for one in gold if row["type"] != "comparison" and row["answer"].lower() not in ("yes", "no") else ():
        if span := next((span for answer in answers if (span := _place(one["text"], answer))), None):
            yield SpanExample(row["question"], one["title"], one["text"], True, span)
    for one in draw.sample(others, min(2, len(others))):
        if not any(_place(one["text"], answer) for answer in answers):
            yield SpanExample(row["question"], one["title"], one["text"], False)
    before: list[str] = []
    for step in row.get("question_decomposition", ()):
        question = step["question"]
        for number, answer in enumerate(before, 1):
            question = question.replace(f"#{number}", answer)
        thing, mark, relation = question.partition(">>")
        question = f"What is the {relation.strip()} of {thing.strip()}?" if mark else question
        before.append(step["answer"])
        one = next((one for one in gold if one["idx"] == step["paragraph_support_idx"]), None)
        if one is not None and (span := _place(one["text"], step["answer"])):
            other = draw.choice(others)
            yield SpanExample(question, one["title"], one["text"], True, span)
            yield SpanExample(question, other["title"], other["text"], False)


def _of_triples(rows: Sequence[Mapping[str, Any]], draw: random.Random) -> Iterator[SpanExample]:
    """Each triple as a question beside its paragraph; the same of another paragraph and name; something else."""
    names: list[str] = []
    for row in rows:
        gold, others = _parted(row)
        for thing, relation, answer in row["evidences"]:
            one = next((one for one in gold if one["title"] == thing), None)
            if one is None or relation not in ASKED or answer in thing:
                continue
            year = re.search(r"\d{4}", answer) if "date" in relation else None
            span = _place(one["text"], answer) or (_place(one["text"], year.group()) if year else None)
            if span is None:
                continue
            question, other = draw.choice(ASKED[relation]), draw.choice(others)
            yield SpanExample(question.format(thing), one["title"], one["text"], True, span)
            yield SpanExample(draw.choice(SOMETHING_ELSE).format(thing), one["title"], one["text"], False)
            yield SpanExample(question.format(thing), other["title"], other["text"], False)
            if len(names) > NAMES_BEFORE:
                name = draw.choice(names[:-5])
                yield SpanExample(draw.choice(ASKED[relation]).format(name), one["title"], one["text"], False)
            names.append(thing)


def _parted(row: Mapping[str, Any]) -> tuple[list[Any], list[Any]]:
    """The paragraphs that support the answer, and the others."""
    gold = [one for one in row["paragraphs"] if one["is_supporting"]]
    return gold, [one for one in row["paragraphs"] if not one["is_supporting"]]


def _of_sections(domains: Domains, asked: Sequence[DomainQuestion], draw: random.Random) -> Iterator[SpanExample]:
    """A question beside its own section, another section of its document, and one of another document."""
    titles = {one.id: one.title for own in domains.documents.values() for one in own}
    sections: dict[str, list[DomainQuestion]] = {}
    for one in domains.questions:
        sections.setdefault(one.document, []).append(one)
    for one in asked:
        title, other = titles[one.document], draw.choice(domains.questions)
        yield SpanExample(one.text, title, one.answer[:LONGEST], True)
        if beside := [own for own in sections[one.document] if own.id != one.id]:
            yield SpanExample(one.text, title, draw.choice(beside).answer[:LONGEST], False)
        if other.document != one.document:
            yield SpanExample(one.text, titles[other.document], other.answer[:LONGEST], False)


def _of_modules(domains: Domains, asked: Sequence[DomainQuestion], draw: random.Random) -> Iterator[SpanExample]:
    """A question beside the paragraph of its module that shares most with its answer, and one of another module."""
    documents = {one.id: one for own in domains.documents.values() for one in own}
    for one in asked:
        paragraphs = _paragraphs(documents[one.document])
        wanted = _words(f"{one.text} {one.answer}")
        best = max(paragraphs, key=lambda text: len(wanted & _words(text)), default="")
        span = _place(best, one.answer.rstrip(".")) if len(one.answer.split()) < SHORT else None
        if not best or (one.choices and span is None):
            continue
        yield SpanExample(one.text.replace("________", "what"), documents[one.document].title, best, True, span)
        other = documents[draw.choice(asked).document]
        if other.id != one.document and (others := _paragraphs(other)):
            yield SpanExample(one.text, other.title, draw.choice(others), False)


def _paragraphs(document: Document) -> list[str]:
    parts = document.text.split("\n\n")
    return [one[:LONGEST] for one in parts if len(one) > 150 and not one.startswith("## ")]


def _template_documents(
    rows: Mapping[str, Sequence[Mapping[str, Any]]], domains: Mapping[str, Domains], draw: random.Random
) -> list[Document]:
    """Paragraphs of training rows, and documents of the domains."""
    texts = {one["title"]: one["text"] for own in rows.values() for row in own for one in row["paragraphs"]}
    found = [make_document(f"paragraph-{at}", *one) for at, one in enumerate(texts.items()) if len(one[1]) > 200]
    draw.shuffle(found)
    found = found[:PARAGRAPHS]
    for name, read in domains.items():
        whole = [one for own in read.documents.values() for one in own]
        found += draw.sample(whole, min(BESIDE[name], len(whole)))
    return found


def _of_templates(documents: Sequence[Document], draw: random.Random) -> Iterator[SpanExample]:
    """What templates ask of sentences, beside their passages; beside others of the document, or of its kind."""
    found = list(_asked_by_templates(documents))
    of_document: defaultdict[str, list[SpanExample]] = defaultdict(list)
    for name, _, example in found:
        of_document[name].append(example)
    for name, kind, one in found:
        yield one
        answer = one.text[slice(*(one.span or (0, 0)))]
        drawn = draw.sample(found, min(DRAWN, len(found)))
        beside = [other for other in of_document[name] if other.text != one.text]
        alike = [other for own, other_kind, other in drawn if own != name and other_kind == kind]
        chosen = beside if beside and draw.random() < 0.5 else alike
        if others := [other for other in chosen if answer not in other.text]:
            other = draw.choice(others)
            yield SpanExample(one.question, other.title, other.text, False)
        if one.title and len(one.title.split()) < 5 and draw.random() < ELSE:
            yield SpanExample(draw.choice(SOMETHING_ELSE).format(one.title), one.title, one.text, False)


def _asked_by_templates(documents: Sequence[Document]) -> Iterator[tuple[str, str, SpanExample]]:
    """Documents' ids and kinds of answers, each with a question beside its passage."""
    for document, parsed in zip(documents, Pipeline().parse(documents), strict=True):
        for one in candidates_of(parsed):
            passage = next((each.passage for each in parsed if one.answer in each.passage.text), None)
            if passage is not None:
                at = passage.text.find(one.answer)
                span = (at, at + len(one.answer))
                yield document.id, one.answer_type, SpanExample(one.question, passage.title, passage.text, True, span)


def _place(text: str, answer: str) -> tuple[int, int] | None:
    """Where an answer stands in a text as whole words."""
    found = whole_words(answer, text) if answer else None
    return found.span() if found else None


def _words(text: str) -> set[str]:
    return set(re.findall(r"[a-z]{4,}", text.lower()))


def _sloppy(one: SpanExample) -> SpanExample:
    return replace(one, question=one.question.lower().rstrip("?"))
