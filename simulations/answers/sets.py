"""The sets of the floor: documents and questions of a training and a test split, the device, and what is right."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Literal

from fedrag_flwr.answering.prompts import declines
from fedrag_flwr.answering.sentences import content_words
from fedrag_flwr.demo import CORPUS, QUESTIONS
from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.errors import SettingError
from fedrag_flwr.evaluation.gold import GoldQuestion, read_gold
from fedrag_flwr.evaluation.metrics import accuracy, normalise_answer
from fedrag_flwr.loaded_models import load_models
from fedrag_flwr.memory.generate.rules import TEMPLATES
from fedrag_flwr.memory.store.schema import SCHEMA_VERSION
from fedrag_flwr.records import Document
from fedrag_flwr.settings import Settings, fedrag_home
from fedrag_flwr.sources.folder import FolderSource, write_documents
from fedrag_flwr.text.options import without_options
from fedrag_flwr.text.pipeline import RULES_VERSION, Pipeline
from simulations.answers.made_up import made_up
from simulations.corpora.domain_data import DomainQuestion, read_domains
from simulations.corpora.multihop import Benchmark, read_multihop
from simulations.corpora.partition import Partition, partition_documents

USED = 305  # dev rows of each multi-hop set that earlier tables asked
ROWS = 60  # questions that a table asks of each set but `demo` and `guides`
TRAIN = {"hotpotqa": 100, "2wikimultihopqa": 60, "musique": 60, "openstax": 60, "medquad": 60}  # to fit on
DEVICES = 5
BESIDE = {"openstax": 10, "medquad": 60}  # documents that no question of the table asks about
MOST_MADE_UP, SEED = 30, 11  # questions of a set that nothing answers
EVERYTHING = "all"  # the device that holds all documents of a set


@dataclass(frozen=True, slots=True)
class AnswerSet:
    """One set: documents by device, and the questions of one split."""

    name: str  # the set's
    documents: Mapping[str, Sequence[Document]]  # by device
    questions: tuple[GoldQuestion, ...]  # each with its home

    def together(self) -> AnswerSet:
        """The same with all documents on one device; ids carry the device's name, so that they stay apart."""
        named = {(device, one.id): f"{device}/{one.id}" for device, own in self.documents.items() for one in own}
        place = {name: whole for (_, name), whole in named.items()} | {whole: whole for whole in named.values()}
        documents = [
            replace(one, id=named[device, one.id]) for device, own in sorted(self.documents.items()) for one in own
        ]
        questions = tuple(
            replace(one, home=EVERYTHING, documents=tuple(place[name.removesuffix(".md")] for name in one.documents))
            for one in self.questions
        )
        return AnswerSet(self.name, {EVERYTHING: documents}, questions)

    def small(self, questions: int, beside: int) -> AnswerSet:
        """The first questions over their documents, and so many others of each device."""
        asked = self.questions[:questions]
        wanted = {name.removesuffix(".md") for one in asked for name in one.documents}
        documents: dict[str, Sequence[Document]] = {}
        for device, own in self.documents.items():
            gold = [one for one in own if not wanted.isdisjoint((one.id, f"{device}/{one.id}"))]
            documents[device] = [*gold, *(one for one in own if one not in gold)][: len(gold) + beside]
        return replace(self, documents=documents, questions=asked)


def departments(name: str, data: Path, split: str) -> Partition:
    """A set whose documents lie at five departments, each question asked at home and, a second time, elsewhere.

    Those of which no department alone holds all documents are asked once. Ids of the second time end in ``-elsewhere``.
    """
    of = read_set(name, data, split)
    devices = sorted(of.documents)
    place = {f"{device}/{one.id}": (device, one.id) for device, own in of.documents.items() for one in own}
    place |= {one.id: (device, one.id) for device, own in of.documents.items() for one in own}
    questions: list[GoldQuestion] = []
    local: set[str] = set()
    for asked in of.questions:
        found = [place[document.removesuffix(".md")] for document in asked.documents]
        one = replace(asked, documents=tuple(document for _, document in found))
        questions.append(one)
        if {device for device, _ in found} == {asked.home}:
            local.add(asked.question_id)
            there = devices[(devices.index(asked.home) + 1) % len(devices)]
            questions.append(replace(one, question_id=f"{one.question_id}-elsewhere", home=there))
    return Partition({device: tuple(of.documents[device]) for device in devices}, tuple(questions), frozenset(local))


