"""Templates: a question for each typed fact that fills a place of a clause (FD-RAG eq. 9), and for some appositions.

A fact answers only where it is the whole of its place: the object, the date behind "in", the number before a noun.
All else of the clause stands in the question, so that a question has one answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

from fedrag_flwr.memory.generate.clauses import Clause, Constituent, clauses_of, phrase, split_dates
from fedrag_flwr.memory.generate.reference import Kinds, Reference, tidy
from fedrag_flwr.text.facts import TypedSpan
from fedrag_flwr.text.inflection import past_of_participle, third_person
from fedrag_flwr.text.lexicon import is_person, words

if TYPE_CHECKING:
    from spacy.tokens import Span, Token

_CUT_FROM = 18  # words behind the subject; what is not needed goes
_NAMES = frozenset(("PERSON", "ORG", "GPE", "LOC", "FAC", "NAME", "EVENT", "WORK_OF_ART", "PRODUCT"))
_PLACES = frozenset(("GPE", "LOC", "FAC"))
_AT = words("in at near on")
_RANKS = words("first second third last only")
_WITH = words("with after under")  # a question may end with them where a person is asked for
_TIMES = words("year month week day hour minute second decade century night")
_MEASURED = words("diameter mass length height width depth radius area population temperature speed weight distance")
_HOW = {"weigh": "How much", "cost": "How much", "last": "How long", "measure": "How large"}
_TALL = words("tall high long wide deep thick old heavy")
_NO_OBJECTS = words("have include contain be become take make get give remain involve play use do see go begin start")
_DONE_TO_THINGS = words(  # what has a name and is no person
    "discover invent launch build write publish release found join own buy acquire design develop orbit visit reach "
    "photograph win receive earn name study map explore cross leave found establish produce compose record operate"
)
_ORGANISATIONS = words(  # what ends their names
    "academy administration agency association authority board bank bureau center centre club college commission "
    "committee company consortium corporation council department federation foundation group hospital inc industries "
    "institute institution laboratory laboratories league ltd ministry museum observatory office organisation "
    "organization school service services society team trust union university"
)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with its answer, its answer's type, and how useful it is (higher is better).

    `verb` is the place of its clause's verb, -1 for an apposition.
    """

    question: str
    answer: str
    type: str
    score: float
    kind: str = "single"
    verb: int = -1


