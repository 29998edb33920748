"""Clauses of a parsed sentence: a subject, a verb group and the constituents around it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedrag_flwr.memory.synthesis.denial import any_denies, denied_noun, is_left_out
from fedrag_flwr.memory.synthesis.inflection import past_of_participle, third_person
from fedrag_flwr.memory.synthesis.lexicon import (
    KEPT_ADVERBS,
    NAMING_VERBS,
    words_of,
)
from fedrag_flwr.memory.synthesis.parts import Clause, Part, parts_of, phrase_tokens
from fedrag_flwr.memory.synthesis.stating import is_stated, shares_auxiliary

if TYPE_CHECKING:
    from spacy.tokens import Span, Token


_RELATIVES = frozenset(("that", "which", "who", "whom"))
_STATIVE = words_of("locate name know call base compose situate consider pronounce spell abbreviate")


def clauses_of(sentence: Span) -> list[Clause]:
    """Find the clauses of a sentence that state something (not negated, hedged, or of the first or second person)."""
    found: list[Clause] = []
    for token in sentence:
        if token.pos_ not in ("VERB", "AUX") or token.dep_ in ("aux", "auxpass"):
            continue
        clause = _clause(token)
        if clause is not None:
            found.append(clause)
    return found


def _clause(verb: Token) -> Clause | None:
    if verb.dep_ not in ("ROOT", "conj", "relcl", "acl", "advcl", "ccomp", "parataxis"):
        return None
    if (
        verb.dep_ == "ccomp"
        and verb.tag_ in ("VBN", "VBG")
        and not any(child.dep_ in ("aux", "auxpass", "mark") for child in verb.children)
    ):
        return None  # "had 3.4 seconds of propellant left" is one clause
    if not is_stated(verb):
        return None
    subject, gap = _subject(verb)
    if subject is None or not subject.tokens:
        return None
    if subject.head is None or subject.head.lower_ in (
        "i",
        "we",
        "you",
        "what",
        "whoever",
        "whatever",
        "this",
        "these",
        "those",
        "one",
    ):
        return None
    if _names_none(verb, subject, gap):
        return None
    passive, auxiliaries, finite = _verb_group(verb)
    if not auxiliaries and not finite:
        return None
    adverbs = tuple(child.lower_ for child in verb.children if child.dep_ == "advmod" and child.lower_ in KEPT_ADVERBS)
    parts = parts_of(verb)
    if gap is not None:
        parts = (Part("object", gap, phrase_tokens(gap), needed=True), *parts)
    lemma = "be" if verb.pos_ == "AUX" and verb.lemma_ in ("be", "'s") else verb.lemma_.lower()
    plural = subject.head.tag_ in ("NNS", "NNPS") or any(child.dep_ == "conj" for child in subject.head.children)
    past = verb.tag_ in ("VBD", "VBN") or any(word in ("was", "were", "had", "did") for word in auxiliaries)
    return Clause(verb, auxiliaries, finite, lemma, subject, parts, adverbs, passive, past, plural)


def _names_none(verb: Token, subject: Part, gap: Token | None) -> bool:
    """Whether who does it, or what it is done to, is nobody, nothing, or all but some."""
    if subject.head is None or denied_noun(subject.head, subject.tokens) or is_left_out(subject.head):
        return True
    if gap is not None and denied_noun(gap, phrase_tokens(gap)):
        return True
    objects = [child for child in verb.children if child.dep_ in ("dobj", "attr", "oprd", "dative", "acomp")]
    if any(is_left_out(item) or any_denies(phrase_tokens(item)) for item in objects):
        return True
    agents = [child for child in verb.children if child.dep_ == "agent" or (child.dep_ == "prep" and _follows(child))]
    return any(any_denies(phrase_tokens(noun)) for prep in agents if not is_left_out(prep) for noun in prep.children)


def _follows(child: Token) -> bool:
    return bool(child.i == child.head.i + 1)


def _subject(verb: Token) -> tuple[Part | None, Token | None]:
    """Find a verb's subject, and the antecedent that fills its object gap in an object relative clause."""
    own = next((child for child in verb.children if child.dep_ in ("nsubj", "nsubjpass", "expl")), None)
    gap: Token | None = None
    if verb.dep_ == "relcl":
        pronoun = next(
            (
                child
                for child in verb.children
                if child.lower_ in _RELATIVES and child.tag_ in ("WDT", "WP", "IN", "DT")
            ),
            None,
        )
        if own is not None and own.lower_ in _RELATIVES:
            return _antecedent(verb.head, verb), None
        if pronoun is not None and pronoun.dep_ == "dobj" and own is not None:
            if any(child.dep_ == "dobj" and child.i > verb.i for child in verb.children):
                return None, None  # "the theory that he killed her": a clause with an object of its own tells no gap
            gap = _referred(verb.head)
        elif any(
            child.lower_ in ("whose", "whom") or child.tag_ == "WP$" for child in verb.subtree if child.i < verb.i
        ):
            return None, None
    if own is not None:
        if own.lower_ in _RELATIVES and own.tag_ in ("WDT", "WP"):
            return None, None
        return _noun_part(own), gap
    if verb.dep_ == "conj" and verb.head.pos_ in ("VERB", "AUX"):
        if verb.tag_ in ("VB", "VBG") and verb.head.tag_ not in ("VB", "VBG", "VBP"):
            return None, None
        return _subject(verb.head)
    if verb.dep_ == "acl" and verb.tag_ in ("VBN", "VBG", "VBD"):
        return _antecedent(verb.head, verb), None
    if verb.dep_ == "advcl" and verb.tag_ in ("VBN", "VBG", "VBD") and verb.head.pos_ in ("VERB", "AUX"):
        if verb.tag_ == "VBG" or any(child.dep_ in ("mark", "prep") and child.i < verb.i for child in verb.children):
            return None, None
        return _subject(verb.head)
    return None, None


