"""What a sentence denies: verbs that it negates, and phrases that it leaves out ("not by Ann Lee")."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from fedrag_flwr.memory.synthesis.lexicon import words_of
from fedrag_flwr.text.lexicon import DOUBTING

if TYPE_CHECKING:
    from spacy.tokens import Token

_NO = words_of("no none nobody nothing nowhere neither nor not n't n’t never cannot")
_SCARCE = words_of("few little hardly scarcely barely")
_EXCEPT = words_of("except excepting excluding save")
_NOT = frozenset(("not", "never", "nor"))
_DETERMINING = frozenset(("det", "poss", "quantmod"))
_ALL = words_of("all every everyone everybody everything everywhere any anyone anybody anything")
_MODALS = frozenset(("would", "could", "might", "may", "should", "'d", "must", "ought"))
_NOT_QUITE = DOUBTING | words_of("hardly barely scarcely nearly almost")
_ONLY = words_of("only just merely simply")
_SUBJECTS = ("nsubj", "nsubjpass")
_OPENING = frozenset((":", ";", "-", "–", "—", "(", "[", "•", "*", "·"))  # behind these a sentence may begin


def denies(token: Token) -> bool:
    """Whether a word denies or excepts: "no", "neither", "few" (not "a few"), "everyone but"; not within a name."""
    word = token.lower_
    before = token.nbor(-1).lower_ if token.i > token.sent.start else ""
    if _is_named(token, before):
        return False
    if word in _NO:
        return next_word(token) not in _ONLY
    if word in _SCARCE:
        return word not in ("few", "little") or (token.dep_ != "advmod" and not _counted(token))
    return word in _EXCEPT or (word == "but" and before in _ALL | _NO)


def next_word(token: Token) -> str:
    """Give the word behind a token in lower case, "" behind a text's last."""
    return str(token.nbor(1).lower_) if token.i + 1 < len(token.doc) else ""


def _is_named(token: Token, before: str) -> bool:
    """Whether a capital makes a word part of a name ("joined No Doubt"); "NO stroke" is only said loudly."""
    if not token.text[:1].isupper() or token.text.isupper():
        return False
    opens = token.is_sent_start or before in _OPENING
    return not opens or token.ent_type_ == "WORK_OF_ART" or token.pos_ in ("PROPN", "INTJ")


def _counted(token: Token) -> bool:
    """Whether a determiner makes "few" some ("a few", "the last few"), or it is no amount ("the little town")."""
    head = token.head if token.dep_ in ("amod", "nummod", "det") else token
    return any(child.i < token.i and child.dep_ in _DETERMINING for child in (*head.lefts, *token.lefts))


def any_denies(tokens: Iterable[Token]) -> bool:
    """Whether one of the words denies or excepts."""
    return any(denies(token) for token in tokens)


def is_left_out(head: Token) -> bool:
    """Whether a phrase is named as what is not meant: "not" or "rather than" stands before it, or on it."""
    first = head.left_edge
    start = head.sent.start
    words = [head.doc[index].lower_ for index in range(max(start, first.i - 2), first.i)]
    if first != head and first.lower_ in _NOT:
        return denies(first)
    if words and words[-1] in _NOT:
        return first.lower_ not in _ONLY
    return words == ["rather", "than"] or words == ["instead", "of"]


def denied_noun(noun: Token, phrase: Iterable[Token]) -> bool:
    """Whether a noun phrase names none, or leaves some out, itself or what it is a part of ("none of the people")."""
    if any_denies(phrase):
        return True
    while noun.dep_ == "pobj" and noun.head.lower_ == "of":
        noun = noun.head.head
        if denies(noun) or any(denies(child) for child in noun.lefts):
            return True
    return False


def is_denied(verb: Token) -> bool:
    """Whether the verb itself is negated, or said to be only possible, or nearly so, or asked for."""
    return _is_turned(verb) or any(
        child.dep_ == "neg"
        or (child.dep_ == "aux" and child.lower_ in _MODALS)
        or (child.lower_ == "yet" and next_word(child) == "to")
        or (child.dep_ == "advmod" and (child.lower_ in _NOT_QUITE or any(denies(inner) for inner in child.children)))
        for child in verb.children
    )


def _is_turned(verb: Token) -> bool:
    """Whether an auxiliary stands before the subject, as in "did X", "had X known" and "under no circumstances did X".

    An adverbial that is fronted turns a statement round ("only in 1990 was X found"), unless it denies.
    """
    subject = next((child for child in verb.children if child.dep_ in _SUBJECTS), None)
    helpers = [child for child in verb.children if child.dep_ in ("aux", "auxpass")]
    if verb.pos_ == "AUX":
        helpers.append(verb)
    if subject is None or not helpers:
        return False
    first = min(helpers, key=lambda helper: helper.i)
    if first.i > subject.i:
        return False
    fronted = [
        child
        for child in {*verb.children, *first.children}
        if child.i < first.i and child.dep_ not in ("punct", "cc", "mark", "conj", "ccomp", "aux", "auxpass")
    ]
    if not fronted:
        return True
    return any(any_denies(child.subtree) or child.tag_.startswith("W") for child in fronted)
