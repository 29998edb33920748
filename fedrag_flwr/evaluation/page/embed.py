"""The answers as the report carries them: compressed, within a budget, and out of reach of the markup."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Sequence

from fedrag_flwr.answering.explain import marked
from fedrag_flwr.evaluation.measures import seconds
from fedrag_flwr.evaluation.rows import AnswerRow
from fedrag_flwr.path_drawing import for_page

_BUDGET = 700_000  # characters; keeps the page under 1 MB


def embed(rows: Sequence[AnswerRow], systems: Sequence[str]) -> tuple[str, int]:
    """Pack the answers as base64 of gzipped JSON, as many questions as the budget allows, and count these."""
    questions: dict[tuple[str, ...], dict[str, object]] = {}
    given: dict[tuple[str, ...], dict[str, list[object]]] = {}
    for row in rows:
        questions.setdefault(
            row.asked,
            {
                "id": row.question_id,
                "kind": row.kind,
                "home": row.home,
                "question": row.question,
                "gold": row.gold,
                "aliases": row.aliases,
            },
        )
        given.setdefault(row.asked, {})[row.system] = _packed(row)
    every = [{**fields, "answers": [given[key].get(name) for name in systems]} for key, fields in questions.items()]
    kept = len(every)
    while True:
        content = json.dumps({"systems": systems, "questions": every[:kept]}, ensure_ascii=False, separators=(",", ":"))
        packed = base64.b64encode(gzip.compress(content.encode("utf-8", errors="replace"), mtime=0)).decode()
        if len(packed) <= _BUDGET or kept == 0:
            return packed, kept
        kept = min(kept - 1, int(kept * 0.95 * _BUDGET / len(packed)))


def _packed(row: AnswerRow) -> list[object]:
    took = "" if row.answer is None else seconds(row.cost.seconds) + (" (replayed)" if row.cost.replayed else "")
    score = None if row.score is None else round(row.score, 3)
    cost = f"LLM calls {row.cost.llm_calls}, tokens in {row.cost.tokens_in}, tokens out {row.cost.tokens_out}"
    return [
        row.answer,
        row.path,
        score,
        int(row.right),
        round(row.f1, 3),
        took,
        cost,
        row.explanation,
        row.sources,
        [marked(text, row.answer or "") for text in row.evidence],
        [for_page(path) for path in row.answer_paths],
        row.told,
    ]
