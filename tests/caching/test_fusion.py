"""The server's tiers: what is of an older form hides nothing."""

from __future__ import annotations

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
    opened = FusionCaches(tmp_path, CachingSettings().bytes)
    yield opened
    opened.close()


def test_an_answer_of_an_older_form_counts_as_absent(caches: FusionCaches) -> None:
    caches.answers.put(caches.key(ASKED), OLDER, VERSIONS)
    assert caches.answer(ASKED, VERSIONS) is None
    caches.keep_answer(ASKED, ADA, VERSIONS)
    assert caches.answer(ASKED, VERSIONS) == ADA
    assert caches.answer(ASKED, VERSIONS) == ADA
