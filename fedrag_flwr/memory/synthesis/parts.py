"""The constituents of a clause: objects, attributes, complements, prepositional phrases, each with its own words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from fedrag_flwr.memory.synthesis.denial import any_denies, is_left_out
from fedrag_flwr.memory.synthesis.lexicon import (
    ADJUNCT_PREPOSITIONS,
    COMPLEX_NOUNS,
    CONNECTIVES,
    MONTHS,
    SPLIT_PREPOSITIONS,
    UNITS,
)

if TYPE_CHECKING:
    from spacy.tokens import Token


Role = Literal["subject", "object", "attribute", "complement", "prep", "agent", "adverb", "measure"]


_OMITTED = frozenset(("relcl", "advcl", "ccomp", "parataxis", "dep", "meta", "intj"))


@dataclass(frozen=True, slots=True)
class Part:
    """One constituent of a clause: its role, its head and its tokens in reading order.

    `head` is the noun of a noun phrase or of a prepositional phrase (None when the phrase has none), `prep` the
    preposition; `needed` parts are kept in every question, the others are modifiers.
    """

    role: Role
    head: Token | None
    tokens: tuple[Token, ...]
    prep: Token | None = None
    needed: bool = False


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause in a form that can be turned into questions.

    Parameters
    ----------
    verb
        The main verb or copula.
    auxiliaries
        Auxiliary words before it, in order ("was", "has been").
    finite
        The main verb's form behind the auxiliaries ("launched"), "" for a copula.
    lemma
        The main verb's lemma.
    subject
        The subject.
    parts
        The other constituents in the order in which a question names them.
    adverbs
        Adverbs that stay with the verb ("first").
    passive
        Whether the subject undergoes the action.
    """

    verb: Token
    auxiliaries: tuple[str, ...]
    finite: str
    lemma: str
    subject: Part
    parts: tuple[Part, ...]
    adverbs: tuple[str, ...]
    passive: bool
    past: bool
    plural_subject: bool

    def part(self, role: Role) -> Part | None:
        """Give the first part of a role."""
        return next((part for part in self.parts if part.role == role), None)

    def without(self, gone: Part) -> Clause:
        """Give the clause without one of its parts."""
        return replace(self, parts=tuple(part for part in self.parts if part is not gone))


def phrase_tokens(head: Token, *, without: Sequence[Token] = ()) -> tuple[Token, ...]:
    """Give a noun phrase's own tokens, without relative clauses, loose appositions and the subtrees of `without`."""
    gone, found, left = set(without), [], [head]
    while left:  # a phrase may be as deep as it is long
        token = left.pop()
        found.append(token)
        left += [child for child in token.children if child not in gone and not _loose(child, token)]
    tokens = sorted(found, key=lambda token: token.i)
    while tokens and tokens[-1].is_punct and tokens[-1].text not in (")", '"', "”", "'"):
        tokens.pop()
    while tokens and tokens[0].is_punct and tokens[0].text not in ("(", '"', "“", "'"):
        tokens.pop(0)
    return tuple(tokens)


def _loose(child: Token, head: Token) -> bool:
    if child.i > head.i and (child.dep_ == "neg" or is_left_out(child)):
        return True
    if child.dep_ == "relcl" and child.tag_ == "VB" and child.i - head.i <= 3:
        return False
    if child.dep_ in _OMITTED:
        return True
    if (
        child.dep_ in ("advmod", "npadvmod", "amod")
        and child.i > head.i
        and child.lower_ in ("west", "east", "north", "south")
    ):
        return True
    if child.dep_ == "punct":
        return child.text in (",", ";", ":", "—", "–", "(", ")") and child.i > head.i and not _list_comma(child, head)
    if child.dep_ in ("appos", "acl", "prep", "amod", "advmod", "npadvmod", "conj", "nmod"):
        before = child.left_edge.i - 1
        follows_comma = before > head.i and head.doc[before].text in (",", "(", "—", "–", ";", ":")
        if child.dep_ == "conj" and head.like_num and child.pos_ == "PROPN":
            return True
        if child.dep_ == "conj":
            return child.pos_ in ("VERB", "AUX") or (follows_comma and not _is_list(head))
        return follows_comma and child.i > head.i
    return child.dep_ == "cc" and not any(other.dep_ == "conj" and not _loose(other, head) for other in head.children)


