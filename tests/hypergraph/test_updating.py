import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fedrag_flwr.hypergraph.base import LearningSettings, Units
from fedrag_flwr.hypergraph.learn import learn
from fedrag_flwr.hypergraph.update import update
from tests.hypergraph.samples import cloud, generator
from tests.hypergraph.test_learning import check_whole


def pick(group: Units, positions: list[int]) -> Units:
    return Units(group.granularity, tuple(group.ids[i] for i in positions), group.vectors[positions])


@given(st.data(), st.integers(0, 10_000), st.sampled_from([0.2, 0.5]))
def test_an_update_loses_no_unit_and_leaves_what_it_does_not_touch(data: st.DataObject, seed: int, mu: float) -> None:
    everything = cloud(60, seed=seed)
    before = sorted(data.draw(st.sets(st.integers(0, 59), max_size=60)))
    after = sorted(data.draw(st.sets(st.integers(0, 59), max_size=60)))
    setting = LearningSettings(threshold=mu, steps=40)
    old = learn([pick(everything, before)], setting, generator(seed))
    now = pick(everything, after)
    added = [everything.ids[i] for i in sorted(set(after) - set(before))]
    new = update(old.hyperedges, [now], added, setting, generator(seed))
    check_whole(new, [now])
    kept = {edge.id: edge for edge in new.hyperedges}
    homes: dict[str, set[str]] = {}
    for edge in new.hyperedges:
        for unit in edge.members:
            homes.setdefault(unit, set()).add(edge.id)
    newcomers = {home for unit in added for home in homes[unit]}
    present = set(now.ids)
    for edge in old.hyperedges:
        stayed = tuple(unit for unit in edge.members if unit in present)
        holder = [found for found in kept.values() if set(stayed) <= set(found.members)]
        assert holder or not stayed  # members that stay, stay together
        if edge.id in kept and kept[edge.id].members == edge.members:
            assert set(stayed) == set(edge.members)
    changed = {edge.id for edge in new.hyperedges} - {edge.id for edge in old.hyperedges} - newcomers
    assert all(any(set(kept[i].members) < set(edge.members) for edge in old.hyperedges) for i in changed)


def test_nothing_changed_changes_nothing() -> None:
    groups = [cloud(80), cloud(20, granularity="paragraph")]
    old = learn(groups, LearningSettings(), generator())
    new = update(old.hyperedges, groups, [], LearningSettings(), generator())
    assert {id(edge) for edge in new.hyperedges} == {id(edge) for edge in old.hyperedges}
    assert new.step_sizes == ()
    assert new.orphans == 0


def test_only_the_hyperedge_of_a_vanished_unit_changes() -> None:
    group = cloud(80)
    old = learn([group], LearningSettings(), generator())
    crowded = max(old.hyperedges, key=lambda edge: len(edge.members))
    gone = group.ids.index(crowded.members[0])
    rest = pick(group, [i for i in range(80) if i != gone])
    new = update(old.hyperedges, [rest], [], LearningSettings(), generator())
    ids, old_ids = {edge.id for edge in new.hyperedges}, {edge.id for edge in old.hyperedges}
    assert old_ids - ids == {crowded.id}
    assert len(ids - old_ids) == 1
    check_whole(new, [rest])


def test_a_hyperedge_without_members_goes() -> None:
    group = cloud(40)
    old = learn([group], LearningSettings(), generator())
    victim = old.hyperedges[0]
    rest = pick(group, [i for i, unit in enumerate(group.ids) if unit not in victim.members])
    new = update(old.hyperedges, [rest], [], LearningSettings(), generator())
    assert [edge.id for edge in new.hyperedges] == [edge.id for edge in old.hyperedges[1:]]
    assert update(old.hyperedges, [], [], LearningSettings(), generator()).hyperedges == ()


def test_a_changed_vector_is_placed_anew() -> None:
    group = cloud(40, dimension=8)
    old = learn([group], LearningSettings(), generator())
    vectors = group.vectors.copy()
    vectors[0] = -vectors[0]
    moved = Units(group.granularity, group.ids, vectors)
    check_whole(update(old.hyperedges, [moved], [group.ids[0]], LearningSettings(), generator()), [moved])


def test_units_that_nobody_named_are_placed_too() -> None:
    group = cloud(40)
    old = learn([pick(group, list(range(30)))], LearningSettings(), generator())
    check_whole(update(old.hyperedges, [group], [], LearningSettings(), generator()), [group])


def test_starting_from_nothing_and_growing() -> None:
    group = cloud(90)
    setting = LearningSettings()
    state = update([], [pick(group, list(range(10)))], group.ids[:10], setting, generator())
    for end in range(20, 91, 10):
        grown = pick(group, list(range(end)))
        state = update(state.hyperedges, [grown], group.ids[end - 10 : end], setting, generator())
        check_whole(state, [grown])
    sizes = [len(edge.members) for edge in state.hyperedges]
    assert max(sizes) <= 16
    assert np.mean(sizes) >= 2


def test_the_descent_lemma_holds_in_updates_too() -> None:
    group = cloud(120)
    old = learn([pick(group, list(range(90)))], LearningSettings(), generator())
    new = update(old.hyperedges, [group], group.ids[90:], LearningSettings(), generator())
    decrease = np.array(new.step_sizes) / 2 * np.square(new.gradient_mapping)
    assert len(new.step_sizes) > 0
    assert (np.diff(new.loss) <= -decrease).all()


def test_an_update_leaves_nearly_all_hyperedges_as_they_are() -> None:
    group = cloud(2_000, dimension=64)
    old = learn([pick(group, list(range(1_990)))], LearningSettings(), generator())
    new = update(old.hyperedges, [group], group.ids[1_990:], LearningSettings(), generator())
    assert len({edge.id for edge in new.hyperedges} - {edge.id for edge in old.hyperedges}) <= 10
