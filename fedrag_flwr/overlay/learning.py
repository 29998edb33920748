"""Topics learnt together: spherical k-means over the documents of all peers, of which only sums are ever seen.

All begin at the public headings on which they hold most documents together. In each round every peer files its own
documents under the nearest topic and gives for each topic first their number, then the sum of their vectors; what
peers give is added up, and each topic moves to the mean direction of its documents.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FEWEST = 8  # documents of all peers from which a topic moves: with fewer its sum could tell a single one
_ROUNDING = 1.01  # a sum of unit vectors is no longer than they are many, but for what rounding adds
_SHORTEST = 1e-6  # sum that still has a direction
Floats = NDArray[np.float32]
Values = NDArray[np.float64]


def first_centroids(headings: Floats, held: Values, count: int) -> Floats:
    """The headings on which most documents are held, shape (count, dimension).

    Parameters
    ----------
    headings
        Shape (headings, dimension), unit rows.
    held
        How many documents all peers hold on each, shape (headings,).
    count
        How many to take.
    """
    return headings[np.argsort(-held, kind="stable")[:count]]


def topic_counts(documents: Floats, centroids: Floats) -> Values:
    """What a peer gives first: how many of its documents are nearest to each topic, shape (topics,).

    Parameters
    ----------
    documents
        Shape (n, dimension), unit rows: whatever its length, a document counts once.
    centroids
        Shape (topics, dimension), unit rows.
    """
    return np.bincount(_nearest(documents, centroids), minlength=len(centroids)).astype(np.float64)


def topic_sums(documents: Floats, centroids: Floats, counts: Values) -> Values:
    """What a peer gives then: the sum of its documents' vectors for each topic, shape (topics, dimension).

    Of topics under which all peers together have fewer than `FEWEST` documents it gives nothing: whoever reads the sum
    would read single documents.

    Parameters
    ----------
    documents, centroids
        As for `topic_counts`.
    counts
        What all peers gave first, added up.
    """
    sums = np.zeros(centroids.shape)
    np.add.at(sums, _nearest(documents, centroids), documents)
    return np.where((counts >= FEWEST)[:, None], sums, 0.0)


def moved(centroids: Floats, counts: Values, sums: Values, noise: float = 0.0) -> Floats:
    """Topics after a round, shape (topics, dimension).

    One stays where it was whose documents are fewer than `FEWEST`, or whose sum is longer than they are many, which no
    honest peers make up together.

    Parameters
    ----------
    centroids
        Where they were, unit rows.
    counts, sums
        What all peers gave, added up.
    noise
        Standard deviation of the noise in each of these numbers.
    """
    lengths = np.linalg.norm(sums, axis=1)
    most = _ROUNDING * counts + 4 * noise * np.sqrt(sums.shape[1])
    moves = (counts >= FEWEST) & (lengths <= most) & (lengths > _SHORTEST)
    directions = sums / np.maximum(lengths, _SHORTEST)[:, None]
    return np.where(moves[:, None], directions, centroids).astype(np.float32)


def _nearest(documents: Floats, centroids: Floats) -> NDArray[np.intp]:
    return np.asarray((documents @ centroids.T).argmax(axis=1))
