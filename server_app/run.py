"""A run's plan: which questions, which systems in which order, and where the results go."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from logging import ERROR, INFO, WARNING
from pathlib import Path

from flwr.common import log
from flwr.serverapp import Grid

from fedrag_flwr.demo import QUESTIONS
from fedrag_flwr.errors import FedragError, SettingError, SourceError
from fedrag_flwr.evaluation.gold import GoldQuestion, read_gold
from fedrag_flwr.evaluation.manifest import collect_manifest
from fedrag_flwr.evaluation.results import write_results
from fedrag_flwr.evaluation.scoring import SystemResult, score_system
from fedrag_flwr.loaded_models import generator_id, resolved
from fedrag_flwr.progress import Pace
from fedrag_flwr.records import BuildReport, Question
from fedrag_flwr.settings import Settings, fedrag_home
from server_app.journal import Journal
from strategies import make_strategy
from strategies.base import FederatedRag
from strategies.outcome import RunOutcome
from strategies.overlay_walk import OverlayWalk
from strategies.references import Centralized
from strategies.server_tools import ServerTools


def run_systems(grid: Grid, run_id: str, settings: Settings, gold: Sequence[GoldQuestion] | None = None) -> Path:
    """Run the strategy and its baselines one after the other on the same devices, and write the results; raises
    FederationError where too few devices took part, and SettingError where there are no such questions or no such
    strategy, or several walks would share what devices keep, and StoreError where the journal or the results cannot be
    written; with `resume` the same run goes on from the answers that are kept.

    Gives the results' folder, which is named by the run's id. `gold` is asked in place of the questions that the
    settings name.
    """
    started, start = datetime.now(UTC), time.monotonic()
    gold = questions_of(settings) if gold is None else gold
    asked = [Question(question.question_id, question.text, question.home) for question in gold]
    tools = ServerTools(settings)
    outcomes: dict[str, RunOutcome] = {}
    strategies = _systems(settings, asked, tools)
    failure: FedragError | None = None
    journal = Journal.of(settings, asked) if settings.resume else None
    try:
        for name, strategy in strategies.items():
            strategy.summary()
            try:
                outcomes[name] = _run(strategy, grid, run_id, journal)
            except FedragError as error:
                if not outcomes:
                    raise
                failure = error  # what the systems before it brought is kept
                log(ERROR, "%s failed: %s", name, error)
                break
            for device, reason in outcomes[name].traffic.missing.items():
                log(INFO, "%s went on without %s: %s", name, device, reason)
            known = {card.name for card in outcomes[name].cards} | outcomes[name].traffic.missing.keys()
            for home, count in strays(asked, known).items():
                log(WARNING, "%s: nobody was asked %d questions, as no device is called '%s'", name, count, home)
    finally:
        tools.close()
        if journal is not None:
            journal.close()
    folder = write_results(
        Path(settings.results) if settings.results else fedrag_home(settings.home) / "results",
        run_id,
        collect_manifest(
            settings.flat(),
            seed=settings.seed,
            models=_models(outcomes.values(), settings),
            started=started,
            seconds=time.monotonic() - start,
        ),
        {name: _score(gold, outcome) for name, outcome in outcomes.items()},
        {name: outcome.answers for name, outcome in outcomes.items()},
        gold,
        _builds(outcomes),
    )
    log(INFO, "results: %s", folder)
    if failure is not None:
        raise failure
    if journal is not None:
        journal.discard()
    return folder


def check_simulated(settings: Settings) -> None:
    """Refuse a comparison that simulated devices would refuse in the end: they follow the run's settings; raises
    SettingError where `centralized` is among the systems, and documents may not leave.
    """
    if Centralized.name in settings.systems and not settings.privacy.documents_leave:
        raise SettingError(
            f"'{Centralized.name}' reads whole documents, and none may leave",
            where="strategy, baselines",
            fix='set privacy.export = "none" and privacy.share-documents = true for all systems, or leave it out',
        )


def check_run(settings: Settings) -> None:
    """Refuse a simulated run that could not begin, or not end, before anything is loaded or sent; raises SettingError
    where there are no such questions or no such strategy, or a strategy refuses a setting, and SourceError,
    DocumentError where the questions cannot be read.
    """
    check_simulated(settings)
    if settings.mode == "serve":
        served(settings, ServerTools(settings))
    else:
        questions_of(settings)
        _systems(settings, (), ServerTools(settings))


def served(settings: Settings, tools: ServerTools) -> FederatedRag:
    """The strategy of a run that stays; raises SettingError where it tells no home its answers, or there is none."""
    strategy = make_strategy(settings.strategy, settings, (), tools)
    if not strategy.serves:
        raise SettingError(f"'{strategy.name}' tells no home its answers", where="strategy", fix="choose another")
    return strategy


def _systems(settings: Settings, asked: Sequence[Question], tools: ServerTools) -> dict[str, FederatedRag]:
    """All strategies of a run before the first begins: a wrong name or setting shows at once."""
    strategies = {
        name: make_strategy(name, settings, asked, tools, Pace(name, lambda step: log(INFO, "%s", step)))
        for name in settings.systems
    }
    if sum(isinstance(one, OverlayWalk) for one in strategies.values()) > 1 and settings.overlay.cache_similarity <= 1:
        raise SettingError(
            "walks of one run would give each other's answers again",
            where="overlay.cache-similarity",
            fix="set it above 1, which turns that off, or compare them in runs of their own",
        )
    return strategies


def _run(strategy: FederatedRag, grid: Grid, run_id: str, journal: Journal | None) -> RunOutcome:
    """Run a strategy, or what a run that was cut has left of it."""
    if journal is None:
        return strategy.run(grid, run_id)
    if (kept := journal.outcome(strategy.name)) is not None:
        return kept
    strategy.resume(journal.answers(strategy.name), partial(journal.note, strategy.name))
    outcome = strategy.run(grid, run_id)
    journal.close_system(strategy.name, outcome)
    return outcome


def strays(asked: Iterable[Question], devices: Collection[str]) -> Counter[str]:
    """How many questions there are for each home that is none of these devices: nobody is asked them."""
    return Counter(question.home for question in asked if question.home not in devices)


def questions_of(settings: Settings) -> list[GoldQuestion]:
    """The questions that a run asks: of one split, and at most `data.limit` of them, spread over homes and kinds."""
    path = QUESTIONS if settings.data.questions == "demo" else Path(settings.data.questions).expanduser()
    if not path.is_file():
        fix = 'name a JSON lines file of questions, or "demo"'
        raise SourceError(f"there is no file '{path}'", where="data.questions", fix=fix)
    questions = [q for q in read_gold(path) if settings.data.split in ("", q.split)]
    if not questions:
        raise SettingError(
            f"there are no questions of split '{settings.data.split}'",
            where="data.split",
            fix="name a split that the file has, or leave it empty for all",
        )
    return spread(questions, settings.data.limit) if settings.data.limit else questions


def spread(questions: Sequence[GoldQuestion], limit: int) -> list[GoldQuestion]:
    """At most `limit` questions, from each (kind, home) in proportion to its size, in their own order.

    Each group gets its share rounded down, and those with the largest remainders one more.
    """
    groups: dict[tuple[str, str], list[GoldQuestion]] = defaultdict(list)
    for question in questions:
        groups[question.kind, question.home].append(question)
    most = min(limit, len(questions))
    shares = {key: divmod(len(group) * most, len(questions)) for key, group in groups.items()}
    left = most - sum(whole for whole, _ in shares.values())
    rounded_up = set(sorted(shares, key=lambda key: -shares[key][1])[:left])
    taken = {key: whole + (key in rounded_up) for key, (whole, _) in shares.items()}
    chosen = {question.question_id for key, group in groups.items() for question in group[: taken[key]]}
    return [question for question in questions if question.question_id in chosen]


def _score(gold: Sequence[GoldQuestion], outcome: RunOutcome) -> SystemResult:
    return score_system(gold, outcome.answers, outcome.traffic, peak_rss_mb=outcome.peak_rss_mb, counts=outcome.counts)


def _models(outcomes: Iterable[RunOutcome], settings: Settings) -> dict[str, str]:
    cards = [card for outcome in outcomes for card in outcome.cards]
    own = {"server's generator": generator_id(resolved(settings.server_models))} if settings.server.generator else {}
    return own | {
        "encoder": ", ".join(sorted({card.encoder_id for card in cards})),
        "generator": ", ".join(sorted({card.generator_id for card in cards})),
    }


def _builds(outcomes: Mapping[str, RunOutcome]) -> list[BuildReport]:
    """One report for each device, of all builds of the run together."""
    merged: dict[str, BuildReport] = {}
    for outcome in outcomes.values():
        for report in outcome.builds:
            earlier = merged.get(report.device)
            merged[report.device] = report if earlier is None else _together(earlier, report)
    return list(merged.values())


def _together(earlier: BuildReport, later: BuildReport) -> BuildReport:
    """What the store holds in the end, and what each build made, cost and could not do."""
    return replace(
        later,
        added=earlier.added + later.added,
        changed=earlier.changed + later.changed,
        removed=earlier.removed + later.removed,
        orphans=later.orphans or earlier.orphans,
        corpus_tokens=earlier.corpus_tokens + later.corpus_tokens,
        failed=tuple(dict.fromkeys((*earlier.failed, *later.failed))),
        rejects=later.rejects or earlier.rejects,
        cost=earlier.cost + later.cost,
        peak_rss_mb=max(earlier.peak_rss_mb, later.peak_rss_mb),
        graph=later.graph or earlier.graph,
    )
