"""A device's part in private routing: it alone chooses whom to ask, by its overview or by scores that it decrypts."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.errors import CipherError, StaleMessageError, WireError
from fedrag_flwr.exchange.sealed import seal_requests
from fedrag_flwr.knowledge_graph.routing import choose_owners
from fedrag_flwr.models.base import Encoder
from fedrag_flwr.privacy.ckks.parameters import MOST_ROWS
from fedrag_flwr.privacy.ckks.scores import QuestionCipher
from fedrag_flwr.privacy.export import ExportFilter
from fedrag_flwr.privacy.ledger import DurableFile
from fedrag_flwr.privacy.seals import SealingKey, check_tag, tag
from fedrag_flwr.records import (
    EncryptedQuestion,
    EncryptedQuestions,
    EncryptedScores,
    EncryptRequest,
    EvidenceRequest,
    OwnedRows,
    Question,
    RetrieveBy,
    RoundedOverview,
    RouteRequest,
    SealedMessage,
    SealedMessages,
    SubgraphSummary,
    Vector,
    Want,
)
from fedrag_flwr.settings import Settings

FILE = "summary_numbers.sqlite"
_SCHEMA = "CREATE TABLE IF NOT EXISTS numbers (key BLOB PRIMARY KEY, number INTEGER NOT NULL) WITHOUT ROWID"
_OWN = b""


@dataclass(frozen=True)
class SummaryNumbers:
    """The last number that this device gave, and the highest that it took of each member's key.

    The file lies beside the device's own key: where both are lost the device has a new key, and begins anew for all.
    """

    path: Path  # the file, opened when it is first needed

    def next(self) -> int:
        """A number above all that this device gave before."""
        with self._file.writing() as connection:
            connection.execute(
                "INSERT INTO numbers VALUES (?, 1) ON CONFLICT (key) DO UPDATE SET number = number + 1", (_OWN,)
            )
            return self._last(_OWN)

    def check(self, key: bytes, number: int) -> None:
        """Compare a number with the highest that was taken of a member's key; raises StaleMessageError where it is no
        higher.
        """
        if number <= self._last(key):
            raise StaleMessageError("they are not newer than those that came before", where="summaries")

    def keep(self, taken: Mapping[bytes, int]) -> None:
        """Note what was taken, by the member's key."""
        with self._file.writing() as connection:
            connection.executemany(
                "INSERT INTO numbers VALUES (?, ?)"
                " ON CONFLICT (key) DO UPDATE SET number = MAX(number, excluded.number)",
                list(taken.items()),
            )

    def close(self) -> None:
        """Close the file, if it was opened."""
        if (opened := self.__dict__.pop("_file", None)) is not None:
            opened.close()

    @cached_property
    def _file(self) -> DurableFile:
        return DurableFile(self.path, "summary numbers", _SCHEMA)

    def _last(self, key: bytes) -> int:
        with self._file.reading() as connection:
            row = connection.execute("SELECT number FROM numbers WHERE key = ?", (key,)).fetchone()
        return int(row[0]) if row else 0


_LOG = logging.getLogger(__name__)
MOST_ASKED = 64  # owners for one question
_MOST_OVERVIEW = 1_000_000  # rows of an overview
Floats = NDArray[np.float32]
Overview = Callable[[], tuple[list[str], Floats]]
Sought = Callable[[Question], tuple[Vector, Sequence[Want]]]
Seeker = Callable[[], Sought]


