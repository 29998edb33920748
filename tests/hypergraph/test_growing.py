"""Answer-path keys that follow changes: after any of them they are what a fresh build over the same tuples gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from fedrag_flwr.errors import SettingError
from fedrag_flwr.hypergraph import PRESETS, DiffusionSettings, HyperedgeKeys, TupleTable, VertexSeeds, answer_paths
from fedrag_flwr.hypergraph.growth import GrowingPaths, GrowingSeeds
from fedrag_flwr.hypergraph.rows import RowLists
from fedrag_flwr.records import EvidenceTuple

PASSAGES = ("p0", "p1", "p2", "p3")
NAMES = ("Ada", "ada", "Bell", "the Bell", "Curie of Bell", "Dirac", "Euler", "of")
QUESTION = "Did Ada or the Bell meet Curie of Dirac?"
SHARES = st.floats(0.0, 1.0, allow_subnormal=False)
TUPLES = st.lists(
    st.builds(
        EvidenceTuple, st.sampled_from(NAMES), st.just("met"), st.sampled_from(NAMES), st.just(""), *[SHARES] * 4
    ),
    max_size=5,
)


def placed(passage: str, tuples: Sequence[EvidenceTuple]) -> list[EvidenceTuple]:
    return [
        EvidenceTuple(t.head, t.relation, t.tail, passage, t.factual, t.salience, t.bridge, t.confidence)
        for t in tuples
    ]


def assert_as_fresh(
    keys: GrowingPaths,
    held: Mapping[str, Sequence[EvidenceTuple]],
    preset: str,
    diffusion: DiffusionSettings = DiffusionSettings(),  # noqa: B008
) -> None:
    """Seeds, edges and scores equal those of a build over the tuples that are held now."""
    table = TupleTable.of([one for own in held.values() for one in own], list(held))
    edges = answer_paths(table, PRESETS[preset])
    fresh = HyperedgeKeys("fresh", table, edges, diffusion)
    seeds = VertexSeeds(table.vertices, by_rarity=True, sharpness=3.0).seeds(QUESTION)
    found = keys.seeded(QUESTION)
    mentioned = {table.vertices[row]: seeds[row] for row in np.flatnonzero(seeds)}
    assert {keys.vertices[v]: found[v] for v in np.flatnonzero(found)} == pytest.approx(mentioned)
    weighed = {keys.bridges[edge]: keys.weights[edge] for edge in np.flatnonzero(keys.weights)}
    assert weighed == pytest.approx(dict(zip(edges.names, edges.weights, strict=True)))
    scores = dict(zip(keys.passages, keys.scores(found), strict=True))
    wanted = dict(zip(held, fresh.scores(seeds), strict=True))
    assert {name: scores[name] for name in held} == pytest.approx(wanted)
    assert not any(score for name, score in scores.items() if name not in held)
    of_edges = dict(zip(keys.bridges, keys.edge_scores(found), strict=True))
    assert {name: of_edges[name] for name in edges.names} == pytest.approx(
        dict(zip(edges.names, fresh.edge_scores(seeds), strict=True))
    )
    leads = edges.passages.toarray()
    for place, name in enumerate(held):
        wanted_edges = {edges.names[edge] for edge in np.flatnonzero(leads[:, place])}
        assert {keys.bridges[edge] for edge in keys.edges_of(name)} == wanted_edges
    for number, name in enumerate(edges.names):
        edge = keys.bridges.index(name)
        assert set(keys.passages_of(edge)) == {list(held)[place] for place in np.flatnonzero(leads[number])}


class Changes(RuleBasedStateMachine):
    """Passages come, change and go in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.held: dict[str, list[EvidenceTuple]] = {}
        self.keys = [GrowingPaths(GrowingSeeds(3.0), PRESETS[preset]) for preset in sorted(PRESETS)]

    @rule(
        passages=st.dictionaries(st.sampled_from(PASSAGES), TUPLES, max_size=3), also=st.sets(st.sampled_from(PASSAGES))
    )
    def change(self, passages: dict[str, list[EvidenceTuple]], also: set[str]) -> None:
        """Put in or replace some passages, and take out others."""
        added = {name: placed(name, own) for name, own in passages.items()}
        for keys in self.keys:
            keys.update({*also, *(added.keys() & self.held.keys())}, added)
        self.held = {name: own for name, own in self.held.items() if name not in also} | added

    @invariant()
    def as_fresh(self) -> None:
        for keys, preset in zip(self.keys, sorted(PRESETS), strict=True):
            assert_as_fresh(keys, self.held, preset)


