"""Questions that people put at their device, and a run that serves them."""

from fedrag_flwr.local_grid import LocalGrid
from fedrag_flwr.records import Question
from server_app.serving import Serving
from strategies import make_strategy
from tests.strategies.federation import Federation, Tamper, server_tools


class Clock:
    """Seconds that pass when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def serving(files: Federation, tamper: Tamper | None = None) -> tuple[Serving, LocalGrid]:
    """A run that looks for questions once it is started, and the grid that carries its messages."""
    tools = server_tools(files)
    strategy = make_strategy(files.settings.strategy, files.settings, (), tools)
    strategy.patience = 0.0
    grid, clock = files.grid(tamper), Clock()
    return Serving(grid, "1", strategy, files.settings, clock, clock.sleep), grid


def put(files: Federation, question: Question) -> bool:
    """Ask at a device; whether the question waits there now."""
    with files.device(question.home) as home:
        _, waits = home.ask_at_home(question, help=True)
        assert waits == home.waiting.outbox.holds(question.id)
    return waits


def nothing_shows(files: Federation, question: Question, *words: str) -> None:
    """Serve a question that waits, and look for it, its answer and such words in every message."""
    files = files.with_changes(serving__outbox=True, serving__polls=1, privacy__answers="waiting")
    with files.device(question.home) as home:
        home.waiting.outbox.put(question)
    run, grid = serving(files)
    run.run()
    assert run.strategy.transport.traffic.missing == {}
    with files.device(question.home) as home:
        answer = home.delivered.all()[question.id]
        assert not home.waiting.outbox.holds(question.id)
    helped = any(one.step == "help" and "evidence of" in one.said for one in answer.decisions)
    assert answer.path == "remote" or helped  # so the question left
    assert answer.text
    assert answer.sources
    private = {question.text, answer.text, *answer.sources, *words}
    shown = {word for word in private for data in grid.sent if word.encode() in data}
    assert not shown, shown
