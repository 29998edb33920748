"""Documents dealt to devices, and questions given their homes (FD-RAG 5.1, federated setting)."""

import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from fedrag_flwr.errors import SettingError
from fedrag_flwr.evaluation.gold import GoldQuestion
from fedrag_flwr.records import Document
from fedrag_flwr.sources.folder import write_documents, write_lines
from simulations.corpora.multihop import Benchmark

_PUBLIC = 0o644  # a benchmark's documents


@dataclass(frozen=True, slots=True)
class Partition:
    """Disjoint documents by device, and questions with homes.

    `local` holds the ids of the questions whose gold documents all lie at home; the others are cross-silo.
    """

    documents: dict[str, tuple[Document, ...]]
    questions: tuple[GoldQuestion, ...]
    local: frozenset[str]


def device_name(number: int) -> str:
    """Name the device of a partition, counted from 0."""
    return f"device-{number}"


def partition_documents(benchmark: Benchmark, devices: int, seed: int, cross_silo: float | None = None) -> Partition:
    """Deal a benchmark's documents to devices, balanced within one document, and give each question a home.

    A question's home is the device that holds its first gold document. It is local when all its gold documents lie
    there, else cross-silo.

    `seed`: fixes the dealing; `cross_silo`: None deals at random as the paper does. A share in [0, 1] of the questions
    gets its gold documents spread over devices and the rest gets them gathered on one, as far as shared documents and
    the balance allow (0 approaches the paper's local setting). Raises SettingError: no device, or a share outside [0,
    1].
    """
    if devices < 1:
        raise SettingError("must be at least 1", where="devices", fix="give the number of devices")
    if cross_silo is not None and not 0.0 <= cross_silo <= 1.0:
        raise SettingError("must lie in [0, 1]", where="cross_silo", fix="give the share of cross-silo questions")
    rng = np.random.default_rng(seed)
    order = [benchmark.documents[i].id for i in rng.permutation(len(benchmark.documents))]
    dealer = _Dealer(len(order), devices)
    if cross_silo is not None:
        spread = round(cross_silo * len(benchmark.questions))
        for rank, index in enumerate(rng.permutation(len(benchmark.questions))):
            dealer.place_gold(benchmark.questions[index].documents, gather=rank >= spread)
    for document_id in order:
        if document_id not in dealer.home:
            dealer.put(document_id, dealer.emptiest())
    return _partition(benchmark, dealer.home, devices)


class _Dealer:
    """Places documents on devices without exceeding their even shares."""

    def __init__(self, documents: int, devices: int) -> None:
        self.home: dict[str, int] = {}
        self._left = [documents // devices + (number < documents % devices) for number in range(devices)]

    def put(self, document_id: str, device: int) -> None:
        self.home[document_id] = device
        self._left[device] -= 1

    def emptiest(self, besides: set[int] | None = None) -> int:
        """Give the device with most room, one that is not among `besides` if any such has room."""
        numbers = range(len(self._left))
        free = [number for number in numbers if self._left[number] > 0 and number not in (besides or set())]
        return max(free or numbers, key=lambda number: self._left[number])

    def place_gold(self, documents: tuple[str, ...], *, gather: bool) -> None:
        """Place the gold documents of a question that have no place yet."""
        used = [self.home[document_id] for document_id in documents if document_id in self.home]
        for document_id in documents:
            if document_id in self.home:
                continue
            if gather and used and self._left[used[0]] > 0:
                device = used[0]
            else:
                device = self.emptiest(set() if gather else set(used))
            self.put(document_id, device)
            used.append(device)


def _partition(benchmark: Benchmark, home: dict[str, int], devices: int) -> Partition:
    questions: list[GoldQuestion] = []
    local: set[str] = set()
    for position, question in enumerate(benchmark.questions):
        holders = [home[document_id] for document_id in question.documents if document_id in home]
        number = holders[0] if holders else position % devices
        questions.append(replace(question, home=device_name(number)))
        if len(holders) == len(question.documents) and set(holders) <= {number}:
            local.add(question.question_id)
    shares: dict[str, tuple[Document, ...]] = {
        device_name(number): tuple(one for one in benchmark.documents if home[one.id] == number)
        for number in range(devices)
    }
    return Partition(shares, tuple(questions), frozenset(local))


def write_partition(root: str | Path, partition: Partition) -> None:
    """Write each device's documents as ``<root>/<device>/<n>.jsonl``, and ``<root>/questions.jsonl``.

    `FolderSource` reads a device's folder. Files that hold this already stay as they are, as someone may be reading
    them; numbered ones of an earlier partition under the same root are removed. A question's line is what `read_gold`
    reads.
    """
    root = Path(root)
    written: set[Path] = set()
    for device, documents in partition.documents.items():
        written.update(write_documents(root / device, documents, _PUBLIC))
    for stale in root.glob("device-*/*.jsonl"):
        if stale.stem.isdecimal() and stale not in written:
            stale.unlink(missing_ok=True)
    write_lines(root / "questions.jsonl", [gold_line(question) for question in partition.questions], _PUBLIC)


def gold_line(question: GoldQuestion) -> str:
    """Write a gold question as the JSON line that `read_gold` reads."""
    fields: dict[str, object] = {
        "id": question.question_id,
        "question": question.text,
        "answer": question.answer,
        "aliases": list(question.aliases),
        "kind": question.kind,
        "documents": list(question.documents),
        "home": question.home,
        "split": question.split,
    }
    if question.must:
        fields["must"] = list(question.must)
    return json.dumps(fields, ensure_ascii=False)
