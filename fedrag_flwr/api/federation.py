"""A federation in this process: the same client and server code as under Flower's engines, without its processes."""

from __future__ import annotations

import itertools
import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from fedrag_flwr.api.answer import Answer, answer_of
from fedrag_flwr.api.configured import Given, configured
from fedrag_flwr.api.device import Device
from fedrag_flwr.errors import SettingError, SourceError
from fedrag_flwr.evaluation.gold import GoldQuestion, gold_of, read_gold
from fedrag_flwr.evaluation.measures import COST, QUALITY
from fedrag_flwr.evaluation.results import read_answers, read_summary
from fedrag_flwr.home_paths import Plain, is_deployed, new_id
from fedrag_flwr.local_grid import LocalGrid
from fedrag_flwr.nodes import Node
from fedrag_flwr.records import BuildReport, Progress, Question, silent
from fedrag_flwr.service.answers import given
from fedrag_flwr.settings import Settings, of_device
from fedrag_flwr.text.words import question_line

if TYPE_CHECKING:
    import pandas as pd

    from strategies.base import FederatedRag

Questions = str | Path | Sequence[str | Mapping[str, Any]]
_COLUMNS = (
    *("id", "home", "question", "gold", "answer", "right", "em", "f1"),
    *("path", "confidence", "seconds", "sources"),
)
_RUNS = itertools.count(int(time.time()))


