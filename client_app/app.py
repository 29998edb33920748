"""One handler a message type: decode, call the device, encode."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from flwr.app import Context, Message, RecordDict
from flwr.clientapp import ClientApp

from client_app.devices import device_name, device_of, training_questions
from fedrag_flwr import wire
from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.errors import FedragError
from fedrag_flwr.private_routing import restored
from fedrag_flwr.records import (
    AnswerBatch,
    AnswerRequest,
    BuildRequest,
    CentroidRequest,
    ConfideRequest,
    ControllerRequest,
    Delta,
    DescribeRequest,
    DocumentsRequest,
    EncryptRequest,
    FinishRequest,
    GossipRequest,
    GroupRequest,
    HitsRequest,
    RetrieveRequest,
    RoundedOverview,
    RouteRequest,
    SealedFinish,
    SealedMessages,
    ShareRequest,
    SummaryOverview,
    SummaryRequest,
    WalkRequest,
)

app = ClientApp()
R = TypeVar("R")


@app.query("describe")
def describe(message: Message, context: Context) -> Message:
    """Say who this device is."""
    return _handle(message, context, DescribeRequest, lambda device, _: device.describe())


@app.train("build")
def build(message: Message, context: Context) -> Message:
    """Bring the memory up to date."""
    return _handle(
        message,
        context,
        BuildRequest,
        lambda device, request: device.release_report(device.build(memories=request.memories, graph=request.graph)),
    )


@app.train("controller")
def controller(message: Message, context: Context) -> Message:
    """Train the controller on own questions, which stay here."""
    return _handle(
        message,
        context,
        ControllerRequest,
        lambda device, request: device.train_controller(request, training_questions(context)),
    )


@app.query("share")
def share(message: Message, context: Context) -> Message:
    """Share what is new, through the door."""
    return _handle(message, context, ShareRequest, lambda device, request: device.share(request))


@app.query("summaries")
def summaries(message: Message, context: Context) -> Message:
    """Share what the knowledge graph is about, through the door."""
    return _handle(message, context, SummaryRequest, lambda device, request: device.share_summaries(request))


@app.query("overview")
def overview(message: Message, context: Context) -> Message:
    """Take in the vectors of all devices' summaries."""
    return _handle(message, context, SummaryOverview, lambda device, told: device.graph.take_overview(told))


@app.query("deliver")
def deliver(message: Message, context: Context) -> Message:
    """Take in what the server answered."""
    return _handle(message, context, AnswerBatch, lambda device, batch: device.keep(batch))


@app.query("import")
def import_bank(message: Message, context: Context) -> Message:
    """Take in the fused bank's delta."""
    return _handle(message, context, Delta, lambda device, delta: device.import_bank(delta))


@app.query("answer")
def answer(message: Message, context: Context) -> Message:
    """Answer questions at home."""
    return _handle(
        message, context, AnswerRequest, lambda device, request: device.answer(request.questions, request.mode)
    )


@app.query("retrieve")
def retrieve(message: Message, context: Context) -> Message:
    """Give evidence for others' questions, through the door."""
    return _handle(
        message, context, RetrieveRequest, lambda device, request: device.retrieve(request.requests, request.by)
    )


@app.query("hits")
def hits(message: Message, context: Context) -> Message:
    """Say what the sources hold on questions, de-identified and through the door."""
    return _handle(message, context, HitsRequest, lambda device, request: device.summaries.answer(request))


@app.query("finish")
def finish(message: Message, context: Context) -> Message:
    """Answer open questions with others' evidence."""
    return _handle(
        message,
        context,
        FinishRequest,
        lambda device, request: device.finish(request.questions, request.evidence, request.mode),
    )


@app.train("group")
def group(message: Message, context: Context) -> Message:
    """Make the key of a group's encrypted sums, or take it from a peer."""
    return _handle(message, context, GroupRequest, lambda device, request: device.sealed.training.join(request))


@app.query("rounded_overview")
def rounded_overview(message: Message, context: Context) -> Message:
    """Take in the vectors of all devices' summaries, a byte for each value."""
    return _handle(
        message,
        context,
        RoundedOverview,
        lambda device, told: device.graph.take_overview(SummaryOverview(restored(told))),
    )


