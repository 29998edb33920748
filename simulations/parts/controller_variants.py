"""The rankers of HKVM-RAG's controller tables, fitted on one dataset's train rows and applied to its dev rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

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
from simulations.parts.candidate_rankings import FIRST_STAGES, RARE, SECOND_HOP, SPACES, RankedQuestion

CUTS = (2, 5, 10)
CALIBRATED = "calibrated key spaces"
KEY_SPACES = tuple(f"{name}{RARE}" for name in SPACES)
PAIRWISE, KEY = KEY_SPACES[0], KEY_SPACES[-1]
ALL = "all first stages"
TOGETHER = {  # controllers over all first stages and more
    ALL: FIRST_STAGES,
    f"{ALL} + {KEY}": (*FIRST_STAGES, KEY),
    f"{ALL} + {CALIBRATED}": (*FIRST_STAGES, CALIBRATED),
    f"{ALL} + {SECOND_HOP}": (*FIRST_STAGES, SECOND_HOP),
    f"{ALL} + {SECOND_HOP} + {KEY}": (*FIRST_STAGES, SECOND_HOP, KEY),
    f"{ALL} + {SECOND_HOP} + {CALIBRATED}": (*FIRST_STAGES, SECOND_HOP, CALIBRATED),
}
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
    """Orders of the dev rows by name of the ranker, and of the train rows by `TOGETHER`'s, each out of fold."""

    orders: dict[str, list[Order]]
    on_train: dict[str, list[Order]]


def variants(split: Split) -> Variants:
    """Every row of the tables."""
    calibration = fitted(split, KEY_SPACES, {})
    train = out_of_fold(ControllerFeatures(KEY_SPACES), labelled(split.train, KEY_SPACES, {}), SETTINGS, split.rng())
    dev = reranked(calibration, split.dev, KEY_SPACES, {})

    def order(*sources: str) -> list[Order]:
        controller = fitted(split, sources, {CALIBRATED: train})
        return _orders(reranked(controller, split.dev, sources, {CALIBRATED: dev}))

    alone = (*FIRST_STAGES, SECOND_HOP, *SPACES, *KEY_SPACES)
    orders = {name: [ids(question.rankings[name]) for question in split.dev] for name in alone}
    orders["oracle: answer paths"] = _oracle(split.dev, lambda question: question.on_paths)
    orders["oracle: tuples"] = _oracle(split.dev, lambda question: question.named)
    orders["support scorer"] = order(KEY)
    orders["calibration"] = _orders(dev)
    for first in FIRST_STAGES:
        orders[f"{first} alone, reordered"] = order(first)
        fused = [fuse([q.rankings[first], one], (1.0, 1.0), max(CUTS)) for q, one in zip(split.dev, dev, strict=True)]
        orders[f"rank fusion: {first}, calibration"] = _orders(fused)
        for second in (*KEY_SPACES, CALIBRATED, SECOND_HOP):
            orders[f"{first} + {second}"] = order(first, second)
    orders |= {name: order(*sources) for name, sources in TOGETHER.items()}
    on_train = {name: held_out(split, sources, {CALIBRATED: train}) for name, sources in TOGETHER.items()}
    return Variants(orders, on_train)


def one_for_all(splits: Mapping[str, Split], sources: Sequence[str]) -> dict[str, tuple[list[Order], list[Order]]]:
    """Fit one ranker on the train rows of all datasets: the orders of each one's train rows, out of fold, and dev rows.

    No source may be among those that are made here.
    """
    train = [question for split in splits.values() for question in split.train]
    dev = [question for split in splits.values() for question in split.dev]
    whole = Split(train, dev, next(iter(splits.values())).seed)
    known = iter(held_out(whole, sources, {}))
    new = iter(_orders(reranked(fitted(whole, sources, {}), dev, sources, {})))
    return {
        name: (list(islice(known, len(split.train))), list(islice(new, len(split.dev))))
        for name, split in splits.items()
    }


def held_out(split: Split, sources: Sequence[str], extra: Extra) -> list[Order]:
    """The train rows, each ordered by a ranker over some sources that was fitted without it."""
    asked = labelled(split.train, sources, extra)
    return _orders(out_of_fold(ControllerFeatures(tuple(sources)), asked, SETTINGS, split.rng()))


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
