"""`fedrag bench`: one command for all benchmarks and fits."""

import click
import typer
from typer.core import TyperGroup

from fedrag_flwr.cli.console import out

# every `fedrag` command reads this file: what needs Flower and the models waits until it is asked for


class _OnDemand(TyperGroup):
    """Benchmarks, which are imported when they are named."""

    package: str = "BENCHMARKS"
    beside: tuple[str, ...] = ("list", "fit")

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all."""
        return [*self.beside, *self._papers(), *self._known()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """One by its name."""
        from simulations.bench import frame

        if (own := super().get_command(ctx, cmd_name)) is not None:
            return own
        if cmd_name in self._papers():
            return _command(cmd_name, frame.paper_command(cmd_name))
        package = getattr(frame, self.package)
        return _command(cmd_name, frame.command_of(package, cmd_name)) if cmd_name in self._known() else None

    def _papers(self) -> tuple[str, ...]:
        from simulations.bench import frame

        return (frame.ALL, *frame.PAPERS) if self.beside else ()

    def _known(self) -> dict[str, str]:
        from simulations.bench import frame

        return frame.known(getattr(frame, self.package))


class _Fits(_OnDemand):
    """Fits, which are imported when they are named."""

    package, beside = "FITS", ()


def _command(name: str, function: object) -> click.Command:
    one = typer.Typer(add_completion=False)
    one.command(name)(function)  # type: ignore[type-var]
    return typer.main.get_command(one)


bench = typer.Typer(cls=_OnDemand, no_args_is_help=True, help="Run a benchmark, or all that a paper's tables need.")
bench.add_typer(
    typer.Typer(cls=_Fits, no_args_is_help=True, help="Fit on training rows what ships fitted.", callback=lambda: None),
    name="fit",
)


@bench.command("list")
def list_benchmarks() -> None:
    """Name every benchmark and fit with the question that it answers, and what each paper's name runs."""
    from simulations.bench import frame

    for package, heading in ((frame.BENCHMARKS, "fedrag bench NAME"), (frame.FITS, "fedrag bench fit NAME")):
        out.print(heading, style="bold")
        for name, question in frame.known(package).items():
            out.print(f"  {name:<14} {question}", highlight=False, markup=False, soft_wrap=True)
    out.print("papers", style="bold")
    for paper, names in frame.PAPERS.items():
        out.print(f"  {paper:<14} {', '.join(names)}", highlight=False, soft_wrap=True)
