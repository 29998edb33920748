"""The rows of the privacy evaluation as Markdown tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fedrag_flwr.evaluation import share_interval

Row = Mapping[str, Any]

HEADINGS = (
    *("dataset", "mechanism", "names covered", "memories shared", "best possible", "likelihood", "reading on"),
    *("model, context", "model and mechanism", "own ACC", "of covered", "dataset ACC / F1"),
)


def table(rows: Sequence[Row]) -> str:
    """Three tables: privacy beside use, several uploads, and what stays readable."""
    lines = markdown(HEADINGS, [_main(row) for row in rows])
    drawn = [row for row in rows if "fresh" in row]
    uploads = [key for key in drawn[0]["fresh"] if key != "of"] if drawn else []
    heads = ["dataset", "mechanism", *(f"{count} uploads" for count in uploads)]
    heads += [f"{count}, with the model" for count in uploads] + [f"{count}, memoised" for count in uploads]
    lines += ["", *markdown(heads, [_uploads(row, uploads) for row in drawn])]
    replaced = [row for row in rows if row["left"]["of"] and row["mechanism"] != "none"]
    heads = ["dataset", "mechanism", "names replaced", "still in the memory", "or beside it"]
    lines += ["", *markdown(heads, [_left(row) for row in replaced])]
    return "\n".join(lines) + "\n"


def _main(row: Row) -> list[str]:
    own, asked = row["own"], row["asked"]
    return [
        row["dataset"],
        row["mechanism"],
        _per_cent(row["covered"], row["mentions"]) if "theory" in row else "-",
        _per_cent(row["released"], row["memories"]),
        f"{100 * row['theory']:.1f}" if "theory" in row else "-",
        _read_off(row) if row["mechanism"] == "none" else _share(row.get("guess")),
        *(_share(row.get(name)) for name in ("reading_on", "context", "both")),
        _per_cent(own["accuracy"], own["of"]),
        _per_cent(row["own_covered"]["accuracy"], row["own_covered"]["of"]),
        f"{_per_cent(asked['accuracy'], asked['of'])} / {_per_cent(asked['f1'], asked['of'])}",
    ]


def _uploads(row: Row, uploads: Sequence[str]) -> list[str]:
    shares = [row.get(how) for how in ("fresh", "both_fresh", "kept")]
    cells = [_per_cent(share[count], share["of"]) if share else "-" for share in shares for count in uploads]
    return [row["dataset"], row["mechanism"], *cells]


def _left(row: Row) -> list[str]:
    left = row["left"]
    shares = [_per_cent(left[where], left["of"]) for where in ("in_memory", "beside")]
    return [row["dataset"], row["mechanism"], str(left["of"]), *shares]


def _read_off(row: Row) -> str:
    return f"{_per_cent(row['left']['in_memory'], row['left']['of'])}, read off"


def _share(share: Mapping[str, float] | None) -> str:
    if not share or not share["of"]:
        return "-"
    low, high = share_interval(share["right"], int(share["of"]))
    return f"{_per_cent(share['right'], share['of'])} [{100 * low:.1f}, {100 * high:.1f}] of {share['of']}"


def _per_cent(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f}" if whole else "-"


def markdown(headings: Sequence[str], cells: Sequence[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(line)} |" for line in (headings, ["---"] * len(headings), *cells)]
