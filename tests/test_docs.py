"""The documentation: it builds, its links lead somewhere, and it stays short."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
MOST_README, MOST_DOCS = 1_300, 30_000  # words
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)\s#]*)(?:#([^)\s]+))?\)")


def words(page: Path) -> int:
    return len(page.read_text(encoding="utf-8").split())


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub and MkDocs make them."""
    heads = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", re.sub(r"[`*]", "", head.strip().lower())).replace(" ", "-") for head in heads}


def test_every_link_leads_somewhere() -> None:
    dead = []
    for page in PAGES:
        for file, anchor in LINK.findall(page.read_text(encoding="utf-8")):
            target = (page.parent / file).resolve() if file else page
            if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
                dead.append(f"{page.relative_to(ROOT)}: {file}#{anchor}")
    assert dead == []


def test_the_site_builds(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    assert (tmp_path / "site" / "how-to" / "operate" / "index.html").is_file()


def test_a_reader_gets_through_it() -> None:
    assert words(PAGES[0]) <= MOST_README
    written = [page for page in PAGES[1:] if page.parent.name != "benchmarks"]  # those are tables that scripts write
    assert sum(map(words, written)) <= MOST_DOCS
