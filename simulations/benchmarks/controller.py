"""What do HKVM-RAG's key spaces and its learned reranker bring on three sets, and what does federation cost it?

Each question's own paragraphs are ranked by three first stages, a second hop over titles, and five key spaces over the
tuples of the rules over the parse. Encoding and parsing are kept. Rerankers (the paper's controllers) are fitted on
training rows and applied to dev rows, each set for itself; one row, and the federated table, fit one reranker on the
training rows of all three. The row to judge by is the best on the training rows, each ordered by a reranker that was
fitted without it. In brackets 95 % paired-bootstrap intervals over questions.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from pandas import DataFrame, concat

from fedrag_flwr.records import ControllerUpdate
from fedrag_flwr.retrieval.base import Ranking
from fedrag_flwr.retrieval.controller import Controller, ControllerFeatures
from fedrag_flwr.retrieval.controller_fitting import (
    Examples,
    FittingSettings,
    LabelledRankings,
    Moments,
    descend,
)
from simulations.bench.fitting import fit_controller, out_of_fold
from simulations.bench.frame import Bench
from simulations.bench.tables import Floats, Order, gained, ids, recalls
from simulations.corpora.candidates import (
    FIRST_STAGES,
    PAIRWISE,
    PATHS,
    RARE,
    SECOND_HOP,
    SPACES,
    RankedQuestion,
    ranked_questions,
)
from simulations.corpora.sentences import DATASETS
from strategies.controller_fedavg import fedavg

SEED, MOST = 7, 10
ROWS = 500  # of each set and split, at most
CALIBRATED = "calibrated key spaces"
KEY_SPACES = tuple(f"{name}{RARE}" for name in SPACES)
KEY = f"{PATHS}{RARE}"
ALL = "all first stages"
TOGETHER = {  # rerankers over all first stages and more
    ALL: FIRST_STAGES,
    f"{ALL} + {KEY}": (*FIRST_STAGES, KEY),
    f"{ALL} + {SECOND_HOP}": (*FIRST_STAGES, SECOND_HOP),
    f"{ALL} + {SECOND_HOP} + {CALIBRATED}": (*FIRST_STAGES, SECOND_HOP, CALIBRATED),
}
SHARED = f"{ALL} + {SECOND_HOP}, one for all sets"
SETTINGS = FittingSettings()
DEVICES, ROUNDS = 5, 20
FEDERATED = ControllerFeatures(("dense", "BM25", KEY, SECOND_HOP))  # the sources of a device's own reranker
POOLED, ALONE = "pooled", "each alone"

Extra = Mapping[str, Sequence[Ranking]]  # rankings that were made here, by name, one for each question
Measured = Mapping[str, "DataFrame"]  # by ranker: each question's measures


def run(bench: Bench) -> None:
    """Rank, fit, and compare."""
    splits = {
        name: Split(
            ranked_questions(bench.data(), name, "train", bench.sized(ROWS, 3), bench.tell),
            ranked_questions(bench.data(), name, "dev", bench.sized(ROWS, 1), bench.tell),
        )
        for name in DATASETS
    }
    shared = one_for_all(splits, TOGETHER[f"{ALL} + {SECOND_HOP}"])
    found, on_train = {}, {}
    for name, split in splits.items():
        held_out, new = shared[name]
        train_orders, dev_orders = variants(split)
        on_train[name] = {row: measures(one, split.train) for row, one in {**train_orders, SHARED: held_out}.items()}
        found[name] = {row: measures(one, split.dev) for row, one in {**dev_orders, SHARED: new}.items()}
    rows = ", ".join(f"{name} {len(one.train)} + {len(one.dev)}" for name, one in splits.items())
    best = max((*TOGETHER, SHARED), key=lambda row: sum(float(one[row]["all@5"].mean()) for one in on_train.values()))
    alone = (*FIRST_STAGES, SECOND_HOP)
    bench.table("rerankers_train", means(on_train, (*alone, *TOGETHER, SHARED)), f"Training rows, out of fold: {best}")
    steps = ("oracle: answer paths", "oracle: tuples", "support scorer", CALIBRATED)
    chosen = (*alone, *SPACES, *KEY_SPACES, *steps, *TOGETHER, SHARED)
    bench.table("rerankers", means(found, chosen), f"Training + dev rows: {rows}")
    judged = (SECOND_HOP, CALIBRATED, f"late interaction + {CALIBRATED}", *TOGETHER, SHARED)
    bench.table("gains", gains(found, [(row, "") for row in judged] + [(PATHS, PAIRWISE), (KEY, KEY_SPACES[0])]))
    bench.table("swaps", swaps(found), "all@5 of rerankers over a first stage and a second source")
    bench.table("federated", federation(splits))


@dataclass(frozen=True, slots=True)
class Split:
    """The train and dev rows of one set, with rankings of our own beside theirs."""

    train: Sequence[RankedQuestion]
    dev: Sequence[RankedQuestion]


def measures(orders: Sequence[Order], questions: Sequence[RankedQuestion]) -> DataFrame:
    """Each question's measures in per cent."""
    return recalls(orders, [one.gold for one in questions], (2, 5, 10), [one.answering for one in questions])


