"""Topics, the same for all peers, by which questions and documents are filed: at first a public list of headings."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.errors import SettingError
from fedrag_flwr.files import best_effort, replace_file
from fedrag_flwr.models.base import Encoder, Generator, Grammar, Prompt
from fedrag_flwr.records import Vector

SHIPPED, LEARNT = "shipped", "learnt"  # the headings that come with the package, or what devices learnt from there on
HEADINGS = Path(__file__).with_name("headings.json")
_FILED = 16  # headings that a question is filed under
_CHOICES = 8  # headings that a model chooses from, one digit each
_SHARPNESS = 20.0  # of a question's weights over its headings; 1 / temperature of a softmax over cosines


@dataclass(frozen=True, slots=True)
class Topics:
    """Topic i is row i of `centroids`, shape (topics, dimension), unit rows; `names` may be read by people."""

    names: tuple[str, ...]
    centroids: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.names)

    def weights(self, vector: Vector) -> dict[int, float]:
        """The topics of a question's vector, shape (dimension,), with weights that sum to 1, heaviest first."""
        scores = self.centroids @ vector
        best = np.argsort(-scores, kind="stable")[:_FILED]
        heavy = np.exp(_SHARPNESS * (scores[best] - scores[best[0]]))
        return {int(topic): float(weight) for topic, weight in zip(best, heavy / heavy.sum(), strict=True)}

    def counts(self, vectors: NDArray[np.float32]) -> NDArray[np.int64]:
        """How many vectors of shape (n, dimension) are filed under each topic; each counts once, shape (topics,)."""
        if not len(vectors):
            return np.zeros(len(self), dtype=np.int64)
        return np.bincount((vectors @ self.centroids.T).argmax(axis=1), minlength=len(self))


@dataclass(frozen=True, slots=True)
class ModelTopics:
    """Lets the local model choose among the headings that are nearest to a question (Algorithm 1, line 1)."""

    topics: Topics  # the headings
    generator: Generator  # the model

    def weights(self, question: str, near: Mapping[int, float]) -> dict[int, float]:
        """The topic that the model chooses of those near, with weight 1; the nearest where it names none by number."""
        asked = {str(place): topic for place, topic in enumerate(list(near)[:_CHOICES], 1)}
        listed = "\n".join(f"{place}. {self.topics.names[topic]}" for place, topic in asked.items())
        prompt = Prompt("Name the heading under which a question belongs, by its number.", f"{question}\n\n{listed}")
        grammar = Grammar(f"root ::= [1-{len(asked)}]")
        [chosen] = self.generator.complete(prompt, grammar=grammar, max_tokens=2)
        return {asked.get(chosen.text.strip(), asked["1"]): 1.0}


def topics_of(encoder: Encoder, file: Path = HEADINGS, kept: Path | None = None) -> Topics:
    """Read headings, a JSON list of texts, and encode them; those that ship are of general knowledge; raises
    SettingError where the file is no such list.

    With a folder `kept` each list is encoded once.
    """
    names = headings_of(file)
    return Topics(tuple(names), _encoded(encoder, names, kept))


def headings_of(file: Path = HEADINGS) -> list[str]:
    """The headings of a file; raises as `topics_of`."""
    try:
        names = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SettingError("headings cannot be read", where="overlay.topics", fix="name a JSON list") from error
    if not isinstance(names, list) or not names or not all(isinstance(name, str) and name for name in names):
        raise SettingError("headings are not a list of texts", where="overlay.topics", fix="name a JSON list of texts")
    return names


def _encoded(encoder: Encoder, names: list[str], kept: Path | None) -> NDArray[np.float32]:
    if kept is None:
        return encoder.encode(names)
    key = hashlib.sha256("\x1f".join((encoder.id, *names)).encode()).hexdigest()[:16]
    file = kept / f"{key}.f32"
    if file.is_file() and file.stat().st_size == 4 * len(names) * encoder.dimension:
        return np.fromfile(file, dtype=np.float32).reshape(len(names), -1)
    vectors = encoder.encode(names)
    with best_effort(file):
        kept.mkdir(parents=True, exist_ok=True)
        replace_file(file, np.ascontiguousarray(vectors, dtype=np.float32).tobytes())
    return vectors
