"""Clauses that state something: a subject, a verb group and the constituents behind it, from the dependency parse.

A clause is only read where all of it is plainly said: denied, supposed, conditional and reported ones are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from fedrag_flwr.text.inflection import is_participle
from fedrag_flwr.text.lexicon import DOUBTING, words
from fedrag_flwr.text.negation import DENYING

if TYPE_CHECKING:
    from spacy.tokens import Span, Token

Role = Literal["subject", "object", "attribute", "complement", "prep", "agent", "measure", "adverb"]

SUBJECTS = frozenset(("nsubj", "nsubjpass"))
_ROLES: dict[str, Role] = {
    "dobj": "object",
    "dative": "object",
    "attr": "attribute",
    "oprd": "attribute",
    "acomp": "complement",
    "xcomp": "complement",
    "prt": "complement",
    "prep": "prep",
    "agent": "agent",
    "npadvmod": "measure",
    "advmod": "adverb",
}
_LOOSE = frozenset(("relcl", "advcl", "ccomp", "parataxis", "dep", "meta", "intj"))
_PARTING = frozenset((",", "(", "—", "–", ";", ":"))
_MODALS = words("would could might may should must ought will 'd 'll wo shall")
_CONDITIONS = words("if unless whenever wherever whether")
_TIMES = words("when once where until till while")  # conditions in the present only
_NO_SUBJECTS = words("i we you he she it they this these those that there what which who whoever whatever one")
_ADVERBS = words("first originally officially together")  # that stay with their verb
_RELATIVE = words("later earlier ago then now today currently recently afterwards before after since")
_REPORTING = words("say believe think report suppose consider know expect estimate claim allege assume understand")
_COMPARING = words("than or like unlike such")
_POINTING = words("this that these those")
_LIMITS = words("from to until till since between through before after by")  # of a time that an event is not at
_FULL = {"'s": "is", "’s": "is", "'re": "are", "’re": "are", "'ve": "have", "’ve": "have"}


@dataclass(frozen=True, slots=True)
class Constituent:
    """A phrase of a clause: its role, its head (the noun of a prepositional phrase), its tokens in reading order."""

    role: Role
    head: Token
    tokens: tuple[Token, ...]
    prep: Token | None = None

    @property
    def words(self) -> tuple[Token, ...]:
        """The tokens without the preposition."""
        return tuple(token for token in self.tokens if token != self.prep)


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause in a form that can be turned into questions."""

    verb: Token  # the main verb or copula
    auxiliaries: tuple[str, ...]  # auxiliary words before it, in order ("was", "has been"); a copula itself is the last
    main: str  # the main verb's form behind them ("launched"), "" for a copula
    lemma: str  # the main verb's lemma
    # subject, others: the constituents; `others` in the order in which a question names them.
    subject: Constituent
    others: tuple[Constituent, ...]
    adverbs: tuple[str, ...]  # those that stay with the verb ("first")
    # passive, past, plural: of the verb, and whether the subject is plural.
    passive: bool
    past: bool
    plural: bool

    def of(self, role: Role) -> Constituent | None:
        """The first constituent of a role."""
        return next((one for one in self.others if one.role == role), None)


def clauses_of(sentence: Span) -> Iterator[Clause]:
    """Find the clauses of a sentence that state something."""
    if sentence.text.rstrip("\"'”’) ").endswith("?") or any(token.text in ("?", ";", "|") for token in sentence):
        return
    for token in sentence:
        if token.pos_ in ("VERB", "AUX") and token.dep_ not in ("aux", "auxpass"):
            clause = _clause(token)
            if clause is not None:
                yield clause


def phrase(head: Token, *, without: frozenset[int] = frozenset()) -> tuple[Token, ...]:
    """A phrase's own tokens: no relative clauses, no loose appositions, and no subtrees of those in `without`."""
    found, left = [], [head]
    while left:  # a phrase may be as deep as it is long
        token = left.pop()
        found.append(token)
        left += [child for child in token.children if child.i not in without and not _is_loose(child, token)]
    tokens = sorted(found, key=lambda token: token.i)
    while tokens and tokens[-1].is_punct and tokens[-1].text not in ('"', "”"):
        tokens.pop()
    while tokens and tokens[0].is_punct and tokens[0].text not in ('"', "“"):
        tokens.pop(0)
    return tuple(tokens)


