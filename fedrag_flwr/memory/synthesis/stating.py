"""Whether a sentence says that something is so, or only that it is asked, supposed, believed or told."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fedrag_flwr.memory.synthesis.denial import any_denies, is_denied, is_left_out
from fedrag_flwr.memory.synthesis.lexicon import HEDGES, TIME_NOUNS, words_of

if TYPE_CHECKING:
    from spacy.tokens import Span, Token

_SUPPOSING = frozenset(("if", "unless", "though", "whether"))
# of nouns and adjectives that a clause explains, those that say it is so
_FACTS = words_of("fact news discovery finding proof truth reason result problem")
_TRUE = words_of("true clear known certain evident notable noteworthy remarkable famous fortunate unfortunate")
# verbs whose complement a text states by them
_STATING = words_of(
    "know show discover find reveal prove confirm demonstrate establish learn realise realize notice note remember "
    "recall mean ensure announce determine see verify acknowledge admit recognise recognize forget indicate observe "
    "mention point make let help have watch cause"
)
_TELLING = HEDGES | words_of("say state tell write ask argue report pretend allege insist maintain declare assert")
_WRONG = words_of("wrongly falsely mistakenly erroneously incorrectly untruthfully")
_TALES = words_of("legend myth rumour rumor rumours rumors folklore lore story tale hearsay gossip")
_ASKS = re.compile(r"\?[\s\"'“”‘’)\]»]*$")
_IMAGINES = frozenset(("imagine", "suppose", "supposing", "assume", "assuming"))


def asks(sentence: Span) -> bool:
    """Whether a sentence is a question, or asks to imagine something."""
    return _ASKS.search(sentence.text) is not None or sentence[0].lower_ in _IMAGINES


def is_stated(verb: Token) -> bool:
    """Whether a sentence says that it is so: it denies, hedges and supposes neither the verb nor what it hangs on.

    A verb that is joined to another shares that one's auxiliaries and negation ("was never launched or tested") where
    it has none, and no subject, of its own; what the first is said under, it always is.
    """
    if is_denied(verb) or (verb.lemma_ in HEDGES and any(c.dep_ in ("ccomp", "xcomp") for c in verb.children)):
        return False
    first, shares = verb, True
    while first.dep_ == "conj" and first.head.pos_ in ("VERB", "AUX"):
        shares = shares and _shares_negation(first)
        first = first.head
        if shares and is_denied(first):
            return False
    if _is_told(verb) or _is_told(first):
        return False
    marks = {child.lower_ for child in first.children if child.dep_ in ("mark", "advmod")}
    if first.dep_ == "advcl":
        return not marks & _SUPPOSING
    if first.dep_ == "ccomp":
        return not marks & {"if", "whether"} and _states(first.head, first) and is_stated(first.head)
    complement = first.dep_ == "relcl" and any(child.dep_ == "mark" for child in first.children)
    if (first.dep_ == "acl" or complement) and marks & {"that", "if", "whether"}:  # "no evidence that it prevents it"
        return _is_fact(first.head)
    return first.dep_ not in ("relcl", "acl") or is_said_to_be(first.head)


def is_said_to_be(noun: Token) -> bool:
    """Whether something is said to be what a noun tells, also behind a copula ("may be the drug that")."""
    of_one = noun.dep_ == "pobj" and noun.head.lower_ == "of" and noun.head.head.lower_ == "one"
    told = noun.head.head if of_one else noun
    if is_left_out(told) or any_denies(told.lefts):
        return False
    return told.dep_ not in ("attr", "acomp") or is_stated(told.head)


def _is_fact(noun: Token) -> bool:
    known = noun.lemma_.lower() in _FACTS | TIME_NOUNS | {"time"}
    return known and not any(child.lower_ == "no" for child in noun.children)


def _states(head: Token, clause: Token) -> bool:
    """Whether what a clause hangs on says that the clause is so."""
    if any(child.lower_ in _WRONG for child in head.children):
        return False
    if clause.i < head.i and not any(child.dep_ == "mark" for child in clause.children):
        # two sentences in one: the parser hangs the first on the second
        return head.lemma_.lower() not in _TELLING or any(token.text == ";" for token in head.doc[clause.i : head.i])
    if head.lemma_ == "be":
        held = {child.lemma_.lower() for child in head.children if child.dep_ in ("acomp", "attr", "nsubj")}
        return bool(held & (_FACTS | _TRUE))
    if head.lemma_ == "have" and any(child.dep_ == "dobj" and child.lower_ == "it" for child in head.children):
        return False  # "legend has it that"
    return head.lemma_.lower() in _STATING or (head.pos_ == "ADJ" and head.lemma_.lower() in _TRUE)


def _is_told(verb: Token) -> bool:
    """Whether a clause is said to be what others say: "according to legend", "as Bob Roe claims"."""
    for child in verb.children:
        if child.lower_ == "according" or (child.dep_ == "prep" and child.lower_ in ("in", "per")):
            nouns = {token.lower_ for token in child.subtree if token.pos_ in ("NOUN", "PROPN")}
            if nouns & _TALES and (child.lower_ == "according" or len(nouns) == 1):
                return True
        as_told = child.dep_ == "advcl" and any(inner.lower_ == "as" for inner in child.children)
        if as_told and child.lemma_ in _TELLING:
            return True
    return False


def _shares_negation(verb: Token) -> bool:
    """Whether a joined verb is said under the negation and the auxiliaries of the one before it."""
    own = any(child.dep_ in ("nsubj", "nsubjpass", "expl", "aux", "auxpass") for child in verb.children)
    turned = any(child.dep_ == "cc" and child.lower_ in ("but", "yet") for child in verb.head.children)
    return not own and not turned and (verb.tag_ in ("VB", "VBN", "VBG") or shares_auxiliary(verb))


def shares_auxiliary(verb: Token) -> bool:
    """Whether a joined verb stands under the passive auxiliary of the one before it."""
    head = verb.head
    return any(child.dep_ == "auxpass" for child in head.children) and not any(
        child.dep_ in ("dobj", "nsubj") for child in verb.children
    )
