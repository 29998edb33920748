"""Other ways of answering from one device's documents, for comparison: one substrate, one reader, one budget."""

from fedrag_flwr.baselines.keeping import Keep
from fedrag_flwr.baselines.reading import Baseline, Construction
from fedrag_flwr.baselines.substrate import Limits, Substrate
from fedrag_flwr.baselines.table import BASELINES, Built, build_baseline

__all__ = ["BASELINES", "Baseline", "Built", "Construction", "Keep", "Limits", "Substrate", "build_baseline"]
