"""Tables as Markdown, and lines as a chart."""

from __future__ import annotations

from pathlib import Path

from pandas import DataFrame


def markdown(frame: DataFrame) -> str:
    """A frame as a Markdown table; whole numbers without a point, others as they were rounded."""
    cells = [[_cell(value) for value in row] for row in frame.itertuples(index=False, name=None)]
    lines = [list(map(str, frame.columns)), ["---"] * len(frame.columns), *cells]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(value: object) -> str:
    if value is None or value != value:
        return ""
    return f"{value:g}" if isinstance(value, float) and abs(value) < 1e6 else str(value)


def line_chart(lines: DataFrame, x: str, y: str, path: Path) -> None:
    """Draw each column over the index, as SVG.

    Raises
    ------
    ImportError
        matplotlib, of the extra `dev`, is missing.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context({"svg.hashsalt": path.stem}):  # the same figures, the same file
        figure = Figure(figsize=(7, 4), layout="constrained")
        axes = figure.subplots()
        for name in lines.columns:
            axes.plot(lines.index, lines[name], marker="o", markersize=3, label=str(name))
        axes.set(xlabel=x, ylabel=y)
        axes.grid(alpha=0.3)
        if len(lines.columns) > 1:
            axes.legend(frameon=False)
        figure.savefig(path, metadata={"Date": None})
