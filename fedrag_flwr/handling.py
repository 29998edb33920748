"""What a device does with each message: the record that it must hold, the act, and what leaves when that fails."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TypeVar

from fedrag_flwr import records, wire
from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.device.shared_memory import take_shared_memory
from fedrag_flwr.errors import FedragError, WireError
from fedrag_flwr.exchange.routing import restored
from fedrag_flwr.exchange.sealed import give_sealed
from fedrag_flwr.nodes import Node
from fedrag_flwr.progress import Pace
from fedrag_flwr.wire_bytes import Content, from_bytes, to_bytes

R = TypeVar("R")
_LOG = logging.getLogger(__name__)
PROGRESS = logging.getLogger("fedrag_flwr.progress")  # counts only
_TELL_SECONDS = 3.0  # between two lines on the progress of a build


@dataclass(frozen=True, slots=True)
class Visit:
    """What an act may use beside its request: the device, the run that asks, and the node, for training questions."""

    device: EdgeDevice
    run: str
    node: Node


@dataclass(frozen=True, slots=True)
class Handler:
    """How one type of message is handled."""

    kind: type  # the record that it must hold
    # Decodes a message's content of a run, and gives the act that makes the record of the reply.
    prepare: Callable[[Content, str], Callable[[Visit], object]]
    writes: bool  # whether it changes what the device knows, so that it takes its turn after others that do


def _on(kind: type[R], act: Callable[[Visit, R], object], *, writes: bool = False) -> Handler:
    def prepare(content: Content, run: str) -> Callable[[Visit], object]:
        request = wire.decode(content, kind, run=run)
        return lambda visit: act(visit, request)

    return Handler(kind, prepare, writes)


def _build(visit: Visit, request: records.BuildRequest) -> records.BuildReport:
    device = visit.device
    progress = Pace(device.name, lambda step: PROGRESS.info("%s", step), every=_TELL_SECONDS)
    return device.releases.report(device.build(memories=request.memories, graph=request.graph, progress=progress))


def _give_sealed(visit: Visit, asked: records.SealedMessages) -> records.SealedMessages:
    """Evidence for requests in sealed messages, sealed for those who asked."""
    device = visit.device
    return give_sealed(device.name, device.key, asked, device.giving.evidence, visit.run)


def _finish_sealed(visit: Visit, given: records.SealedFinish) -> records.AnswerBatch:
    """Answers to open questions with what other devices sealed for this one."""
    evidence = visit.device.sealed.evidence(given.messages, visit.run)
    return visit.device.finish(given.questions, evidence, given.mode)


HANDLERS: Mapping[str, Handler] = {
    "query.describe": _on(records.DescribeRequest, lambda at, _: at.device.describe()),
    "train.build": _on(records.BuildRequest, _build, writes=True),
    "train.controller": _on(
        records.ControllerRequest,
        lambda at, request: at.device.train_controller(request, at.node.training_questions(), at.run),
        writes=True,
    ),
    "query.share": _on(records.ShareRequest, lambda at, request: at.device.giving.memories(request)),
    "query.summaries": _on(records.SummaryRequest, lambda at, request: at.device.giving.summaries(request)),
    "query.overview": _on(records.SummaryOverview, lambda at, told: at.device.graph.take_overview(told), writes=True),
    "query.rounded_overview": _on(
        records.RoundedOverview,
        lambda at, told: at.device.graph.take_overview(
            records.SummaryOverview(restored(told, at.device.models.encoder.dimension))
        ),
        writes=True,
    ),
    "query.seal_summaries": _on(
        records.SealRequest, lambda at, asked: at.device.sealed.summaries.seal(asked, at.run), writes=True
    ),
    "query.sealed_overview": _on(
        records.SealedOverview, lambda at, told: at.device.sealed.summaries.take(told, at.run), writes=True
    ),
    "query.deliver": _on(records.AnswerBatch, lambda at, batch: at.device.keep(batch), writes=True),
    "query.import": _on(records.Delta, lambda at, delta: take_shared_memory(at.device.store, delta), writes=True),
    "query.answer": _on(
        records.AnswerRequest,
        lambda at, request: at.device.answer(request.questions, request.mode, states=request.states),
    ),
    "query.retrieve": _on(
        records.RetrieveRequest, lambda at, request: at.device.giving.evidence(request.requests, request.by)
    ),
    "query.hits": _on(records.HitsRequest, lambda at, request: at.device.summaries.answer(request)),
    "query.finish": _on(
        records.FinishRequest,
        lambda at, request: at.device.finish(request.questions, request.evidence, request.mode),
    ),
    "train.group": _on(records.GroupRequest, lambda at, request: at.device.sums.join(request, at.run), writes=True),
    "train.topics": _on(records.TopicRequest, lambda at, request: at.device.walks.learn(request, at.run), writes=True),
    "query.encrypt": _on(records.EncryptRequest, lambda at, asked: at.device.sealed.routing.encrypt(asked)),
    "query.route": _on(records.RouteRequest, lambda at, asked: at.device.sealed.routing.route(asked, at.run)),
    "query.retrieve_sealed": _on(records.SealedMessages, _give_sealed),
    "query.finish_sealed": _on(records.SealedFinish, _finish_sealed),
    "query.centroids": _on(records.CentroidRequest, lambda at, request: at.device.giving.centroids(request)),
    "query.enclave": _on(records.EnclaveRequest, lambda at, asked: at.device.sealed.seal_for_enclave(asked, at.run)),
    "query.open_answers": _on(
        records.SealedMessages,
        lambda at, sealed: at.device.receive(at.device.sealed.answers(sealed, at.run)),
    ),
    "query.waiting": _on(records.WaitingRequest, lambda at, request: at.device.waiting.offer(request)),
    "query.walk": _on(records.WalkRequest, lambda at, request: at.device.walks.walk(request)),
    "query.gossip": _on(records.GossipRequest, lambda at, request: at.device.walks.sketches.gossip(request)),
    "query.documents": _on(records.DocumentsRequest, lambda at, _: at.device.giving.documents()),
}


def respond(
    node: Node, opened: Callable[[], AbstractContextManager[EdgeDevice]], message_type: str, content: Content, run: str
) -> Content:
    """Handle one message at a node; whatever goes wrong leaves the device as a sentence without document text.

    `opened` gives the node's device for as long as the message takes.

    Returns
    -------
    Content
        The record of the reply, or a `Failure`.
    """
    try:
        handler = HANDLERS.get(message_type)
        if handler is None:
            raise WireError("no such message type", where="message", fix="run the same version of the app")
        act = handler.prepare(content, run)
        with opened() as device:
            visit = Visit(device, run, node)

            def reply() -> bytes:
                outgoing = device.export.outgoing
                try:
                    told = wire.encode(act(visit), run=run)
                except BaseException:
                    outgoing.forget()  # what it released does not leave
                    raise
                outgoing.write(run, message_type, wire.size_of(told))
                return to_bytes(told)

            return from_bytes(device.messages.once(run, wire.step_of(content), reply), "reply")
    except FedragError as error:
        return _failed(node, message_type, error, error.abroad, run)
    except Exception as error:
        # The text of an unknown error may quote a document: only its kind and place in our code leave.
        return _failed(node, message_type, error, f"an unexpected error at {place_of(error)}", run)


def _failed(node: Node, message_type: str, error: Exception, what: str, run: str) -> Content:
    _LOG.warning("%s of run %s: %s: %s", message_type, run, type(error).__name__, what)
    return wire.failure(node.name(), error, what, run)


def place_of(error: BaseException) -> str:
    """Module and line of our code that raised, which tell a developer where to look and quote no data."""
    place = "?"
    frame = error.__traceback__
    while frame is not None:
        module = frame.tb_frame.f_globals.get("__name__", "")
        if module.startswith(("fedrag_flwr", "client_app", "strategies")):
            place = f"{module}:{frame.tb_lineno}"
        frame = frame.tb_next
    return place