def read_set(name: str, data: Path, split: str) -> AnswerSet:
    """Read a set with its `train` or `test` questions.

    Raises SettingError: there is no such set. Raises SourceError: its data is missing.
    """
    if name not in known_sets():
        raise SettingError("is no set", where=name, fix=f"known: {', '.join(known_sets())}")
    of = (WRITTEN.get(name) or SETS[name.removesuffix(_MADE_UP)])(data, split)
    if name.endswith(_MADE_UP):  # its documents with questions that nothing answers, made of its own
        of = replace(of, questions=tuple(made_up(of.questions, Pipeline(), MOST_MADE_UP, seed=SEED)))
    return of


def _foldered(name: str) -> Callable[[Path, str], AnswerSet]:
    def read(data: Path, split: str) -> AnswerSet:
        root, file = (CORPUS, QUESTIONS) if name == "demo" else (data / name, data / name / "questions.jsonl")
        return AnswerSet(name, _folders(root), tuple(one for one in read_gold(file) if one.split == split))

    return read


def _written(name: str) -> Callable[[Path, str], AnswerSet]:
    """A set whose documents were written for it; questions to fit have documents of their own."""

    def read(_: Path, split: str) -> AnswerSet:
        root = Path(__file__).parent / name
        asked = tuple(one for one in read_gold(root / "questions.jsonl") if one.split == split)
        documents = FolderSource(root / split).read().documents if asked else ()
        return AnswerSet(name, {split: documents}, asked)

    return read


def _folders(root: Path) -> dict[str, Sequence[Document]]:
    """The documents of each device's folder."""
    folders = sorted(one for one in root.iterdir() if one.is_dir())
    return {folder.name: FolderSource(folder).read().documents for folder in folders}


def rows_after(path: Path, split: str, after: int, most: int) -> Benchmark:
    """At most so many rows of a multi-hop file that come after some others, with the documents that are theirs."""
    whole = read_multihop(path, split, after + most)
    asked = whole.questions[after:]
    if not after or not asked:
        return replace(whole, questions=asked)
    gold = {name for one in asked for name in one.documents}
    old = {one.id for one in read_multihop(path, split, after).documents} - gold
    return replace(whole, questions=asked, documents=tuple(one for one in whole.documents if one.id not in old))


def _multihop(name: str) -> Callable[[Path, str], AnswerSet]:
    def read(data: Path, split: str) -> AnswerSet:
        path = data / f"{name}.jsonl.gz"
        if split == "train":
            benchmark = read_multihop(path, "train", TRAIN[name])
        else:
            benchmark = rows_after(path, "dev", USED, ROWS)
        dealt = partition_documents(benchmark, DEVICES, seed=7, cross_silo=0.0)
        return AnswerSet(name, dealt.documents, dealt.questions)

    return read


def _domains(name: str) -> Callable[[Path, str], AnswerSet]:
    def read(data: Path, split: str) -> AnswerSet:
        domains, own = read_domains(name, data), "train" if split == "train" else "dev"
        asked = _spread([one for one in domains.questions if one.split == own], TRAIN[name] if own == "train" else ROWS)
        wanted = {one.document for one in asked}
        others = (one.id for held in domains.documents.values() for one in held if one.id not in wanted)
        kept = wanted | set(sorted(others, key=_draw)[: BESIDE[name]])
        documents = {device: tuple(one for one in held if one.id in kept) for device, held in domains.documents.items()}
        return AnswerSet(name, documents, tuple(map(_gold, asked)))

    return read


def _spread(questions: Iterable[DomainQuestion], most: int) -> list[DomainQuestion]:
    """So many questions as a table asks, the same of each device and each kind in turn, by the draw of their ids."""
    groups: defaultdict[tuple[str, bool], list[DomainQuestion]] = defaultdict(list)
    for one in sorted(questions, key=lambda one: _draw(one.id)):
        groups[one.domain, bool(one.choices)].append(one)
    in_turn = zip_longest(*(group for _, group in sorted(groups.items())))
    return [one for turn in in_turn for one in turn if one is not None][:most]


