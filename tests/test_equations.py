"""The page of equations: nothing of a paper is left out, every name can be imported, every link leads somewhere."""

import importlib
import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reference" / "equations.md"
OURS = ("fedrag_flwr", "strategies", "simulations", "client_app", "server_app")
NOT_REPEATED = "not repeated: "
MOST_WORDS, MOST_SAID, MOST_TOLD = 2_300, 8, 10  # on the page, of what a row says, of a deviation or a reason

_NAME = re.compile(r"`([^`]+)`")
_LINK = re.compile(r"\[[^\]]+\]\(([^)]+)\)")
_WHERE = re.compile(rf"(?:{_NAME.pattern}|{_LINK.pattern})(?:, (?:{_NAME.pattern}|{_LINK.pattern}))*")
_KINDS = {"eq.": "eq.", "equation": "eq.", "algorithm": "Algorithm", "table": "Table", "fig.": "Fig.", "figure": "Fig."}
_CITED = re.compile(
    r"\b(FD-RAG|HKVM-RAG|HyFedRAG|DGRAG|DRAG)(?:['’]s)? (eq\.|equation|algorithm|table|fig\.|figure) (\d+|[IVX]+)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Paper:
    """How many numbered equations, algorithms and tables a paper has, and which of its figures show results."""

    equations: int
    algorithms: int
    tables: int
    figures: tuple[int, ...]
    roman: bool = False  # numbers of tables

    @property
    def labels(self) -> set[str]:
        """What its rows are called."""
        tables = [_roman(number) if self.roman else str(number) for number in range(1, self.tables + 1)]
        return {
            *(f"eq. {number}" for number in range(1, self.equations + 1)),
            *(f"Algorithm {number}" for number in range(1, self.algorithms + 1)),
            *(f"Table {number}" for number in tables),
            *(f"Fig. {number}" for number in self.figures),
        }


PAPERS = {
    "FD-RAG": Paper(equations=27, algorithms=0, tables=10, figures=(2, 3, 4, 5)),
    "HKVM-RAG": Paper(equations=6, algorithms=0, tables=9, figures=(3,), roman=True),
    "HyFedRAG": Paper(equations=4, algorithms=0, tables=2, figures=(3, 4, 5, 6, 7)),
    "DGRAG": Paper(equations=0, algorithms=0, tables=5, figures=(2, 3, 4, 5, 6)),
    "DRAG": Paper(equations=0, algorithms=1, tables=1, figures=(2, 3, 4, 5, 6, 7)),
}


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a paper's table."""

    label: str
    says: str
    where: str

    @property
    def told(self) -> str:
        """How the project differs, or why nothing is repeated; "" where neither is said."""
        if self.where.startswith(NOT_REPEATED):
            return self.where.removeprefix(NOT_REPEATED)
        return self.where.partition("; ")[2]


def _roman(number: int) -> str:
    return ("I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X")[number - 1]


@cache
def page() -> dict[str, list[Row]]:
    """The rows of the page by paper."""
    found: dict[str, list[Row]] = {}
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            found[line.removeprefix("## ")] = []
        elif line.startswith("| ") and not line.startswith("| in the paper |"):
            label, says, where = line.strip("| ").split(" | ")
            found[next(reversed(found))].append(Row(label, says, where))
    return found


ROWS = [pytest.param(row, id=f"{paper} {row.label}") for paper, rows in page().items() for row in rows]


def resolves(name: str) -> bool:
    """Whether a dotted name can be imported, and what follows its longest module is there."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        module = ".".join(parts[:length])
        try:
            found: object = importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{module}.".startswith(f"{error.name}."):
                raise  # it is there, and needs what is not
            continue
        for part in parts[length:]:
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
        return True
    return False


def anchors(file: Path) -> set[str]:
    """The anchors of a Markdown page's headings."""
    headings = re.findall(r"^#+ (.+)$", file.read_text(encoding="utf-8"), re.MULTILINE)
    plain = (unicodedata.normalize("NFKD", one).encode("ascii", "ignore").decode().lower() for one in headings)
    return {re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", one).strip()) for one in plain}


@pytest.mark.parametrize("paper", PAPERS)
def test_each_equation_algorithm_table_and_figure_has_one_row(paper: str) -> None:
    rows = Counter(row.label for row in page()[paper])
    numbered = {label for label in rows if label.startswith(("eq.", "Algorithm", "Table", "Fig.")) and "," not in label}
    assert numbered == PAPERS[paper].labels
    assert [label for label, count in rows.items() if count > 1] == []


def test_the_page_has_a_table_for_each_paper_and_no_more() -> None:
    assert list(page()) == list(PAPERS)


@pytest.mark.parametrize("row", ROWS)
def test_a_row_is_short_and_says_where_or_why_not(row: Row) -> None:
    assert 0 < len(row.says.split()) <= MOST_SAID
    assert len(row.told.split()) <= MOST_TOLD
    if row.where.startswith(NOT_REPEATED):
        assert row.told
        assert "`" not in row.told
    else:
        assert _WHERE.fullmatch(row.where.partition("; ")[0])


@pytest.mark.parametrize("row", ROWS)
def test_names_can_be_imported(row: Row) -> None:
    names = _NAME.findall(row.where)
    assert [name for name in names if name.split(".")[0] not in OURS] == []
    assert [name for name in names if not resolves(name)] == []


def test_a_name_that_is_not_there_is_found_out() -> None:
    assert resolves("fedrag_flwr.records.Hyperedge")
    assert not resolves("fedrag_flwr.records.Hyperedges")
    assert not resolves("fedrag_flwr.no_such_module.thing")
    assert not resolves("no_such_package.thing")


def test_links_lead_to_headings_that_are_there() -> None:
    links = [link.partition("#") for link in _LINK.findall(PAGE.read_text(encoding="utf-8")) if "://" not in link]
    files = {name: (PAGE.parent / name).resolve() for name, _, _ in links}
    assert [name for name, file in files.items() if not file.is_file()] == []
    known = {name: anchors(file) for name, file in files.items()}
    assert [f"{name}#{anchor}" for name, _, anchor in links if anchor and anchor not in known[name]] == []


def test_what_code_and_pages_cite_has_a_row() -> None:
    texts = [path for folder in OURS for path in (ROOT / folder).rglob("*.py")] + list((ROOT / "docs").rglob("*.md"))
    papers = {paper.lower(): paper for paper in PAPERS}
    missing = set()
    for path in texts:
        for paper, kind, number in _CITED.findall(path.read_text(encoding="utf-8")):
            name, label = papers[paper.lower()], f"{_KINDS[kind.lower()]} {number}"
            if label not in PAPERS[name].labels:
                missing.add(f"{path.relative_to(ROOT)}: {name} {label}")
    assert missing == set()


def test_the_page_is_short() -> None:
    assert len(PAGE.read_text(encoding="utf-8").split()) <= MOST_WORDS
