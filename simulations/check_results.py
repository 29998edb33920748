"""Check that the newest results under a folder hold real answers: `python simulations/check_results.py results`."""

from __future__ import annotations

import sys
from pathlib import Path

from fedrag_flwr.evaluation.results import REPORT, SUMMARY, read_answers, read_summary


def check(folder: Path) -> list[str]:
    """What is wrong with the results of one run; nothing where all is well."""
    summary, rows = read_summary(folder), read_answers(folder)
    problems = [] if (folder / REPORT).stat().st_size > 10_000 else ["the report is empty"]
    for name, system in summary.systems.items():
        own = [row for row in rows if row.system == name]
        if not any(row.right and row.answer for row in own):
            problems.append(f"{name}: not one right answer")
        if system.missing or system.missing_devices:
            problems.append(f"{name}: went on without {', '.join(system.missing_devices) or 'some answers'}")
    fused = summary.systems.get("memory-fusion")
    if fused is None or not fused.paths.get("memorizer"):
        problems.append("memory-fusion: not one answer from memory")
    if not all(device.items for device in summary.devices.values()):
        problems.append("a device has no memories")
    return problems


def main() -> None:
    """Check the newest run below a folder."""
    root = Path(sys.argv[1] if len(sys.argv) > 1 else "results")
    runs = sorted(root.glob(f"*/{SUMMARY}"), key=lambda path: path.stat().st_mtime)
    problems = check(runs[-1].parent) if runs else ["there are no results"]
    for problem in problems:
        print(problem)
    if problems:
        sys.exit(1)
    print(f"{runs[-1].parent.name}: the results hold real answers of {len(read_summary(runs[-1]).systems)} systems")


if __name__ == "__main__":
    main()