def _is_loose(child: Token, head: Token) -> bool:
    """Whether a subtree is an aside and not a part of its head's phrase."""
    if child.dep_ == "relcl" and child.tag_ == "VB" and 0 < child.i - head.i <= 3:
        return False  # "the first mission to bring back a sample"
    if child.dep_ in _LOOSE or (child.dep_ == "conj" and child.pos_ in ("VERB", "AUX")):
        return True
    if child.dep_ == "punct":
        listing = child.text == "," and any(other.i > child.i for other in head.conjuncts)
        return child.i > head.i and child.text in _PARTING and not listing
    if child.dep_ == "cc":
        return not any(other.dep_ == "conj" and not _is_loose(other, head) for other in head.children)
    before = child.left_edge.i - 1
    return child.i > head.i and child.dep_ != "conj" and before > head.i and head.doc[before].text in _PARTING


def _clause(verb: Token) -> Clause | None:
    subject = _subject(verb)
    if subject is None or not subject.tokens or not _is_stated(verb):
        return None
    group = _verb_group(verb)
    if group is None:
        return None
    auxiliaries, main = group
    passive = bool(main) and any(word in ("was", "were", "is", "are", "been", "be") for word in auxiliaries)
    passive = passive and verb.tag_ in ("VBN", "VBD")
    past = (not auxiliaries and verb.tag_ == "VBD") or any(
        word in ("was", "were", "had", "did") for word in auxiliaries
    )
    joined = any(child.dep_ == "conj" for child in subject.head.children)
    others = _others(verb)
    if others is None:
        return None
    tokens = [token for one in (subject, *others) for token in one.tokens]
    if any(token.lower_ in DENYING or token.lower_ in _COMPARING or token.lower_ in _POINTING for token in tokens):
        return None
    adverbs = tuple(child.lower_ for child in verb.children if child.dep_ == "advmod" and child.lower_ in _ADVERBS)
    lemma = "be" if not main else verb.lemma_.lower()
    plural = joined or subject.head.tag_ in ("NNS", "NNPS")
    return Clause(verb, auxiliaries, main, lemma, subject, others, adverbs, passive, past, plural)


def _is_stated(verb: Token) -> bool:
    """Whether a verb heads a sentence, or is joined to one that does, and nothing takes back what it says."""
    for child in verb.children:
        if child.dep_ in ("neg", "ccomp", "mark", "expl", "csubj", "csubjpass"):
            return False
        if child.dep_ == "aux" and child.lower_ in _MODALS:
            return False
        if child.dep_ == "advmod" and (child.lower_ in DOUBTING or child.lower_ in ("nearly", "almost")):
            return False
        if child.dep_ == "advcl" and _is_condition(child, verb):
            return False
        if child.dep_ == "xcomp" and verb.lemma_ in _REPORTING:
            return False
    above = verb
    while above.dep_ == "conj":
        above = above.head
        if above.pos_ not in ("VERB", "AUX") or not _is_plain(above):
            return False
    return above.dep_ == "ROOT" or (above.dep_ == "relcl" and above.head.pos_ == "PROPN")


def _is_condition(clause: Token, verb: Token) -> bool:
    past = verb.tag_ == "VBD" or any(child.lower_ in ("was", "were", "had") for child in verb.children)
    opening = {child.lower_ for child in clause.children}
    return bool(opening & _CONDITIONS) or (not past and bool(opening & _TIMES))


def _is_plain(verb: Token) -> bool:
    """Whether a verb to which another one is joined is itself neither supposed nor conditional."""
    return not any(
        (child.dep_ == "aux" and child.lower_ in _MODALS)
        or child.dep_ == "mark"
        or (child.dep_ == "advcl" and _is_condition(child, verb))
        for child in verb.children
    )


def _subject(verb: Token) -> Constituent | None:
    own = next((child for child in verb.children if child.dep_ in SUBJECTS), None)
    if own is not None and own.i > verb.i:
        return None
    if verb.dep_ == "relcl":
        if own is None or own.lower_ not in ("which", "who"):
            return None
        return Constituent("subject", verb.head, phrase(verb.head))
    if own is not None:
        if own.lower_ in _NO_SUBJECTS - {"he", "she", "it", "they"} or own.pos_ in ("DET", "NUM", "VERB"):
            return None
        return Constituent("subject", own, phrase(own))
    return _subject(verb.head) if verb.dep_ == "conj" and verb.head.pos_ in ("VERB", "AUX") else None


