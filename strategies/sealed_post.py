"""The server as a post office: sealed requests to owners, and their sealed evidence back."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from fedrag_flwr.records import SealedMessage, SealedMessages
from strategies.courier import Courier, Letter


def fetch_sealed(
    courier: Courier, asked: Mapping[int, Sequence[SealedMessage]]
) -> tuple[list[SealedMessage], dict[str, float]]:
    """Hand owners their boxes and take theirs; one that was not asked for, or is in another's name, is dropped.

    Parameters
    ----------
    courier
        Of the strategy.
    asked
        Requests by the owner's node, one for each question.

    Returns
    -------
    tuple[list[SealedMessage], dict[str, float]]
        The evidence, and the seconds that the slowest owner took for each question.
    """
    letters = [Letter(node, SealedMessages(courier.name(node), tuple(boxes))) for node, boxes in asked.items()]
    found: list[SealedMessage] = []
    seconds: dict[str, float] = defaultdict(float)
    for node, batch in courier.exchange(letters, "query.retrieve_sealed", SealedMessages).items():
        expected = {message.question_id for message in asked[node]}
        for message in batch.messages:
            if message.device != courier.name(node) or message.question_id not in expected:
                courier.miss(node, "it sent a box that was not asked for, or in another's name")
                continue
            expected.discard(message.question_id)
            found.append(message)
            seconds[message.question_id] = max(seconds[message.question_id], batch.seconds / len(asked[node]))
    return found, seconds
