"""The operator for epsilon-LDP: sensitive entities become surrogates of their group (FD-RAG 4.3, eq. 16)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from fedrag_flwr.errors import SettingError
from fedrag_flwr.privacy.known_names import KnownNames
from fedrag_flwr.privacy.masks import ENTITY_TYPES, entity_masks
from fedrag_flwr.privacy.operators import Bundle
from fedrag_flwr.privacy.persons import (
    KNOWN,
    PERSON,
    Found,
    family_tokens,
    find_entities,
    is_written_as_name,
    name_tokens,
)
from fedrag_flwr.privacy.randomised_response import RandomisedResponse, Surrogate
from fedrag_flwr.privacy.replacement import Replacement, is_short, name_replacement, placeholder, rewrite
from fedrag_flwr.text.pipeline import Pipeline

SENSITIVE_TYPES = (PERSON, "ORG", "GPE", "LOC")  # FD-RAG D.3: person, organisation and location mentions
BUDGET_SPENT = "budget-spent"


@dataclass(frozen=True, slots=True)
class LocalDifferentialPrivacy:
    """Replaces entities of sensitive types by randomised response, the same surrogate everywhere; raises SettingError
    where types are unknown, or the partition has a group of none.

    k distinct entities in one bundle compose to k epsilon. A bundle with an entity whose budget is spent is refused.
    """

    name = "local-differential-privacy"
    pipeline: Pipeline  # finds typed facts
    response: RandomisedResponse  # draws, remembers and pays for surrogates
    types: frozenset[str] = frozenset(SENSITIVE_TYPES)  # of entities to perturb, of `masks.ENTITY_TYPES`
    names: KnownNames = field(default_factory=KnownNames)  # found so far; by default those of this object's lifetime

    def __post_init__(self) -> None:
        unknown = sorted(self.types - frozenset(ENTITY_TYPES))
        if unknown:
            raise SettingError(f"unknown types: {', '.join(unknown)}", where="sensitive-types")
        if not self.types & self.response.partition.types:
            raise SettingError("the partition has no group of a sensitive type", where="partition")

    def operate(self, bundles: Sequence[Bundle]) -> list[Bundle]:
        """Perturb each bundle; all surrogates are durably remembered before this returns."""
        wholes = self.entities(bundles)
        asked = [(form.type, form.text) for forms in wholes for form in forms]
        drawn = dict(zip(asked, self.response.perturb(asked), strict=True)) if asked else {}
        return [self._perturb(bundle, forms, drawn) for bundle, forms in zip(bundles, wholes, strict=True)]

    def entities(self, bundles: Sequence[Bundle]) -> list[list[Found]]:
        """Find what is perturbed in each bundle.

        A name found in one bundle, now or earlier, is looked for in all of them: where the recogniser sees a name in
        one sentence only, the others would tell whose surrogate that sentence shows. Parts of a person's name follow
        the whole and are left out, and so are namesakes of somebody whom the bundle names. A family name by itself is
        looked for, too, as `TypeMasking` does.
        """
        found = find_entities(bundles, self.pipeline, self.types)
        self.names.learn(
            (name, form.type)
            for forms in found
            for form in forms
            for name in dict.fromkeys([form.text, *self._family(form)])
        )
        return [
            _named(_wholes([*_in_prose(forms, bundle), *self._elsewhere(bundle)]), bundle)
            for bundle, forms in zip(bundles, found, strict=True)
        ]

    def _family(self, form: Found) -> list[str]:
        if form.type != PERSON or not is_written_as_name(form.text, PERSON):
            return []
        return [name for name in family_tokens(form.text) if not self.names.is_doubtful(name, self.types)]

    def _elsewhere(self, bundle: Bundle) -> list[Found]:
        return [form for form in self.names.find(bundle) if form.type in self.types]

    def _perturb(self, bundle: Bundle, forms: Sequence[Found], drawn: dict[tuple[str, str], Surrogate]) -> Bundle:
        replacements: list[Replacement] = []
        for form in forms:
            surrogate = drawn[(form.type, form.text)]
            if surrogate.origin == "refused":
                return replace(bundle, refusal=BUDGET_SPENT)
            replacements += _stand_ins(form, surrogate) if surrogate.name else entity_masks(form)
        return rewrite(bundle, replacements)


def _in_prose(forms: Sequence[Found], bundle: Bundle) -> list[Found]:
    """Forms without those that stand only in the texts beside the bundle's own: none is paid for."""
    if not bundle.beside:
        return list(forms)
    bare = replace(bundle, changes=())
    return [form for form in forms if rewrite(bare, entity_masks(form)).changes]


def _wholes(forms: Sequence[Found]) -> list[Found]:
    """Leave out names that are a part of a longer person's name in the same bundle: they follow its surrogate."""
    parts = {
        part.casefold() for form in forms if form.type == PERSON for part in name_tokens(form.text) if part != form.text
    }
    kept: dict[str, Found] = {}
    for form in forms:
        if " " in form.text or form.type != PERSON or form.text.casefold() not in parts:
            kept.setdefault(form.text.casefold(), form)
    return list(kept.values())


def _named(forms: Sequence[Found], bundle: Bundle) -> list[Found]:
    """Leave out persons whom documents tell of and the bundle does not: nobody pays, or is refused, for a namesake.

    One is left out only where all of its words that stand there are words of one other person who stands there whole:
    they follow that one's surrogate.
    """
    bare = replace(bundle, changes=())

    def stands(name: str) -> bool:
        mask = name_replacement(name, placeholder(PERSON), PERSON, masked=True)
        return bool(rewrite(bare, [mask]).changes)

    asked = [form for form in forms if form.rule == KNOWN and form.type == PERSON and not stands(form.text)]
    whole = [_told(form) for form in forms if asked and form.type == PERSON and stands(form.text)]
    left_out = set()
    for form in asked:
        present = {key for key, word in _told(form).items() if stands(word)}
        if not present or any(present <= other.keys() and not other.keys() <= _told(form).keys() for other in whole):
            left_out.add(form)
    return [form for form in forms if form not in left_out]


def _told(form: Found) -> dict[str, str]:
    """The words that stand for a person, by what two spellings of them share: short ones are as they are written."""
    return {word if is_short(word) else word.casefold(): word for word in name_tokens(form.text)}


def _stand_ins(form: Found, surrogate: Surrogate) -> list[Replacement]:
    """Replace an entity by its surrogate, and the words of a person's name by the surrogate's words."""
    found = [name_replacement(form.text, surrogate.name, form.type, masked=False)]
    if form.type == PERSON:
        first, *_ = name_tokens(surrogate.name) or [surrogate.name]
        last, *_ = family_tokens(surrogate.name) or [surrogate.name]
        family = family_tokens(form.text)
        for word in name_tokens(form.text):
            if word != form.text:
                value = last if word in family else first
                found.append(name_replacement(word, value, PERSON, masked=False))
    return found