Changes.TestCase.settings = settings(max_examples=40, stateful_step_count=8, deadline=None)
TestChanges = Changes.TestCase


DIFFUSIONS = st.builds(
    DiffusionSettings, st.sampled_from([0.0, 0.35, 1.0]), st.integers(1, 3), st.sampled_from([0.0, 0.2])
)


@given(st.lists(TUPLES, min_size=2, max_size=4), DIFFUSIONS, st.sampled_from(sorted(PRESETS)))
@settings(deadline=None)
def test_one_by_one_is_all_at_once(rows: list[list[EvidenceTuple]], diffusion: DiffusionSettings, preset: str) -> None:
    held = {name: placed(name, own) for name, own in zip(PASSAGES, rows, strict=False)}
    keys = GrowingPaths(GrowingSeeds(3.0), PRESETS[preset], diffusion)
    for name, own in held.items():
        keys.update((), {name: own})
    assert_as_fresh(keys, held, preset, diffusion)


def test_a_change_writes_only_what_it_touches() -> None:
    keys = GrowingPaths(GrowingSeeds())
    keys.update((), {f"p{i}": placed(f"p{i}", chain(f"N{i}")) for i in range(500)})
    used = keys._members.used
    keys.update(["p7"], {"p7": placed("p7", [*chain("N7"), EvidenceTuple("N7", "met", "Ada", "")])})
    assert keys._members.used - used <= 16
    assert keys.waste == pytest.approx(3 / (3 * 500 + 4))


def chain(name: str) -> list[EvidenceTuple]:
    return [EvidenceTuple(name, "met", f"{name}{end}", "") for end in "abc"]


@pytest.mark.parametrize(
    "added",
    [
        {"p0": [EvidenceTuple("Ada", "met", "Bell", "p0")]},
        {"p1": [EvidenceTuple("Ada", "met", "Bell", "p2")]},
        {"p1": [EvidenceTuple("Ada", "met", "Bell", "p1", factual=1.5)]},
        {"p1": [EvidenceTuple("Ada", "met", "Bell", "p1", bridge=float("nan"))]},
    ],
)
def test_what_does_not_fit_is_refused_and_changes_nothing(added: dict[str, list[EvidenceTuple]]) -> None:
    held = {"p0": placed("p0", chain("Ada"))}
    keys = GrowingPaths(GrowingSeeds(3.0))
    keys.update((), held)
    with pytest.raises(SettingError):
        keys.update((), added)
    assert_as_fresh(keys, held, "paper")


@given(
    st.lists(
        st.dictionaries(st.integers(0, 5), st.dictionaries(st.integers(0, 6), st.floats(0.5, 2.0)), max_size=4),
        max_size=6,
    )
)
@settings(deadline=None)
def test_rows_hold_what_was_written_last(writes: list[dict[int, dict[int, float]]]) -> None:
    lists, wanted = RowLists(), np.zeros((6, 7))
    for write in writes:
        rows = np.array(sorted(write), dtype=np.int64)
        entries = [(n, column, value) for n, row in enumerate(rows) for column, value in write[row].items()]
        owners, columns = (np.array([e[i] for e in entries], dtype=np.int64) for i in (0, 1))
        lists.write(rows, owners, columns, np.array([e[2] for e in entries]))
        wanted[rows] = 0.0
        for n, column, value in entries:
            wanted[rows[n], column] = value
    assert (lists.matrix((6, 7)).toarray() == wanted).all()
    weights = np.arange(1.0, 7.0)
    assert lists.push(weights, 7) == pytest.approx(weights @ wanted)
    few = np.zeros(6 * 11)
    few[3] = 2.0
    assert lists.push(few, 7) == pytest.approx(2.0 * wanted[3])
    assert lists.pull(np.array([5, 1]), np.arange(7.0)) == pytest.approx(wanted[[5, 1]] @ np.arange(7.0))
    assert lists.used <= 2 * np.count_nonzero(wanted) + 1
