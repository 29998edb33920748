"""The shipped demo corpus is sound: a question's home and documents exist, and its documents hold its answer."""

import json
from collections import Counter

from fedrag_flwr.demo import CORPUS, PUBLIC_NAMES, QUESTIONS
from fedrag_flwr.evaluation.gold import GoldQuestion, read_gold
from fedrag_flwr.evaluation.metrics import accuracy

GOLD = {"single": 1, "two-hop": 2, "comparison": 2, "unanswerable": 0}  # documents of a question, by its kind
TEXTS = {path.stem: path.read_text(encoding="utf-8") for path in CORPUS.glob("*/*.md")}
HOME = {path.stem: path.parent.name for path in CORPUS.glob("*/*.md")}


def holds(text: str, gold: GoldQuestion) -> bool:
    return bool(accuracy(text, [gold.answer, *gold.aliases]))


def test_documents_have_a_title_and_a_name_of_their_own() -> None:
    files = list(CORPUS.glob("*/*"))
    assert len(files) == len(TEXTS) >= 90
    assert set(HOME.values()) == {"missions", "launchers", "observatories", "worlds", "people"}
    assert [name for name, text in TEXTS.items() if not text.startswith("# ") or "\n\n" not in text] == []


def test_every_question_can_be_answered_from_its_documents_and_from_nothing_nearer() -> None:
    questions = read_gold(QUESTIONS)
    assert len({one.text.casefold() for one in questions}) == len(questions)
    for one in questions:
        assert one.home in HOME.values(), one
        assert len(one.documents) == GOLD[one.kind], one
        assert bool(one.answer) == (one.kind != "unanswerable"), one
        if one.documents:
            assert HOME[one.documents[0]] == one.home, one
        if one.kind == "single":
            assert holds(TEXTS[one.documents[0]], one), one
        if one.kind == "two-hop":
            assert HOME[one.documents[1]] != one.home, one
            assert holds(TEXTS[one.documents[1]], one), one
            at_home = (text for name, text in TEXTS.items() if HOME[name] == one.home)
            assert not any(holds(text, one) for text in at_home), one
        if one.kind == "comparison" and one.answer not in ("yes", "no"):
            assert holds(one.text, one), one


def test_each_kind_is_in_both_splits() -> None:
    counts = Counter((one.kind, one.split) for one in read_gold(QUESTIONS))
    for kind in GOLD:
        shares = [counts[kind, split] for split in ("train", "test")]
        assert min(shares) >= 0.4 * sum(shares) > 0


def test_public_names_are_in_order_and_each_once() -> None:
    names = json.loads(PUBLIC_NAMES.read_text(encoding="utf-8"))
    assert names == sorted(set(names))