@app.query("encrypt")
def encrypt(message: Message, context: Context) -> Message:
    """Encrypt own open questions."""
    return _handle(message, context, EncryptRequest, lambda device, asked: device.sealed.routing.encrypt(asked))


@app.query("route")
def route(message: Message, context: Context) -> Message:
    """Choose owners for own open questions, and seal requests for them."""
    run = _run(message)
    return _handle(message, context, RouteRequest, lambda device, asked: device.sealed.routing.route(asked, run))


@app.query("retrieve_sealed")
def retrieve_sealed(message: Message, context: Context) -> Message:
    """Give evidence for requests in boxes, through the door, sealed."""
    run = _run(message)
    return _handle(message, context, SealedMessages, lambda device, asked: device.sealed.give(asked, run))


@app.query("finish_sealed")
def finish_sealed(message: Message, context: Context) -> Message:
    """Answer open questions with what others sealed."""
    run = _run(message)
    return _handle(message, context, SealedFinish, lambda device, given: device.sealed.finish_with(given, run))


@app.query("centroids")
def centroids(message: Message, context: Context) -> Message:
    """Share the middles of what this device holds."""
    return _handle(message, context, CentroidRequest, lambda device, request: device.share_centroids(request))


@app.query("confide")
def confide(message: Message, context: Context) -> Message:
    """Seal own questions for an enclave."""
    run = _run(message)
    return _handle(message, context, ConfideRequest, lambda device, asked: device.sealed.confide(asked, run))


@app.query("open_answers")
def open_answers(message: Message, context: Context) -> Message:
    """Open the answers that an enclave sealed for this device."""
    run = _run(message)
    return _handle(
        message, context, SealedMessages, lambda device, sealed: device.receive(device.sealed.answers(sealed, run))
    )


@app.query("walk")
def walk(message: Message, context: Context) -> Message:
    """Reply to the hops of questions that walk, through the door."""
    return _handle(message, context, WalkRequest, lambda device, request: device.walk(request))


@app.query("gossip")
def gossip(message: Message, context: Context) -> Message:
    """Tell neighbours what is held and reached here, as a noised sketch."""
    return _handle(message, context, GossipRequest, lambda device, request: device.walks.sketches.gossip(request))


@app.query("documents")
def documents(message: Message, context: Context) -> Message:
    """Hand over whole documents, where this device allows it."""
    return _handle(message, context, DocumentsRequest, lambda device, _: device.share_documents())


def _handle(message: Message, context: Context, kind: type[R], act: Callable[[EdgeDevice, R], object]) -> Message:
    """Run one handler; whatever goes wrong leaves the device as a sentence without document text."""
    run = _run(message)
    try:
        request = wire.decode(message.content, kind, run=run)
        step = wire.step_of(message.content)
        with device_of(context) as device:
            content = device.messages.once(run, step, lambda: wire.encode(act(device, request), run=run))
    except FedragError as error:
        content = _failure(context, error, error.abroad, run)
    except Exception as error:
        # The text of an unknown error may quote a document: only its kind and place in our code leave.
        content = _failure(context, error, f"an unexpected error at {_place(error)}", run)
    return Message(content, reply_to=message)


def _run(message: Message) -> str:
    return str(message.metadata.run_id)


def _failure(context: Context, error: Exception, what: str, run: str) -> RecordDict:
    try:
        device = device_name(context)
    except FedragError:  # the settings that name the device may be what is wrong
        device = f"node {context.node_id}"
    return wire.encode(wire.Failure(device[:200], type(error).__name__[:200], what[:2000]), run=run)


def _place(error: BaseException) -> str:
    """Module and line of our code that raised, which tell a developer where to look and quote no data."""
    place = "?"
    frame = error.__traceback__
    while frame is not None:
        module = frame.tb_frame.f_globals.get("__name__", "")
        if module.startswith(("fedrag_flwr", "client_app")):
            place = f"{module}:{frame.tb_lineno}"
        frame = frame.tb_next
    return place
