"""PageRank over a graph of entities and passages (HippoRAG 2's idea; Gutiérrez et al. 2025)."""

from __future__ import annotations

from fedrag_flwr.baselines.ranked import Ranked
from fedrag_flwr.baselines.reading import Construction, Reading
from fedrag_flwr.baselines.substrate import Substrate
from fedrag_flwr.hypergraph import PassageGraph, TupleTable
from fedrag_flwr.retrieval import FactTable, PassageWalkRetriever, normalised


def pagerank(substrate: Substrate) -> Reading:
    """The passages that walks reach from the statements and the passages nearest to the question.

    Weights and restart are HippoRAG 2's. Its triples come from a model, these from rules over the parse; no model
    filters the nearest statements; all their ends, up to ten, are seeds, where it keeps the five best; and a name's
    synonyms are looked for among its 32 nearest names, where it looks among 2,047.
    """
    tuples = normalised(substrate.tuples)
    table = TupleTable.of(tuples, [passage.id for passage in substrate.passages])
    facts = FactTable.of(tuples, table)
    walk = PassageWalkRetriever(
        PassageGraph(table, substrate.encode_kept(table.vertices)),
        facts,
        substrate.encode_kept(facts.texts),
        substrate.dense,
        substrate.questions,
    )
    counts = (f"entities={len(table.vertices)}", f"statements={len(facts.texts)}")
    return Reading(substrate, Ranked(substrate, walk, Construction(counts=counts)))