def _referred(noun: Token) -> Token:
    """Give the thing that a class noun stands for: the subject of its copula, or what it is an apposition to."""
    if noun.dep_ == "attr" and noun.head.lemma_ == "be":
        subject = next((child for child in noun.head.children if child.dep_ == "nsubj"), None)
        if (subject is not None and subject.lower_ not in _RELATIVES and subject.pos_ != "PRON") or (
            subject is not None and subject.lower_ in ("it", "he", "she")
        ):
            return subject
        if subject is not None and noun.head.dep_ == "relcl":
            return noun.head.head
    if noun.dep_ == "appos" and noun.pos_ == "NOUN":
        return noun.head
    if (
        noun.dep_ == "pobj"
        and noun.head.lower_ == "of"
        and noun.head.head.dep_ == "attr"
        and noun.head.head.lower_ == "one"
    ):
        return _referred(noun.head.head)
    appositions = [child for child in noun.children if child.dep_ == "appos" and child.pos_ == "PROPN"]
    return appositions[0] if appositions and noun.pos_ == "NOUN" else noun


def _antecedent(noun: Token, asking: Token) -> Part | None:
    if noun.pos_ not in ("NOUN", "PROPN", "NUM", "PRON"):
        return None
    return _noun_part(_referred(noun), asking)


def _noun_part(head: Token, asking: Token | None = None) -> Part:
    name = next(
        (child for child in head.children if child.dep_ == "appos" and child.pos_ == "PROPN" and child.i > head.i), None
    )
    if (
        name is not None
        and head.pos_ == "NOUN"
        and head.tag_ == "NN"
        and name.left_edge.i - 1 != head.i
        and head.left_edge.lower_ in ("a", "an")
    ):
        head = name  # "a pupil from Kansas, Clara Ma, proposed": the name says it better
    clausal = [
        child
        for child in head.children
        if child.dep_ in ("acl", "relcl")
        and (child == asking or (child.lemma_ not in NAMING_VERBS and child.tag_ == "VBG"))
    ]
    return Part("subject", head, phrase_tokens(head, without=clausal), needed=True)


def _verb_group(verb: Token) -> tuple[bool, tuple[str, ...], str]:
    """Give passive or not, the auxiliaries and the main verb's form, supplied where the clause has none of its own."""
    helpers = [child for child in verb.children if child.dep_ in ("aux", "auxpass") and child.i < verb.i]
    passive = any(child.dep_ == "auxpass" for child in helpers) or any(
        child.dep_ == "nsubjpass" for child in verb.children
    )
    words = tuple(_full(child.lower_) for child in helpers)
    if verb.pos_ == "AUX" and verb.lemma_ in ("be", "'s"):
        return False, (*words, _full(verb.lower_)), ""
    if words and words[0] == "to":
        return passive, (), ""
    if (verb.dep_ == "conj" and not helpers and verb.tag_ in ("VBN", "VBG")) or (
        verb.dep_ == "conj" and not helpers and verb.tag_ == "VBD" and shares_auxiliary(verb)
    ):
        if verb.head.pos_ not in ("VERB", "AUX"):
            return False, (), ""
        head_passive, head_words, _ = _verb_group(verb.head)
        if not head_words and verb.tag_ != "VBG":
            return False, (), past_of_participle(verb.lower_, verb.lemma_)
        return head_passive, head_words, verb.lower_
    own = any(child.dep_ in ("nsubj", "nsubjpass") for child in verb.children)
    if not helpers and not own and verb.dep_ in ("acl", "advcl") and verb.tag_ in ("VBN", "VBD"):
        return True, (_be(verb),), verb.lower_
    if not helpers and not own and verb.dep_ in ("acl", "advcl") and verb.tag_ == "VBG":
        return False, (_be(verb),), verb.lower_
    if not helpers and verb.tag_ == "VBN":
        # a participle without an auxiliary that heads the sentence is a tagging slip for the simple past
        return False, (), past_of_participle(verb.lower_, verb.lemma_)
    if not helpers and verb.tag_ in ("VB", "VBG"):
        return (False, (), "") if verb.tag_ == "VBG" else (False, (), third_person(verb.lemma_.lower()))
    return passive, words, verb.lower_


def _be(verb: Token) -> str:
    plural = verb.head.tag_ in ("NNS", "NNPS")
    present = verb.lemma_ in _STATIVE or _present(verb)
    if present:
        return "are" if plural else "is"
    return "were" if plural else "was"


def _present(verb: Token) -> bool:
    if verb.tag_ != "VBG":
        return False
    root = verb.sent.root
    return root.tag_ in ("VBZ", "VBP") or any(
        child.tag_ in ("VBZ", "VBP") for child in root.children if child.dep_ in ("aux", "auxpass")
    )


def _full(word: str) -> str:
    return {"'s": "is", "'re": "are", "'ve": "have", "'ll": "will", "’s": "is", "’re": "are"}.get(word, word)
