"""One device's bad key, box or count costs that device alone: the others' exchange goes on."""

from __future__ import annotations

import re
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from flwr.clientapp import ClientApp

from fedrag_flwr import wire
from fedrag_flwr.errors import CipherError, WireError
from fedrag_flwr.exchange.boxes import context_of
from fedrag_flwr.exchange.enclave import Enclave, EnclaveProcess
from fedrag_flwr.exchange.routing import restored
from fedrag_flwr.exchange.training import PrivateTraining, tagged_update
from fedrag_flwr.privacy.ckks.sandbox import shared_sandbox
from fedrag_flwr.privacy.ckks.sums import GroupCipher
from fedrag_flwr.privacy.sealing import BoxKey, seal, tag
from fedrag_flwr.records import (
    ConfidedQuestion,
    ControllerRequest,
    ControllerUpdate,
    DeviceCard,
    GroupRequest,
    OwnedRows,
    PeerKey,
    Question,
    RoundedOverview,
    SealedMessage,
    SealedMessages,
)
from simulations.forged_ciphertexts import FORGERIES, forge
from simulations.worlds.local_grid import LocalGrid
from strategies.courier import Courier
from strategies.private_sums import PrivateSums
from tests.strategies.federation import Federation, shared_federation, toolbox

RUN = "7"
ZEROS = bytes(32)  # of a key's length, and none
ALPHA = PeerKey("alpha", BoxKey.fresh().public)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Federation]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FEDRAG_HOME", str(tmp_path_factory.mktemp("home")))
        yield shared_federation(tmp_path_factory)


def confided(enclave: Enclave, name: str, home: str, reply: bytes) -> SealedMessage:
    data = wire.pack(ConfidedQuestion(Question(name, "Who designed Tarn Bridge?", home), reply), run=RUN)
    return SealedMessage(name, home, seal(data, enclave.key.public, context_of("question", RUN, name, home)))


BAD: list[Callable[[Enclave], SealedMessage]] = [
    lambda _: SealedMessage("bad", "mallory", b"x" * 200),
    lambda enclave: confided(enclave, "bad", "mallory", ZEROS),
    lambda enclave: confided(enclave, "bad", "mallory", b""),
]


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("key", [b"", ZEROS])
def test_the_enclave_answers_the_others(files: Federation, bad: Callable[[Enclave], SealedMessage], key: bytes) -> None:
    enclave, home = Enclave(files.settings, RUN, toolbox()), BoxKey.fresh()
    boxes = (bad(enclave), *(confided(enclave, f"q{number}", "alpha", home.public) for number in range(2)))
    asked = enclave.ask(SealedMessages("server", boxes), [PeerKey("mallory", key), ALPHA])
    assert {message.device for message in asked.messages} == {"alpha"}
    assert {message.question_id for message in asked.messages} >= {"q0", "q1"}
    answers = enclave.answer(SealedMessages("server", ()))
    assert [message.question_id for message in answers.messages] == ["q0", "q1"]
    assert all(home.open(one.box, context_of("answer", RUN, one.question_id, "alpha")) for one in answers.messages)


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells the limits of a process")
def test_a_crash_of_the_enclave_leaves_no_core_file(files: Federation) -> None:
    enclave = EnclaveProcess(files.settings, RUN)
    try:
        limits = Path(f"/proc/{enclave.pid}/limits").read_text(encoding="ascii")
        assert re.search(r"Max core file size +0 +0 ", limits)
    finally:
        enclave.close()


def test_a_device_that_sends_more_ciphertexts_is_left_out_of_the_sum(
    files: Federation, tmp_path_factory: pytest.TempPathFactory
) -> None:
    sandbox, server = shared_sandbox(), BoxKey.fresh()
    cipher = GroupCipher(tmp_path_factory.mktemp("group") / "group.key", sandbox)
    cipher.make()
    own = tuple(cipher.encrypt(np.arange(5.0), 0.0, np.random.default_rng(0)))
    names, keys = {1: "alpha", 2: "beta", 3: "mallory"}, {node: BoxKey.fresh() for node in (1, 2, 3)}
    asked = ControllerRequest("moments", "f", encrypted=True, server=server.public)

    def update(node: int, ciphertexts: tuple[bytes, ...]) -> ControllerUpdate:
        made = tag(keys[node].tag_key(server.public), *tagged_update(names[node], asked, ciphertexts))
        return ControllerUpdate(names[node], 1, (), ciphertexts, made)

    courier = Courier(LocalGrid(ClientApp(), [], {}), RUN, timeout=1.0, poll=0.001, names=dict(names))
    cards = {
        node: DeviceCard(names[node], (), "e", 4, "g", 0, 0, 0, "", 0, key=key.public) for node, key in keys.items()
    }
    sums = PrivateSums(courier, cards, server)
    total = sums.add(asked, {1: update(1, own), 2: update(2, own), 3: update(3, own * 2)}, 5)
    assert cipher.total(total, 5, 1e-3) == pytest.approx(2 * np.arange(5.0))
    assert list(courier.traffic.missing) == ["mallory"]
    assert "another number of ciphertexts" in courier.traffic.missing["mallory"]


HARMLESS = {"one bit", "many bytes", "first bytes", "longer"}  # they may make another key, with which no sum is read


def test_a_group_key_that_does_not_load_is_not_kept(tmp_path: Path) -> None:
    sandbox, box = shared_sandbox(), BoxKey.fresh()
    context = "fedrag group key for alpha"
    GroupCipher(tmp_path / "made" / "group.key", sandbox).make()
    good = (tmp_path / "made" / "group.key").read_bytes()
    training, kept = PrivateTraining("alpha", tmp_path / "alpha", box, sandbox), tmp_path / "alpha" / "group.key"
    training.join(GroupRequest((), seal(good, box.public, context)))
    assert kept.read_bytes() == good
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    for kind in FORGERIES.keys() - HARMLESS:
        forged = forge(kind, good, np.random.default_rng(7))
        with pytest.raises(CipherError):
            training.join(GroupRequest((), seal(forged, box.public, context)))
        assert not kept.exists()


@pytest.mark.parametrize(
    ("overview", "reason"),
    [
        (RoundedOverview(4, (OwnedRows("a", 1_000_000),) * 100, b""), "another number"),
        (RoundedOverview(1, (OwnedRows("a", 1_000_000), OwnedRows("b", 1)), b"\1" * 1_000_001), "more than 1,000,000"),
    ],
)
def test_few_bytes_cannot_ask_for_many_rows(overview: RoundedOverview, reason: str) -> None:
    with pytest.raises(WireError, match=reason):
        restored(wire.unpack(wire.pack(overview, run=RUN), RoundedOverview, run=RUN))