class Federation:
    """Devices that answer each other's questions under a strategy.

    Make one by `from_folders` or `of`.

    Parameters
    ----------
    settings
        Of the run.
    nodes
        The config of each device's node.
    """

    def __init__(self, settings: Settings, nodes: Sequence[Mapping[str, Plain]]) -> None:
        self.settings = settings
        self._configs = nodes
        self._nodes = [Node(config, settings.flat(), number) for number, config in enumerate(nodes)]
        self.devices = tuple(node.device_name() for node in self._nodes)
        self._strategy: FederatedRag | None = None

    @classmethod
    def from_folders(
        cls, root: str | Path, strategy: str = "", *, settings: Given = None, **changes: Plain
    ) -> Federation:
        """One device for each folder under a folder, called by the folder's name.

        Parameters
        ----------
        root
            The folder of folders; ``"demo"``: the documents that the project brings.
        strategy
            Its name; empty: the default.
        settings, changes
            As for `Device`.

        Raises
        ------
        SettingError
            There is no such strategy, or a setting is unknown or not allowed.
        SourceError
            There are no folders.
        """
        place = str(root)
        if place != "demo":
            place = str(Path(root).expanduser().resolve())
            if not Path(place).is_dir():
                raise SourceError("there is no such folder", where=str(root), fix="name a folder of devices' folders")
        told = _under(configured(settings, changes), strategy, {"data.root": place})
        folders = Node({}, told.flat()).folders()
        if not folders:
            raise SourceError("there is no folder in it", where=str(root), fix="make one folder for each device")
        told = _under(told, "", {"federation.devices": len(folders)})
        return cls(told, [{"partition-id": number} for number in range(len(folders))])

    @classmethod
    def of(
        cls, devices: Sequence[Device], strategy: str = "", *, settings: Given = None, **changes: Plain
    ) -> Federation:
        """A federation of these devices, each with its own store and what it decides by itself about privacy.

        Raises
        ------
        SettingError
            As for `from_folders`; or there are no devices, or two of one name, or of different homes.
        """
        names = [one.name for one in devices]
        homes = {one.settings.home for one in devices}
        if not names or len(set(names)) < len(names):
            raise SettingError("need names of their own", where="devices", fix="give one or more, each another name")
        if len(homes) > 1:
            raise SettingError("have different homes", where="devices", fix="give all the same home")
        told = _under(configured(settings, changes), strategy, {"federation.devices": len(names), "home": homes.pop()})
        return cls(told, [one.node_config | of_device(told) for one in devices])

    def close(self) -> None:
        """End what the strategy has started."""
        if self._strategy is not None:
            self._strategy.close()
            self._strategy.tools.close()
            self._strategy = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Federation({', '.join(self.devices)}; {self.settings.strategy})"

    def build(self, progress: Progress = silent) -> dict[str, BuildReport]:
        """Let each device bring its memory up to date, and share what the strategy shares.

        Returns
        -------
        dict
            The report of each device that took part, by its name.

        Raises
        ------
        FederationError
            Too few devices took part.
        """
        self.close()
        from strategies import ServerTools, make_strategy

        strategy = make_strategy(self.settings.strategy, self.settings, (), ServerTools(self.settings), progress)
        with _quiet():
            strategy.prepare(*self._opened())
        self._strategy = strategy
        return {report.device: report for report in strategy.builds.values()}

    def ask(self, question: str, at: str = "") -> Answer:
        """Ask a question at a device; builds first if nobody did.

        Parameters
        ----------
        question
            The question.
        at
            The device at which it is asked; empty: the first.

        Raises
        ------
        SettingError
            There is no such device, or no question.
        FederationError
            Too few devices took part.
        """
        at = at or self.devices[0]
        if at not in self.devices:
            raise SettingError("there is no such device", where=at, fix=f"one of {', '.join(self.devices)}")
        if self._strategy is None:
            self.build()
        assert self._strategy is not None
        asked = Question(new_id(), question_line(question), at)
        with self._nodes[self.devices.index(at)].device() as home:
            home.waiting.outbox.put(asked)  # its people's own: they read the answer as it is, the run is told nothing
            try:
                with _quiet():
                    self._strategy.ask([asked])
                found = home.delivered.get(asked.id) or self._strategy.answers.get(asked.id)
            finally:
                home.waiting.outbox.withdraw(asked.id)
                self._strategy.forget()
            if found is None:
                return Answer(asked.text, "", "missing", 0.0, f"{at} gave no answer.")
            return answer_of(given(asked.id, asked.text, found, home.trace(found), time.time()))

    def run(self, questions: Questions, *, verbose: bool = False) -> pd.DataFrame:
        """Ask many questions, each at its home, and judge the answers as home reads them (``privacy.answers``).

        Parameters
        ----------
        questions
            A JSON-lines file, or mappings: ``question``, ``home``, ``answer``; optionally ``id``, ``aliases``,
            ``kind``, ``documents``, ``must``.
        verbose
            Whether to log what Flower and the strategy say.

        Returns
        -------
        pandas.DataFrame
            A row for each question, with its answer, whether that is right, its path, confidence and seconds.

        Raises
        ------
        SourceError, DocumentError
            The questions cannot be read.
        FederationError
            Too few devices took part.
        """
        import pandas as pd

        folder = self._results((), questions, verbose)
        table = pd.DataFrame([asdict(row) | {"seconds": row.cost.seconds} for row in read_answers(folder)])
        return table.rename(columns={"question_id": "id", "score": "confidence"})[list(_COLUMNS)]

    def compare(self, strategies: Sequence[str], questions: Questions, *, verbose: bool = False) -> pd.DataFrame:
        """Ask the same questions under several strategies, and judge answers as home reads them.

        Returns
        -------
        pandas.DataFrame
            A row for each strategy; quality in shares, seconds, calls, tokens and bytes. An answer that was kept from
            before counts with the seconds that it once took. `attrs["results"]` is the folder with report.html and
            every answer.

        Raises
        ------
        SettingError
            There is no such strategy.
        SourceError, DocumentError, FederationError
            As for `run`.
        """
        import pandas as pd

        folder = self._results(strategies, questions, verbose)
        systems = read_summary(folder).systems
        measures = [*QUALITY, *COST]
        table = pd.DataFrame(
            [[one.value(result) for one in measures] for result in systems.values()],
            index=pd.Index(systems, name="strategy"),
            columns=[one.heading for one in measures],
        )
        rows = [(row.system, row.home, row.cost.seconds) for row in read_answers(folder) if row.answer is not None]
        for system, answers in pd.DataFrame(rows, columns=["system", "home", "seconds"]).groupby("system"):
            table.loc[system, "Mean latency"] = answers.groupby("home")["seconds"].mean().mean()
            table.loc[system, ["p50", "p95"]] = answers["seconds"].quantile([0.5, 0.95]).to_numpy()
        table.attrs["results"] = str(folder)
        return table

    def _results(self, strategies: Sequence[str], questions: Questions, verbose: bool) -> Path:
        """The results folder of a run."""
        from server_app.run import check_simulated, run_systems

        names = list(strategies) or [self.settings.strategy]
        told = _under(self.settings, names[0], {"baselines": ", ".join(names[1:])})
        gold = _gold(questions, self.devices[0])
        for one in gold:
            if one.home not in self.devices:
                known = ", ".join(self.devices)
                raise SettingError(f"no device is called '{one.home}'", where=f"home of {one.question_id}", fix=known)
        if not all(map(is_deployed, self._configs)):
            check_simulated(told)
        with _quiet(verbose):
            return run_systems(*self._opened(), told, gold)

    def _opened(self) -> tuple[LocalGrid, str]:
        """A grid for one run, and the run's id."""
        from client_app.app import app

        run = next(_RUNS)
        return LocalGrid(app, self._configs, self.settings.flat(), run_id=run, record=False), str(run)


def _under(settings: Settings, strategy: str, changes: Mapping[str, Plain]) -> Settings:
    """Settings with changes, under a strategy where one is named."""
    from strategies import strategy_kind

    named = {"strategy": strategy} if strategy else {}
    told = Settings.from_config(settings.flat() | dict(changes) | named)
    for name in told.systems:
        strategy_kind(name)
    return told


def _gold(questions: Questions, home: str) -> list[GoldQuestion]:
    """The questions to ask; those without an id or a home get one."""
    if isinstance(questions, str | Path):
        return read_gold(Path(questions).expanduser())
    found: dict[str, GoldQuestion] = {}
    for number, asked in enumerate(questions, 1):
        fields = {"question": asked} if isinstance(asked, str) else dict(asked)
        one = gold_of({"id": f"q{number}", "home": home, "answer": ""} | fields, f"question {number}", found)
        found[one.question_id] = one
    return list(found.values())


@contextmanager
def _quiet(verbose: bool = False) -> Iterator[None]:
    """Let Flower's log say warnings only."""
    logger = logging.getLogger("flwr")
    before = logger.level
    logger.setLevel(before if verbose else logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(before)
