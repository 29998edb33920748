"""Answers where the evidence of several devices comes together: at the server, or in an enclave."""

from __future__ import annotations

import time
from collections.abc import Sequence

from fedrag_flwr.inference.cognizer import Cognizer
from fedrag_flwr.inference.graph_answers import answered, nearest, placed
from fedrag_flwr.inference.support import within
from fedrag_flwr.records import Answer, EvidenceUnit, Question
from fedrag_flwr.settings import Settings
from fedrag_flwr.toolbox import Toolbox


def answer_over(
    question: Question, units: Sequence[EvidenceUnit], settings: Settings, toolbox: Toolbox, where: str
) -> Answer:
    """One answer over units that were scored here, the nearest first.

    Parameters
    ----------
    question
        As it was asked.
    units
        Others' evidence; how many of them, and how many words, are read are settings.
    settings, toolbox
        Of the run, and this side's models.
    where
        This side, for the decisions.
    """
    start = time.perf_counter()
    read = within(nearest(units, settings.inference.evidence_units), settings.inference.evidence_words)
    cognizer = Cognizer.of(settings, toolbox.generator)
    verdict = cognizer.answer(question.text, toolbox.pipeline.question(question.text), read, always=True)
    verdict = placed(verdict, where).timed(time.perf_counter() - start)
    return answered(question, verdict, read, remote=True)
