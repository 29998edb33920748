"""The enclave of C-FedRAG: a process with a key of its own, in which questions and evidence come together in clear.

Nothing that it writes is in clear but its public key: questions come in and answers go out sealed between it and homes,
requests and evidence sealed between it and owners. It keeps nothing on disk. It is an ordinary process: nothing proves
what it runs, and who owns the machine can read its memory. In use it would run in a trusted execution environment,
whose attestation devices check before they seal anything for its key.
"""

from __future__ import annotations

import json
import logging
import resource
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from fedrag_flwr import wire
from fedrag_flwr.answering.server import answer_over
from fedrag_flwr.errors import CipherError, FedragError, SettingError, WireError
from fedrag_flwr.exchange.sealed import context_of, open_evidence, seal_requests
from fedrag_flwr.loaded_models import Models, load_models
from fedrag_flwr.models.encoder import LateInteractionReranker
from fedrag_flwr.privacy.seals import SealingKey, seal
from fedrag_flwr.processes import Child, private_streams, read_frames, write_frames
from fedrag_flwr.records import (
    Answer,
    AnswerBatch,
    Cost,
    EnclaveQuestion,
    EnclaveRequest,
    Evidence,
    EvidenceRequest,
    EvidenceUnit,
    PeerKey,
    Question,
    SealedMessage,
    SealedMessages,
    declined,
)
from fedrag_flwr.records.isolate import isolated
from fedrag_flwr.settings import Plain, Settings, fedrag_home, is_endpoint
from fedrag_flwr.text.segment import under_title


def seal_for_enclave(
    device: str, key: SealingKey, request: EnclaveRequest, questions: Iterable[Question], run: str
) -> SealedMessages:
    """Seal questions of this home for the enclave, with the key for which it is to seal the answers; raises WireError
    where a question is asked at another home.
    """
    if any(question.home != device for question in request.questions):
        raise WireError("a question of another home", where="ConfideRequest")
    start, sealed_messages = time.perf_counter(), []
    for question in questions:
        data = wire.pack(EnclaveQuestion(question, key.public), run=run)
        sealed = seal(data, request.enclave, context_of("question", run, question.id, device))
        sealed_messages.append(SealedMessage(question.id, device, sealed))
    return SealedMessages(device, tuple(sealed_messages), time.perf_counter() - start)


def open_answers(device: str, key: SealingKey, messages: Iterable[SealedMessage], run: str) -> list[Answer]:
    """The answers that the enclave sealed for this home; raises CipherError where a sealed message is another's, and
    WireError where a sealed message holds something else than the answer to its question.
    """
    answers: list[Answer] = []
    for message in messages:
        data = key.open(message.sealed, context_of("answer", run, message.question_id, device))
        batch = wire.unpack(data, AnswerBatch, run=run)
        if [one.question_id for one in batch.answers] != [message.question_id] or batch.device != device:
            raise CipherError("an answer to another question", where="AnswerBatch")
        answers += batch.answers
    return answers


_LOG = logging.getLogger(__name__)
_MOST_BYTES = 2**28
_SELF = "enclave"


@dataclass(frozen=True, slots=True)
class Enclave:
    """What happens inside."""

    settings: Settings  # of the run
    run: str  # the run's id
    models: Models  # the enclave's own
    key: SealingKey = field(init=False, default_factory=SealingKey.fresh)
    _open: dict[str, EnclaveQuestion] = field(init=False, default_factory=dict)

    def ask(self, questions: SealedMessages, peers: Sequence[PeerKey]) -> SealedMessages:
        """Open questions, and seal a request for each peer that stands for the question by its vector alone.

        Left out are messages that do not open or whose question is open already, and peers without a usable key.
        """
        requests = []
        for message in questions.messages:
            name = message.question_id
            if name in self._open:
                _LOG.warning("a sealed question is left out: it is here already")
                continue
            try:
                sealed_question = self._opened(message)
            except (CipherError, WireError) as error:
                _LOG.warning("a sealed question is left out: %s", error.what)
                continue
            self._open[name] = sealed_question
            [vector] = self.models.encoder.encode([sealed_question.question.text])
            asked = EvidenceRequest(name, vector, (), self.settings.inference.remote_units)
            requests += seal_requests(asked, "nearest", peers, self.key.public, self.run)
        return SealedMessages(_SELF, tuple(requests))

    def answer(self, evidence: SealedMessages) -> SealedMessages:
        """Rank all hits for each open question together, answer, and seal the answers for their homes."""
        most = self.settings.inference.remote_units
        given: dict[str, list[Evidence]] = defaultdict(list)
        for part in open_evidence(self.key, evidence.messages, most, self.run):
            given[part.question_id].append(part)
        answers = []
        for name, sealed_question in self._open.items():
            units = [unit for part in given[name] for unit in part.units]
            answer = isolated(sealed_question.question.id, partial(self._answered, sealed_question, units))
            home = sealed_question.question.home
            try:
                data = wire.pack(AnswerBatch(home, (answer,), (), 0.0), run=self.run)
                sealed = seal(data, sealed_question.reply, context_of("answer", self.run, name, home))
            except (CipherError, WireError) as error:
                _LOG.warning("an answer is left out: %s", error.what)
                continue
            answers.append(SealedMessage(name, home, sealed))
        self._open.clear()
        return SealedMessages(_SELF, tuple(answers))

    def _opened(self, message: SealedMessage) -> EnclaveQuestion:
        """The question in a sealed message, which its home says that it holds."""
        name, home = message.question_id, message.device
        data = self.key.open(message.sealed, context_of("question", self.run, name, home))
        sealed_question = wire.unpack(data, EnclaveQuestion, run=self.run)
        if (sealed_question.question.id, sealed_question.question.home) != (name, home):
            raise CipherError("a sealed message that holds another question", where=_SELF)
        return sealed_question

    def _answered(self, sealed_question: EnclaveQuestion, units: Sequence[EvidenceUnit]) -> Answer:
        question, start = sealed_question.question, time.perf_counter()
        if not units:
            return declined(question.id, "no device found anything")
        reranker = LateInteractionReranker(self.models.encoder)
        scores = np.clip(reranker.score(question.text, [under_title(one.title, one.text) for one in units]), -1.0, 1.0)
        ranked = [replace(unit, score=float(score)) for unit, score in zip(units, scores, strict=True)]
        before = time.perf_counter() - start
        answer = answer_over(question, ranked, self.settings, self.models, _SELF)
        return replace(answer, cost=answer.cost + Cost(seconds=before))


