"""Summaries by the device's model over masked evidence, checked against it (HyFedRAG 3.4)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from fedrag_flwr.errors import FedragError
from fedrag_flwr.models.base import Generator, Grammar, Prompt
from fedrag_flwr.privacy.known_names import PublicNames
from fedrag_flwr.privacy.normalise import probe
from fedrag_flwr.privacy.operators import Bundle, Change
from fedrag_flwr.privacy.patterns import anchor_pattern
from fedrag_flwr.privacy.rewriting import PLACEHOLDER, Replacement, placeholder, rewrite
from fedrag_flwr.privacy.word_lists import STOP_WORDS

CONFIDENTIAL = "CONFIDENTIAL"
MODEL_FAILED, MODEL_UNCLEAR = "model-failed", "model-unclear"

_NOTHING = "none"
_MOST_TOKENS = 128
_MOST_WORDS = 120  # read at once
_WORD = re.compile(r"\w+")
_WITHIN = re.compile(r"[^.!?\s]\s*\Z")  # goes on within a sentence
_SENTENCE = re.compile(r".+?(?:[.!?]\s+|\n|\Z)", re.DOTALL)
_SYSTEM = (
    "You check a text before it is shown to strangers. Copy out every piece of it that is personal or confidential: "
    "names of people, places and companies, addresses, phone and account numbers, mail and web addresses, ages and "
    "dates. One piece a line, in the order of the text. Words in square brackets are hidden already. If there is "
    "nothing, write none."
)
_EXAMPLES = (
    ("The ferry to the outer islands is late today because of fog.", "none"),
    (
        "Orla Finch, 34, moved from Brenk to 9 Weir Close in May. Reach her at 0461 77 20 or orla@finch.example.",
        "Orla Finch\n34\nBrenk\n9 Weir Close\nMay\n0461 77 20\norla@finch.example",
    ),
    ("Could you tell me why account 5520-118 at Halvard Shipping is closed?", "5520-118\nHalvard Shipping"),
    ("[PERSON] was told by phone to bring the old key back.", "none"),
    ("I think it was Teo who found [PERSON] in Port Ferren.", "Teo\nPort Ferren"),
)


class ModelMasking:
    """Asks the model to copy out what is personal or confidential, and masks it wherever it stands in the bundle.

    It belongs after the rules in the chain: the model sees only what they left, and its grammar lets it write nothing
    but pieces of the text in their order, or `none`. So it can take away and never bring back. Where the model cannot
    be asked, or what it says is no such list, the bundle is refused.

    Parameters
    ----------
    generator
        Gives the model; called when it is first needed.
    public_names
        Names that the federation agrees to be public; they stay.
    """

    name = "model-masking"

    def __init__(self, generator: Callable[[], Generator], public_names: Iterable[str] = ()) -> None:
        self._generator = generator
        self._public = PublicNames(public_names)

    def validate(self) -> None:
        """There is nothing to check before the model is needed."""

    def operate(self, bundles: Sequence[Bundle]) -> list[Bundle]:
        """Mask in each bundle what the model names, or refuse the bundle."""
        return [bundle if bundle.refusal else self._mask(bundle) for bundle in bundles]

    def _mask(self, bundle: Bundle) -> Bundle:
        try:
            pieces = named(self._generator, "\n".join(bundle.prose))
        except FedragError:
            return replace(bundle, refusal=MODEL_FAILED)
        if pieces is None:
            return replace(bundle, refusal=MODEL_UNCLEAR)
        masks = [
            Replacement(
                piece_pattern(piece),
                anchor_pattern(piece),
                placeholder(CONFIDENTIAL),
                CONFIDENTIAL,
                self.name,
                masked=True,
            )
            for piece in pieces
        ]
        return rewrite(bundle, masks, self._public.ranges)


def named(generator: Callable[[], Generator], text: str) -> list[str] | None:
    """The pieces of a text that a model names; None where it says something else, or does not come to an end.

    Raises
    ------
    FedragError
        The model cannot be loaded or asked.
    """
    pieces: dict[str, None] = {}
    for part in parts(text):
        grammar = copy_grammar(part)
        if grammar is None:
            continue
        prompt = Prompt(_SYSTEM, part, _EXAMPLES)
        [said] = generator().complete(prompt, grammar=grammar, max_tokens=_MOST_TOKENS)
        lines = [line.strip() for line in said.text.split("\n")]
        if said.tokens_out >= _MOST_TOKENS:
            return None
        if lines == [_NOTHING]:
            continue
        visible = probe(PLACEHOLDER.sub("\n", part))
        if not all(_WORD.search(line) and piece_pattern(line).search(visible) for line in lines):
            return None
        pieces |= dict.fromkeys(lines)
    return list(pieces)


def piece_pattern(piece: str) -> re.Pattern[str]:
    """Match a piece of a text as whole words in any case, in texts as `probe` folds them."""
    return re.compile(rf"(?<!\w){re.escape(probe(piece))}(?!\w)", re.IGNORECASE)


def parts(text: str) -> Iterator[str]:
    """Cut a text into parts of at most so many words as are read at once, between sentences where that is possible."""
    begin = end = 0
    for start, stop in _short_runs(text):
        if end > begin and len(_WORD.findall(text, begin, stop)) > _MOST_WORDS:
            yield text[begin:end]
            begin = start
        end = stop
    if end > begin:
        yield text[begin:end]


def _short_runs(text: str) -> Iterator[tuple[int, int]]:
    """Where sentences stand, those that are too long in pieces."""
    for sentence in _SENTENCE.finditer(text):
        begin, stop = sentence.span()
        starts = [word.start() for word in _WORD.finditer(text, begin, stop)][_MOST_WORDS::_MOST_WORDS]
        for cut in (*starts, stop):
            if cut > begin:
                yield begin, cut
                begin = cut


def copy_grammar(text: str) -> Grammar | None:
    """A grammar of which each line is a run of words of a text, in their order; None where the text has none to tell.

    A run begins with no everyday word, and goes over no line's end and no placeholder.
    """
    covered = [match.span() for match in PLACEHOLDER.finditer(text)]
    words = [
        word
        for word in _WORD.finditer(text)
        if not any(start <= word.start() and word.end() <= end for start, end in covered)
    ]
    begins = [place for place, word in enumerate(words) if not _is_everyday(word)]
    if not begins:
        return None
    rules = [f'root ::= "{_NOTHING}" | from-{begins[0]}']
    after = ""  # the rule of a line that begins later
    for place in range(len(words) - 1, -1, -1):
        further = [f'"\\n" {after}'] if after else []
        if place + 1 < len(words):
            between = text[words[place].end() : words[place + 1].start()]
            if "\n" not in between and not PLACEHOLDER.search(between):
                further.append(f"{json.dumps(between, ensure_ascii=False)} word-{place + 1}")
        rest = f" ({' | '.join(further)})?" if further else ""
        rules.append(f"word-{place} ::= {json.dumps(words[place].group(), ensure_ascii=False)}{rest}")
        if place in begins:
            rules.append(f"from-{place} ::= word-{place}" + (f" | {after}" if after else ""))
            after = f"from-{place}"
    return Grammar("\n".join(rules))


def _is_everyday(word: re.Match[str]) -> bool:
    """Whether a word tells nothing by itself; March does where its capital is not that of a sentence."""
    opens = not _WITHIN.search(word.string, 0, word.start())
    return word.group().casefold() in STOP_WORDS and (opens or word.group().islower())


WRITTEN, REFUSED = "summary-written", "summary-refused"

_ONE_LINE = Grammar(r"root ::= [^\n]+")
_SUMMARY_TOKENS = 72
_WORTH_IT = 240  # characters from which a summary is shorter than what it sums up
_SUMMARY_WORD = re.compile(r"\w+(?:[.,:/-]\w+)*")
_SUMMARISE = (
    "You sum up a record in one or two sentences, as far as it bears on the question. Keep numbers, dates and words in "
    "square brackets exactly as they are. Add nothing that the record does not say."
)
_SUMMARY_EXAMPLES = (
    (
        "Question: Why was the bridge at Linwick closed?\n"
        "Record: (Linwick Bridge) The bridge was opened in 1931. [PERSON] drew it. In March 1974 an inspection found "
        "cracks in two of the eight piers, and the council closed it for fourteen months. It carries two tram lines.",
        "The Linwick Bridge was closed for fourteen months after an inspection in March 1974 found cracks in two of "
        "its eight piers.",
    ),
)


class ModelSummary:
    """Lets the model sum up the last text of a bundle that has a question; it belongs last in the chain.

    The model sees only what the operators before it left. Its summary is taken where it brings nothing of its own: each
    name, number and placeholder in it stands in the text or the title. So nothing that was masked comes
    back, whatever the model knows or guesses. Else the masked text leaves as it is, as it does where the
    model cannot be asked, for instance because the text does not fit its context.

    Parameters
    ----------
    generator
        Gives the model; called when it is first needed.
    seed
        Of the model's sampling.
    """

    name = "summary"

    def __init__(self, generator: Callable[[], Generator], seed: int = 0) -> None:
        self._generator = generator
        self._seed = seed

    def validate(self) -> None:
        """There is nothing to check."""

    def operate(self, bundles: Sequence[Bundle]) -> list[Bundle]:
        """Sum up each bundle that has a question and a long text."""
        return [self._sum_up(bundle) if bundle.question and bundle.prose else bundle for bundle in bundles]

    def _sum_up(self, bundle: Bundle) -> Bundle:
        field = len(bundle.prose) - 1
        title, text = bundle.prose[0], bundle.prose[field]
        if len(text) < _WORTH_IT:
            return bundle
        asked = Prompt(_SUMMARISE, f"Question: {bundle.question}\nRecord: ({title}) {text}", _SUMMARY_EXAMPLES)
        try:
            [written] = self._generator().complete(
                asked, grammar=_ONE_LINE, max_tokens=_SUMMARY_TOKENS, seed=self._seed
            )
            told = written.text.strip()
        except FedragError:
            told = ""  # one text must not cost a round all its others
        taken = 0 < len(told) < len(text) and brings_nothing(told, bundle.prose)
        change = Change(field, "TEXT", WRITTEN if taken else REFUSED, masked=False)
        prose = (*bundle.prose[:field], told) if taken else bundle.prose
        return replace(bundle, prose=prose, changes=(*bundle.changes, change))


def brings_nothing(summary: str, sources: Sequence[str]) -> bool:
    """Tell whether each name, number and placeholder of a summary stands in one of its sources.

    A word counts as a name where it has a capital or a digit; one that opens a sentence and is an everyday word does
    not. Words are compared without case, so that a name cannot hide behind another spelling of the same letters.
    """
    known = {word.casefold() for source in sources for word in _SUMMARY_WORD.findall(PLACEHOLDER.sub(" ", source))}
    masks = {mask for source in sources for mask in PLACEHOLDER.findall(source)}
    if not set(PLACEHOLDER.findall(summary)) <= masks:
        return False
    told = _SUMMARY_WORD.findall(PLACEHOLDER.sub(" ", summary))
    return all(
        word.casefold() in known or (word.casefold() in STOP_WORDS and word.isalpha())
        for word in told
        if word != word.lower() or any(char.isdigit() for char in word)
    )