@dataclass(frozen=True, slots=True)
class Templates:
    """Asks for the facts of one passage."""

    reference: Reference  # names for its words
    kinds: Kinds  # class nouns of the document's names

    def ask(self, sentence: Span) -> Iterator[Asked]:
        """Make the questions of a sentence."""
        for clause in clauses_of(sentence):
            others = tuple(chain.from_iterable(map(split_dates, clause.others)))
            clause = replace(clause, others=others)
            if self._subject_type(clause) == "PERSON" and any(t.lower_ == "which" for t in clause.verb.lefts):
                continue  # "a talk by Ada Brun, which lasts an hour": the talk does
            dates = [one for one in others if any(span.type in ("DATE", "YEAR") for span in self._facts(one))]
            if len(dates) < 2:  # of several, which one belongs to what?
                for make in (self._of_subject, self._identity, self._of_others):
                    yield from (replace(one, verb=clause.verb.i) for one in make(clause))
        if not any(token.lower_ in ("not", "or", "no") for token in sentence):
            for token in sentence:
                if token.dep_ == "appos":
                    yield from self._apposition(token)

    # --- who did it ------------------------------------------------------------------------------

    def _of_subject(self, clause: Clause) -> Iterator[Asked]:
        """ "MESSENGER orbited Mercury" gives "Which spacecraft orbited Mercury?"; an agent answers, too."""
        agent = clause.of("agent")
        if agent is not None:
            yield from self._of_agent(clause, agent)
        found = self._named(clause.subject, subject=True)
        if found is None:
            return
        answer, type_, kind, listed = found
        wh = self._wh(type_, kind, clause.plural, alone=" " not in answer)
        many = clause.plural or clause.auxiliaries[:1] in (("have",), ("are",), ("were",)) or clause.verb.tag_ == "VBP"
        if wh is None or (many and not listed):
            return
        attribute = clause.of("attribute")
        if not clause.main:
            if attribute is None:
                return
            yield from self._ranked(clause, attribute, answer, type_)
            if not _identifies(attribute):
                return
        rest = self._rest(clause, keep=False)
        if rest is None or not self._singles_out(clause, rest):
            return
        yield _asked(f"{wh} {_finite(clause)} {rest}", answer, type_, 0.9, "set" if listed else "single")

    def _singles_out(self, clause: Clause, rest: str) -> bool:
        """Whether what is said of a subject is said of it alone, as far as words tell: names, or a description."""
        tokens = [token for one in clause.others for token in one.tokens]
        first = clause.of("object")
        content = [token for token in (first.words if first else ()) if token.pos_ in ("NOUN", "ADJ", "NUM", "PROPN")]
        return self.reference.spans_names(tokens) or len(content) > 1 or any(t.tag_ == "JJS" for t in tokens)

    def _of_agent(self, clause: Clause, agent: Constituent) -> Iterator[Asked]:
        """ "Pluto was discovered by Clyde Tombaugh" gives "Who discovered Pluto?"."""
        found = self._named(agent)
        subject = self._subject(clause)
        simple = len(clause.auxiliaries) == 1 and clause.auxiliaries[0] in ("was", "were", "is", "are")
        if found is None or not clause.passive or subject is None or not simple:
            return
        if not clause.past and len(clause.others) > 1:
            return
        answer, type_, kind, listed = found
        wh = self._wh(type_, kind, listed)
        rest = self._rest(clause, gone=agent)
        if wh is None or rest is None:
            return
        verb = past_of_participle(clause.main, clause.lemma) if clause.past else third_person(clause.lemma)
        said = " ".join((*clause.adverbs, verb))
        yield _asked(f"{wh} {said} {subject} {rest}", answer, type_, 1.0, "set" if listed else "single")

    def _ranked(self, clause: Clause, attribute: Constituent, answer: str, type_: str) -> Iterator[Asked]:
        """ "X was the first spacecraft to orbit Y" gives "Which spacecraft was the first to orbit Y?"."""
        noun = attribute.head
        ranked = [t for t in noun.lefts if t.tag_ == "JJS" or t.lower_ in _RANKS]
        plain = noun.pos_ == "NOUN" and noun.tag_ == "NN" and attribute.words[0].lower_ == "the"
        if not ranked or not plain or type_ == "PERSON" or any(t.dep_ == "compound" for t in noun.lefts):
            return
        clause = replace(
            clause,
            others=tuple(
                replace(one, tokens=tuple(t for t in one.tokens if t != noun)) if one is attribute else one
                for one in clause.others
            ),
        )
        rest = self._rest(clause, keep=False)
        if rest is not None and len(rest.split()) > 3:
            yield _asked(f"Which {noun.text} {_finite(clause)} {rest}", answer, type_, 1.0)

    def _identity(self, clause: Clause) -> Iterator[Asked]:
        """ "The first administrator was T. Keith Glennan" gives "Who was the first administrator of NASA?"."""
        own, topic = clause.subject, self.reference.topic
        attribute = clause.of("attribute")
        if clause.main or attribute is None or len(clause.auxiliaries) != 1 or own.head.tag_ != "NN":
            return
        found = self._named(attribute)
        text = self.reference.write(own.tokens)
        ranked = any(t.tag_ == "JJS" or t.lower_ in _RANKS for t in own.head.lefts)
        if (
            found is None
            or found[3]
            or not text
            or own.tokens[0].lower_ != "the"
            or not ranked
            or len(clause.others) > 1
        ):
            return
        if not self.reference.is_named(own.tokens):
            if topic is None or len(own.tokens) != 3:
                return
            text = f"{text} of {topic.name}"
        wh = "Who" if is_person(own.head.lemma_.lower()) or found[1] == "PERSON" else "What"
        yield _asked(f"{wh} {clause.auxiliaries[0]} {text}", found[0], found[1], 1.0)

    # --- what, where, when, how much -------------------------------------------------------------

    def _of_others(self, clause: Clause) -> Iterator[Asked]:
        subject = self._subject(clause)
        if subject is None:
            return
        for one in clause.others:
            for span in self._facts(one):
                yield from self._of_fact(clause, subject, one, span)
            if (listed := self._names_listed(one)) is not None and one.role == "object":
                yield from self._of_list(clause, subject, one, listed)
            if one.role == "attribute" and not clause.main and clause.lemma == "be":
                yield from self._definition(clause, subject, one)

    def _of_fact(self, clause: Clause, subject: str, one: Constituent, span: TypedSpan) -> Iterator[Asked]:
        doc = clause.verb.doc
        text = doc[span.start : span.end].text
        whole = self._is_whole(one, span)
        prep = one.prep.lower_ if one.prep is not None else ""
        if span.type in ("DATE", "YEAR"):
            if clause.main and clause.past and whole and prep in ("in", "on") and re.search(r"\d{4}", text):
                wh = "In what year" if span.type == "YEAR" else "When"
                done = replace(clause, others=tuple(other for other in clause.others if other.role != "agent"))
                yield from self._gap(done, subject, one, wh, text, span.type, 1.0)
        elif span.type == "CARDINAL":
            yield from self._count(clause, subject, one, span, text)
        elif span.type == "QUANTITY":
            yield from self._quantity(clause, subject, one, span, text, whole)
        elif span.type in ("MONEY", "PERCENT"):
            if (
                whole
                and one.role in ("object", "measure")
                and clause.lemma in ("cost", "pay", "earn", "win", "spend", "raise")
            ):
                yield from self._gap(clause, subject, one, "How much", text, span.type, 1.0)
        elif whole and span.type in _NAMES:
            yield from self._of_name(clause, subject, one, span, text, prep)

    def _of_name(
        self, clause: Clause, subject: str, one: Constituent, span: TypedSpan, text: str, prep: str
    ) -> Iterator[Asked]:
        kind = self._kind(one, span)
        if prep in _AT and span.type in _PLACES and one.role == "prep":
            elsewhere = tuple(other for other in clause.others if other is one or not self._is_place(other))
            alone = replace(clause, others=elsewhere)
            yield from self._gap(alone, subject, one, "Where", text, span.type, 1.0)
            return
        wh = self._wh(self._typed(span, text), kind, False, alone=span.end - span.start == 1, subject=False)
        if wh is None:
            return
        told = clause.lemma not in _NO_OBJECTS or (clause.lemma in ("take", "use", "carry") and wh.startswith("Which"))
        if span.type in _PLACES and any(char.isdigit() for char in text):
            return  # "6.4 Earth days"
        if span.type == "PERSON" and clause.lemma in ("publish", "write", "release", "produce", "compose", "record"):
            return
        asked_of = told and (wh != "What" or clause.lemma in _DONE_TO_THINGS)
        if one.role == "prep" and prep in _WITH and span.type == "PERSON" and len(text.split()) > 1:
            yield from self._gap(clause, subject, one, "Who", text, span.type, 0.9, stranded=prep)
        if one.role == "object" and asked_of:
            yield from self._gap(clause, subject, one, wh, text, span.type, 0.9)

    def _count(self, clause: Clause, subject: str, one: Constituent, span: TypedSpan, text: str) -> Iterator[Asked]:
        """ "Mars has two moons" gives "How many moons does Mars have?"."""
        number = clause.verb.doc[span.end - 1]
        noun = one.head
        if (
            one.role not in ("object",)
            or number.head != noun
            or number.dep_ != "nummod"
            or noun.tag_ not in ("NNS", "NNPS")
        ):
            return
        counted = [t for t in one.words if t.i >= span.end]
        if text.lower() == "one" or len(counted) > 6 or any(t.pos_ == "PROPN" and t.dep_ == "conj" for t in counted):
            return
        if any(t.dep_ in ("conj", "cc", "appos") for t in counted) or one.words[0].i < span.start - 1:
            return
        said = self.reference.write(counted, keep=True)
        if said:
            yield from self._gap(clause, subject, one, f"How many {said}", text, "CARDINAL", 1.0)

    def _quantity(
        self, clause: Clause, subject: str, one: Constituent, span: TypedSpan, text: str, whole: bool
    ) -> Iterator[Asked]:
        doc = clause.verb.doc
        unit = doc[span.end - 1]
        timed = unit.lemma_.lower() in _TIMES
        prep = one.prep.lower_ if one.prep is not None else ""
        if whole and clause.lemma in _HOW and one.role in ("object", "measure", "attribute"):
            yield from self._gap(clause, subject, one, _HOW[clause.lemma], text, "QUANTITY", 1.0)
        elif whole and prep == "for" and timed and clause.main:
            yield from self._gap(clause, subject, one, "How long", text, "QUANTITY", 1.0)
        elif (
            one.role == "complement"
            and not clause.main
            and one.head.lower_ in _TALL
            and doc[span.start].i == one.words[0].i
        ):
            yield _asked(f"How {one.head.lower_} {clause.auxiliaries[-1]} {subject}", text, "QUANTITY", 1.0)
        elif (
            one.head.lemma_ in _MEASURED
            and clause.lemma in ("have", "be", "reach")
            and one.role in ("object", "attribute")
        ):
            last = (
                doc[span.start - 1].lower_ in ("of", "about", "around", "approximately")
                and one.tokens[-1].i == span.end - 1
            )
            if last and one.role == "object" and clause.lemma == "have":
                modifiers = " ".join(t.text for t in one.head.lefts if t.dep_ in ("amod", "compound"))
                noun = f"{modifiers} {one.head.text}".strip()
                be = "was" if clause.past else "is"
                yield _asked(f"What {be} the {noun} of {subject}", text, "QUANTITY", 1.0)

    def _of_list(self, clause: Clause, subject: str, one: Constituent, listed: tuple[str, str]) -> Iterator[Asked]:
        answer, type_ = listed
        if clause.lemma in _NO_OBJECTS - {"include", "contain", "have"}:
            return
        wh = "Who" if type_ == "PERSON" else "What"
        yield from self._gap(clause, subject, one, wh, answer, type_, 0.9, kind="set")

    def _definition(self, clause: Clause, subject: str, one: Constituent) -> Iterator[Asked]:
        """ "Tyrosinemia is a genetic disorder" gives "What is tyrosinemia?"."""
        opens = one.words[0].lower_ in ("a", "an")
        person = is_person(one.head.lemma_.lower())
        type_ = self._subject_type(clause)
        text = tidy("".join(t.text_with_ws for t in one.words[1:]))
        if not type_ or (type_ == "PERSON") != person:
            return
        if not opens or not 3 <= len(text.split()) <= 12 or clause.plural or len(clause.auxiliaries) != 1:
            return
        if one.words[-1].i - one.words[0].i + 1 != len(one.words):
            return
        wh = "Who" if person else "What"
        yield _asked(f"{wh} {clause.auxiliaries[0]} {subject}", text, "", 0.7)

    def _apposition(self, token: Token) -> Iterator[Asked]:
        """ "Saturn's largest moon, Titan, ..." gives "What is Saturn's largest moon?"."""
        described = token.head
        span = self.reference.spans.get(token.i)
        if span is None or span.type not in _NAMES or described.pos_ != "NOUN" or described.tag_ != "NN":
            return
        doc = token.doc
        apart = doc[token.left_edge.i - 1].text == ","
        if (
            not apart
            or span.start != token.left_edge.i
            or any(c.dep_ == "conj" for c in (*token.children, *described.children))
        ):
            return
        tokens = [t for t in phrase(described) if t.i < span.start - 1]
        singled = any(t.tag_ == "JJS" or t.lower_ == "first" for t in tokens) or any(
            t.dep_ == "poss" for t in described.lefts
        )
        named = self.reference.is_named(tokens)
        text = self.reference.write(tokens)
        if not text or not singled or not named or described.dep_ not in ("nsubj", "nsubjpass", "dobj", "pobj"):
            return
        person = is_person(described.lemma_.lower()) or span.type == "PERSON"
        if person and span.type != "PERSON":
            return
        answer = doc[span.start : span.end].text
        yield _asked(f"{'Who' if person else 'What'} is {text}", answer, span.type, 0.9)

    # --- pieces ----------------------------------------------------------------------------------

    def _gap(
        self,
        clause: Clause,
        subject: str,
        one: Constituent,
        wh: str,
        answer: str,
        type_: str,
        score: float,
        kind: str = "single",
        stranded: str = "",
    ) -> Iterator[Asked]:
        """The question with a constituent's place left open."""
        rest = self._rest(clause, gone=one, instead=stranded)
        if rest is None:
            return
        bare = not rest and len(subject.split()) + len(clause.main.split()) < 3 and clause.lemma in ("be", "work", "go")
        if not bare:
            yield _asked(f"{wh} {_inverted(clause, subject)} {rest}", answer, type_, score, kind)

    def _subject(self, clause: Clause) -> str | None:
        """The subject as it stands in a question; None where it is not clear by itself."""
        own = clause.subject
        if not self.reference.is_clear(own.head, own.tokens):
            return None
        dated = any((span := self.reference.spans.get(t.i)) is not None and span.type == "DATE" for t in own.tokens)
        if dated and any(t.dep_ in ("npadvmod", "nmod") for t in own.tokens):
            return None
        if not self.reference.is_named(own.tokens) and (
            clause.past or own.tokens[0].lower_ in ("the", "this", "these", "such")
        ):
            return None  # "engineers fixed it": which ones?
        text = self.reference.write(own.tokens)
        return text if text and len(text.split()) <= 10 else None

    def _subject_type(self, clause: Clause) -> str:
        """The type of the name that is a subject, "" where it is none."""
        named = self._named(clause.subject)
        return named[1] if named is not None and not named[3] else ""

    def _rest(
        self, clause: Clause, gone: Constituent | None = None, *, instead: str = "", keep: bool = True
    ) -> str | None:
        """The other constituents in their order, the last ones left out where the question grows long."""
        pieces: list[tuple[Constituent, str]] = []
        for one in clause.others:
            if one is gone:
                if instead:
                    pieces.append((one, instead))
                continue
            needed = one.role in ("object", "attribute", "complement") or one is clause.others[0]
            text = self.reference.write(one.tokens, keep=keep)
            if text is None or not self._is_clear(one):
                if needed:
                    return None
                continue
            pieces.append((one, text))
        while sum(len(text.split()) for _, text in pieces) > _CUT_FROM and pieces:
            last, _ = pieces[-1]
            if last.role != "prep" or len(pieces) == 1:
                return None
            pieces.pop()
        return " ".join(text for _, text in pieces)

    def _is_place(self, one: Constituent) -> bool:
        return one.role == "prep" and any(span.type in _PLACES for span in self._facts(one))

    def _is_clear(self, one: Constituent) -> bool:
        if one.role in ("complement", "measure", "adverb"):
            return not any(t.lower_ in ("this", "these", "that", "those") for t in one.tokens)
        return self.reference.is_clear(one.head, one.tokens)

    def _facts(self, one: Constituent) -> list[TypedSpan]:
        inside = {token.i for token in one.words}
        found = dict.fromkeys(
            span
            for token in one.words
            if (span := self.reference.spans.get(token.i)) is not None and span.type != "CONCEPT"
        )
        return [span for span in found if all(index in inside for index in range(span.start, span.end))]

    def _is_whole(self, one: Constituent, span: TypedSpan) -> bool:
        """Whether a fact is all of a constituent, but for an article, a title, or the noun that says what it is."""
        beside = [t for t in one.words if not span.start <= t.i < span.end and t.i not in self._after(one, span)]
        allowed = all(
            t.i < span.start
            and (
                t.pos_ in ("DET", "NOUN")
                or t.lower_ in ("about", "around", "approximately", "nearly")
                or (span.type == "PERSON" and t.pos_ == "PROPN" and t.i == span.start - 1)  # "Admiral", "Dr."
            )
            for t in beside
        )
        nouns = [t for t in beside if t.pos_ == "NOUN"]
        return allowed and (not nouns or (len(nouns) == 1 and nouns[0].i == span.start - 1 and nouns[0].tag_ == "NN"))

    def _after(self, one: Constituent, span: TypedSpan) -> dict[int, str]:
        """The class noun behind a name ("the Skylab space station"), by token."""
        tokens = [t for t in one.words if t.i >= span.end]
        plain = tokens and tokens[-1] == one.head and all(t.pos_ == "NOUN" for t in tokens)
        whole = plain and tokens[0].i == span.end and len(tokens) < 3 and one.head.tag_ == "NN"
        return {t.i: t.text for t in tokens} if whole else {}

    def _kind(self, one: Constituent, span: TypedSpan) -> str:
        if after := self._after(one, span):
            return " ".join(after.values())
        before = [t for t in one.words if t.i == span.start - 1 and t.pos_ == "NOUN"]
        return before[0].lemma_.lower() if before else self.kinds.noun.get(span.anchor, "")

    def _named(self, one: Constituent, *, subject: bool = False) -> tuple[str, str, str, bool] | None:
        """The name that a constituent is: text, type, class noun, and whether it is a list of names."""
        topic = self.reference.topic
        alone = len(one.words) <= 2 and len(self._facts(one)) <= 1
        if topic is not None and alone and self.reference.means_topic(one.head):
            type_ = "NAME" if "it" in topic.pronouns else "PERSON"
            return topic.name.removeprefix("the "), type_, min(topic.nouns, default=""), False
        if (listed := self._names_listed(one)) is not None:
            return listed[0], listed[1], "", True
        for span in self._facts(one):
            if span.type in _NAMES and self._is_whole(one, span):
                text = one.head.doc[span.start : span.end].text
                return text, self._typed(span, text), self._kind(one, span), False
        return None

    def _typed(self, span: TypedSpan, text: str) -> str:
        """The type of a name; one word is a person only where it is a surname of one."""
        alone = span.end - span.start == 1
        if span.type == "ORG":  # many names are taken for one: of guides, programs, groups of people
            return "ORG" if text.rsplit(" ", 1)[-1].lower() in _ORGANISATIONS else ""
        return "" if alone and span.type == "PERSON" and text not in self.kinds.surnames else span.type

    def _names_listed(self, one: Constituent) -> tuple[str, str] | None:
        spans = self._facts(one)
        if len(spans) < 2 or any(span.type not in _NAMES for span in spans):
            return None
        inside = {index for span in spans for index in range(span.start, span.end)}
        between = [t for t in one.words if t.i not in inside]
        if not any(t.lower_ == "and" for t in between) or any(t.lower_ not in ("and", ",", "the") for t in between):
            return None
        types = {span.type for span in spans}
        text = one.head.doc[spans[0].start : spans[-1].end].text
        return (text, types.pop()) if len(types) == 1 else None

    def _wh(self, type_: str, kind: str, plural: bool, *, alone: bool = False, subject: bool = True) -> str | None:
        """The words that ask for a name of a type."""
        if type_ == "PERSON" and (not kind or is_person(kind)):
            return "Who"
        if kind and not plural:
            return f"Which {kind}"
        if type_ == "NAME" and subject:
            return None
        if type_ == "ORG" and not alone:
            return "Which organisation" if not plural else "Which organisations"
        if type_ in ("GPE", "LOC"):
            return "Which places" if plural else "Which place"
        if type_ in ("", "ORG") or (subject and alone):
            return None
        return "What"


def _identifies(attribute: Constituent) -> bool:
    """Whether a copula's attribute says which one it is ("the largest moon of Saturn"), not only what it is."""
    return attribute.words[0].lower_ == "the" and len(attribute.words) > 3


def _finite(clause: Clause) -> str:
    """The verb group as a statement has it."""
    return " ".join((*clause.auxiliaries, *clause.adverbs, clause.main)).strip()


def _inverted(clause: Clause, subject: str) -> str:
    """Auxiliary, subject and verb as a question has them, with "did" or "does" where there is no auxiliary."""
    if clause.auxiliaries:
        first, *others = clause.auxiliaries
        return " ".join(filter(None, (first, subject, *others, *clause.adverbs, clause.main)))
    helper = "did" if clause.past else "do" if clause.plural else "does"
    return " ".join((helper, subject, *clause.adverbs, clause.lemma))


def _asked(question: str, answer: str, type_: str, score: float, kind: str = "single") -> Asked:
    text = tidy(question)
    return Asked(f"{text[:1].upper()}{text[1:]}?", answer, type_, score, kind)
