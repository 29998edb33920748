"""An answer at the export filter: its texts as one bundle, and how it reads once they are rewritten."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from fedrag_flwr.privacy.normalise import clean
from fedrag_flwr.privacy.operators import Bundle
from fedrag_flwr.records import MOST_LINE, Answer, Decision, Fact, declined

_MOST_SOURCES = 64
_MEASURE = re.compile(r"[-+]?\d+(?:[.,]\d+)*(?:e[-+]?\d+)?")


def answer_bundle(answer: Answer, known: tuple[Fact, ...], beside: Sequence[str]) -> Bundle:
    """What it says and what its decisions say.

    Parameters
    ----------
    answer
        What home reads.
    known
        What the question alone tells of it.
    beside
        The texts here that it was taken from, which are read and do not leave.
    """
    prose = (clean(answer.text), *(clean(one.said) for one in answer.decisions))
    return Bundle(prose, known=known, beside=tuple(map(clean, beside)))


def shown_answer(answer: Answer, bundle: Bundle, source: Callable[[str], str], *, measured: bool) -> Answer:
    """An answer as others see it: rewritten texts, opaque sources, and nothing that stays on the device, nor a report.

    A refused one is an abstention that names the reason.

    Parameters
    ----------
    answer
        What home reads.
    bundle
        Its texts, rewritten.
    source
        How others know a source; empty where they may not.
    measured
        Whether scores leave, and figures in what decisions say.
    """
    score = answer.score if measured else 0.0
    if bundle.refusal:
        return replace(declined(answer.question_id, f"withheld: {bundle.refusal}"), score=score, cost=answer.cost)
    text, *said = bundle.prose
    return replace(
        answer,
        text=text[:MOST_LINE],
        score=score,
        decisions=tuple(_decision(one, now, measured) for one, now in zip(answer.decisions, said, strict=True)),
        sources=tuple(filter(None, map(source, answer.sources[:_MOST_SOURCES]))),
        evidence=(),
        paths=(),
        report="",
        citations=(),
        recalled="",
    )


def _decision(one: Decision, said: str, measured: bool) -> Decision:
    if measured:
        return Decision(one.step, said[:MOST_LINE], round(one.score, 2), round(one.threshold, 2))
    return Decision(one.step, _MEASURE.sub("…", said)[:MOST_LINE])
