"""What summaries share with their sources, word for word and in order, at each level of protection."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrag_flwr.knowledge_graph.summaries import ExtractiveSummarizer, copied_share
from fedrag_flwr.memory.store.graph_store import GraphStore
from fedrag_flwr.records import SummaryRequest
from simulations.summary_leaks import LEVELS, common_subsequence, communities, figures_of, named, released
from tests.strategies.federation import DEVICES, Federation, graphed

WORDS = st.lists(st.sampled_from(["a", "b", "c", "d"]), max_size=7)


@given(WORDS, WORDS)
def test_the_longest_common_subsequence_is_that_of_all_subsequences(one: list[str], other: list[str]) -> None:
    def all_of(words: list[str]) -> Iterator[tuple[str, ...]]:
        return (part for length in range(len(words) + 1) for part in combinations(words, length))

    longest = max(map(len, set(all_of(one)) & set(all_of(other))))
    assert common_subsequence(" ".join(one), ", ".join(other)) == longest


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Federation:
    return graphed(tmp_path_factory)


def told(text: str, sources: Iterable[str]) -> int:
    """Words in order of one source that a text tells."""
    return max(common_subsequence(text, source) for source in sources)


def test_each_level_of_protection_tells_no_more_than_the_one_before(files: Federation) -> None:
    levels = ExtractiveSummarizer("full", 1.0), ExtractiveSummarizer(), ExtractiveSummarizer("erased")
    for name in DEVICES:
        with files.device(name) as device:
            found = [one.subgraph for one in communities(device, most=100, seed=7)]
        assert found
        for one in found:
            everything, limited, erased = (told(level.summarize(one), one.sources) for level in levels)
            assert everything >= limited >= 2 * erased, one  # half, on these documents
            assert copied_share(levels[1].summarize(one), one.sources) <= levels[1].most_copied


def test_what_left_through_the_export_filter_tells_no_more_than_what_is_kept(files: Federation) -> None:
    left, kept = Counter[str](), Counter[str]()
    for name in DEVICES:
        with files.device(name) as device:
            sources = [one.text for one in device.store.sentences()]
            own = GraphStore(device.store.database, device.models.encoder.dimension).communities()
            batch = device.giving.summaries(SummaryRequest("", (), "download"))
        assert len(batch.summaries) == len(own)
        left[name] = sum(told(one.text, sources) for one in batch.summaries)
        kept[name] = sum(told(one.summary, sources) for one in own.values())
    assert left <= kept
    assert left["rivers"] < kept["rivers"]  # Enno Tveit is masked


def test_masked_summaries_name_no_person_who_is_not_public(files: Federation) -> None:
    levels = {level.name: level for level in LEVELS}
    for export in ("masked", "surrogates"):
        level = levels[f"lists, {export}"]
        with files.with_changes(privacy__export=level.export).device("rivers") as device:
            found = communities(device, most=100, seed=7)
            texts = {one.id: level.summarizer(device.models).summarize(one.subgraph) for one in found}
            left = released(device, texts)
        assert left.keys() == texts.keys()
        before = sum(figures_of(texts[one.id], one)["told"] for one in found)
        after = sum(figures_of(left[one.id], one)["told"] for one in found)
        assert before > after == 0


def test_names_are_found_in_whole_words() -> None:
    persons = {"Ann Lee", "Lee", "O'Hara"}
    assert named(persons, ["Ann  Lee, a sleeper."]) == {"Ann Lee", "Lee"}
    assert named(persons, ["Annlee sleeps", "It was O'Hara's."]) == {"O'Hara"}