class EnclaveProcess:
    """The server's handle on the enclave: it hands sealed messages in and takes sealed messages out; raises
    SettingError where the server's generator is behind an address: evidence would leave the enclave.

    It keeps no generations, whatever the settings say.
    """

    def __init__(self, settings: Settings, run: str) -> None:
        if is_endpoint(settings.server_models.generator):
            raise SettingError(
                "the enclave asks no server for completions, as that would see the evidence",
                where="models.generator",
                fix='set server.generator = "auto", or to a file',
            )
        flat: Mapping[str, Plain] = settings.flat() | {"models.generation-cache": False}
        told = json.dumps({"run": run, "settings": flat})
        self._run = run
        self._child = Child(__name__, [told], settings.federation.round_timeout, _MOST_BYTES)
        [self.public] = self._told([b"key"])

    def ask(self, questions: SealedMessages, peers: Sequence[PeerKey]) -> SealedMessages:
        """Requests for peers, sealed inside; raises CipherError where the enclave refuses, or has died since it told
        its key, and ProcessError where it dies, or takes too long.
        """
        names = [part for peer in peers for part in (peer.device.encode(), peer.key)]
        [found] = self._told([b"ask", wire.pack(questions, run=self._run), *names])
        return wire.unpack(found, SealedMessages, run=self._run)

    def answer(self, evidence: SealedMessages) -> SealedMessages:
        """Answers for homes, sealed inside; raises as `ask`."""
        [found] = self._told([b"answer", wire.pack(evidence, run=self._run)])
        return wire.unpack(found, SealedMessages, run=self._run)

    def close(self) -> None:
        """End the enclave, and with it its key."""
        self._child.close()

    def _told(self, frames: Sequence[bytes]) -> list[bytes]:
        error, *found = self._child.call(frames)
        if self._child.starts > 1:
            raise CipherError("it died, and another has another key", where=_SELF, fix="seal the questions anew")
        if error or len(found) != 1:
            raise CipherError(error[:200].decode(errors="replace") or "no single reply", where=_SELF)
        return found


def main(arguments: Sequence[str]) -> None:
    """Serve requests until there are no more; an error leaves as its kind alone."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # what is read here must not lie on disk after a crash
    told = json.loads(arguments[0])
    settings = Settings.from_config(told["settings"])
    enclave = Enclave(settings, told["run"], load_models(settings.server_models, fedrag_home(settings.home)))
    asked, reply = private_streams()
    while True:
        try:
            what, *parts = read_frames(asked, _MOST_BYTES)
        except EOFError:
            return
        try:
            write_frames(reply, [b"", _serve(enclave, what, parts, told["run"])])
        except (FedragError, ValueError, RuntimeError, OSError) as error:
            write_frames(reply, [f"the enclave failed ({type(error).__name__})".encode()])


def _serve(enclave: Enclave, what: bytes, parts: Sequence[bytes], run: str) -> bytes:
    if what == b"key":
        return enclave.key.public
    sealed_messages = wire.unpack(parts[0], SealedMessages, run=run)
    if what == b"answer":
        return wire.pack(enclave.answer(sealed_messages), run=run)
    names, keys = parts[1::2], parts[2::2]
    peers = [PeerKey(name.decode(), key) for name, key in zip(names, keys, strict=True)]
    return wire.pack(enclave.ask(sealed_messages, peers), run=run)


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
