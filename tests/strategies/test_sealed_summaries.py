"""Sealed summaries over five tiny devices: the choices of the open run, and nothing for the server to read."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from fedrag_flwr.errors import PrivacyError, SettingError, WireError
from fedrag_flwr.exchange.routing import rounded
from fedrag_flwr.records import OwnedRows, SealedSummaries, SummaryOverview, SummaryRequest
from fedrag_flwr.settings import Plain
from strategies import FedRag, ServerTools, SummaryRouting
from tests.spoiling import spoilt
from tests.strategies.federation import DEVICES, Federation, Tamper, graphed, run_strategy, server_tools, tampering
from tests.strategies.test_private_routing import ASKED, CHANGES, FOREIGN, run, told

Rows = NDArray[np.float32]
DOWNLOAD: dict[str, Plain] = {"exchange": "download"}
SEALED: dict[str, Plain] = {"exchange": "download", "graph__share": "sealed"}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Federation:
    root = tmp_path_factory.mktemp("sealed")
    return graphed(tmp_path_factory).copy_to(root).with_changes(**CHANGES)


def held(files: Federation, device: str) -> tuple[list[str], Rows]:
    """The overview that a device holds."""
    with files.device(device) as opened:
        return opened.graph.known_summaries()


def same(one: tuple[list[str], Rows], other: tuple[list[str], Rows]) -> bool:
    return one[0] == other[0] and np.array_equal(one[1], other[1])


@pytest.mark.parametrize("precision", ["float16", "int8"])
def test_homes_hold_and_choose_what_they_would_of_readable_summaries(files: Federation, precision: str) -> None:
    changes = {"routing__precision": precision}
    plain, _ = run(files.with_changes(**DOWNLOAD, **changes), *ASKED)
    overviews = {name: held(files, name) for name in DEVICES}
    sealed, sent = run(files.with_changes(**SEALED, **changes), *ASKED)
    assert sealed.outcome().traffic.missing == {}
    assert sealed.routes == plain.routes
    assert all(sealed.routes.values())
    assert {name: told(one) for name, one in sealed.answers.items()} == {n: told(a) for n, a in plain.answers.items()}
    assert sealed.counts["summaries"] == plain.counts["summaries"] > len(DEVICES)
    for name, before in overviews.items():
        assert set(before[0]) == set(DEVICES)
        assert same(held(files, name), before)
    kinds = (b"query.summaries", b"query.overview", b"query.rounded_overview")
    assert not any(kind in data for data in sent for kind in kinds)


def test_ours_exchanges_them_too(files: Federation) -> None:
    changed = files.with_changes(strategy="fedrag", **SEALED)
    strategy, _ = run_strategy(FedRag, changed, FOREIGN)
    assert strategy.outcome().traffic.missing == {}
    assert set(held(changed, "rivers")[0]) == set(DEVICES)


def forms_of(rows: Rows) -> set[bytes]:
    """All that a vector may travel or be kept as."""
    whole = {row.astype(kind).tobytes() for row in rows for kind in ("<f2", "<f4", "<f8")}
    codes = rounded([OwnedRows("x", len(rows))], rows).codes
    width = rows.shape[1]
    return whole | {codes[start : start + width] for start in range(0, len(codes), width)}


def found_in(blobs: Iterable[bytes], forms: set[bytes]) -> int:
    return sum(form[:48] in blob for blob in blobs for form in forms)


def kept(files: Federation) -> list[bytes]:
    """All that the server keeps on disk."""
    folders = [files.root / "home" / part / files.settings.data_key for part in ("summaries", "server")]
    return [path.read_bytes() for folder in folders for path in folder.rglob("*") if path.is_file()]


@pytest.mark.parametrize("precision", ["float16", "int8"])
def test_the_server_gets_and_keeps_no_vector(files: Federation, precision: str) -> None:
    changes = {"routing__precision": precision}
    run(files.with_changes(**DOWNLOAD), FOREIGN)
    _, rows = held(files, "bridges")
    _, in_clear = run(files.with_changes(**DOWNLOAD, **changes), FOREIGN)
    forms = forms_of(rows)
    assert len(rows) > len(DEVICES)
    assert found_in(in_clear, forms) >= len(rows)  # the search finds them where they are
    assert found_in(kept(files), forms) >= len(rows)
    _, sent = run(files.with_changes(**SEALED, **changes), FOREIGN)
    assert found_in(sent, forms) == 0
    assert found_in(kept(files), forms) == 0  # nor what the run before had left
    sealed_messages = [data for data in sent if b"query.seal" in data]
    assert sum(map(len, sealed_messages)) > rows.size  # they did travel
    assert not any(b"Main entities" in data or b"[PERSON]" in data for data in sealed_messages)


def test_a_device_gives_and_takes_nothing_else(files: Federation) -> None:
    with files.with_changes(**SEALED).device("rivers") as device:
        with pytest.raises(PrivacyError, match="sealed messages alone"):
            device.giving.summaries(SummaryRequest("", (), "download"))
        with pytest.raises(WireError, match="sealed messages alone"):
            device.graph.take_overview(SummaryOverview(()))


def run_where_rivers_has(files: Federation, **own: Plain) -> SummaryRouting:
    """A run in which one device has settings of its own."""
    nodes = [{**node, **own} if n == DEVICES.index("rivers") else node for n, node in enumerate(files.nodes)]
    tools = server_tools(files)
    strategy = SummaryRouting(files.settings, [FOREIGN], tools)
    strategy.run(files.grid(nodes=nodes), "1")
    tools.close()
    return strategy


def test_a_device_may_insist(files: Federation) -> None:
    changed = files.with_changes(**DOWNLOAD)
    strategy = run_where_rivers_has(changed, **{"share-summaries": "sealed"})
    assert "sealed messages alone" in strategy.outcome().traffic.missing["rivers"]
    assert "rivers" not in held(files, "bridges")[0]
    assert FOREIGN.id in strategy.answers


@pytest.mark.parametrize(
    ("run_s", "share", "own", "given"),
    [
        ("plain", "vector", "plain", True),
        ("plain", "vector", "download", False),
        ("plain", "vector", "encrypted", False),
        ("auto", "vector", "download", True),
        ("auto", "vector", "encrypted", False),
        ("download", "sealed", "encrypted", False),
        ("encrypted", "vector", "encrypted", True),
    ],
)
def test_a_device_s_exchange_keeps_its_summaries_from_whom_a_laxer_run_shows_them(
    files: Federation, run_s: str, share: str, own: str, given: bool
) -> None:
    changed = files.with_changes(exchange=run_s, graph__share=share)
    strategy = run_where_rivers_has(changed, exchange=own)
    missing = strategy.outcome().traffic.missing
    assert ("or a stricter one" in missing.get("rivers", "")) != given
    owners = set(held(files, "bridges")[0])
    assert ("rivers" in owners) == (given and run_s != "encrypted")
    assert "people" in owners or run_s == "encrypted"  # the run goes on
    assert given or "rivers" not in strategy.routes[FOREIGN.id]
    assert FOREIGN.id in strategy.answers


@pytest.mark.parametrize("exchange", ["plain", "encrypted"])
@pytest.mark.parametrize("kind", [SummaryRouting, FedRag])
def test_what_the_server_must_read_is_not_sealed(files: Federation, kind: type[SummaryRouting], exchange: str) -> None:
    settings = files.with_changes(exchange=exchange, graph__share="sealed").settings
    with pytest.raises(SettingError, match=rf'graph.share: with exchange = "{exchange}" .*set exchange to "download"'):
        kind(settings, [FOREIGN], ServerTools(settings))


def test_changes_and_withdrawals_arrive_as_in_the_open(files: Federation, tmp_path: Path) -> None:
    changed = files.copy_to(tmp_path)
    run(changed.with_changes(**SEALED), FOREIGN)
    before = held(changed, "bridges")
    folder = tmp_path / "data" / "rivers"
    (folder / "mount-cairl.md").unlink()
    text = (folder / "ossel.md").read_text(encoding="utf-8")
    (folder / "ossel.md").write_text(f"{text}\nThe Heron Ferry crosses the Ossel at Lindmoor.\n", encoding="utf-8")
    run(changed.with_changes(**SEALED), FOREIGN)
    after = held(changed, "bridges")
    assert not same(before, after)
    run(changed.with_changes(**DOWNLOAD), FOREIGN)
    assert same(held(changed, "bridges"), after)


def _torn(sent: SealedSummaries) -> SealedSummaries:
    return replace(sent, sealed=spoilt(sent.sealed))


def _of_another() -> Tamper:
    """What people sealed, in the name of rivers, which come after them."""
    last: dict[str, SealedSummaries] = {}

    def change(sent: SealedSummaries) -> SealedSummaries:
        last[sent.device] = sent
        return replace(last["people"], device="rivers") if sent.device == "rivers" else sent

    return tampering(SealedSummaries, change)


@pytest.mark.parametrize("lie", [tampering(SealedSummaries, _torn, "rivers"), _of_another()], ids=["torn", "another's"])
def test_what_does_not_open_is_named_and_the_run_goes_on(files: Federation, lie: Tamper) -> None:
    changed = files.with_changes(**SEALED)
    strategy, _ = run(changed, FOREIGN, tamper=lie)
    assert "refused its summaries" in strategy.outcome().traffic.missing["rivers"]
    assert set(strategy.outcome().traffic.missing) == {"rivers"}
    assert set(held(changed, "bridges")[0]) == set(DEVICES) - {"rivers"}
    assert strategy.routes[FOREIGN.id]
    assert "rivers" not in strategy.routes[FOREIGN.id]


def _grown(sent: SealedSummaries) -> SealedSummaries:
    return replace(sent, sealed=sent.sealed + bytes(2**16))


def _with_grown_keys(sent: SealedSummaries) -> SealedSummaries:
    return replace(sent, keys=tuple(replace(key, sealed=key.sealed + bytes(2**16)) for key in sent.keys))


@pytest.mark.parametrize(
    ("lie", "most", "room", "reason"),
    [
        (_grown, 50, 2**26, "than a device's summaries take"),
        (_with_grown_keys, 20_000, 2**26, "than a device's summaries take"),
        (_grown, 20_000, 2**16, "do not go into one message"),
    ],
)
def test_who_seals_too_much_takes_no_other_s_room(
    files: Federation, monkeypatch: pytest.MonkeyPatch, lie: Callable[..., object], most: int, room: int, reason: str
) -> None:
    monkeypatch.setattr("strategies.sealed_relay._SUMMARIES_ROOM", room)
    monkeypatch.setattr("fedrag_flwr.exchange.summaries.MOST_SUMMARIES", most)
    changed = files.with_changes(**SEALED)
    strategy, _ = run(changed, FOREIGN, tamper=tampering(SealedSummaries, lie, "rivers"))
    assert reason in strategy.outcome().traffic.missing["rivers"]
    assert set(strategy.outcome().traffic.missing) == {"rivers"}
    assert set(held(changed, "bridges")[0]) == set(DEVICES) - {"rivers"}


@pytest.mark.parametrize(("precision", "where"), [("float16", "summary_routing"), ("int8", "private_routing")])
def test_where_all_summaries_are_more_than_a_message_whole_devices_are_handed_out(
    files: Federation, monkeypatch: pytest.MonkeyPatch, precision: str, where: str
) -> None:
    monkeypatch.setattr(f"strategies.{where}._ROOM", 6_000 if precision == "float16" else 3_000)
    changed = files.with_changes(routing__precision=precision, **DOWNLOAD)
    strategy, _ = run(changed, FOREIGN)
    out = set(strategy.outcome().traffic.missing)
    assert set() < out < set(DEVICES)
    assert all("do not go into one message" in reason for reason in strategy.outcome().traffic.missing.values())
    assert set(held(changed, "bridges")[0]) == set(DEVICES) - out
    assert FOREIGN.id in strategy.answers


def test_what_was_sealed_before_is_named(files: Federation) -> None:
    old: list[SealedSummaries] = []

    def again(sent: SealedSummaries) -> SealedSummaries:
        old.append(sent)
        return old[0]

    changed = files.with_changes(**SEALED)
    tamper = tampering(SealedSummaries, again, "rivers")
    assert run(changed, FOREIGN, tamper=tamper)[0].outcome().traffic.missing == {}
    assert "refused its summaries" in run(changed, FOREIGN, tamper=tamper)[0].outcome().traffic.missing["rivers"]


def test_who_seals_in_another_s_name_is_not_heard(files: Federation) -> None:
    lie = tampering(SealedSummaries, partial(replace, device="bridges"), "rivers")
    strategy, _ = run(files.with_changes(**SEALED), FOREIGN, tamper=lie)
    assert strategy.outcome().traffic.missing == {"rivers": "query.seal_summaries: it replied in another device's name"}
