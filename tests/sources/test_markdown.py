"""What a person reads of a Markdown page: its words without its marks, and code as it stands."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrag_flwr.sources.readers import read_markdown

# (Markdown, its text)
PAGES: dict[str, tuple[str, str]] = {
    "emphasis": ("**Bold**, *it*, __strong__, _it_ and ~~gone~~ ***both***.", "Bold, it, strong, it and gone both."),
    "marks that are none": ("2 * 3 * 4 and snake_case_name", "2 * 3 * 4 and snake_case_name"),
    "backslashes": (r"1\. A \*star\*, \[x\], C:\dir and \# hash", r"1. A *star*, [x], C:\dir and # hash"),
    "a backslash at a line's end": ("one\\\ntwo", "one\ntwo"),
    "links": ('See [the *guide*](https://a.example/b?c=d "title") and [ref][1].\n\n[1]: /x', "See the guide and ref."),
    "an address": ("Ask <https://a.example/x> or <me@a.example>.", "Ask https://a.example/x or me@a.example."),
    "images": ("![A chart of sales](c.png) Sales rose.", "Sales rose."),
    "a badge": ("[![Build](https://img.example/b.svg)](https://ci.example)\n\nText.", "Text."),
    "badges and words": ("Status: [![ok](b.svg)](x) good", "Status:  good"),
    "template tags": ("{% include nav.html %}\n\nHello {{ page.name }}, {# a note #}bye.", "Hello , bye."),
    "a template tag over lines": ("Before {% if a\n  and b %}in{% endif %} after", "Before in after"),
    "a template tag with marks": ('{{< note >}} {% link "a*b*c" %}Keep *this*.', "Keep this."),
    "an unclosed template tag": ("Write {{ to open", "Write {{ to open"),
    "tags of HTML": ("Press <kbd>Enter</kbd><br>now <span class='x'>or</span> later", "Press Enter\nnow or later"),
    "a block of HTML": ('<div align="center">\n<p>Centred <b>text</b></p>\n</div>\n\nMore.', "Centred text\n\nMore."),
    "comments": ("<!-- TODO: no -->\n\nSeen <!-- not this --> and that.", "Seen  and that."),
    "entities": ("Fish &amp; chips &copy; 2024", "Fish & chips © 2024"),
    "headings": ("# Top #\n\nTwo\n---\n\n### *Three* `x`", "# Top\n\n## Two\n\n### Three x"),
    "a list": ("- one\n- two\n* * *\n- three", "- one\n- two\n\n- three"),
    "a loose list": ("- one\n\n- two", "- one\n- two"),
    "a nested list": ("- one\n  - inner\n    - deep\n- two", "- one\n- inner\n- deep\n- two"),
    "an ordered list": ("3. three\n4. four\n   1. inner\n5. five", "3. three\n4. four\n1. inner\n5. five"),
    "paragraphs in an item": ("- one\n\n  more of it\n\n- two", "- one\n\nmore of it\n- two"),
    "a list after a paragraph": ("Do:\n\n1. one\n2. two\n\nDone.", "Do:\n\n1. one\n2. two\n\nDone."),
    "two lists": ("- a\n- b\n\n1. c\n2. d", "- a\n- b\n\n1. c\n2. d"),
    "an empty item": ("-\n- two", "- two"),
    "an item that is a picture": ("- ![x](y.png)\n- two", "- two"),
    "a table": ("| A | *B* |\n|---|:-:|\n| 1 | `2` |\n| 3 |   |\n| \\| | x |", "A: 1; B: 2\n\nA: 3\n\nA: |; B: x"),
    "a fence": (
        "Run:\n\n```sh\nls *.md  # {{ x }}\n\n\\n <b>\n```\nDone.",
        "Run:\n\nls *.md  # {{ x }}\n\n\\n <b>\n\nDone.",
    ),
    "code by indent": ("Run:\n\n    a = b * c * d\n      e", "Run:\n\na = b * c * d\n  e"),
    "code in a line": ("Set `a_b_c` to ``x ` y`` and `{{ z }}`.", "Set a_b_c to x ` y and {{ z }}."),
    "code in an item": ("1. Run\n\n   ```\n   make *\n   ```\n\n2. Stop", "1. Run\n\nmake *\n2. Stop"),
    "a quote": ("> Quoted *text*\n> goes on\n\nNot.", "Quoted text\ngoes on\n\nNot."),
    "a rule": ("one\n\n***\n\ntwo", "one\n\ntwo"),
    "nothing": ("", ""),
    "a page of pictures": ("![a](b)\n\n[![c](d)](e)\n", ""),
}


@pytest.mark.parametrize(("page", "text"), PAGES.values(), ids=PAGES)
def test_the_text_of_a_page(page: str, text: str) -> None:
    assert read_markdown(page.encode())[1] == text


@pytest.mark.parametrize(
    ("page", "title"),
    [
        ("Text.\n\n## First\n\n# Second", "First"),
        ("# [Guide](x) to **salt** {{ x }}", "Guide to salt"),
        ("# ![logo](x.png)\n\n# Salt", "Salt"),
        ("---\ntitle: Front\n---\n# Salt", "Front"),
        ("Text.", ""),
    ],
)
def test_the_title_is_the_first_heading_with_words(page: str, title: str) -> None:
    assert read_markdown(page.encode())[0] == title


@given(st.text(st.sampled_from("ab *_`[]()!<>#-1.|\\\n{%}~&;"), max_size=80))
def test_any_page_is_read_and_its_code_is_kept(page: str) -> None:
    code = "x = [*a_b_](c) {{ d }} <e> \\*"
    plain = read_markdown(f"{page}\n\n<!---->\n\n```\n{code}\n```\n".encode())[1]
    assert plain == plain.strip("\n")
    if "`" not in page and "~" not in page and "<" not in page and "{" not in page:
        assert code in plain


@given(st.lists(st.text("abcdef", min_size=1, max_size=6), min_size=1, max_size=12))
def test_no_word_of_plain_text_is_lost(words: list[str]) -> None:
    text = " ".join(words)
    for page in (
        text,
        f"**{text}**",
        f"- {text}",
        f"[{text}](x)",
        f"# {text}",
        f"> {text}",
        f"<b>{text}</b>",
        f"`{text}`",
    ):
        assert read_markdown(page.encode())[1].lstrip("#- ") == text