def _is_list(head: Token) -> bool:
    """Whether conjuncts behind a comma belong to one list: every member is a name, or the head is no plural."""
    conjuncts = [token for token in head.conjuncts if token.i > head.i]
    if not conjuncts:
        return False
    plural = head.tag_ in ("NNS", "NNPS")
    return not (plural and all(token.pos_ == "PROPN" for token in conjuncts) and head.pos_ != "PROPN")


def _list_comma(comma: Token, head: Token) -> bool:
    return comma.text == "," and _is_list(head) and any(other.i > comma.i for other in head.conjuncts)


def parts_of(verb: Token) -> tuple[Part, ...]:
    before: list[Part] = []
    after: list[Part] = []
    has_object = any(
        child.dep_ in ("dobj", "attr", "acomp", "oprd", "dative", "xcomp", "ccomp") for child in verb.children
    )
    for child in verb.children:
        target = after if child.i > verb.i else before
        if child.dep_ in ("dobj", "attr", "oprd", "dative") and child.tag_ not in ("WDT", "WP") and child.pos_ != "ADP":
            role: Role = "attribute" if child.dep_ in ("attr", "oprd") else "object"
            split = _split(child) if role == "object" else _dates(child)
            if role == "object" and _bare_measure(child):
                role = "measure"
            target.append(Part(role, child, phrase_tokens(child, without=split), needed=True))
            for prep in split:
                target.extend(prep_parts(prep))
        elif child.dep_ in ("prep", "agent", "dative"):
            target.extend(
                prep_parts(
                    child,
                    needed=child.i in (verb.i + 1, verb.i + 2)
                    and not has_object
                    and child.lower_ not in ADJUNCT_PREPOSITIONS,
                )
            )
        elif child.dep_ in ("acomp", "prt") or (child.dep_ in ("xcomp",) and child.i > verb.i):
            target.append(Part("complement", child, _complement_tokens(child), needed=True))
        elif (
            child.lower_ in ("later", "earlier", "afterwards")
            or any(g.lower_ in ("later", "earlier") for g in child.subtree if child.dep_ == "npadvmod")
            or (child.dep_ == "npadvmod" and child.i + 1 < verb.i and child.nbor(1).dep_ == "mark")
        ):
            continue
        elif child.dep_ == "npadvmod" or (child.dep_ == "advmod" and any(g.dep_ == "npadvmod" for g in child.children)):
            target.append(Part("measure", child, tuple(sorted(child.subtree, key=lambda token: token.i)), needed=False))
        elif (
            child.dep_ == "advmod"
            and child.i > verb.i
            and child.lower_ in ("away", "together", "apart", "ago", "once", "twice")
        ):
            target.append(Part("adverb", None, (child,), needed=True))
        elif child.dep_ == "advcl" and child.tag_ == "VB" and child.i > verb.i:
            after.append(Part("complement", child, _complement_tokens(child)))
    found = (*_joined([part for part in after if part.tokens]), *(part for part in before if part.role != "complement"))
    return tuple(part for part in found if part.tokens)


def _joined(parts: Sequence[Part]) -> list[Part]:
    """Put "the asteroids" and "Šteins" together where the parser made two objects of one."""
    joined: list[Part] = []
    for part in parts:
        last = joined[-1] if joined else None
        if (
            last is not None
            and last.role == part.role == "object"
            and part.head is not None
            and part.head.pos_ == "PROPN"
            and last.tokens[-1].i + 1 == part.tokens[0].i
        ):
            joined[-1] = Part("object", part.head, (*last.tokens, *part.tokens), needed=True)
        else:
            joined.append(part)
    return joined


def _complement_tokens(head: Token) -> tuple[Token, ...]:
    loose = {
        token
        for child in head.subtree
        if child != head and child.dep_ in ("relcl", "advcl", "appos")
        for token in child.subtree
    }
    tokens = [token for token in head.subtree if token not in loose]
    tokens.sort(key=lambda token: token.i)
    while tokens and tokens[-1].is_punct:
        tokens.pop()
    return tuple(tokens)


def _bare_measure(noun: Token) -> bool:
    return any(child.dep_ == "nummod" for child in noun.children) and noun.lemma_ in (
        "year",
        "day",
        "hour",
        "month",
        "minute",
        "week",
    )


