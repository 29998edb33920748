"""What a device's store holds beside a change, as the distiller takes it."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from fedrag_flwr.hypergraph import Units
from fedrag_flwr.memory.store import MemoryStore
from fedrag_flwr.memory.store.change import Rejected
from fedrag_flwr.memory.synthesis.rules import Draft
from fedrag_flwr.memory.synthesis.standing import Drafts, Standing
from fedrag_flwr.records import MemoryItem
from fedrag_flwr.text.segment import document_of


def standing_of(
    store: MemoryStore,
    device: str,
    sentences: Units,
    gone: Collection[str],
    again: Collection[str],
    *,
    stale: bool,
) -> Standing:
    """Read what stands.

    Parameters
    ----------
    store
        As it is before the change.
    device
        The device's name.
    sentences
        The store's, with their vectors.
    gone
        Ids of documents of which the store's units are no more.
    again
        Ids of documents that the store holds and whose memories are still to be made.
    unjudged
        Whether documents came or went before without memories having been judged by it.
    """
    by_model = store.written_by_model()
    items = [item for item in store.items(device) if item.id not in by_model]
    made = _drafts(items, kept=True) + _drafts(store.rejected(), kept=False)

    def goes(draft: Draft) -> bool:
        return any(document_of(unit) in gone for unit in draft.support)

    return Standing(
        passages=[p for p in store.passages() if p.document_id not in gone and p.document_id not in again],
        drafts=made.where(lambda draft: not goes(draft)),
        gone=sentences.vectors[[row for row, unit in enumerate(sentences.ids) if document_of(unit) in gone]],
        gone_questions=[draft.question for draft in made.where(goes).drafts],
        stale=stale,
    )


def _drafts(made: Sequence[MemoryItem | Rejected], *, kept: bool) -> Drafts:
    if not made:
        return Drafts()
    return Drafts(
        tuple(Draft(one.question, one.answer, one.kind, one.answer_type, one.support) for one in made),
        np.stack([one.embedding for one in made]),
        np.full(len(made), kept),
    )