@dataclass(frozen=True, slots=True)
class PrivateRouting:
    """Encrypts questions, chooses owners and seals requests for them."""

    device: str  # the device's name
    key: SealingKey  # for which evidence is sealed
    cipher: QuestionCipher  # the device's CKKS keys
    # encoder, export: make vectors of questions, and let them leave.
    encoder: Encoder
    export: ExportFilter
    overview: Overview  # gives owners and vectors of all summaries, as they were handed out
    recall: Callable[[Sequence[Question]], Sequence[Question]]  # puts texts to questions that come without
    # Makes ready what gives, where evidence is looked for by nearness, a question's vector and the owners whom memory
    # names.
    seeker: Seeker
    settings: Settings  # of the run

    def encrypt(self, request: EncryptRequest) -> EncryptedQuestions:
        """Open questions' vectors under this device's own key, tagged for the server."""
        asked = self._asker(request.by)
        start = time.perf_counter()
        questions = self.recall(request.questions)
        vectors = [vector for vector, _ in asked(questions)]
        key, fingerprint = self.key.tag_key(request.server), self.cipher.fingerprint
        encrypted = [
            EncryptedQuestion(question.id, data, tag(key, *tagged_question(question.id, fingerprint, data)))
            for question, data in zip(questions, self.cipher.encrypt(vectors), strict=True)
        ]
        public = b"" if request.known == fingerprint else self.cipher.public
        return EncryptedQuestions(self.device, fingerprint, public, tuple(encrypted), time.perf_counter() - start)

    def route(self, request: RouteRequest, run: str) -> SealedMessages:
        """Choose owners for each question and seal requests for them; neither scores nor vectors leave in clear; raises
        CipherError where scores are another question's, or were changed on their way, and WireError where a question
        comes without scores, or there are other numbers of rows than scores, or too many.

        They are those of the nearest summaries and, where evidence is looked for by nearness (`fedrag`), before them
        those whom memory names; these alone where a question's scores do not decrypt.
        """
        asker = self._asker(request.by)
        start = time.perf_counter()
        peers = {peer.device: peer for peer in request.peers}
        messages: list[SealedMessage] = []
        questions = self.recall(request.questions)
        sought = asker(questions)
        by_scores = self._by_scores(request, questions) if request.owners else None
        # without summaries of its own, what another run handed out does not count
        held = request.by != "nearest" or self.settings.fedrag.has("summaries")
        chosen = by_scores or [self._by_overview(vector) if held else () for vector, _ in sought]
        for question, (vector, wants), owners in zip(questions, sought, chosen, strict=True):
            asked = dict.fromkeys([*(want.owner for want in wants), *owners])
            known = [peers[owner] for owner in list(asked)[:MOST_ASKED] if owner in peers]
            about = EvidenceRequest(question.id, vector, (), self.settings.inference.remote_units)
            messages += seal_requests(about, request.by, known, self.key.public, run)
        return SealedMessages(self.device, tuple(messages), time.perf_counter() - start)

    def _by_overview(self, vector: Vector) -> tuple[str, ...]:
        owners, vectors = self.overview()
        return self._choose(vectors @ vector, owners) if owners else ()

    def _by_scores(self, request: RouteRequest, questions: Sequence[Question]) -> list[tuple[str, ...]]:
        owners = _by_row(request.owners, MOST_ROWS, "RouteRequest")
        key, scores = self.key.tag_key(request.server), {one.question_id: one for one in request.scores}
        chosen = []
        for question in questions:
            if (found := scores.get(question.id)) is None:
                raise WireError("a question without scores", where="RouteRequest")
            check_tag(key, found.tag, *tagged_scores(found, self.cipher.fingerprint))
            chosen.append(self._decided(found, owners))
        return chosen

    def _decided(self, scores: EncryptedScores, owners: Sequence[str]) -> tuple[str, ...]:
        """The owners that one question's scores speak for; nobody where they are no scores, which costs no other."""
        try:
            return self.cipher.choose(scores.chunks, len(owners), lambda row: self._choose(row, owners))
        except CipherError as error:
            _LOG.warning("a question is not routed by its scores: %s", error.what)
            return ()

    def _choose(self, scores: NDArray[np.floating], owners: Sequence[str]) -> tuple[str, ...]:
        routing = self.settings.routing
        return choose_owners(scores, owners, routing.summaries, routing.devices, (self.device,))

    def _asker(self, by: RetrieveBy) -> Callable[[Sequence[Question]], list[tuple[Vector, Sequence[Want]]]]:
        """Makes ready what says by which vectors questions leave, and whom memory names for each."""
        sought = self.seeker() if by == "nearest" else None

        def asked(questions: Sequence[Question]) -> list[tuple[Vector, Sequence[Want]]]:
            if any(question.home != self.device for question in questions):
                raise WireError("a question of another home", where="questions")
            found: list[tuple[Vector, Sequence[Want]]] = []
            if sought is not None:
                found = [sought(question) for question in questions]
            elif questions:
                found = [(vector, ()) for vector in self.encoder.encode([question.text for question in questions])]
            return [(self.export.release_vector(vector), wants) for vector, wants in found]

        return asked


def tagged_question(question_id: str, fingerprint: str, ciphertext: bytes) -> tuple[bytes, ...]:
    """What the tag of an encrypted question stands for."""
    return (b"question", question_id.encode(), fingerprint.encode(), ciphertext)


def tagged_scores(scores: EncryptedScores, fingerprint: str) -> tuple[bytes, ...]:
    """What the tag of encrypted scores stands for."""
    return (b"scores", scores.question_id.encode(), fingerprint.encode(), *scores.chunks)


def rounded(owners: Sequence[OwnedRows], vectors: Floats) -> RoundedOverview:
    """Vectors, shape (n, dimension), in a byte a value: each relative to the largest of its row."""
    largest = np.maximum(np.abs(vectors).max(axis=1, keepdims=True), 1e-12)
    codes = np.rint(vectors / largest * 127.0).astype(np.int8)
    return RoundedOverview(vectors.shape[1], tuple(owners), codes.tobytes())


def restored(
    overview: RoundedOverview, dimension: int | None = None, most: int = _MOST_OVERVIEW
) -> tuple[SubgraphSummary, ...]:
    """The summaries of an overview in bytes: numbered ids, no texts, unit rows; raises WireError where its vectors have
    another length, it does not hold as many rows as it says, or too many, or a row is zero.

    Parameters
    ----------
    overview
        Of another party: nothing is made of it before its size is known to be right.
    dimension
        The length that its vectors must have; None: any.
    most
        Rows that it may have.
    """
    if dimension is not None and overview.dimension != dimension:
        raise WireError("a vector of another length than this device's encoder gives", where="RoundedOverview")
    if len(overview.codes) != sum(one.rows for one in overview.owners) * overview.dimension:
        raise WireError("there is another number of vectors than of owners", where="RoundedOverview")
    owners = _by_row(overview.owners, most, "RoundedOverview")
    codes = np.frombuffer(overview.codes, dtype=np.int8).reshape(len(owners), overview.dimension).astype(np.float32)
    lengths = np.linalg.norm(codes, axis=1, keepdims=True)
    if not lengths.all():
        raise WireError("a vector without direction", where="RoundedOverview")
    rows = codes / lengths
    return tuple(
        SubgraphSummary(f"{number:08d}", "", row, owner)
        for number, (owner, row) in enumerate(zip(owners, rows, strict=True))
    )


def _by_row(owners: Sequence[OwnedRows], most: int, where: str) -> list[str]:
    """The owner of each row; a few bytes can tell of many, so they are counted first."""
    if sum(one.rows for one in owners) > most:
        raise WireError(f"it tells of more than {most:,} rows", where=where)
    return [one.owner for one in owners for _ in range(one.rows)]