def labelled(questions: Sequence[RankedQuestion], sources: Sequence[str], extra: Extra) -> list[LabelledRankings]:
    """The rankings of some sources for each question, and what supports its answer."""
    brought = [extra[name] if name in extra else [one.rankings[name] for one in questions] for name in sources]
    pairs = zip(questions, zip(*brought, strict=True), strict=True)
    return [LabelledRankings(rankings, frozenset(question.gold)) for question, rankings in pairs]


def held_out(questions: Sequence[RankedQuestion], sources: Sequence[str], extra: Extra) -> list[Ranking]:
    """Training rows, each ranked by a reranker over some sources that was fitted without it."""
    asked = labelled(questions, sources, extra)
    return out_of_fold(ControllerFeatures(tuple(sources)), asked, SETTINGS, np.random.default_rng(SEED))


def reranked(split: Split, sources: Sequence[str], train: Extra, dev: Extra) -> list[Ranking]:
    """Dev rows, ranked by a reranker over some sources that was fitted on the training rows."""
    asked = labelled(split.train, sources, train)
    controller = fit_controller(ControllerFeatures(tuple(sources)), asked, SETTINGS, np.random.default_rng(SEED))
    return [controller.rerank(one.rankings, MOST) for one in labelled(split.dev, sources, dev)]


def variants(split: Split) -> tuple[dict[str, list[Order]], dict[str, list[Order]]]:
    """Orders by name of the ranker: of the train rows, where fitted out of fold, and of the dev rows."""
    train = {CALIBRATED: held_out(split.train, KEY_SPACES, {})}
    dev = {CALIBRATED: reranked(split, KEY_SPACES, {}, {})}
    fitted = {**TOGETHER, "support scorer": (KEY,)}
    for first in FIRST_STAGES:
        fitted[first + " alone, reordered"] = (first,)
        fitted |= {f"{first} + {second}": (first, second) for second in (*KEY_SPACES, CALIBRATED, SECOND_HOP)}
    alone = (*FIRST_STAGES, SECOND_HOP, *SPACES, *KEY_SPACES)
    orders = {name: [ids(question.rankings[name]) for question in split.dev] for name in alone}
    orders["oracle: answer paths"] = _oracle(split.dev, lambda question: question.on_paths)
    orders["oracle: tuples"] = _oracle(split.dev, lambda question: question.named)
    orders[CALIBRATED] = list(map(ids, dev[CALIBRATED]))
    orders |= {name: list(map(ids, reranked(split, sources, train, dev))) for name, sources in fitted.items()}
    on_train = {name: [ids(question.rankings[name]) for question in split.train] for name in alone}
    on_train |= {name: list(map(ids, held_out(split.train, sources, train))) for name, sources in TOGETHER.items()}
    return on_train, orders


def one_for_all(splits: Mapping[str, Split], sources: Sequence[str]) -> dict[str, tuple[list[Order], list[Order]]]:
    """Fit one reranker on the train rows of all sets: the orders of each one's train rows, out of fold, and dev rows.

    No source may be among those that are made here.
    """
    train = [question for split in splits.values() for question in split.train]
    dev = [question for split in splits.values() for question in split.dev]
    known = iter(map(ids, held_out(train, sources, {})))
    new = iter(map(ids, reranked(Split(train, dev), sources, {}, {})))
    return {
        name: (list(islice(known, len(split.train))), list(islice(new, len(split.dev))))
        for name, split in splits.items()
    }


def _oracle(questions: Sequence[RankedQuestion], within: Callable[[RankedQuestion], Sequence[str]]) -> list[Order]:
    """Supporting passages that a substrate reaches come first, then weighted answer paths' own order (Table V)."""
    orders = []
    for question in questions:
        reached = tuple(name for name in question.gold if name in set(within(question)))
        orders.append((*reached, *(name for name in ids(question.rankings[KEY]) if name not in reached)))
    return orders


def means(found: Mapping[str, Measured], rows: Sequence[str]) -> DataFrame:
    """The mean of some measures of each set."""
    measures = ["R@5", "all@5", "all@10", "support@5"]
    sets = {name: DataFrame({row: of[row][measures].mean() for row in rows}).T for name, of in found.items()}
    table = concat(sets, axis=1).round(1)
    table.columns = table.columns.map(" ".join)
    return table.rename_axis("ranker").reset_index()


