"""The first hop: which name a description in a question stands for.

"Which rocket launched the probe that first visited Pluto?" holds a description. Memories and sentences near to it lead
to a name ("New Horizons"), and the question with that name in the description's place is one that memory may know. This
is the way of composed memories (eq. 10 with two supporting hyperedges) read backwards, for what no memory was composed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from fedrag_flwr.inference.candidates import NAMES
from fedrag_flwr.inference.fitting import Fitting
from fedrag_flwr.inference.support import tokens
from fedrag_flwr.memory.matching.matcher import Matcher
from fedrag_flwr.models.base import Encoder
from fedrag_flwr.privacy.stop_words import STOP_WORDS
from fedrag_flwr.records import EvidenceUnit, MemoryItem, Vector
from fedrag_flwr.text.asking import ASKS
from fedrag_flwr.text.base import Description, Pipeline, QuestionAnalysis

_ITEMS, _SENTENCES = 20, 6  # looked through for names
_NAMES_EACH, _MOST = 3, 8  # rewrites of one description, and of a question
_BEHIND = 0.08  # a name that comes so much less near than the best is none
_LONGEST = 6  # words of a name
_UNKNOWN = 0.85  # weight of a name of which no memory says what it is
_BESIDE = 0.95  # weight of a name within a sentence against one that is the passage's title


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A question with a name in place of a description.

    `reach` in [0, 1] is how near the source, a memory or a sentence, comes to the description.
    """

    question: str
    name: str
    reach: float
    source: MemoryItem | EvidenceUnit


@dataclass(frozen=True, slots=True)
class Rewriter:
    """Puts names in the place of descriptions.

    Parameters
    ----------
    matcher
        Holds the memories.
    fitting
        Knows what memories call a name.
    encoder, pipeline
        Read descriptions and sentences.
    nearest
        The device's sentences nearest to a vector of shape (dimension,), at most so many.
    """

    matcher: Matcher
    fitting: Fitting
    encoder: Encoder
    pipeline: Pipeline
    nearest: Callable[[Vector, int], Sequence[EvidenceUnit]]

    def rewrites(self, question: str, analysis: QuestionAnalysis) -> list[Rewrite]:
        """The question with each likely name in place of a description, the likeliest first; none where it has none."""
        if not analysis.descriptions:
            return []
        said = frozenset(tokens(question))
        vectors = self.encoder.encode([description.text for description in analysis.descriptions])
        found: dict[tuple[str, str], Rewrite] = {}
        for description, vector in zip(analysis.descriptions, vectors, strict=True):
            for name, reach, source in self._names(description, vector, analysis, said):
                longest = found.setdefault(
                    (description.noun, name), Rewrite(description.named(name), name, reach, source)
                )
                if reach > longest.reach:
                    found[description.noun, name] = replace(longest, reach=reach, source=source)
        return sorted(found.values(), key=lambda rewrite: (-rewrite.reach, rewrite.question))[:_MOST]

    def _names(
        self, description: Description, vector: Vector, analysis: QuestionAnalysis, said: frozenset[str]
    ) -> list[tuple[str, float, MemoryItem | EvidenceUnit]]:
        found: dict[str, tuple[float, MemoryItem | EvidenceUnit]] = {}

        def offer(name: str, score: float, source: MemoryItem | EvidenceUnit) -> None:
            words = tokens(name)
            if not name[:1].isupper() or not 1 <= len(words) <= _LONGEST or said.issuperset(words):
                return
            called = self.fitting.is_called(name, description.noun)
            reach = score * (_UNKNOWN if called is None else float(called))
            if reach > found.get(name, (0.0, source))[0]:
                found[name] = (reach, source)

        held = set(tokens(description.text))
        anchors = [anchor for anchor in analysis.anchors if held.issuperset(anchor.split())]
        for match in self.matcher.top(vector, (*anchors, ASKS + description.noun), _ITEMS):
            if match.item.answer_type in NAMES or not match.item.answer_type:
                offer(match.item.answer, match.score, match.item)
        units = self.nearest(vector, _SENTENCES)
        for unit, facts in zip(units, self.pipeline.facts([unit.text for unit in units]), strict=True):
            offer(unit.title, unit.score, unit)
            for fact in facts:
                if fact.type in NAMES and fact.type != "NORP":
                    offer(fact.text, _BESIDE * unit.score, unit)
        best = sorted(found.items(), key=lambda pair: (-pair[1][0], pair[0]))[:_NAMES_EACH]
        return [(name, reach, source) for name, (reach, source) in best if reach > best[0][1][0] - _BEHIND]


def is_said(name: str, text: str) -> bool:
    """Whether a text says a name."""
    return set(tokens(name)) <= set(tokens(text))


def tells(question: str, name: str, item: MemoryItem) -> bool:
    """Whether a memory shares a content word with a question beside the name, and is not near for the name alone."""
    asked = set(tokens(question)) - set(tokens(name)) - STOP_WORDS
    return not asked.isdisjoint(tokens(item.question))
