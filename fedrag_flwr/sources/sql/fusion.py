"""How well records match entities: exact, boolean, natural-language and phrase scores fused (HyFedRAG eq. 3)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.sources.sql.side_index import Scored

# the weights of eq. 3 (lambda 1 to 4; the paper tunes them by hand and does not name them)
EXACT, BOOLEAN, NATURAL, PHRASE = 0.6, 0.1, 0.1, 0.2


def fused(
    exact: NDArray[np.float64],
    boolean: NDArray[np.float64],
    natural: NDArray[np.float64],
    phrase: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Fuse the four scores of n records for each of e entities, all of shape (e, n) and in [0, 1] (eq. 3)."""
    return EXACT * exact + BOOLEAN * boolean + NATURAL * natural + PHRASE * phrase


def shares(found: Sequence[Scored], ids: Sequence[str]) -> NDArray[np.float64]:
    """Bring engines' scores to [0, 1]: as shares of the entity's best score, shape (e, n); 0 where nothing was found.

    Eq. 3 caps scores at constants of MySQL's unit (3 and 1), which is not FTS5's.
    """
    scored = [{one: score for one, (_, score) in each.items()} for each in found]
    best = [max(scores.values(), default=0.0) or 1.0 for scores in scored]
    rows = [[scores.get(one, 0.0) / top for one in ids] for scores, top in zip(scored, best, strict=True)]
    return np.array(rows, dtype=np.float64).reshape(len(found), len(ids))
