"""Topics learnt from sums: as good as over pooled documents, and never anybody's single one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrag_flwr.overlay.topic_sums import FEWEST, Floats, Values, moved, topic_sums
from fedrag_flwr.overlay.topics import Topics


def topic_counts(documents: Floats, centroids: Floats) -> Values:
    return Topics(("",) * len(centroids), centroids).counts(documents).astype(np.float64)


def unit(rows: np.ndarray[tuple[int, ...], np.dtype[np.floating]]) -> Floats:
    return np.asarray(rows / np.linalg.norm(rows, axis=-1, keepdims=True), dtype=np.float32)


def drawn(count: int, seed: int, dimension: int = 8) -> Floats:
    return unit(np.random.default_rng(seed).normal(size=(count, dimension)))


def grouped(groups: int, each: int, seed: int) -> Floats:
    noise = np.random.default_rng(seed).normal(0, 0.1, (groups * each, 16))
    return unit(np.repeat(np.eye(16)[:groups], each, axis=0) + noise)


def stepped(documents: Floats, centroids: Floats) -> Floats:
    counts = topic_counts(documents, centroids)
    return moved(centroids, counts, topic_sums(documents, centroids, counts))


def closeness(documents: Floats, centroids: Floats) -> float:
    return float((documents @ centroids.T).max(axis=1).mean())


@given(st.integers(1, 60), st.integers(1, 5), st.integers(0, 2**16))
def test_what_peers_give_adds_up_to_what_all_documents_are(count: int, peers: int, seed: int) -> None:
    documents, centroids = drawn(count, seed), drawn(4, seed + 1)
    owner = np.random.default_rng(seed).integers(peers, size=count)
    counts = sum(topic_counts(documents[owner == peer], centroids) for peer in range(peers))
    assert np.array_equal(counts, topic_counts(documents, centroids))
    assert np.sum(counts) == count
    held = np.asarray(counts)
    sums = np.sum([topic_sums(documents[owner == peer], centroids, held) for peer in range(peers)], axis=0)
    assert sums == pytest.approx(topic_sums(documents, centroids, held), abs=1e-5)
    assert (np.linalg.norm(sums, axis=1) <= held + 1e-5).all()
    assert not sums[held < FEWEST].any()  # nobody is told a sum of few


@given(st.integers(0, 80), st.integers(0, 2**16))
def test_a_round_brings_topics_nearer_and_keeps_them_directions(count: int, seed: int) -> None:
    documents, centroids = drawn(count, seed), drawn(4, seed + 1)
    after = stepped(documents, centroids)
    assert np.linalg.norm(after, axis=1) == pytest.approx(1.0, abs=1e-5)
    nearest = (documents @ centroids.T).argmax(axis=1)
    for topic in range(4):
        own = documents[nearest == topic]
        if len(own) < FEWEST:
            assert (after[topic] == centroids[topic]).all()
        else:
            assert (own @ after[topic]).sum() >= (own @ centroids[topic]).sum() - 1e-4


def test_topics_begin_where_documents_are_and_come_to_tell_groups_apart() -> None:
    documents = grouped(groups=4, each=30, seed=1)
    headings = unit(np.vstack([np.eye(16)[8:12], np.eye(16)[:4] + 0.8 * np.eye(16)[4:8]]))
    held = np.bincount((documents @ headings.T).argmax(axis=1), minlength=len(headings)).astype(float)
    centroids = headings[np.argsort(-held, kind="stable")[:4]]
    before = closeness(documents, centroids)
    for _ in range(5):
        centroids = stepped(documents, centroids)
    assert sorted(topic_counts(documents, centroids)) == [30, 30, 30, 30]
    assert closeness(documents, centroids) > before + 0.1
    assert closeness(documents, centroids) == pytest.approx(closeness(documents, pooled(documents, 4)), abs=1e-3)


def pooled(documents: Floats, count: int) -> Floats:
    """The centroids of another implementation, which sees every document."""
    import faiss

    clusters = faiss.Kmeans(documents.shape[1], count, seed=1, spherical=True, nredo=5)
    clusters.train(documents)
    return np.asarray(clusters.centroids, dtype=np.float32)


@pytest.mark.parametrize(
    ("sums", "count", "noise", "moves"),
    [
        ([4.0, 0, 0], FEWEST, 0.0, True),
        ([4.0, 0, 0], FEWEST - 1, 0.0, False),  # too few documents
        ([9.0, 0, 0], FEWEST, 0.0, False),  # eight vectors of length 1 are no longer than 8
        ([9.0, 0, 0], FEWEST, 1.0, True),  # but for noise
        ([0.0, 0, 0], FEWEST, 0.0, False),  # no direction
        ([1e7, 0, 0], 0, 0.0, False),  # sums of nothing
        ([-4.0, 0, 0], -50, 0.0, False),
    ],
)
def test_a_topic_moves_by_what_honest_peers_give(sums: list[float], count: float, noise: float, moves: bool) -> None:
    before = np.array([[0.0, 1.0, 0.0]], dtype=np.float32)
    after = moved(before, np.array([count]), np.array([sums]), noise)
    assert after.tolist() == ([[1.0, 0.0, 0.0]] if moves else before.tolist())


def test_without_documents_there_is_nothing_to_give() -> None:
    none: Values = topic_counts(np.zeros((0, 8), dtype=np.float32), drawn(3, 0))
    assert none.tolist() == [0, 0, 0]
    assert not topic_sums(np.zeros((0, 8), dtype=np.float32), drawn(3, 0), none + FEWEST).any()
