"""A clause's verb group in statements and questions, and the clause said another way."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from fedrag_flwr.memory.synthesis.classes import is_name_token
from fedrag_flwr.memory.synthesis.denial import is_left_out
from fedrag_flwr.memory.synthesis.inflection import participle_of_past, past_of_participle, third_person
from fedrag_flwr.memory.synthesis.lexicon import words_of
from fedrag_flwr.memory.synthesis.parts import Clause, Part, phrase_tokens, prep_parts
from fedrag_flwr.memory.synthesis.sharing import own_part

if TYPE_CHECKING:
    from spacy.tokens import Token

_NO_PASSIVE = words_of(
    "have become include contain cost weigh take mean reach spend last remain lack resemble be equal measure span "
    "total leave enter join win get receive begin start end continue try mark suit fit"
)


def variants(clause: Clause) -> Iterator[Clause]:
    """Give the clause, one for each coordinated object with its own modifiers, and one with the subject described."""
    yield own_part(clause)
    object_ = clause.part("object")
    if object_ is not None and object_.head is not None:
        for other in object_.head.conjuncts:
            preps = [child for child in other.children if child.dep_ == "prep"]
            if other.i > object_.head.i and preps and is_name_token(other) and not is_left_out(other):
                own = Part("object", other, phrase_tokens(other, without=preps), needed=True)
                extra = tuple(part for prep in preps for part in prep_parts(prep))
                yield replace(clause, parts=(own, *extra))
    for part in clause.parts:
        # "passed Šteins in 2008 and Lutetia in 2010": the parser joins the second name to the first year
        joined = (
            [
                other
                for other in part.head.conjuncts
                if other.i > part.head.i and is_name_token(other) and not is_left_out(other)
            ]
            if part.head is not None and part.head.like_num
            else []
        )
        if joined and object_ is not None and _is_alike(joined[0], object_, clause.subject):
            later = tuple(other for other in clause.parts if other.tokens and other.tokens[0].i > joined[0].i)
            yield replace(clause, parts=(Part("object", joined[0], phrase_tokens(joined[0]), needed=True), *later))
    subject = clause.subject.head
    if subject is not None and is_name_token(subject):
        for child in subject.children:
            loose = child.dep_ == "appos" and child.pos_ == "NOUN" and child.left_edge.lower_ == "the"
            if loose and any(
                token.tag_ in ("JJS", "RBS") or token.lower_ in ("first", "last", "only") for token in child.subtree
            ):
                yield replace(clause, subject=Part("subject", child, phrase_tokens(child), needed=True))


def _is_alike(joined: Token, object_: Part, subject: Part) -> bool:
    """Whether a name joined on is one more object, and not one more subject ("X won it in 1903 and Y in 1935")."""
    if object_.head is None or not object_.head.text[:1].isupper():
        return False
    kinds = [token.ent_type_ for token in (joined, subject.head, object_.head) if token is not None]
    return kinds[:2] != ["PERSON", "PERSON"] or kinds[-1] == "PERSON"


def finite_words(clause: Clause) -> list[str]:
    """Give the verb group as a statement has it."""
    words = [*clause.auxiliaries]
    if not clause.auxiliaries:
        return [*clause.adverbs, clause.finite]
    return [*words, *clause.adverbs, clause.finite] if clause.finite else [*words, *clause.adverbs]


def inverted_words(clause: Clause, subject: str) -> str:
    """Give auxiliary, subject and verb as a question has them, with "did" or "does" where there is no auxiliary."""
    if clause.auxiliaries:
        first, *others = clause.auxiliaries
        return " ".join(part for part in (first, subject, *others, *clause.adverbs, clause.finite) if part)
    helper = "did" if clause.past else ("do" if clause.plural_subject else "does")
    return " ".join((helper, subject, *clause.adverbs, clause.lemma))


def to_active(clause: Clause) -> Clause | None:
    """Turn "X was built by Y" into "Y built X"."""
    agent = clause.part("agent")
    if not clause.passive or agent is None or agent.head is None or len(clause.auxiliaries) != 1 or agent.prep is None:
        return None
    if not clause.parts or clause.auxiliaries[0] not in ("was", "were", "is", "are"):
        return None
    past = clause.auxiliaries[0] in ("was", "were")
    tokens = tuple(token for token in agent.tokens if token.i != agent.prep.i)
    several = agent.head.tag_ in ("NNS", "NNPS") or any(child.dep_ == "conj" for child in agent.head.children)
    finite = (
        past_of_participle(clause.finite, clause.lemma)
        if past
        else (clause.lemma if several else third_person(clause.lemma))
    )
    subject = Part("subject", agent.head, tokens, needed=True)
    object_ = Part("object", clause.subject.head, clause.subject.tokens, needed=True)
    parts = (object_, *(part for part in clause.parts if part is not agent))
    return replace(
        clause,
        auxiliaries=(),
        finite=finite,
        subject=subject,
        parts=parts,
        passive=False,
        past=past,
        plural_subject=several,
    )


def to_passive(clause: Clause) -> Clause | None:
    """Turn "Y built X in 1990" into "X was built in 1990"."""
    object_ = clause.part("object")
    if clause.passive or object_ is None or object_.head is None or clause.auxiliaries or clause.lemma in _NO_PASSIVE:
        return None
    if sum(part.role == "object" for part in clause.parts) > 1 or object_.head.pos_ == "PRON":
        return None
    several = object_.head.tag_ in ("NNS", "NNPS") or any(child.dep_ == "conj" for child in object_.head.children)
    be = ("were" if several else "was") if clause.past else ("are" if several else "is")
    finite = participle_of_past(clause.finite, clause.lemma) if clause.past else None
    if finite is None:
        return None
    parts = tuple(part for part in clause.parts if part is not object_)
    subject = Part("subject", object_.head, object_.tokens, needed=True)
    return replace(
        clause, auxiliaries=(be,), finite=finite, subject=subject, parts=parts, passive=True, plural_subject=several
    )
