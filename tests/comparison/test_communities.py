"""Communities beside igraph's Leiden: as good, on graphs with communities and without."""

import random

import igraph
import networkx as nx
import pytest

from fedrag_flwr.knowledge_graph.communities import CutSettings, Edges, leiden, modularity

GRAPHS = {
    "planted": nx.planted_partition_graph(30, 20, 0.3, 0.01, seed=1),
    "caveman": nx.relaxed_caveman_graph(40, 8, 0.2, seed=1),
    "scale-free": nx.barabasi_albert_graph(800, 3, seed=1),
    "random": nx.gnm_random_graph(500, 2000, seed=1),
    "letters": nx.les_miserables_graph(),
}


def edges_of(graph: nx.Graph) -> Edges:
    return {
        (min(str(a), str(b)), max(str(a), str(b))): float(weight)
        for a, b, weight in graph.edges(data="weight", default=1.0)
    }


@pytest.mark.parametrize("name", GRAPHS)
def test_modularity_is_no_more_than_half_a_per_cent_lower(name: str) -> None:
    edges = edges_of(GRAPHS[name])
    other = igraph.Graph.TupleList([(a, b, w) for (a, b), w in edges.items()], directed=False, weights=True)
    theirs = []
    for seed in range(3):
        random.seed(seed)
        igraph.set_random_number_generator(random)
        found = other.community_leiden(objective_function="modularity", weights="weight", n_iterations=8)
        theirs.append(modularity(edges, dict(zip(other.vs["name"], found.membership, strict=True))))
    ours = modularity(edges, leiden(edges, CutSettings(most=10_000, least=1)))
    assert ours >= 0.995 * (sum(theirs) / len(theirs))
