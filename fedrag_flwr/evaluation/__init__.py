"""Metrics, result files, tables and the report."""

from fedrag_flwr.evaluation.bootstrap import Interval, mean_interval, paired_difference, share_interval
from fedrag_flwr.evaluation.gold import GoldQuestion, read_gold
from fedrag_flwr.evaluation.manifest import Manifest, collect_manifest
from fedrag_flwr.evaluation.metrics import Verdict, accuracy, exact_match, f1, judge, judge_all, normalise_answer
from fedrag_flwr.evaluation.report import render_report
from fedrag_flwr.evaluation.results import read_answers, read_summary, write_results
from fedrag_flwr.evaluation.rows import AnswerRow
from fedrag_flwr.evaluation.scoring import SystemResult, score_system
from fedrag_flwr.evaluation.summary import DeviceSummary, Summary, summarise
from fedrag_flwr.evaluation.table import cost_table, kinds_table, quality_table
from fedrag_flwr.evaluation.traffic import PhaseTraffic, Traffic

__all__ = [
    "AnswerRow",
    "DeviceSummary",
    "GoldQuestion",
    "Interval",
    "Manifest",
    "PhaseTraffic",
    "Summary",
    "SystemResult",
    "Traffic",
    "Verdict",
    "accuracy",
    "collect_manifest",
    "cost_table",
    "exact_match",
    "f1",
    "judge",
    "judge_all",
    "kinds_table",
    "mean_interval",
    "normalise_answer",
    "paired_difference",
    "quality_table",
    "read_answers",
    "read_gold",
    "read_summary",
    "render_report",
    "score_system",
    "share_interval",
    "summarise",
    "write_results",
]
