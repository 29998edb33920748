"""The frame of benchmarks: options, names, rows that are kept, and that every paper's benchmarks are there."""

import json
from pathlib import Path

import pytest
from pandas import DataFrame
from typer.testing import CliRunner

from fedrag_flwr.cli import app
from fedrag_flwr.errors import SettingError, SourceError
from fedrag_flwr.evaluation.manifest import code_digest
from simulations.bench.frame import ALL, BENCHMARKS, FITS, PAPERS, Bench, known, run_one
from simulations.reporting.kept_rows import KeptRows, Row, RowFile, this_code

RUN = CliRunner()


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package with one benchmark that measures a row and says how it was called."""
    package = tmp_path / "made_up_benchmarks"
    package.mkdir()
    (package / "__init__.py").write_text('"""Made up."""\n')
    (package / "one_more.py").write_text(
        '"""Does it run?\n\nMore words."""\n\n'
        "def run(bench, words: int = 3) -> None:\n"
        '    """Run it."""\n'
        "    kept = bench.rows('rows', 'seed=7')\n"
        "    row = kept.row('a', lambda: {'words': words})\n"
        "    bench.tell(f'{row} {bench.quick} {bench.settings.seed}')\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr("simulations.bench.frame.BENCHMARKS", package.name)
    return package


def bench(*words: str) -> tuple[int, str]:
    found = RUN.invoke(app, ["bench", *words])
    return found.exit_code, found.output


def test_every_benchmark_and_fit_asks_a_question_in_its_first_line() -> None:
    for package in (BENCHMARKS, FITS):
        for name, question in known(package).items():
            assert question.strip(), name
            assert package == FITS or question.endswith("?"), name
    code, told = bench("list")
    assert code == 0
    assert all(name in told for name in (*known(BENCHMARKS), *known(FITS), *PAPERS))


def test_all_benchmarks_of_a_paper_exist() -> None:
    assert {name for names in PAPERS.values() for name in names} - known(BENCHMARKS).keys() == set()


@pytest.mark.parametrize("name", [*known(BENCHMARKS), *known(FITS), *PAPERS, ALL])
def test_all_have_the_options_of_the_frame(name: str) -> None:
    code, told = bench(*(["fit"] if name in known(FITS) else []), name, "--help")
    assert code == 0
    assert all(option in told for option in ("--quick", "--data", "--out", "--set"))


def test_options_of_a_benchmark_stand_beside_those_of_all(made: Path, tmp_path: Path) -> None:
    words = ("--out", str(tmp_path / "out"), "--words", "5", "--quick", "--set", "seed=11")
    code, told = bench("one-more", *words)
    assert (code, "{'words': 5} True 11" in told) == (0, True), told
    code, told = bench("one-more", "--out", str(tmp_path / "out"), "--words", "6")  # the row is there
    assert (code, "{'words': 5} False 7" in told) == (0, True), told
    code, told = bench("one-more", "--out", str(tmp_path / "other"))
    assert "{'words': 3}" in told


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("no-such-benchmark",), "No such command"),
        (("fit", "no-such-fit"), "No such command"),
        (("federation", "--set", "memory.delta=3"), "'memory.delta' = 3 is not allowed"),
        (("federation", "--systems", "no-such-system"), "'no-such-system' is not a system"),
        (("federation", "--set", "no.such=1"), "is not a setting"),
    ],
)
def test_what_is_not_there_is_named(words: tuple[str, ...], told: str, tmp_path: Path) -> None:
    code, output = bench(*words, *(("--out", str(tmp_path)) if words[0] == "federation" else ()))
    assert code != 0
    assert told in output


def test_an_unknown_name_is_told_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"is not known.*federation"):
        run_one(BENCHMARKS, "no-such", Bench("no-such", tmp_path, quick=True))


def test_data_that_are_needed_and_not_there_are_asked_for(tmp_path: Path) -> None:
    for root in (None, tmp_path / "absent"):
        with pytest.raises(SourceError, match="FEDRAG_DATA"):
            Bench("x", tmp_path, quick=True, root=root).data()


def test_a_table_is_kept_and_printed_a_chart_repeats(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = Bench("x", tmp_path, quick=True)
    frame = DataFrame({"system": ["a", "b"], "ACC": [1.5, 2.0], "n": [3, None]})
    one.table("table", frame, "Two systems")
    assert (
        capsys.readouterr().out
        == "Two systems\n\n| system | ACC | n |\n| --- | --- | --- |\n| a | 1.5 | 3 |\n| b | 2 |  |\n\n"
    )
    assert (tmp_path / "table.csv").read_text() == "system,ACC,n\na,1.5,3.0\nb,2.0,\n"
    charts = []
    for _ in range(2):
        one.chart("chart", frame.set_index("system")[["ACC"]], "system", "ACC")
        charts.append((tmp_path / "chart.svg").read_bytes())
    assert charts[0] == charts[1]
    assert b"</svg>" in charts[0]


def tear(path: Path) -> None:
    """Leave a file as a process does that is killed while it writes."""
    with path.open("a", encoding="utf-8") as out:
        out.write('{"made_by": "')


def test_a_row_is_measured_once(tmp_path: Path) -> None:
    calls: list[str] = []

    def measure() -> Row:
        calls.append("now")
        return {"value": 1.5}

    first = KeptRows(tmp_path / "rows.jsonl", "me").row("a", measure)
    tear(tmp_path / "rows.jsonl")
    again = KeptRows(tmp_path / "rows.jsonl", "me")
    assert again.row("a", measure) == first
    again.row("b", lambda: first)
    assert KeptRows(tmp_path / "rows.jsonl", "me").row("b", measure) == first
    assert calls == ["now"]


@pytest.mark.parametrize("old", [{"made_by": "another"}, {}], ids=["other code", "not told"])
def test_rows_of_others_are_set_aside(old: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "rows.jsonl"
    kept = {**old, "key": "a", "row": {"value": 1.5}}
    path.write_text(json.dumps(kept) + "\n", encoding="utf-8")
    mine = KeptRows(path, "me")
    assert "rows.jsonl: 1 rows of other code, models or settings are set aside" in capsys.readouterr().out
    assert mine.row("a", lambda: {"value": 2.5}) == {"value": 2.5}
    assert KeptRows(path, "me").row("a", dict) == {"value": 2.5}
    assert json.loads(path.read_text(encoding="utf-8").splitlines()[0]) == kept


def test_rows_name_the_code_and_what_it_used(tmp_path: Path) -> None:
    assert this_code("model@1", "seed=7") == f"{code_digest()} model@1 seed=7"
    kept = RowFile(tmp_path / "new" / "rows.jsonl", this_code("model@1"))
    kept.add({"id": "a"}, {"id": "b"})
    assert kept.rows() == [{"id": "a"}, {"id": "b"}]
    assert RowFile(kept.path, this_code("model@2")).rows() == []