def prep_parts(prep: Token, *, needed: bool = False) -> list[Part]:
    """Give a prepositional phrase as parts: itself, and those at its right edge that can belong to the verb as well.

    One that is left out gives what stands in its place ("not by Ann Lee but by Bob Roe").
    """
    if any(child.lower_ == "or" for child in prep.children):
        return []  # "in 1900 or in 1901": neither is stated
    if is_left_out(prep):
        return [part for other in _joined_preps(prep) for part in prep_parts(other, needed=needed)]
    amounts = [child for child in prep.children if child.dep_ == "npadvmod" and child.lemma_ in UNITS]
    if amounts:
        amount = tuple(sorted(amounts[0].subtree, key=lambda token: token.i))
        rest = _prep_part(prep, needed=needed)
        if UNITS[amounts[0].lemma_] == "time" and rest:  # "two weeks" alone is not what "two weeks after it" says
            lone = _lone_preposition(amount[0])
            before = () if lone is None else (lone,)
            return [
                Part("measure", amounts[0], (*before, *amount, *rest[0].tokens), prep=lone, needed=True),
                *rest[1:],
            ]
        return [Part("measure", amounts[0], amount, needed=True), *rest]
    return _prep_part(prep, needed=needed)


def _lone_preposition(first: Token) -> Token | None:
    """Give the preposition before an amount that the parse hangs elsewhere ("for two days before admission")."""
    before = first.doc[first.i - 1] if first.i > first.sent.start else None
    return before if before is not None and before.dep_ == "prep" and not list(before.children) else None


def _prep_part(prep: Token, *, needed: bool) -> list[Part]:
    objects = [child for child in prep.children if child.dep_ in ("pobj", "pcomp", "prep")]
    if not objects:
        return [Part("prep", None, (prep,), prep=prep)] if prep.dep_ == "prt" else []
    noun = objects[0]
    if noun.dep_ == "prep":
        inner = prep_parts(noun, needed=needed)
        if inner:
            first = inner[0]
            inner[0] = Part(first.role, first.head, (prep, *first.tokens), prep=first.prep, needed=first.needed)
        return inner
    if noun.dep_ == "pcomp":
        return [Part("complement", noun, (prep, *_complement_tokens(noun)))]
    if prep.lower_ in CONNECTIVES and not (prep.lower_ == "as" and prep.head.pos_ in ("VERB", "AUX")):
        return []
    if prep.lower_ in ("about", "around", "over", "under", "nearly", "roughly") and noun.lemma_ in UNITS:
        return [
            Part("measure", noun, (prep, *phrase_tokens(noun, without=_split(noun))), needed=needed),
            *_split_parts(noun),
        ]
    if noun.lower_ in COMPLEX_NOUNS and noun.left_edge == noun:
        return [Part("complement", None, (prep, *phrase_tokens(noun)))]
    split = _split(noun)
    if any_denies(phrase_tokens(noun, without=split)):
        return []
    by = prep.lower_ == "by" and (prep.head.tag_ == "VBN" or prep.head.dep_ == "agent")
    dated = noun.lower_ in MONTHS or noun.like_num or noun.ent_type_ == "DATE"  # "completed by 1450"
    agent = not dated and (prep.dep_ == "agent" or by)
    tokens = (prep, *phrase_tokens(noun, without=split))
    parts = [Part("agent" if agent else "prep", noun, tokens, prep=prep, needed=needed and not agent)]
    for inner_prep in split:
        parts.extend(prep_parts(inner_prep))
    for other in _joined_preps(prep):
        parts.extend(prep_parts(other))
    return parts


def _joined_preps(prep: Token) -> list[Token]:
    return [other for other in prep.children if other.dep_ == "conj" and other.pos_ == "ADP"]


def _split_parts(noun: Token) -> list[Part]:
    return [part for prep in _split(noun) for part in prep_parts(prep)]


def _split(noun: Token) -> list[Token]:
    """Prepositional phrases at the right edge of a noun phrase that can belong to the verb as well."""
    found = []
    for child in noun.rights:
        if (
            child.dep_ in ("prep", "agent")
            and child.lower_ in SPLIT_PREPOSITIONS
            and any(g.dep_ == "pobj" for g in child.children)
        ):
            found.append(child)
    return found


def _dates(noun: Token) -> list[Token]:
    return [
        prep
        for prep in _split(noun)
        if prep.lower_ in ("in", "on", "from", "since", "until")
        and any(child.dep_ == "pobj" and (child.like_num or child.lower_ in MONTHS) for child in prep.children)
    ]
