"""Paragraphs and headings of any document are short enough to be parsed."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrag_flwr.text.segment import blocks

LONG = 6_000

HEADINGS = [
    ("# Flight\n\nIt left.", "V › Flight"),
    ("# Flight #\n\nIt left.", "V › Flight"),
    ("## C# notes ##\n\nIt left.", "V › C# notes"),
    ("# " + "very " * 60 + "long\n\nIt left.", "V"),
    ("Flight\n\nIt left the Earth in the year 1977 and went on.", "V › Flight"),
    ("x" * 300 + "\n\nIt left the Earth in the year 1977 and went on.", "V"),
]


@pytest.mark.parametrize(("text", "title"), HEADINGS)
def test_headings_join_the_running_title_and_very_long_ones_are_text(text: str, title: str) -> None:
    found = blocks("V", text)
    assert found[-1].title == title
    assert "It left" in found[-1].text


BARE = [
    (
        "# Letter\n## Allergy: penicillin\n## Plan\nReview in clinic in two weeks time.",
        [("V › Letter", "Allergy: penicillin"), ("V › Letter › Plan", "Review in clinic in two weeks time.")],
    ),
    ("It left.\n\n## Allergy: penicillin", [("V", "It left."), ("V", "Allergy: penicillin")]),
    ("# A\n\n## B\n\n### C\n\n# D\n\nIt left.", [("V › A › B", "C"), ("V › D", "It left.")]),
    ("# A\n\n# B", [("V", "A"), ("V", "B")]),
    ("# A\n\ncamera\n\n# B\n\nlens", [("V › A", "camera"), ("V › B", "lens")]),
    ("# V\n\n# A\n\nIt left.", [("V › A", "It left.")]),
    ("# V", []),
]


@pytest.mark.parametrize(("text", "wanted"), BARE)
def test_a_heading_with_nothing_under_it_is_text_under_its_parent(text: str, wanted: list[tuple[str, str]]) -> None:
    assert [(block.title, block.text) for block in blocks("V", text)] == wanted


WRAPPED = [
    ("It ended on September\n15. It had lasted twenty years.", "It ended on September 15. It had lasted twenty years."),
    ("There are\n12) of them in all.", "There are 12) of them in all."),
    ("Bring\n1. salt\n2. bread", "Bring salt; bread"),
    ("Bring these:\n3. salt\n4. bread", "Bring these: salt; bread"),
    ("7. salt\n8. bread", "salt; bread"),
    ("Bring\n- salt\n- bread", "Bring salt; bread"),
]


@pytest.mark.parametrize(("text", "joined"), WRAPPED)
def test_a_number_at_the_start_of_a_wrapped_line_is_no_item(text: str, joined: str) -> None:
    assert [block.text for block in blocks("V", text)] == [joined]


def test_each_row_of_a_table_is_a_paragraph_by_itself() -> None:
    rows = ["Item: Tea; Price: £2", "Item: Cake; Price: £3"]
    assert [block.text for block in blocks("V", "\n\n".join(rows))] == rows


HOSTILE = {
    "fragments": "Apple pie\n\n" * 20_000,
    "word": "x" * 1_100_000,
    "marks": "# " + "#" * 200_000 + "x\n\nIt left.",
    "headings": "".join(f"# Part {number}\n\nIt left.\n\n" for number in range(2_000)),
    "sentences": "It left. " * 100_000,
    "items": "- apple\n" * 50_000,
    "table": "NA 17; 23 " * 20_000,
}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("kind", HOSTILE)
def test_no_block_is_too_long_to_be_parsed(kind: str) -> None:
    found = blocks("V", HOSTILE[kind])
    assert max(len(block.text) for block in found) <= LONG
    assert max(len(block.title) for block in found) <= 300
    words = sum(len(block.text.split()) for block in found)
    assert words >= {"fragments": 40_000, "sentences": 200_000, "items": 50_000}.get(kind, 1)


def test_a_run_without_a_sentence_s_end_is_cut_where_it_pauses() -> None:
    found = [block.text for block in blocks("V", "It left. " + "salt and bread; " * 100 + "Then it ended.")]
    assert found[0] == "It left."
    assert max(map(len, found)) <= 1_000
    assert all(piece.endswith(";") for piece in found[1:-1])
    assert found[-1].endswith("Then it ended.")


@pytest.mark.parametrize("end", ['."', ".)", ".[12]", ".[i]", "?”", "。"])
def test_a_sentence_ends_behind_its_quotes_brackets_and_notes(end: str) -> None:
    sentence = f"The keeper at the wheel had stopped and nobody had asked why{end}"
    found = [block.text for block in blocks("V", " ".join([sentence] * 120))]
    assert len(found) > 1
    assert all(piece.endswith(end) for piece in found)


@given(st.text(alphabet="ab.#!- \n", max_size=400))
def test_blocks_and_their_titles_hold_all_words(text: str) -> None:
    found = blocks("", text)
    said = " ".join(f"{block.title} {block.text}" for block in found)
    assert all(word in said for word in re.findall(r"[ab]+", text))
    assert all(block.text.strip() == block.text and block.text for block in found)
