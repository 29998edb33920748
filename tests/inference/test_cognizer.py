"""The slow path: what is near enough to ask the model about, and what of its words is kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np
import pytest
from fedrag_flwr.inference.candidates import with_options
from fedrag_flwr.inference.cognizer import Cognizer, Shown, Verdict, clean, nearness, why_not
from fedrag_flwr.inference.prompts import UNKNOWN, closed_book_prompt, evidence_prompt
from fedrag_flwr.inference.reader import SURE, Reading, read
from fedrag_flwr.inference.reading import Candidate
from fedrag_flwr.inference.support import coverage, is_choice, is_supported, tokens
from hypothesis import given
from hypothesis import strategies as st

from fedrag_flwr.models.base import Generator, Prompt, Scores
from fedrag_flwr.records import Cost, EvidenceUnit, Fact
from fedrag_flwr.text.base import Pipeline, QuestionAnalysis
from fedrag_flwr.toolbox import Toolbox
from tests.inference.one_word import OneWord

QUESTION = "Who designed Tarn Bridge?"
TEXT = "Tarn Bridge was designed by the engineer Odile Varro."


def unit(text: str = TEXT, score: float = 0.9, title: str = "Tarn Bridge") -> EvidenceUnit:
    return EvidenceUnit("u1", text, "bridges", score, title)


@dataclass
class Counted:
    """Gives the real generator and counts how often it was asked for."""

    toolbox: Toolbox
    times: list[int] = field(default_factory=list)

    def __call__(self) -> Generator:
        self.times.append(1)
        return self.toolbox.generator()


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Odile Varro", "Odile Varro"),
        (' "Odile Varro". ', "Odile Varro"),
        ("Odile Varro.\nShe was an engineer.", "Odile Varro"),
        ("unknown", ""),
        ("Unknown.", ""),
        ("unknown to the notes", ""),
        ("Unknown Pleasures", "Unknown Pleasures"),
        ("Unknowns", "Unknowns"),
        ("", ""),
        ("   ", ""),
    ],
)
def test_what_is_kept_of_a_generated_line(text: str, kept: str) -> None:
    assert clean(text) == kept


@pytest.mark.parametrize(
    ("answer", "texts", "supported"),
    [
        ("Odile Varro", [TEXT], True),
        ("the engineer Odile Varro", [TEXT], True),
        ("odile varro", [TEXT.upper()], True),
        ("Varro Odile", [TEXT], False),
        ("Odile", ["Odilean wines"], False),
        ("Tarn Varro", [TEXT], False),
        ("Odile Varro", ["Odile", "Varro"], False),
        ("yes", ["anything"], True),
        ("No.", [], True),
        ("", [TEXT], False),
        ("?!", [TEXT], False),
        ("2,144 metres", ["It is 2144 metres high."], True),
        ("640 clocks", ["The museum shows 640 clocks in two halls."], True),
        ("clock", ["It shows clocks of copper."], True),
    ],
)
def test_support(answer: str, texts: list[str], supported: bool) -> None:
    assert is_supported(answer, texts) is supported


VOCABULARY = (
    "clocks",
    "Varro's",
    "metres",
    "1924",
    "2,144",
    "Bridge's",
    "of",
    "berries",
    "Ossel",
    "foxes",
    "Ærø",
    "Café",
)
WORDS = st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=8)


@given(WORDS, WORDS, WORDS)
def test_a_passage_supports_its_own_words(before: list[str], answer: list[str], after: list[str]) -> None:
    held = " ".join([*before, *answer, *after])
    assert is_supported(" ".join(answer), [held])
    assert coverage([" ".join(answer)], [held]) == 1.0
    assert not is_supported(" ".join(answer), [])
    assert not is_supported(" ".join([*answer, "absent"]), [held])


@given(st.text())
def test_only_yes_and_no_need_no_evidence(answer: str) -> None:
    assert is_supported(answer, []) == (tokens(answer) in (["yes"], ["no"]))


@pytest.mark.parametrize(
    ("anchors", "texts", "share"),
    [((), [], 1.0), (("tarn bridge",), [TEXT], 1.0), (("tarn bridge", "ossel"), [TEXT], 0.5), (("x",), [], 0.0)],
)
def test_coverage(anchors: tuple[str, ...], texts: list[str], share: float) -> None:
    assert coverage(anchors, texts) == share


words = st.text("abcdé ", max_size=12)
facts = st.builds(Fact, words, st.sampled_from(["PERSON", "DATE", "CONCEPT"]), words)


@given(
    st.lists(facts, max_size=4).map(tuple),
    st.lists(words, max_size=4).map(tuple),
    st.lists(st.floats(-10, 10), max_size=4),
    st.lists(words, max_size=4),
)
def test_nearness_lies_between_0_and_1(
    held: tuple[Fact, ...], anchors: tuple[str, ...], scores: list[float], texts: list[str]
) -> None:
    units = [unit(score=score) for score in scores]
    assert 0.0 <= nearness(QuestionAnalysis(held, anchors, ""), units, texts) <= 1.0


def test_evidence_that_lacks_the_name_is_farther_than_one_that_lacks_another_anchor(pipeline: Pipeline) -> None:
    asked = pipeline.question("In which year did Odile Varro receive the medal?")
    without_name = nearness(asked, [unit()], ["She received the medal in that year."])
    without_medal = nearness(asked, [unit()], ["Odile Varro received it."])
    assert without_name < without_medal


FAR: list[tuple[str, list[EvidenceUnit], float]] = [
    ("What did the Duke of Pell eat?", [unit(score=0.1)], 0.4),
    (QUESTION, [], 0.6),
    (QUESTION, [unit()], 1.0),
]


@pytest.mark.parametrize(("question", "units", "threshold"), FAR)
@pytest.mark.parametrize("free", [True, False])
def test_far_evidence_costs_no_call(
    question: str, units: list[EvidenceUnit], threshold: float, free: bool, toolbox: Toolbox
) -> None:
    model = Counted(toolbox)
    verdict = Cognizer(model, 8, threshold).answer(
        question, toolbox.pipeline.question(question), units, (), None if free else ()
    )
    assert (verdict.text, verdict.cost.llm_calls, model.times) == ("", 0, [])
    assert verdict.score < threshold
    assert "evidence too far" in verdict.explanation


def test_no_fitting_span_costs_no_call(toolbox: Toolbox) -> None:
    model = Counted(toolbox)
    question = "What did Tarn Bridge cost in dollars?"
    analysis = QuestionAnalysis((), (), "MONEY")
    verdict = Cognizer(model, 8, 0.0).answer(question, analysis, [unit()], (), [Fact("1924", "YEAR", "1924")])
    assert (verdict.text, verdict.cost.llm_calls, model.times) == ("", 0, [])
    assert verdict.explanation == "the evidence holds no MONEY"


def test_with_facts_the_answer_is_one_of_them(toolbox: Toolbox) -> None:
    model = Counted(toolbox)
    offered = toolbox.pipeline.facts([TEXT])[0]
    verdict = Cognizer(model, 12, 0.1).answer(QUESTION, toolbox.pipeline.question(QUESTION), [unit()], (), offered)
    assert verdict.text in {"", *(fact.text for fact in offered)}
    assert verdict.cost.llm_calls == len(model.times) == 1
    assert verdict.cost.tokens_in > 100
    assert verdict.cost.tokens_out > 0


@pytest.mark.parametrize("other", ["", "Odile Varro, who had drawn the Fells"])
def test_a_choice_is_never_given_in_part(other: str, toolbox: Toolbox) -> None:
    whole = "Odile Varro, who had drawn the Marl and the Ossel bridges before, and whose sister Anna Varro built it"
    offered = [Fact(text, "PERSON", text.lower()) for text in (whole, other) if text]
    evidence = [unit(f"Tarn Bridge was designed by {whole}.")]

    cut = cast("Generator", OneWord(toolbox.generator(), "Odile Varro, who had drawn the"))  # its tokens ended there
    verdict = Cognizer(lambda: cut, 24, 0.1).answer(QUESTION, QuestionAnalysis((), (), "PERSON"), evidence, (), offered)
    assert verdict.text == ("" if other else whole)
    assert verdict.explanation.startswith("the model's answer is longer" if other else "answered from")


def test_without_facts_the_answer_stands_in_the_evidence(toolbox: Toolbox) -> None:
    verdict = Cognizer(toolbox.generator, 12, 0.1).answer(QUESTION, toolbox.pipeline.question(QUESTION), [unit()])
    assert verdict.cost.llm_calls == 1
    assert not verdict.text or is_supported(verdict.text, [f"Tarn Bridge. {TEXT}"])
    assert verdict.text or verdict.explanation in {
        "the model found no answer in the evidence",
        "the evidence does not hold the model's answer",
        "the model said yes or no to another kind of question",
    }


def told(toolbox: Toolbox, odds: float) -> Reading:
    """A reading of the one sentence there is, all of whose spans are as likely."""
    (facts,) = toolbox.pipeline.facts([TEXT])
    found = read(QUESTION, toolbox.pipeline.question(QUESTION), [Candidate(unit(), facts)])
    return replace(found, likely=np.full(len(found.spans), odds))


def test_a_reading_that_is_sure_costs_no_call(toolbox: Toolbox) -> None:
    model, reading = Counted(toolbox), told(toolbox, SURE)
    verdict = Cognizer(model, 8, 0.1).answer(QUESTION, toolbox.pipeline.question(QUESTION), [unit()], (), None, reading)
    assert (verdict.text, verdict.cost.llm_calls, model.times) == (reading.best, 0, [])
    assert verdict.text in {span.text for span in reading.spans}


def test_a_sure_span_of_another_type_is_not_taken(toolbox: Toolbox) -> None:
    model, reading = Counted(toolbox), told(toolbox, SURE)
    facts = [Fact("1924", "YEAR", "1924"), Fact("seven weeks", "DATE", "seven weeks")]
    asked = QuestionAnalysis((), (), "YEAR")
    verdict = Cognizer(model, 8, 0.1).answer(QUESTION, asked, [unit()], (), facts, reading)
    assert reading.best not in {fact.text for fact in facts}
    assert verdict.cost.llm_calls == len(model.times) == 1
    assert verdict.text in {"", *(fact.text for fact in facts)}


def test_with_a_reading_that_is_not_sure_the_answer_stands_in_the_evidence(toolbox: Toolbox) -> None:
    model, reading = Counted(toolbox), told(toolbox, SURE - 1.0)
    verdict = Cognizer(model, 12, 0.1).answer(
        QUESTION, toolbox.pipeline.question(QUESTION), [unit()], (), None, reading
    )
    assert verdict.cost.llm_calls == len(model.times) == 1
    assert not verdict.text or is_supported(verdict.text, [f"Tarn Bridge. {TEXT}"])


@pytest.mark.parametrize(("free", "reads"), [(True, True), (True, False), (False, True)])
def test_where_the_model_finds_no_answer_a_free_one_gives_way_to_the_reading(
    free: bool, reads: bool, toolbox: Toolbox
) -> None:
    asked, reading = toolbox.pipeline.question(QUESTION), told(toolbox, SURE - 1.0)
    cognizer = Cognizer(lambda: cast("Generator", OneWord(toolbox.generator())), 12, 0.1, free=free)
    facts = toolbox.pipeline.facts([TEXT])[0]
    verdict = cognizer.answer(QUESTION, asked, [unit()], (), facts, reading if reads else None)
    assert verdict.cost.llm_calls == 1
    if free and reads:
        assert verdict.text == next(span for span in reading.texts() if not why_not(span, QUESTION, asked, [TEXT]))
    else:
        assert (verdict.text, verdict.explanation) == ("", "the model found no answer in the evidence")


def test_where_the_first_evidence_holds_no_answer_further_evidence_is_read_once(toolbox: Toolbox) -> None:
    asked, reading = toolbox.pipeline.question(QUESTION), told(toolbox, SURE - 1.0)
    cognizer = Cognizer(lambda: cast("Generator", OneWord(toolbox.generator())), 12, 0.1, free=True)
    facts, first = toolbox.pipeline.facts([TEXT])[0], unit("Tarn Bridge is a bridge.")
    once = cognizer.answer(QUESTION, asked, [first], (), facts, reading)
    twice = cognizer.answer(QUESTION, asked, [first], (), facts, reading, further=Shown([first, unit()]))
    assert (once.again, once.cost.llm_calls, twice.again, twice.cost.llm_calls) == (False, 1, True, 2)
    assert twice.cost.tokens_in > 2 * once.cost.tokens_in
    assert (once.text, twice.text) == ("", next(t for t in reading.texts() if not why_not(t, QUESTION, asked, [TEXT])))


def test_an_answer_in_the_first_evidence_leaves_further_evidence_unread(toolbox: Toolbox) -> None:
    asked, reading = toolbox.pipeline.question(QUESTION), told(toolbox, SURE - 1.0)
    knowing = cast("Generator", OneWord(toolbox.generator(), "Odile Varro"))
    cognizer, facts = Cognizer(lambda: knowing, 12, 0.1, free=True), toolbox.pipeline.facts([TEXT])[0]
    verdict = cognizer.answer(QUESTION, asked, [unit()], (), facts, reading, further=Shown([unit(), unit("It rains.")]))
    assert (verdict.text, verdict.again, verdict.cost.llm_calls) == ("Odile Varro", False, 1)


def test_an_answer_that_the_evidence_does_not_hold_is_asked_for_again(toolbox: Toolbox) -> None:
    asked, reading = toolbox.pipeline.question(QUESTION), told(toolbox, SURE - 1.0)
    knowing = cast("Generator", OneWord(toolbox.generator(), "Odile Varro"))
    cognizer, facts = Cognizer(lambda: knowing, 12, 0.1, free=True), toolbox.pipeline.facts([TEXT])[0]
    first = unit("Tarn Bridge is a bridge.")
    verdict = cognizer.answer(QUESTION, asked, [first], (), facts, reading, further=Shown([first, unit()]))
    assert (verdict.text, verdict.again, verdict.cost.llm_calls) == ("Odile Varro", True, 2)
    why = "the evidence does not hold the model's answer; asked again: answered from 2 units, nearness"
    assert verdict.explanation.startswith(why)
    assert verdict.score == nearness(asked, [first, unit()], [f"Tarn Bridge. {TEXT}"])


@pytest.mark.parametrize(
    ("said", "check", "text", "why"),
    [
        ("Odile Varro", True, "", "the evidence does not hold the model's answer"),
        ("Odile Varro", False, "Odile Varro", "answered from 1 units"),
        ("yes", True, "", "the model said yes or no to another kind of question"),
        ("yes", False, "yes", "answered from 1 units"),
        ("Tarn Bridge", True, "", "the question holds the model's answer itself"),
        ("Tarn Bridge", False, "Tarn Bridge", "answered from 1 units"),
        ("unknown", False, "", "the model found no answer in the evidence"),
    ],
)
def test_unchecked_an_answer_is_what_the_model_wrote(
    said: str, check: bool, text: str, why: str, toolbox: Toolbox
) -> None:
    model = cast("Generator", OneWord(toolbox.generator(), said))
    asked = QuestionAnalysis((), (), "PERSON")
    verdict = Cognizer(lambda: model, 12, 0.0, check=check).answer(QUESTION, asked, [unit("Tarn Bridge is a bridge.")])
    assert verdict.text == text
    assert verdict.explanation.startswith(why)


def test_where_nothing_fits_among_the_first_the_model_is_asked_over_further_evidence_alone(toolbox: Toolbox) -> None:
    reading, asked = told(toolbox, SURE - 1.0), QuestionAnalysis((), (), "YEAR")
    knowing = cast("Generator", OneWord(toolbox.generator(), "1924"))
    cognizer, more = Cognizer(lambda: knowing, 12, 0.1, free=True), Shown([unit("Tarn Bridge opened in 1924.")])
    declined = cognizer.answer("When did Tarn Bridge open?", asked, [unit()], (), (), reading)
    assert (declined.text, declined.cost.llm_calls) == ("", 0)
    verdict = cognizer.answer("When did Tarn Bridge open?", asked, [unit()], (), (), reading, further=more)
    assert (verdict.text, verdict.again, verdict.cost.llm_calls) == ("1924", True, 1)
    assert verdict.explanation.startswith("the evidence holds no YEAR; asked again: answered from 1 units")


def test_further_evidence_that_does_not_fit_into_the_context_costs_the_first_look_nothing(toolbox: Toolbox) -> None:
    asked, reading = toolbox.pipeline.question(QUESTION), told(toolbox, SURE - 1.0)
    unknowing = cast("Generator", OneWord(toolbox.generator()))
    cognizer, facts = Cognizer(lambda: unknowing, 12, 0.1, free=True), toolbox.pipeline.facts([TEXT])[0]
    more = Shown([unit("It rains. " * 4_000)])
    once = cognizer.answer(QUESTION, asked, [unit()], (), facts, reading)
    verdict = cognizer.answer(QUESTION, asked, [unit()], (), facts, reading, further=more)
    assert (verdict.text, verdict.again, verdict.cost.llm_calls) == (once.text, False, 1)
    assert "not asked again: a prompt of" in verdict.explanation
    assert "rains" not in verdict.explanation


@pytest.mark.parametrize(("first", "second"), [(0.0, 0.0), (1.0, 0.0), (0.0, 2.0), (1.0, 2.0)])
def test_each_replayed_generation_keeps_its_seconds_and_loading_counts_for_none(first: float, second: float) -> None:
    verdicts = [
        Verdict("", 0.5, Cost(taken, 1, 10, 2, replayed=replayed > 0.0), 0.0 if replayed else 20.0, replayed)
        for taken, replayed in ((1.0, first), (2.0, second))
    ]
    live = sum(taken for taken, replayed in ((1.0, first), (2.0, second)) if not replayed)
    loading = sum(one.setup for one in verdicts)
    both = verdicts[0].then(verdicts[1]).timed(0.25 + live + loading)
    assert both.cost == Cost(3.25, 2, 20, 4, replayed=bool(first or second))


@pytest.mark.parametrize("abstain_below", [0.1, 1.0])
def test_a_reading_does_not_answer_over_evidence_that_is_too_far(abstain_below: float, toolbox: Toolbox) -> None:
    verdict = Cognizer(toolbox.generator, 8, abstain_below).answer(
        "What did Tarn Bridge cost in dollars?", QuestionAnalysis((), (), "MONEY"), [unit()], (), (), told(toolbox, 9.0)
    )
    assert (verdict.text, verdict.cost.llm_calls) == ("", 0)


def test_the_model_alone(toolbox: Toolbox) -> None:
    verdict = Cognizer(toolbox.generator, 6, 0.4).recite("What is the chemical symbol of iron?")
    assert (verdict.score, verdict.cost.llm_calls) == (0.0, 1)
    assert verdict.explanation in {"the model alone", "the model does not know"}


def test_prompts_hold_what_is_given_and_share_a_prefix() -> None:
    one, two = evidence_prompt(QUESTION, [unit()]), evidence_prompt("Where?", [unit("It is here.", title="")])
    assert (one.system, one.examples) == (two.system, two.examples)
    assert f"- (Tarn Bridge) {TEXT}" in one.user
    assert one.user.endswith(f"Question: {QUESTION}")
    assert "- It is here." in two.user
    assert any(reply == UNKNOWN for _, reply in one.examples)
    assert QUESTION in closed_book_prompt(QUESTION).user


@pytest.mark.parametrize(
    ("question", "offers"),
    [
        ("Which is longer, the Ossel or the Marl?", True),
        ("Between Ossel and Marl, which is longer?", True),
        ("Who was born first out of Ada Morrow and Odile Varro?", True),
        ("Which team won between 1990 and 2000?", False),
        ("Which river runs between the Marl and the Ossel?", False),
        ("Which river runs between Marl and Ossel?", False),
        ("Who orders the bridge?", False),
    ],
)
def test_which_questions_offer_alternatives(question: str, offers: bool) -> None:
    assert is_choice(question) is offers


FAULTY = [  # what the model wrote, how the question was first worded, why it is not taken
    ("yes", "", "yes or no"),
    ("no", "", "yes or no"),
    ("Ossel", "", "does not hold"),
    ("Tarn Bridge", "", "itself"),
    ("the engineer", "Which engineer designed Tarn Bridge?", "itself"),
    ("the engineer", "", ""),
    ("Odile Varro", "", ""),
    ("Odile Varro", "Was it Odile Varro or Ada Morrow who designed Tarn Bridge?", ""),
]


@pytest.mark.parametrize(("text", "wording", "fault"), FAULTY)
def test_why_what_a_model_wrote_is_not_taken(text: str, wording: str, fault: str, pipeline: Pipeline) -> None:
    said = why_not(text, wording or QUESTION, pipeline.question(QUESTION), [f"{TEXT} The engineer was young."])
    assert bool(said) == bool(fault)
    assert fault in said


@dataclass
class Weighed:
    """The real model, which is told how likely it finds each option; keeps the prompts."""

    real: Generator
    likely: dict[str, float]
    prompts: list[str] = field(default_factory=list)

    def __getattr__(self, name: str) -> object:
        return getattr(self.real, name)

    def score(self, prompt: Prompt, continuations: Sequence[str]) -> Scores:
        self.prompts.append(prompt.user)
        return Scores(np.array([self.likely[text] for text in continuations]), 70, 0.5, 3.0)


def test_of_options_the_likeliest_per_word_is_given_and_the_model_does_not_see_them(toolbox: Toolbox) -> None:
    model = Weighed(toolbox.generator(), {"copper": -3.0, "rock salt": -4.0, "tin": -9.0})
    asked = "How is it called? Options: copper; rock salt; tin."  # "how is" asks to be told something else
    verdict = Cognizer(lambda: cast("Generator", model), 8, 0.0).answer(
        asked, toolbox.pipeline.question(asked), [unit()], (), (), told(toolbox, SURE)
    )
    assert (verdict.text, verdict.cost, verdict.setup) == ("rock salt", Cost(0.5, 1, 70, 0), 3.0)
    assert verdict.explanation.startswith("the likeliest of 3 options, nearness")
    assert model.prompts == [evidence_prompt("How is it called?", [unit()]).user]


def test_an_option_is_chosen_by_the_evidence(toolbox: Toolbox) -> None:
    asked = with_options(QUESTION, ("Ada Morrow", "Odile Varro", "Paul Stamm"))
    verdict = Cognizer(toolbox.generator, 8, 0.0).answer(asked, toolbox.pipeline.question(asked), [unit()])
    assert (verdict.text, verdict.cost.llm_calls, verdict.cost.tokens_out) == ("Odile Varro", 1, 0)
    assert verdict.cost.tokens_in > 100


def test_options_over_evidence_that_is_too_far_cost_no_call(toolbox: Toolbox) -> None:
    model, asked = Counted(toolbox), with_options("What did the Duke of Pell eat?", ("salt", "bread"))
    verdict = Cognizer(model, 8, 0.9).answer(asked, toolbox.pipeline.question(asked), [unit(score=0.1)])
    assert (verdict.text, verdict.cost.llm_calls, model.times) == ("", 0, [])
