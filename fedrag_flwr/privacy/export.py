"""The only way by which text or vectors leave a device."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.errors import FedragError, PrivacyError
from fedrag_flwr.models.base import Encoder
from fedrag_flwr.privacy.bundles import (
    MOST_PARAGRAPH,
    TOO_LONG,
    answer_bundle,
    asked_for,
    evidence_bundle,
    evidence_refusal,
    is_too_long,
    item_bundle,
    item_refusal,
    shown_answer,
    shown_item,
    text_refusal,
)
from fedrag_flwr.privacy.known_names import KnownNames
from fedrag_flwr.privacy.normalise import clean
from fedrag_flwr.privacy.operators import Bundle, Operator
from fedrag_flwr.privacy.outgoing import OutgoingLedger
from fedrag_flwr.privacy.vectors import Content, kept_vectors, mean_vectors, rescored
from fedrag_flwr.records import (
    MOST_LINE,
    Answer,
    Document,
    EvidenceUnit,
    Fact,
    MemoryItem,
    SharedDocument,
    SubgraphSummary,
    Vector,
)
from fedrag_flwr.text.pipeline import Pipeline

T = TypeVar("T", MemoryItem, EvidenceUnit, SubgraphSummary)

RULES = 8  # grows when operators come to write the same text otherwise: all that was shared is then sent anew
FOREIGN = "foreign"

_TELLING_ID = 8  # shorter ids occur in hexadecimal digests by chance


@dataclass(frozen=True, slots=True)
class Released(Generic[T]):
    """What may leave, in order, and how many were kept back for which reason."""

    items: tuple[T, ...]
    withheld: Mapping[str, int]
    removed: Mapping[str, int] = field(default_factory=dict)  # spans by type; it holds no text


class ExportFilter:
    """Rewrites, hides and counts everything that leaves a device.

    Parameters
    ----------
    operators
        The chain that rewrites texts, in order.
    encoder
        Encodes rewritten questions anew.
    pipeline
        The text pipeline that the operators read with; part of the export filter's id.
    opaque
        Maps an own id to one that only this device can resolve.
    device
        The device's name: only what originates here may leave.
    names
        The private names that the operators share.
    share_documents
        Whether whole documents may leave, where no operator is in the chain.
    outgoing
        Where it is written down how much left; by default in working memory.

    Attributes
    ----------
    names
        The private names that are looked for in all that leaves.
    """

    def __init__(
        self,
        operators: Sequence[Operator],
        encoder: Encoder,
        pipeline: Pipeline,
        opaque: Callable[[str], str],
        device: str,
        names: KnownNames | None = None,
        share_documents: bool = False,
        outgoing: OutgoingLedger | None = None,
    ) -> None:
        self._operators = tuple(operators)
        self._share_documents = share_documents
        self._encoder = encoder
        self._pipeline = pipeline
        self._opaque = opaque
        self._device = device
        self.outgoing = OutgoingLedger(None) if outgoing is None else outgoing
        self.names = KnownNames() if names is None else names
        self.names.searched = self.rewrites

    @property
    def id(self) -> str:
        """What released forms depend on: the operators and their rules, the encoder and the text pipeline."""
        chain = "+".join(operator.name for operator in self._operators) or "none"
        return f"{RULES}|{chain}|{self._encoder.id}|{self._pipeline.id}"

    @property
    def rewrites(self) -> bool:
        """Whether any operator changes what leaves."""
        return bool(self._operators)

    def close(self) -> None:
        """Close the list of private names, and the ledger of what left."""
        self.names.close()
        self.outgoing.close()

    def release_items(self, items: Sequence[MemoryItem]) -> Released[MemoryItem]:
        """Release own memories: texts rewritten, embedding of the rewritten question, opaque hyperedges, no support;
        raises PrivacyError where an operator fails: nothing is released then.

        The released id is the opaque form of the item's own id: what did not change keeps it, and what goes can be
        withdrawn by it.
        """
        withheld: Counter[str] = Counter()
        own = [item for item in items if item.origin == self._device]
        withheld[FOREIGN] += len(items) - len(own)
        rewritten = self._operate([item_bundle(item) for item in own])
        passed: list[tuple[MemoryItem, Bundle]] = []
        for item, bundle in zip(own, rewritten, strict=True):
            reason = item_refusal(item, bundle)
            if reason:
                withheld[reason] += 1
            else:
                passed.append((item, bundle))
        asked = Content(
            tuple(item.question for item, _ in passed),
            np.array([item.embedding for item, _ in passed], dtype=np.float32),
        )
        vectors = kept_vectors(asked, [bundle for _, bundle in passed], self._encoder.encode)
        released = tuple(
            shown_item(item, bundle, self._rounded(vector), self._device, self._hide)
            for (item, bundle), vector in zip(passed, vectors, strict=True)
        )  # also those that read alike now: where one goes the other stays
        return self._released("items", released, withheld)

    def release_evidence(
        self,
        units: Sequence[EvidenceUnit],
        question: str = "",
        vector: Vector | None = None,
        most: int | None = None,
        least: float = -1.0,
        near: Mapping[str, Sequence[EvidenceUnit]] = MappingProxyType({}),
    ) -> Released[EvidenceUnit]:
        """Release own evidence: text and title rewritten, ids opaque; what is too long is kept back unread; raises
        PrivacyError where an operator fails: nothing is released then.

        Where the filter rewrites, scores and order are those of what leaves: the sentences' own would tell
        what was taken out, and of whom.

        Parameters
        ----------
        units
            The evidence.
        question
            What it is to answer, for operators that keep only what the question needs.
        vector
            By which scores are told, shape (dimension,); without it those of what is rewritten are 0.
        most
            Units that leave at most, the first ones; None: all.
        least
            Score that the first must have for anything to leave.
        near
            Scored sentences of a unit, by its id: one that leaves as it is lends the unit its score.
        """
        withheld: Counter[str] = Counter()
        own = [unit for unit in units if unit.origin == self._device]
        withheld[FOREIGN] += len(units) - len(own)
        bundles = [evidence_bundle(unit, question) for unit in own]
        read = [(unit, bundle) for unit, bundle in zip(own, bundles, strict=True) if not is_too_long(bundle)]
        withheld[TOO_LONG] += len(own) - len(read)
        rewritten = self._operate([bundle for _, bundle in read])
        released = []
        for (unit, _), bundle in zip(read, rewritten, strict=True):
            if reason := evidence_refusal(bundle):
                withheld[reason] += 1
                continue
            title, text = bundle.prose
            kept = max((one.score for one in near.get(unit.id, ()) if clean(one.text) in text), default=-1.0)
            told_of = 0.0 if vector is None else kept
            score = told_of if self.rewrites else float(np.float16(unit.score))
            released.append(EvidenceUnit(self._hide(unit.id), text, self._device, score, title))
        if self.rewrites:
            told = released if vector is None else rescored(released, vector, self._encoder)
            best = [replace(new, score=max(new.score, old.score)) for new, old in zip(told, released, strict=True)]
            released = sorted(best, key=lambda unit: (-unit.score, unit.id))
        if not released or released[0].score < least:
            released = []
        removed = Counter(change.type for bundle in rewritten for change in bundle.changes)
        return replace(
            self._released("evidence", tuple(released[:most]), withheld), removed=MappingProxyType(dict(removed))
        )

    def release_summaries(
        self, summaries: Mapping[str, str], contents: Mapping[str, Content] | None = None, *, text: bool = True
    ) -> Released[SubgraphSummary]:
        """Release summaries of own subgraphs under opaque ids: text rewritten, and a vector of what was rewritten;
        raises PrivacyError where an operator fails: nothing is released then.

        Parameters
        ----------
        summaries
            Their texts by own id.
        contents
            Sentences by own id, whose mean the vector is; without, or where they are too few, it is the text's.
        text
            Whether the text leaves, or its vector alone.
        """
        withheld: Counter[str] = Counter()
        passed: dict[str, str] = {}
        rewritten = self._operate([Bundle((clean(told),)) for told in summaries.values()])
        for own_id, bundle in zip(summaries, rewritten, strict=True):
            shown = bundle.prose[0]
            reason = bundle.refusal or text_refusal(shown, MOST_LINE)
            withheld[reason] += bool(reason)
            if not reason:
                passed[own_id] = shown
        told = {name: content for name, content in (contents or {}).items() if name in passed}
        vectors = mean_vectors(told, self._operate, self._encoder.encode)
        alone = [name for name in passed if name not in vectors]
        vectors |= zip(alone, self._encoder.encode([passed[name] for name in alone]), strict=True)
        released = [
            SubgraphSummary(self._hide(own_id), shown if text else "", self._rounded(vectors[own_id]), self._device)
            for own_id, shown in passed.items()
        ]
        return self._released("summaries", tuple(released), withheld)

    def release_documents(self, documents: Sequence[Document]) -> tuple[SharedDocument, ...]:
        """Release whole documents under opaque ids, for the centralised reference only; raises PrivacyError unless this
        device says in its settings that documents may leave, and nothing is to be rewritten.
        """
        if self.rewrites or not self._share_documents:
            raise PrivacyError(
                "this device lets no document leave",
                where=self._device,
                fix='the centralised reference needs privacy.export = "none" and privacy.share-documents = true',
            )
        released = tuple(
            SharedDocument(self._hide(one.id), one.title[:MOST_LINE], _in_parts(one.text)) for one in documents
        )
        self.outgoing.note("documents", released)
        return released

    def release_answer(self, answer: Answer, question: str = "", beside: Sequence[str] = ()) -> Answer:
        """Release an answer: text and decisions rewritten, own sources opaque, what stays here and the report dropped;
        raises PrivacyError where an operator fails.

        A refused answer leaves as an abstention that names the reason. Where the export filter rewrites, no measure of
        certainty leaves: it was taken of what the documents say, so that it would tell which of some guessed names
        stands there. What the answer cost does.

        Parameters
        ----------
        answer
            What home reads.
        question
            The question: it tells whether the answer is a name.
        beside
            The texts here that the answer was taken from: a name alone seldom shows that it is one. None of another
            device's: whoever sends it would decide what is read as a name.
        """
        read = [text for text in beside if len(text) <= MOST_PARAGRAPH] if self.rewrites else []
        [bundle] = self._operate([answer_bundle(answer, self._expected(question, clean(answer.text)), read)])
        released = shown_answer(answer, bundle, self._source, measured=not self.rewrites)
        if bundle.refusal:
            self.outgoing.note("answers", (), 1)
        else:
            self.outgoing.note("answers", (released,))
        return released

    def release_question(self, text: str) -> str:
        """Release a question of the people here, rewritten as all text; empty where an operator refuses it; raises
        PrivacyError where an operator fails.
        """
        [bundle] = self._operate([Bundle((clean(text),))])
        if bundle.refusal:
            self.outgoing.note("questions", (), 1)
            return ""
        released = bundle.prose[0][:MOST_LINE]
        self.outgoing.note("questions", (released,))
        return released

    def release_vector(self, vector: Vector) -> Vector:
        """Release one vector, shape (dimension,), as float32 of float16 precision; raises PrivacyError where it is not
        a finite vector of the encoder's dimension.
        """
        shown = self._rounded(vector)
        self.outgoing.note("vectors", (shown,))
        return shown

    def shown_vectors(self, passages: Content) -> NDArray[np.float32]:
        """Vectors of own passages as others may know them, shape (n, dimension); by this alone none of them leaves;
        raises PrivacyError where an operator fails.

        Those that the export filter would keep back as evidence are not among them. They are given under their titles.
        """
        rows = [row for row, text in enumerate(passages.texts) if len(text) <= MOST_PARAGRAPH]
        read = Content(tuple(clean(passages.texts[row]) for row in rows), passages.vectors[rows])
        shown = [
            replace(one, refusal=one.refusal or text_refusal(one.prose[0], MOST_PARAGRAPH))
            for one in self._operate([Bundle((text,)) for text in read.texts])
        ]
        return kept_vectors(read, shown, self._encoder.encode)

    def release_levels(self, levels: NDArray[np.uint8]) -> tuple[int, ...]:
        """Release a sketch, shape (topics,), whose noise was drawn where it was made; raises PrivacyError where it is
        anything but a row of bytes.
        """
        if levels.dtype != np.uint8 or levels.ndim != 1:
            raise PrivacyError("a sketch is not a row of bytes", where=self._device)
        self.outgoing.note("sketches", (levels,))
        return tuple(levels.tolist())

    def release_sum(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Release numbers, shape (n,), into a sum that is encrypted before they leave: whoever adds up reads none;
        raises PrivacyError where they are anything but a row of finite numbers.
        """
        if values.dtype != np.float64 or values.ndim != 1 or not np.isfinite(values).all():
            raise PrivacyError("what goes into a sum is not a row of finite numbers", where=self._device)
        self.outgoing.note("sums", (values,))
        return values

    def _expected(self, question: str, answer: str) -> tuple[Fact, ...]:
        if not (self.rewrites and question and answer):
            return ()
        [analysis] = self._pipeline.questions([question])
        return asked_for(analysis.answer_type, answer)

    def _operate(self, bundles: Sequence[Bundle]) -> list[Bundle]:
        """What the operators make of texts, the documents' private names told first."""
        current = self.names.tell(bundles)
        for operator in self._operators:
            current = self._step(operator, current)
        return current

    def _step(self, operator: Operator, bundles: Sequence[Bundle]) -> list[Bundle]:
        """Run one operator; where it fails or loses a text nothing goes on, and the error says nothing of the texts."""
        try:
            rewritten = operator.operate(bundles)
            failed = "" if len(rewritten) == len(bundles) else "lost a text"
        except FedragError:
            raise
        except Exception as error:
            rewritten, failed = [], f"failed ({type(error).__name__})"
        if failed:  # raised here, so that no cause with a text hangs on it
            raise PrivacyError(f"operator {operator.name} {failed}, so nothing is released", where=self._device)
        return rewritten

    def _rounded(self, vector: Vector) -> Vector:
        """One vector, shape (dimension,), as float32 of float16 precision."""
        if vector.shape != (self._encoder.dimension,) or not np.isfinite(vector).all():
            raise PrivacyError("a vector is not finite or has a wrong shape", where=self._device)
        return vector.astype(np.float16).astype(np.float32)

    def _hide(self, own_id: str) -> str:
        hidden = self._opaque(own_id)
        if not hidden or hidden == own_id or (len(own_id) >= _TELLING_ID and own_id in hidden):
            raise PrivacyError("an own id would leave as it is", where=self._device, fix="give a keyed hash as opaque")
        return hidden

    def _source(self, source: str) -> str:
        """Hide the id of an own source; one of another device is opaque already; anything else is dropped."""
        origin, slash, own_id = source.partition("/")  # a device's name holds no slash
        if not (slash and origin and own_id):
            return ""
        return f"{origin}/{self._hide(own_id)}" if origin == self._device else source

    def _released(self, what: str, items: tuple[T, ...], withheld: Counter[str]) -> Released[T]:
        self.outgoing.note(what, items, withheld.total())
        reasons = {reason: count for reason, count in sorted(withheld.items()) if count}
        return Released(items, MappingProxyType(reasons))


def _in_parts(text: str) -> tuple[str, ...]:
    return tuple(text[start : start + MOST_PARAGRAPH] for start in range(0, len(text), MOST_PARAGRAPH))
