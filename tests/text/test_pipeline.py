"""Paragraphs, sentences, ids, running titles and the parse that goes with them."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrag_flwr.errors import ModelMissingError
from fedrag_flwr.records import Document
from fedrag_flwr.text.base import ParsedPassage
from fedrag_flwr.text.pipeline import Pipeline
from fedrag_flwr.text.segment import MAX_WORDS, document_title


def parse(pipeline: Pipeline, text: str, title: str = "T") -> list[ParsedPassage]:
    return next(iter(pipeline.parse([Document("d", title, text, "")])))


def sentences(pipeline: Pipeline, text: str) -> list[str]:
    return [sentence.text for parsed in parse(pipeline, text) for sentence in parsed.passage.sentences]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Dr. J. R. R. Tolkien lived in the U.S. He wrote a book.", 2),
        ("He met Mr. Smith at St. John's College. They talked.", 2),
        ("The U.S. Army bought it in Jan. 1990 for approx. five dollars.", 1),
        ("It grew to 2.4 m. The mirror is large.", 2),
        ("Is it far? Yes! It is.", 3),
        ("He works for Apple Inc. in California.", 1),
        ("See Fig. 3 and No. 5, i.e. the second one.", 1),
        ('He was born in Leeds, England. "It was cold," he said.', 2),
        ("It ends here. *** --- !!!", 1),
    ],
)
def test_sentence_ends(pipeline: Pipeline, text: str, expected: int) -> None:
    assert len(sentences(pipeline, text)) == expected


def test_headings_join_the_running_title(pipeline: Pipeline) -> None:
    text = (
        "# Voyager 1\n\nIt is a probe of NASA that flies on.\n\n## Flight\n\nIt left Earth in 1977 and is far away.\n"
    )
    parsed = parse(pipeline, text, "Voyager 1")
    assert [one.passage.title for one in parsed] == ["Voyager 1", "Voyager 1 › Flight"]
    assert [document_title(one.passage.title) for one in parsed] == ["Voyager 1", "Voyager 1"]
    assert all("#" not in one.passage.text for one in parsed)


def test_lists_and_fragments_are_joined(pipeline: Pipeline) -> None:
    (parsed,) = parse(pipeline, "It carries these instruments:\n- a camera\n- a magnetometer\n- a plasma system.\n")
    assert parsed.passage.text == "It carries these instruments: a camera; a magnetometer; a plasma system."
    (joined,) = parse(pipeline, "Camera\n\nMagnetometer\n\nPlasma system")
    assert joined.passage.text == "Camera; Magnetometer; Plasma system"


@pytest.mark.parametrize("text", ["", " \n\n ", "***", "---\n\n...", "\u200b"])
def test_nothing_gives_nothing(pipeline: Pipeline, text: str) -> None:
    assert parse(pipeline, text) == []


def test_order_ids_and_batches(pipeline: Pipeline) -> None:
    documents = [Document(str(i), "T", "" if i % 3 == 0 else f"Probe {i} flew. It was fast.", "") for i in range(70)]
    parsed = list(pipeline.parse(iter(documents)))
    assert [len(one) for one in parsed] == [0 if i % 3 == 0 else 1 for i in range(70)]
    passage = parsed[1][0].passage
    assert (passage.id, passage.document_id) == ("1#0", "1")
    assert [sentence.id for sentence in passage.sentences] == ["1#0.0", "1#0.1"]
    assert {sentence.passage_id for sentence in passage.sentences} == {"1#0"}


def test_long_paragraphs_are_cut_at_sentence_ends(pipeline: Pipeline) -> None:
    text = " ".join(
        f"The probe number {i} left the Earth in the year {1900 + i} and it never came back." for i in range(60)
    )
    parsed = parse(pipeline, text)
    assert len(parsed) > 1
    assert all(len(one.passage.text.split()) <= MAX_WORDS for one in parsed)
    assert " ".join(one.passage.text for one in parsed) == text


PARTS = [
    "Voyager left.",
    "# Head\n",
    "\n\n",
    "- item\n",
    "U.S.",
    "Dr. No",
    "a b c",
    "1990",
    "!?",
    '"x"',
    "é\u0301",
    "word " * 200,
]


@given(st.lists(st.one_of(st.sampled_from(PARTS), st.text(max_size=10)), max_size=12))
def test_spans_sentences_and_text_agree(pipeline: Pipeline, parts: list[str]) -> None:
    for parsed in parse(pipeline, " ".join(parts)):
        passage = parsed.passage
        assert passage.sentences
        assert passage.text == parsed.doc.text.strip()
        assert len(parsed.spans) == len(passage.sentences)
        end = 0
        for (start, stop), sentence in zip(parsed.spans, passage.sentences, strict=True):
            assert end <= start < stop
            assert parsed.doc[start:stop].text.strip() == sentence.text
            assert any(char.isalnum() for char in sentence.text)
            end = stop


def test_a_missing_model_says_what_to_install() -> None:
    with pytest.raises(ModelMissingError, match="pip install"):
        _ = Pipeline("xx_no_such_model").id


def test_the_id_names_model_and_rules(pipeline: Pipeline) -> None:
    assert pipeline.id == "en_core_web_sm-3.8.0+rules-4"


def test_spacy_is_imported_when_first_used() -> None:
    heavy = "{'spacy', 'bs4', 'pypdf'}"
    modules = "fedrag_flwr.text.pipeline, fedrag_flwr.text.tuples, fedrag_flwr.sources.folder"
    code = f"import sys, {modules}; sys.exit(bool({heavy} & set(sys.modules)))"
    root = Path(__file__).parents[2]
    assert subprocess.run([sys.executable, "-c", code], cwd=root, check=False).returncode == 0
