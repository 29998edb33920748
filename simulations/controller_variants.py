"""The rankers of HKVM-RAG's controller tables, fitted on one dataset's train rows and applied to its dev rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.retrieval import (
    Controller,
    ControllerFeatures,
    FittingSettings,
    LabelledRankings,
    Ranking,
    fit_controller,
    fuse,
    out_of_fold,
)
from simulations.candidate_rankings import FIRST_STAGES, RARE, SPACES, RankedQuestion

CUTS = (2, 5, 10)
CALIBRATED = "calibrated key spaces"
KEY_SPACES = tuple(f"{name}{RARE}" for name in SPACES)
PAIRWISE, KEY = KEY_SPACES[0], KEY_SPACES[-1]
SETTINGS = FittingSettings()

Order = tuple[str, ...]
Extra = Mapping[str, Sequence[Ranking]]  # rankings that were made here, by name, one for each question
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Split:
    """The train and dev rows of one dataset, with rankings of our own beside theirs."""

    train: Sequence[RankedQuestion]
    dev: Sequence[RankedQuestion]
    seed: int

    def rng(self) -> np.random.Generator:
        """Randomness that is the same for every ranker."""
        return np.random.default_rng(self.seed)


def labelled(questions: Sequence[RankedQuestion], sources: Sequence[str], extra: Extra) -> list[LabelledRankings]:
    """The rankings of some sources for each question, and what supports its answer."""
    return [
        LabelledRankings(
            tuple(extra[name][row] if name in extra else question.rankings[name] for name in sources),
            frozenset(question.gold),
        )
        for row, question in enumerate(questions)
    ]


def fitted(split: Split, sources: Sequence[str], extra: Extra) -> Controller:
    """A ranker over some sources, fitted on the train rows."""
    return fit_controller(
        ControllerFeatures(tuple(sources)), labelled(split.train, sources, extra), SETTINGS, split.rng()
    )


def reranked(
    controller: Controller, questions: Sequence[RankedQuestion], sources: Sequence[str], extra: Extra
) -> list[Ranking]:
    """Questions' candidates as a ranker orders them."""
    most = max(CUTS)
    return [controller.rerank(one.rankings, most) for one in labelled(questions, sources, extra)]


@dataclass(frozen=True, slots=True)
class Variants:
    """Orders of the dev rows by name of the ranker, and what they were fitted with."""

    orders: dict[str, list[Order]]
    calibrated_train: list[Ranking]
    calibrated_dev: list[Ranking]


def variants(split: Split) -> Variants:
    """Every row of the tables."""
    calibration = fitted(split, KEY_SPACES, {})
    train = out_of_fold(ControllerFeatures(KEY_SPACES), labelled(split.train, KEY_SPACES, {}), SETTINGS, split.rng())
    dev = reranked(calibration, split.dev, KEY_SPACES, {})

    def order(*sources: str) -> list[Order]:
        controller = fitted(split, sources, {CALIBRATED: train})
        return _orders(reranked(controller, split.dev, sources, {CALIBRATED: dev}))

    orders = {
        name: [ids(question.rankings[name]) for question in split.dev] for name in (*FIRST_STAGES, *SPACES, *KEY_SPACES)
    }
    orders["oracle: answer paths"] = _oracle(split.dev, lambda question: question.on_paths)
    orders["oracle: tuples"] = _oracle(split.dev, lambda question: question.named)
    orders["support scorer"] = order(KEY)
    orders["calibration"] = _orders(dev)
    for first in FIRST_STAGES:
        orders[f"{first} alone, reordered"] = order(first)
        fused = [fuse([q.rankings[first], one], (1.0, 1.0), max(CUTS)) for q, one in zip(split.dev, dev, strict=True)]
        orders[f"rank fusion: {first}, calibration"] = _orders(fused)
        for key in (*KEY_SPACES, CALIBRATED):
            orders[f"{first} + {key}"] = order(first, key)
    orders["all first stages"] = order(*FIRST_STAGES)
    orders[f"all first stages + {KEY}"] = order(*FIRST_STAGES, KEY)
    orders[f"all first stages + {CALIBRATED}"] = order(*FIRST_STAGES, CALIBRATED)
    return Variants(orders, train, dev)


def ids(ranking: Ranking) -> Order:
    """The passages of a ranking."""
    return tuple(found.passage_id for found in ranking)


def _orders(rankings: Sequence[Ranking]) -> list[Order]:
    return [ids(ranking) for ranking in rankings]


def _oracle(questions: Sequence[RankedQuestion], within: Callable[[RankedQuestion], Sequence[str]]) -> list[Order]:
    """Supporting passages that a substrate reaches come first, then weighted answer paths' own order (Table V)."""
    orders = []
    for question in questions:
        reached = tuple(name for name in question.gold if name in set(within(question)))
        rest = ids(question.rankings[KEY])
        orders.append((*reached, *(name for name in rest if name not in reached)))
    return orders


def measures(orders: Sequence[Order], questions: Sequence[RankedQuestion]) -> dict[str, Floats]:
    """Each question's measures in per cent.

    R@k is the share of its supporting passages among the first k, all@k says that they all are; support@5 says that one
    of the first 5 holds the answer, and is not a number where no passage of the question does (yes and no, mostly).
    """
    found: dict[str, list[float]] = {name: [] for name in ("R@2", "R@5", "all@5", "all@10", "support@5")}
    for order, question in zip(orders, questions, strict=True):
        gold = set(question.gold)
        for k in (2, 5):
            found[f"R@{k}"].append(100.0 * len(gold & set(order[:k])) / len(gold))
        for k in (5, 10):
            found[f"all@{k}"].append(100.0 * (gold <= set(order[:k])))
        held = 100.0 * bool(set(question.answering) & set(order[:5]))
        found["support@5"].append(held if question.answering else float("nan"))
    return {name: np.array(values) for name, values in found.items()}
