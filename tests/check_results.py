"""Check that the newest results under a folder hold real answers: `python -m tests.check_results results`."""

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
    if not all(device.items for device in summary.devices.values()):
        problems.append("a device has no memories")
    return problems


if __name__ == "__main__":
    runs = sorted(Path(sys.argv[1]).glob(f"*/{SUMMARY}"), key=lambda path: path.stat().st_mtime)
    problems = check(runs[-1].parent) if runs else ["there are no results"]
    sys.exit("\n".join(problems) or 0)
