"""Other ways of answering from one device's documents, for comparison: one substrate, one reader, one budget."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from fedrag_flwr.errors import SettingError
from simulations.baselines.entities import Communities, Hyperedges
from simulations.baselines.passages import ClosedBook, LongUnits, Ranked, pagerank
from simulations.baselines.reading import Baseline, Construction, Finder
from simulations.baselines.rounds import FilterRequery, Steps
from simulations.baselines.substrate import Keep, Limits, Substrate
from simulations.baselines.summaries import SummaryTree
from simulations.bench.rank_fusion import ReciprocalRankFusion

__all__ = ["BASELINES", "Baseline", "Construction", "Keep", "Limits", "Substrate", "build_baseline"]

BASELINES: Mapping[str, Callable[[Substrate], Finder]] = {
    "closed-book": ClosedBook,
    "vanilla": lambda one: Ranked(one, one.dense),  # retriever and reader are not trained together, as in the original
    "bm25": lambda one: Ranked(one, one.sparse),
    "hybrid": lambda one: Ranked(one, ReciprocalRankFusion([one.dense, one.sparse])),
    "iterative": Steps,
    "summary-tree": SummaryTree,
    "pagerank": pagerank,
    "communities": Communities,
    "hyperedges": Hyperedges,
    "long-units": LongUnits,
    "filter-requery": FilterRequery,
}


def build_baseline(name: str, substrate: Substrate) -> tuple[Baseline, Construction]:
    """Build a baseline over one device's documents, and tell what that took.

    The cost's seconds are the clock's, with those that what was kept took when it was made. Raises SettingError: there
    is no baseline of that name.
    """
    if name not in BASELINES:
        raise SettingError(f"'{name}' is not a baseline", where="baselines", fix=f"choose from {', '.join(BASELINES)}")
    start = time.perf_counter() + substrate.spared
    finder = BASELINES[name](substrate)
    seconds = time.perf_counter() + substrate.spared - start
    made = finder.construction
    return Baseline(substrate, finder), replace(made, cost=replace(made.cost, seconds=seconds))
