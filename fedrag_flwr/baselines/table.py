"""The table of baselines, and how one is built."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from fedrag_flwr.baselines.bm25 import bm25
from fedrag_flwr.baselines.closed_book import ClosedBook
from fedrag_flwr.baselines.communities import communities
from fedrag_flwr.baselines.filter_requery import filter_requery
from fedrag_flwr.baselines.hybrid import hybrid
from fedrag_flwr.baselines.hyperedges import hyperedges
from fedrag_flwr.baselines.iterative import iterative
from fedrag_flwr.baselines.long_units import long_units
from fedrag_flwr.baselines.pagerank import pagerank
from fedrag_flwr.baselines.reading import Baseline, Construction
from fedrag_flwr.baselines.substrate import Substrate
from fedrag_flwr.baselines.summary_tree import summary_tree
from fedrag_flwr.baselines.vanilla import vanilla
from fedrag_flwr.errors import SettingError

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


@dataclass(frozen=True, slots=True)
class Built:
    """A baseline over one device's documents, and what its construction took.

    The cost's seconds are the clock's, with those that what was kept took when it was made.
    """

    baseline: Baseline
    construction: Construction


def build_baseline(name: str, substrate: Substrate) -> Built:
    """Build a baseline by its name.

    Raises
    ------
    SettingError
        There is no baseline of that name.
    """
    if name not in BASELINES:
        raise SettingError(f"'{name}' is not a baseline", where="baselines", fix=f"choose from {', '.join(BASELINES)}")
    start = time.perf_counter() + substrate.spared
    baseline = BASELINES[name](substrate)
    made = baseline.construction
    seconds = time.perf_counter() + substrate.spared - start
    return Built(baseline, replace(made, cost=replace(made.cost, seconds=seconds)))
