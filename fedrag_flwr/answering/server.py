"""Answers over evidence that is handed over: at the server, in an enclave, over a graph, or of a peer."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from fedrag_flwr.answering.explain import MASKED, says_mask
from fedrag_flwr.answering.judge import judged_over, told
from fedrag_flwr.answering.passages import WHOLE_WORDS
from fedrag_flwr.answering.read import Reader
from fedrag_flwr.loaded_models import Models
from fedrag_flwr.records import Answer, EvidenceUnit, Question, because
from fedrag_flwr.retrieval.base import nearest, within
from fedrag_flwr.settings import Settings


def answer_over(
    question: Question,
    units: Sequence[EvidenceUnit],
    settings: Settings,
    models: Models,
    where: str = "",
    home: str = "",
) -> Answer:
    """One answer over units that were scored here, the nearest first.

    Parameters
    ----------
    question
        As it was asked.
    units
        The evidence, of which the first words are read.
    settings, models
        Of the run, and this side's models.
    where
        This side, for the decisions; "" where that goes without saying.
    home
        The device whose own units these may be.
    """
    start = time.perf_counter()
    read = within(nearest(units, home), WHOLE_WORDS)
    reader = Reader(models.generator, settings.inference.max_answer_tokens, settings.seed)
    analysis, least = models.pipeline.question(question.text), settings.inference.abstain_below
    judged = judged_over(question.text, analysis, read, reader, abstain_below=least)
    masked = any(one.origin != home for one in read) and says_mask(question.text, judged.draft.text)
    judged = replace(judged, confidence=0.0) if masked else judged
    answer = told(question, judged, home, least, time.perf_counter() - start)
    answer = answer.decided(because("help", MASKED)) if masked else answer
    return answer.after(because("place", f"at the {where}")) if where else answer
