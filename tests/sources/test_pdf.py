"""Pages of a PDF: what repeats at their edges goes, and what lines and pages part is joined."""

import pytest

from fedrag_flwr.sources.pdf import read_pdf, whole_words, without_edges
from tests.sources.files import pdf

# (pages, what is left of them)
PAGES: dict[str, tuple[list[str], list[str]]] = {
    "a head and a number": (
        ["The Ward Gazette\nAda came\nPage 1 of 2", "The Ward Gazette\nand went.\nPage 2 of 2"],
        ["Ada came", "and went."],
    ),
    "a bare number": (["Ada came\n7", "and went\n8", "for good.\n9"], ["Ada came", "and went", "for good."]),
    "heads of left and right pages": (
        ["Gazette\nA\n1", "2 Ward\nB", "Gazette\nC\n3", "4 Ward\nD"],
        ["A", "B", "C", "D"],
    ),
    "a number that counts no pages": (["Bed 4\nAda", "Bed 9\nBen"], ["Bed 4\nAda", "Bed 9\nBen"]),
    "one page": (["Gazette\nAda came.\n1"], ["Gazette\nAda came.\n1"]),
    "what repeats inside": (
        ["a\nb\nc\nSame.\nd\ne\nf", "g\nh\ni\nSame.\nj\nk\nl"],
        ["a\nb\nc\nSame.\nd\ne\nf", "g\nh\ni\nSame.\nj\nk\nl"],
    ),
    "pages that are all alike": (["Form A", "Form A"], ["Form A", "Form A"]),
    "no pages": ([], []),
    "an empty page": (["Gazette\nA\n1", "", "Gazette\nB\n3"], ["A", "", "B"]),
}


@pytest.mark.parametrize(("pages", "left"), PAGES.values(), ids=PAGES)
def test_edges_of_pages(pages: list[str], left: list[str]) -> None:
    assert without_edges(pages) == left


@pytest.mark.parametrize(
    ("broken", "whole"),
    [
        ("the infor-\nmation desk", "the information desk"),
        ("the clini-  \n  que", "the clinique"),
        ("a mé-\ntier", "a métier"),
        ("sof\u00ad\nter", "softer"),
        ("her self-\nportrait", "her self-portrait"),
        ("a well-\nread man", "a well-read man"),
        ("of great well-\nness", "of great wellness"),
        ("by e-\nmail", "by e-mail"),
        ("near Stratford-\nUpon", "near Stratford-Upon"),
        ("in 2019-\n2020", "in 2019-2020"),
        ("her mother-in-\nlaw", "her mother-in-law"),
        ("a tea-\npot, the teapot", "a teapot, the teapot"),
        ("a tea-\nroom, two Tea-Rooms and the tea-room", "a tea-room, two Tea-Rooms and the tea-room"),
        ("cost £31,\n250 in all", "cost £31,250 in all"),
        ("in 1998,\n200 came", "in 1998,\n200 came"),
        ("a dash -\nthen more", "a dash -\nthen more"),
    ],
)
def test_words_that_lines_break(broken: str, whole: str) -> None:
    assert whole_words(broken) == whole


def test_a_title_that_is_none_is_left_out() -> None:
    assert read_pdf(pdf("A note.", "Untitled")) == ("", "A note.")
    assert read_pdf(pdf("A note.", "Untitled songs")) == ("Untitled songs", "A note.")