def gains(found: Mapping[str, Measured], pairs: Sequence[tuple[str, str]]) -> DataFrame:
    """Differences of two rankers in all@5 by set; "" stands for the first stage that is best on these very rows."""
    rows = []
    for first, second in pairs:
        row = {"all@5 of": first, "against": second or "the best first stage"}
        for dataset, measured in found.items():
            other = second or max(FIRST_STAGES, key=lambda name: float(measured[name]["all@5"].mean()))
            row[dataset] = gained(measured[first], measured[other], "all@5", SEED)
        rows.append(row)
    return DataFrame(rows)


def swaps(found: Mapping[str, Measured]) -> DataFrame:
    """First stages with each second source (Tables VIII and IX)."""
    ways = {"alone": "{}", "alone, reordered": "{} alone, reordered"}
    ways |= {f"+ {second}": f"{{}} + {second}" for second in (*KEY_SPACES, CALIBRATED, SECOND_HOP)}
    rows = []
    for dataset, measured in found.items():
        for first in FIRST_STAGES:
            cells = {way: round(float(measured[row.format(first)]["all@5"].mean()), 1) for way, row in ways.items()}
            rows.append({"set": dataset, "first stage": first, **cells})
    return DataFrame(rows)


def federation(splits: Mapping[str, Split]) -> DataFrame:
    """One reranker for all sets: federated, pooled, and each device alone, dealt at random and by set."""
    asked = [question for split in splits.values() for question in split.dev]
    everything = [question for split in splits.values() for question in split.train]
    order = np.random.default_rng(SEED).permutation(len(everything))
    dealt: dict[str, Sequence[Sequence[RankedQuestion]]] = {
        "at random": [[everything[row] for row in part] for part in np.array_split(order, DEVICES)],
        "one set each": [split.train for split in splits.values()],
    }
    rows = []
    for how, devices in dealt.items():
        parts = [examples_of(questions) for questions in devices]
        ways = {"federated": [federated(parts)], POOLED: [pooled(parts)], ALONE: [pooled([part]) for part in parts]}
        found = {name: _averaged(controllers, asked) for name, controllers in ways.items()}
        for name, one in found.items():
            row = {"dealt": how, "devices": len(devices), "trained": name}
            row |= {measure: round(float(one[measure].mean()), 1) for measure in ("R@5", "all@5", "support@5")}
            rows.append(
                row | {f"all@5 - {other}": gained(one, found[other], "all@5", SEED) for other in (POOLED, ALONE)}
            )
    return DataFrame(rows)


def examples_of(questions: Sequence[RankedQuestion]) -> Examples:
    """The candidates of a device's questions."""
    asked = labelled(questions, FEDERATED.sources, {})
    return Examples.of(FEDERATED, asked, SETTINGS, np.random.default_rng(SEED))


def pooled(parts: Sequence[Examples]) -> Controller:
    """Fit on the examples of all devices together."""
    values = np.concatenate([part.values for part in parts])
    together = Examples(values, np.concatenate([part.supports for part in parts]))
    scaling = Moments.of(values).scaling
    start = np.zeros(len(FEDERATED.names) + 1)
    weights = descend(start, together, scaling, SETTINGS, SETTINGS.epochs, np.random.default_rng(SEED))
    return Controller(FEDERATED, scaling, weights[:-1], float(weights[-1]))


def federated(parts: Sequence[Examples]) -> Controller:
    """Fit by the steps of `controller-fedavg`: common scaling, then rounds of local epochs and Flower's average."""

    def average(values: Sequence[Floats]) -> Floats:
        pairs = zip(parts, values, strict=True)
        return fedavg([ControllerUpdate("", len(part), tuple(one.tolist())) for part, one in pairs])

    width = len(FEDERATED.names)
    moments = [Moments.of(part.values) for part in parts]
    common = average([np.concatenate([one.mean, one.square]) for one in moments])
    scaling = Moments(common[:width], common[width:]).scaling
    weights = np.zeros(width + 1)
    rng = np.random.default_rng(SEED)
    for _ in range(ROUNDS):
        epochs = SETTINGS.epochs // ROUNDS
        weights = average([descend(weights, part, scaling, SETTINGS, epochs, rng) for part in parts])
    return Controller(FEDERATED, scaling, weights[:-1], float(weights[-1]))


def _averaged(controllers: Sequence[Controller], asked: Sequence[RankedQuestion]) -> DataFrame:
    """Each question's measures, averaged over the rerankers of one way of training."""
    brought = [[question.rankings[name] for name in FEDERATED.sources] for question in asked]
    found = [measures([ids(one.rerank(rankings, MOST)) for rankings in brought], asked) for one in controllers]
    return concat(found).groupby(level=0).mean()
