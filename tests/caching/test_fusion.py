"""The server's tiers: what is of an older form hides nothing."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from fedrag_flwr.caching.fusion import FusionCaches
from fedrag_flwr.records import Answer
from fedrag_flwr.settings import CachingSettings

VERSIONS = {"ward": "1"}
OLDER = b'{"older": "form"}'
ASKED = "Who rang the bell?"
ADA = Answer("q", "Ada", "remote", 0.5)


@pytest.fixture
def caches(tmp_path: Path) -> Iterator[FusionCaches]:
    opened = FusionCaches(tmp_path, CachingSettings())
    yield opened
    opened.close()


def test_an_answer_that_is_asked_for_again_joins_the_hot_set(caches: FusionCaches) -> None:
    caches.keep_answer(ASKED, ADA, VERSIONS)
    assert caches.answer(ASKED, VERSIONS) == ADA
    caches.answers.clear()
    assert caches.answer(ASKED, VERSIONS) == ADA


def test_a_hot_set_that_is_full_takes_answers_of_the_devices_that_are_there_now(tmp_path: Path) -> None:
    caches = FusionCaches(tmp_path, CachingSettings(hot=100_000))
    for size in (5_000, 1):
        while caches.hot.put(secrets.token_hex(8), bytes(size), VERSIONS):
            pass
    joined = {**VERSIONS, "lab": "1"}
    caches.keep_answer(ASKED, ADA, joined)
    assert caches.answer(ASKED, joined) == ADA
    assert caches.hot.holds(caches.key(ASKED), joined)
    caches.close()


@pytest.mark.parametrize("tier", ["answers", "hot"])
def test_an_answer_of_an_older_form_counts_as_absent(caches: FusionCaches, tier: str) -> None:
    getattr(caches, tier).put(caches.key(ASKED), OLDER, VERSIONS)
    assert caches.answer(ASKED, VERSIONS) is None
    caches.keep_answer(ASKED, ADA, VERSIONS)
    assert caches.answer(ASKED, VERSIONS) == ADA
    assert caches.answer(ASKED, VERSIONS) == ADA
