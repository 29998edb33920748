"""Other ways of answering from one device's documents, for comparison: one substrate, one reader, one budget."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from fedrag_flwr.errors import SettingError
from simulations.baselines.entities import communities, hyperedges
from simulations.baselines.passages import ClosedBook, bm25, hybrid, long_units, pagerank, vanilla
from simulations.baselines.reading import Baseline, Construction
from simulations.baselines.rounds import filter_requery, iterative
from simulations.baselines.substrate import Keep, Limits, Substrate
from simulations.baselines.summaries import summary_tree

__all__ = ["BASELINES", "Baseline", "Construction", "Keep", "Limits", "Substrate", "build_baseline"]

BASELINES: Mapping[str, Callable[[Substrate], Baseline]] = {
    "closed-book": ClosedBook,
    "vanilla": vanilla,
    "bm25": bm25,
    "hybrid": hybrid,
    "iterative": iterative,
    "summary-tree": summary_tree,
    "pagerank": pagerank,
    "communities": communities,
    "hyperedges": hyperedges,
    "long-units": long_units,
    "filter-requery": filter_requery,
}


def build_baseline(name: str, substrate: Substrate) -> tuple[Baseline, Construction]:
    """Build a baseline over one device's documents, and tell what that took.

    The cost's seconds are the clock's, with those that what was kept took when it was made.

    Raises SettingError: there is no baseline of that name.
    """
    if name not in BASELINES:
        raise SettingError(f"'{name}' is not a baseline", where="baselines", fix=f"choose from {', '.join(BASELINES)}")
    start = time.perf_counter() + substrate.spared
    baseline = BASELINES[name](substrate)
    made = baseline.construction
    seconds = time.perf_counter() + substrate.spared - start
    return baseline, replace(made, cost=replace(made.cost, seconds=seconds))
