"""Questions from clauses: fronted wh-phrases, auxiliary inversion, do-support, and the other voice."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from fedrag_flwr.memory.synthesis.amounts import Candidate, Wh, measure_adjective
from fedrag_flwr.memory.synthesis.answers import candidates_of
from fedrag_flwr.memory.synthesis.classes import is_name_token, plain
from fedrag_flwr.memory.synthesis.lexicon import PLACE_PREPOSITIONS, PROFESSIONS, TIME_NOUNS, VAGUE_NOUNS
from fedrag_flwr.memory.synthesis.measures import is_date
from fedrag_flwr.memory.synthesis.parts import Clause, Part, phrase_tokens
from fedrag_flwr.memory.synthesis.sharing import own_part
from fedrag_flwr.memory.synthesis.voice import finite_words, inverted_words, to_active, to_passive, variants
from fedrag_flwr.memory.synthesis.wording import Asked, Wording

if TYPE_CHECKING:
    from spacy.tokens import Token


class Asker(Wording):
    """Makes the questions of one paragraph's clauses.

    Parameters
    ----------
    mentions
        What the paragraph's pronouns and short names stand for.
    classes
        What the document's names are.
    """

    def ask(self, clause: Clause) -> Iterator[Asked]:
        """Make the questions of a clause, in both voices where that reads well."""
        if clause.subject.head is not None and clause.subject.head.dep_ == "expl":
            yield from self._existential(clause)
            return
        for variant in variants(clause):
            yield from self._contextual(self._subject_questions(variant))
            yield from self._contextual(self._other_questions(variant, 1.0))
        clause = own_part(clause)
        active = to_active(clause)
        if active is not None:
            yield from self._subject_questions(active)
            yield from self._other_questions(active, 0.8)
        passive = to_passive(clause)
        if passive is not None and self._specific(passive.subject):
            yield from self._other_questions(passive, 0.9)

    def _contextual(self, asked: Iterator[Asked]) -> Iterator[Asked]:
        """Name the topic in questions that say nothing of it."""
        topic = self.mentions.topic
        for item in asked:
            yield item
            if topic is None or topic.name.lower() in item.question.lower() or plain(topic.name) == plain(item.answer):
                continue
            if any(re.search(rf"\b{re.escape(alias)}\b", item.question.lower()) for alias in topic.aliases):
                continue
            yield replace(
                item, question=f"{item.question.rstrip('?')} in the case of {topic.name}?", score=item.score * 0.95
            )

    def _existential(self, clause: Clause) -> Iterator[Asked]:
        """Ask "How many cameras does X have" where the text says "there are 17 cameras"."""
        attribute, topic = clause.part("attribute"), self.mentions.topic
        be = clause.auxiliaries[-1] if clause.auxiliaries else clause.finite
        if attribute is None or clause.lemma != "be" or not be:
            return
        for candidate in candidates_of(attribute, clause, self.mentions, self.classes):
            if candidate.type != "CARDINAL" or not candidate.whs:
                continue
            phrase = candidate.whs[0].phrase
            for rest, weight in self._rests(clause, candidate.gone, attribute, ""):
                if rest:
                    yield self._asked(f"{phrase} {be} there {rest}", candidate, weight, "single")
            if topic is not None and not topic.person and not self._is_elsewhere(clause):
                verb = "did" if clause.past else ("do" if topic.plural else "does")
                yield self._asked(f"{phrase} {verb} {topic.name} have", candidate, 0.9, "single")

    def _is_elsewhere(self, clause: Clause) -> bool:
        """Whether a clause names another place than the topic: "in Ossland", "in the county", not "on board"."""
        preps = [token for token in clause.verb.subtree if token.dep_ == "prep" and token.lower_ in PLACE_PREPOSITIONS]
        places = [noun for prep in preps for noun in prep.children if noun.dep_ == "pobj"]
        return any(self._is_another_place(noun) for noun in places)

    def _is_another_place(self, noun: Token) -> bool:
        topic, named = self.mentions.topic, self.mentions.entity(noun)
        if is_date(phrase_tokens(noun)) or noun.lower_ in TIME_NOUNS | VAGUE_NOUNS:
            return False
        if named and topic is not None:
            return plain(named) not in topic.aliases | {plain(topic.name)}
        return any(child.dep_ in ("det", "poss") for child in noun.lefts)

    # --- questions ----------------------------------------------------------------------------

    def _subject_questions(self, clause: Clause) -> Iterator[Asked]:
        subject = clause.subject
        if subject.head is None:
            return
        predicate = " ".join(finite_words(clause))
        for candidate in candidates_of(subject, clause, self.mentions, self.classes):
            nouns = {part.head.lemma_ for part in clause.parts if part.role == "attribute" and part.head is not None}
            if candidate.type in ("DATE", "YEAR", "QUANTITY"):
                continue
            if not candidate.type and len(candidate.text.split()) < 3:
                continue
            keep = candidate.entity or self._keep(subject)
            topical = self.mentions.topic is not None and plain(keep) in self.mentions.topic.aliases
            for rest, weight in self._rests(clause, frozenset(), None, keep, subject_gone=not topical):
                if not rest:
                    continue
                bare = len(rest.split()) < 2 and not clause.adverbs
                if bare and clause.lemma == "be":
                    continue
                for wh in candidate.whs:
                    if clause.plural_subject and wh.phrase in ("What",) and candidate.type:
                        continue
                    if clause.lemma == "be" and (not self._identifies(clause) or wh.phrase.rsplit(" ", 1)[-1] in nouns):
                        continue
                    penalty = 0.7 if bare else 1.0
                    kind = "set" if candidate.plural and candidate.type else "single"
                    yield self._asked(f"{wh.phrase} {predicate} {rest}", candidate, wh.weight * weight * penalty, kind)
            if clause.lemma == "be" and candidate.type:
                yield from self._superlative(clause, candidate, keep)

    def _identifies(self, clause: Clause) -> bool:
        """Whether a copula's attribute says which one it is ("the largest moon of Saturn"), not only what it is."""
        attribute = clause.part("attribute")
        if attribute is None:
            return any(part.role == "complement" for part in clause.parts)
        definite = (
            attribute.tokens[0].lower_ in ("the", "its", "his", "her", "their") or attribute.tokens[0].dep_ == "poss"
        )
        if definite:
            return True
        text = " ".join(token.text for token in attribute.tokens)
        return len(attribute.tokens) > 4 or (
            any(is_name_token(token) for token in attribute.tokens) and len(text.split()) > 2
        )

    def _superlative(self, clause: Clause, candidate: Candidate, keep: str) -> Iterator[Asked]:
        """Turn "X was the first spacecraft to orbit Y" into "Which spacecraft was the first to orbit Y"."""
        attribute = clause.part("attribute")
        if attribute is None or attribute.head is None or attribute.head.pos_ != "NOUN":
            return
        lefts = list(attribute.head.lefts)
        ranked = [
            token
            for token in lefts
            if token.tag_ in ("JJS", "RBS")
            or token.lower_ in ("first", "second", "third", "last", "only")
            or any(child.tag_ == "RBS" for child in token.children)
        ]
        if not ranked or attribute.tokens[0].lower_ != "the":
            return
        compounds = [
            token
            for token in lefts
            if token.dep_ == "compound" and token.pos_ == "NOUN" and token.i == attribute.head.i - 1
        ]
        noun = " ".join(token.text for token in [*compounds, attribute.head])
        gone = frozenset(token.i for token in [*compounds, attribute.head])
        predicate = " ".join(finite_words(clause))
        for rest, weight in self._rests(clause, gone, None, keep):
            yield self._asked(f"Which {noun} {predicate} {rest}", candidate, weight, "single")

    def _other_questions(self, clause: Clause, factor: float) -> Iterator[Asked]:
        subject = self.subject_text(clause.subject)
        if not subject:
            return
        keep = self._keep(clause.subject)
        for part in clause.parts:
            for candidate in candidates_of(part, clause, self.mentions, self.classes):
                if candidate.entity and plain(candidate.entity) == plain(keep):
                    continue
                if part.role == "attribute" and clause.lemma == "be":
                    yield from self._attribute_questions(clause, part, candidate, subject)
                yield from self._measure_questions(clause, part, candidate, subject)
                if candidate.named:
                    be = "was" if clause.past and clause.auxiliaries[:1] != ("is",) else "is"
                    yield self._asked(f"What {be} the name of {subject}", candidate, 0.9, "single")
                    yield self._asked(f"What name was given to {subject}", candidate, 0.85, "single")
                if candidate.dimension == "time" and part.prep is not None and part.prep.lower_ in ("in", "within"):
                    helper = "did" if clause.past else ("do" if clause.plural_subject else "does")
                    for rest, weight in self._rests(clause, candidate.gone | {part.prep.i}, None, keep):
                        if not clause.passive:
                            yield self._asked(
                                f"How long {helper} {subject} take to {clause.lemma} {rest}",
                                candidate,
                                weight,
                                "single",
                            )
                for wh in candidate.whs:
                    yield from self._gap_questions(clause, part, candidate, wh, subject, keep, factor)

    def _gap_questions(
        self, clause: Clause, part: Part, candidate: Candidate, wh: Wh, subject: str, keep: str, factor: float
    ) -> Iterator[Asked]:
        if part.role == "agent" and wh.mode == "front":
            return
        inverted = inverted_words(clause, subject)
        gone = set(candidate.gone)
        phrase = wh.phrase
        if candidate.prep is not None and wh.mode in ("drop", "front"):
            gone.add(candidate.prep)
        if candidate.prep is not None and wh.mode == "front":
            word = clause.verb.doc[candidate.prep].lower_
            phrase = f"{word.capitalize()} {wh.phrase[:1].lower()}{wh.phrase[1:]}"
        person = self.classes.type_of(subject) == "PERSON" or bool(
            self.mentions.topic and self.mentions.topic.person and subject == self.mentions.topic.name
        )
        if clause.lemma == "be" and part.role == "attribute" and phrase == "What" and person:
            phrase = "Who"
        kind = "set" if candidate.plural and candidate.type else "single"
        topic = self.mentions.topic
        apart = topic is not None and topic.name.lower() not in subject.lower()
        for rest, weight in self._rests(clause, frozenset(gone), part, keep, subject_gone=apart):
            yield self._asked(f"{phrase} {inverted} {rest}", candidate, wh.weight * weight * factor, kind)

    def _attribute_questions(self, clause: Clause, part: Part, candidate: Candidate, subject: str) -> Iterator[Asked]:
        head = part.head
        if (
            head is None
            or candidate.type not in ("", "PERSON")
            or head.pos_ != "NOUN"
            or len(candidate.text.split()) < 2
        ):
            return
        if head.lemma_.lower() in PROFESSIONS and not clause.plural_subject:
            profession = replace(candidate, text=head.text, type="")
            be = "was" if clause.past else "is"
            yield self._asked(f"What {be} the profession of {subject}", profession, 0.8, "single")
        kind_of = next((token for token in head.lefts if token.dep_ in ("amod", "compound")), None)
        if kind_of is not None and part.tokens[0].lower_ in ("a", "an"):
            inverted = inverted_words(clause, subject)
            yield self._asked(f"What kind of {head.text.lower()} {inverted}", candidate, 0.6, "single")

    def _measure_questions(self, clause: Clause, part: Part, candidate: Candidate, subject: str) -> Iterator[Asked]:
        """Ask "What is the diameter of X" and "How wide is X" where X has, or is, a measured amount."""
        noun = candidate.measured
        if noun and not _is_own(clause, part, candidate):
            return
        be = "was" if clause.past and clause.lemma not in ("have",) else "is"
        if noun and (
            clause.lemma in ("have", "be", "reach", "measure", "span")
            or part.role == "complement"
            or (part.prep is not None and part.prep.lower_ in ("with", "at"))
        ):
            weight = 1.0 if clause.lemma in ("have", "be") else 0.7
            yield self._asked(f"What {be} the {noun} of {subject}", candidate, weight, "single")
            adjective = measure_adjective(noun)
            if adjective and len(noun.split()) == 1:
                yield self._asked(f"How {adjective} {be} {subject}", candidate, 0.8 * weight, "single")
        elif clause.lemma == "weigh" and candidate.dimension == "mass":
            yield self._asked(f"What {be} the mass of {subject}", candidate, 0.9, "single")
            yield self._asked(f"How heavy {be} {subject}", candidate, 0.9, "single")
        elif clause.lemma == "cost" and candidate.dimension == "money":
            yield self._asked(f"What {be} the cost of {subject}", candidate, 0.8, "single")
        elif clause.lemma == "measure" and candidate.dimension == "length" and part.role in ("object", "measure"):
            yield self._asked(f"How large {be} {subject}", candidate, 0.8, "single")

    def _rests(
        self, clause: Clause, gone: frozenset[int], answer: Part | None, keep: str, *, subject_gone: bool = False
    ) -> Iterator[tuple[str, float]]:
        """Write what follows verb and subject: first the bare core, then with modifiers near and far."""
        subject = clause.subject.head
        ground = subject_gone and subject is not None
        needed: list[tuple[int, str]] = []
        extra: list[tuple[int, str]] = []
        for place, part in enumerate(clause.parts):
            tokens = [token for token in part.tokens if token.i not in gone]
            if not tokens:
                continue
            text = self.render(part.tokens, gone, keep)
            nameless = text is not None and part.head is not None and not re.search(r"[A-Z0-9]", text)
            if (
                nameless
                and ground
                and part.role in ("object", "attribute", "prep")
                and part is not answer
                and text
                and _definite(part)
            ):
                text = self._grounded(text, part.head)  # type: ignore[arg-type]
                ground = False
            if text is None:
                if part.needed or part is answer:
                    return
                continue
            if not text or (part is not answer and not part.needed and len(text.split()) > 9):
                continue
            (needed if part.needed or part is answer else extra).append((place, text))
        words = [text for _, text in needed]
        yield " ".join(words), 1.0
        if extra:
            yield " ".join([*words, extra[0][1]]), 0.95
        if len(extra) > 1:
            yield " ".join([*words, *(text for _, text in extra[:4])]), 0.9
            yield " ".join([*words, extra[1][1]]), 0.7

    def _asked(self, question: str, candidate: Candidate, score: float, kind: str) -> Asked:
        return self.question(question, candidate.text, candidate.type, score, kind)


def _is_own(clause: Clause, part: Part, candidate: Candidate) -> bool:
    """Whether a measure that a clause tells is its subject's, and not that of an object ("has a moon with a ...")."""
    prep = part.prep
    if part.role == "attribute":  # "is a telescope with a mass of ..."
        prep = next((token for token in part.tokens if token.lower_ == "with"), None)
    if prep is None or prep.lower_ != "with":
        return True
    moves = measure_adjective(candidate.measured) == "fast"  # "crossed it with a speed of ..."
    objects = [other for other in clause.parts if other.role == "object"]
    return prep.head == part.head or (prep.head == clause.verb and (moves or not objects))


def _definite(part: Part) -> bool:
    return part.tokens[1 if part.prep is not None and len(part.tokens) > 1 else 0].lower_ in ("the", "this", "these")