def _verb_group(verb: Token) -> tuple[tuple[str, ...], str] | None:
    """Auxiliaries and main form; None where the verb is not finite."""
    helpers = [child for child in verb.children if child.dep_ in ("aux", "auxpass") and child.i < verb.i]
    first = next((child.i for child in verb.children if child.dep_ in SUBJECTS), -1)
    if any(child.i < first for child in helpers) or any(child.lower_ == "to" for child in helpers):
        return None
    words = tuple(_FULL.get(child.lower_, child.lower_) for child in helpers)
    if verb.pos_ == "AUX" and verb.lemma_ in ("be", "'s"):
        return (*words, _FULL.get(verb.lower_, verb.lower_)), ""
    if words:
        return words, verb.lower_
    if verb.dep_ == "conj" and first < 0 and is_participle(verb.lower_):
        head = _verb_group(verb.head)
        if head is not None and head[0] and head[1] and verb.tag_ in ("VBN", "VBD"):
            objects = any(child.dep_ == "dobj" for child in verb.children)
            return ((), verb.lower_) if objects and verb.tag_ == "VBD" else (head[0], verb.lower_)
    return ((), verb.lower_) if verb.tag_ in ("VBD", "VBZ", "VBP") else None


def _others(verb: Token) -> tuple[Constituent, ...] | None:
    """The constituents behind a verb, then those before its subject; None where one cannot be asked around."""
    behind: list[Constituent] = []
    before: list[Constituent] = []
    agent = any(child.dep_ == "agent" for child in verb.children)
    for child in verb.children:
        role = _ROLES.get(child.dep_)
        if role is None or (role == "adverb" and child.i < verb.i):
            continue
        if role == "adverb" and not any(one.dep_ == "npadvmod" for one in child.children):
            continue
        if any(token.lower_ in _RELATIVE for token in child.subtree if token.dep_ in ("advmod", "prep", "mark")) and (
            role in ("measure", "adverb")
        ):
            continue  # "two years later"
        if child.i > verb.i + 1 and role != "prep" and child.doc[child.left_edge.i - 1].text in _PARTING:
            return None  # what stands behind a comma belongs to something else
        if agent and child.lower_ == "between" and _is_dated(child):
            continue  # by whom something was done does not hang on how long it took
        made = _prepositional(child, role) if role in ("prep", "agent") else [Constituent(role, child, phrase(child))]
        if made is None:
            if child.i > verb.i:
                return None
            continue
        (behind if child.i > verb.i else before).extend(made)
    return tuple(one for one in (*behind, *(one for one in before if one.role == "prep")) if one.words)


def _prepositional(prep: Token, role: Role) -> list[Constituent] | None:
    """A prepositional phrase; dated and placed phrases at its right edge stand as constituents of their own."""
    noun = next((child for child in prep.children if child.dep_ in ("pobj", "pcomp")), None)
    if noun is None or noun.dep_ == "pcomp" or (prep.lower_ in _LIMITS and noun.ent_type_ == "DATE"):
        return None
    edges = _dates_behind(noun)
    gone = frozenset(child.i for child in edges)
    own = Constituent(role, noun, (prep, *phrase(noun, without=gone)), prep)
    if role == "agent" and (noun.like_num or noun.ent_type_ == "DATE"):
        own = replace(own, role="prep")  # "completed by 1450"
    return [own, *(one for edge in edges for one in _prepositional(edge, "prep") or [])]


def _dates_behind(noun: Token) -> list[Token]:
    """The prepositions of the dates behind a noun ("in 1914")."""
    found = (child for child in noun.children if child.dep_ == "prep" and child.lower_ in ("in", "on"))
    return [child for child in found if _is_dated(child) and child.i > noun.i]


def _is_dated(prep: Token) -> bool:
    return any(child.dep_ == "pobj" and child.ent_type_ == "DATE" for child in prep.children)


def split_dates(constituent: Constituent) -> list[Constituent]:
    """An object without the date behind it, and the date ("the eastern comet in 1914")."""
    edges = _dates_behind(constituent.head)
    if constituent.prep is not None or not edges:
        return [constituent]
    own = replace(constituent, tokens=phrase(constituent.head, without=frozenset(edge.i for edge in edges)))
    return [own, *(one for edge in edges for one in _prepositional(edge, "prep") or [])]
