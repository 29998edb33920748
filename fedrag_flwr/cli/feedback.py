"""`fedrag feedback`: what people at a device think of an answer that walked."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer
from rich.markup import escape

from fedrag_flwr.cli.console import SetOption, out, with_errors
from fedrag_flwr.cli.device import NameOption, StoreOption, open_as_configured


class Verdict(StrEnum):
    """What somebody thinks of an answer."""

    GOOD = "good"
    BAD = "bad"


@with_errors
def feedback(
    answer: Annotated[str, typer.Argument(help="The id of the question that it answers.")],
    verdict: Annotated[Verdict, typer.Argument(help="What you think of it.")],
    name: NameOption = "here",
    store: StoreOption = None,
    changes: SetOption = None,
) -> None:
    """Say whether an answer was good: the device learns whom to ask, and gives a bad one never again."""
    with open_as_configured(name, store, changes) as device:
        out.print(escape(device.walks.feedback(answer, good=verdict is Verdict.GOOD)), highlight=False)
