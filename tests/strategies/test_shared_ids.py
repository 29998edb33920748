"""The ids under which a shared memory gives devices' memories to others: they lead back to where they come from."""

from __future__ import annotations

from pathlib import Path

from fedrag_flwr.records import Answer
from tests.strategies.rounds import Rounds


def test_an_answer_leads_back_to_the_documents_of_the_device_that_shared_it(tmp_path: Path) -> None:
    rounds = Rounds.over(tmp_path)
    rounds.run()
    with rounds.files.device("harbours") as peer:
        seen = [item for item in peer.store.items(origin="bridges") if "Tarn Bridge" in item.question]
    answer = Answer("q", "312 metres", "memorizer", 1.0, sources=tuple(f"bridges/{item.id}" for item in seen))
    with rounds.files.device("bridges") as owner:
        lines = owner.trace(answer)
        own = {item.id for item in owner.store.items(origin="bridges")}
    assert {line.document for line in lines} == {"tarn-bridge"}
    assert len({line.item for line in lines} & own) == len(seen) > 0
    with rounds.files.device("harbours") as peer:
        assert [line.document for line in peer.trace(answer)] == [""] * len(seen)