def _gold(one: DomainQuestion) -> GoldQuestion:
    text, kind = one.text, "how"
    if one.choices:
        text, kind = f"{one.text} Options: {'; '.join(choice.rstrip('.') for choice in one.choices)}.", "choice"
    return GoldQuestion(one.id, text, one.answer, kind=kind, documents=(one.document,), home=one.domain)


def _draw(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()


SETS: Mapping[str, Callable[[Path, str], AnswerSet]] = {
    **{name: _foldered(name) for name in ("demo", "guides")},
    **{name: _multihop(name) for name in ("hotpotqa", "2wikimultihopqa", "musique")},
    **{name: _domains(name) for name in ("openstax", "medquad")},
}
_MADE_UP = "-made-up"
WRITTEN = {name: _written(name) for name in ("tables", "english", "french", "german")}


def known_sets() -> tuple[str, ...]:
    """The names of all sets."""
    return *SETS, *WRITTEN, *(f"{name}{_MADE_UP}" for name in ("demo", "guides"))


def open_set(asked: AnswerSet, settings: Settings, *, memories: bool = True, first: bool = False) -> EdgeDevice:
    """Open the device that holds all documents of a set, with its memories built or without them.

    Stores lie below ``<home>/answers``, one for each content and each way of building it. `first`: the model writes of
    the documents that questions of one document are about before all others, as in a service that was asked about them.
    """
    whole = asked.together()
    documents = whole.documents[EVERYTHING]
    told = "".join(f"{one.id}={one.digest};" for one in documents)
    tokens = settings.memory.tokens_per_kilotoken
    writer = f"{settings.models.generator}{first}" if tokens else ""
    built = f"{SCHEMA_VERSION}{RULES_VERSION}{TEMPLATES}{settings.hypergraph}{tokens}{writer}{settings.models.encoder}"
    root = fedrag_home(settings.home) / "answers" / f"{asked.name}-{_draw(told + built)[:8]}"
    write_documents(root / "documents" / EVERYTHING, documents)
    models = load_models(settings.models, fedrag_home(settings.home))
    device = EdgeDevice(EVERYTHING, root / "documents" / EVERYTHING, root / "store", settings, models)
    try:
        device.writes_later = True
        device.build(memories=memories)
        if memories:
            about = {one.documents[0] for one in whole.questions if len(one.documents) == 1}
            device.write_memories(first=about if first else ())
    except BaseException:
        device.close()
        raise
    return device


Verdict = Literal["right", "wrong", "declined"]
LONG_GOLD = 12  # words from which a gold answer is a text and not a name
BORNE = 0.5  # share of an answer's words, the question's aside, that a long gold must tell
# of answers elsewhere in the same document 8 % (MedQuAD) and 3 % (OpenStax) reach it
FEWEST = 4  # such words, so that the question said again is no answer


def judged(gold: GoldQuestion, text: str) -> Verdict:
    """Judge one answer; to what nothing answers, declining is right."""
    if declines(text):
        return "right" if not gold.answer else "declined"
    return "right" if gold.answer and is_right(gold, text) else "wrong"


def is_right(gold: GoldQuestion, text: str) -> bool:
    """Whether a given answer is right.

    Where a question says what an answer `must` hold, each entry has to occur (``|`` parts alternatives, case aside). Of
    listed options the right one alone may be named. Of a long gold the answer's words must be the gold's for the most
    part. Else a gold answer or an alias is contained in it.
    """
    if gold.must:
        said = text.casefold()
        return all(any(one.casefold() in said for one in entry.split("|")) for entry in gold.must)
    _, options = without_options(gold.text)
    if options:
        right = normalise_answer(gold.answer)
        others = [one for one in map(normalise_answer, options) if one != right and one not in right]
        said = f" {normalise_answer(text)} "
        return f" {right} " in said and not any(f" {one} " in said.replace(f" {right} ", " | ") for one in others)
    if len(gold.answer.split()) > LONG_GOLD:
        words = content_words(text) - content_words(gold.text)
        return len(words) >= FEWEST and len(words & content_words(gold.answer)) >= BORNE * len(words)
    return bool(accuracy(text, [gold.answer, *gold.aliases]))
