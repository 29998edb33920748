"""One device's bad key, sealed message or count costs that device alone: the others' exchange goes on."""

import re
import stat
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from flwr.app import Context, Message
from flwr.clientapp import ClientApp

from fedrag_flwr import wire
from fedrag_flwr.errors import CipherError, WireError
from fedrag_flwr.exchange.enclave import Enclave, EnclaveProcess
from fedrag_flwr.exchange.routing import restored
from fedrag_flwr.exchange.sealed import context_of
from fedrag_flwr.exchange.sums import GroupSums, tagged_term
from fedrag_flwr.local_grid import LocalGrid
from fedrag_flwr.privacy.ckks.sandbox import shared_sandbox
from fedrag_flwr.privacy.ckks.sums import GroupCipher
from fedrag_flwr.privacy.export import ExportFilter
from fedrag_flwr.privacy.seals import SealingKey, seal, tag
from fedrag_flwr.records import (
    AnswerBatch,
    DeviceCard,
    EnclaveQuestion,
    Evidence,
    EvidenceBatch,
    EvidenceUnit,
    GroupRequest,
    OwnedRows,
    PeerKey,
    Question,
    RoundedOverview,
    SealedMessage,
    SealedMessages,
    SumParts,
    SumTerm,
)
from strategies.private_sums import PrivateSums
from strategies.transport import Transport
from tests.privacy.forged_ciphertexts import FORGERIES
from tests.spoiling import spoilt
from tests.strategies.federation import Federation, shared_federation, small_models

RUN = "7"
ZEROS = bytes(32)  # of a key's length, and none
ALPHA = PeerKey("alpha", SealingKey.fresh().public)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Federation]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FEDRAG_HOME", str(tmp_path_factory.mktemp("home")))
        yield shared_federation(tmp_path_factory)


def sealed_question(enclave: Enclave, name: str, home: str, reply: bytes) -> SealedMessage:
    data = wire.pack(EnclaveQuestion(Question(name, "Who designed Tarn Bridge?", home), reply), run=RUN)
    return SealedMessage(name, home, seal(data, enclave.key.public, context_of("question", RUN, name, home)))


BAD: list[Callable[[Enclave], SealedMessage]] = [
    lambda _: SealedMessage("bad", "mallory", b"x" * 200),
    lambda enclave: sealed_question(enclave, "bad", "mallory", ZEROS),
    lambda enclave: sealed_question(enclave, "bad", "mallory", b""),
]


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("key", [b"", ZEROS])
def test_the_enclave_answers_the_others(files: Federation, bad: Callable[[Enclave], SealedMessage], key: bytes) -> None:
    enclave, home = Enclave(files.settings, RUN, small_models()), SealingKey.fresh()
    sealed_messages = (
        bad(enclave),
        *(sealed_question(enclave, f"q{number}", "alpha", home.public) for number in range(2)),
    )
    asked = enclave.ask(SealedMessages("server", sealed_messages), [PeerKey("mallory", key), ALPHA])
    assert {message.device for message in asked.messages} == {"alpha"}
    assert {message.question_id for message in asked.messages} >= {"q0", "q1"}
    answers = enclave.answer(SealedMessages("server", ()))
    assert [message.question_id for message in answers.messages] == ["q0", "q1"]
    assert all(home.open(one.sealed, context_of("answer", RUN, one.question_id, "alpha")) for one in answers.messages)


def test_the_enclave_asks_once_for_a_question_that_is_confided_many_times(files: Federation) -> None:
    enclave, home = Enclave(files.settings, RUN, small_models()), SealingKey.fresh()
    again, other = (
        sealed_question(enclave, "q0", "mallory", home.public),
        sealed_question(enclave, "q1", "alpha", home.public),
    )
    asked = enclave.ask(SealedMessages("server", (*(again,) * 50, other)), [ALPHA])
    assert [message.question_id for message in asked.messages] == ["q0", "q1"]


def test_evidence_of_any_length_costs_no_home_the_enclave_s_answers(files: Federation) -> None:
    enclave, home, owner = Enclave(files.settings, RUN, small_models()), SealingKey.fresh(), SealingKey.fresh()
    asked = Question("q", "What are the symptoms of Tarn fever?", "alpha")
    data = wire.pack(EnclaveQuestion(asked, home.public), run=RUN)
    sealed = seal(data, enclave.key.public, context_of("question", RUN, asked.id, asked.home))
    enclave.ask(
        SealedMessages("server", (SealedMessage(asked.id, asked.home, sealed),)), [PeerKey("beta", owner.public)]
    )
    units = tuple(EvidenceUnit(f"u{n}", f"On day {n} Tarn fever {'shivers ' * 2_000}", "beta", 0.9) for n in range(2))
    batch = EvidenceBatch("beta", (Evidence(asked.id, units),), 0.1)
    told = seal(wire.pack(batch, run=RUN), enclave.key.public, context_of("evidence", RUN, asked.id, "beta"))
    [answer] = enclave.answer(SealedMessages("server", (SealedMessage(asked.id, "beta", told),))).messages
    [opened] = wire.unpack(
        home.open(answer.sealed, context_of("answer", RUN, "q", "alpha")), AnswerBatch, run=RUN
    ).answers
    assert (opened.path, opened.cost.llm_calls) == ("remote", 1)
    assert opened.text


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells the limits of a process")
def test_a_crash_of_the_enclave_leaves_no_core_file(files: Federation) -> None:
    enclave = EnclaveProcess(files.settings, RUN)
    try:
        limits = Path(f"/proc/{enclave._child.pid}/limits").read_text(encoding="ascii")
        assert re.search(r"Max core file size +0 +0 ", limits)
    finally:
        enclave.close()


STEP = "train.topics move 1"


@dataclass(frozen=True, slots=True)
class Party:
    """Three devices of which two are honest, and the server's part in their sums."""

    cipher: GroupCipher
    keys: dict[int, SealingKey]
    transport: Transport
    sums: PrivateSums

    def term(self, node: int, parts: tuple[bytes, ...], step: str = STEP, name: str = "") -> SumTerm:
        named = tagged_term(name or self.transport.name(node), step, parts)
        return SumTerm(parts, tag(self.keys[node].tag_key(self.sums.key.public), *named))


@pytest.fixture(scope="module")
def cipher(tmp_path_factory: pytest.TempPathFactory) -> GroupCipher:
    made = GroupCipher(tmp_path_factory.mktemp("group") / "group.key", shared_sandbox())
    made.make()
    return made


@pytest.fixture
def party(cipher: GroupCipher) -> Party:
    names, keys = {1: "alpha", 2: "beta", 3: "mallory"}, {node: SealingKey.fresh() for node in (1, 2, 3)}
    transport = Transport(LocalGrid(ClientApp(), [], {}), RUN, timeout=1.0, names=dict(names))
    cards = {
        node: DeviceCard(names[node], (), "e", 4, "g", 0, 0, 0, "", 0, key=key.public) for node, key in keys.items()
    }
    return Party(cipher, keys, transport, PrivateSums(transport, cards, SealingKey.fresh()))


HOSTILE: dict[str, tuple[Callable[[Party, tuple[bytes, ...]], SumTerm], str]] = {
    "more": (lambda at, own: at.term(3, own * 2), "another number of ciphertexts"),
    "none": (lambda at, own: at.term(3, ()), "another number of ciphertexts"),
    "torn": (lambda at, own: at.term(3, tuple(one[:-9] for one in own)), "does not begin as a ciphertext"),
    "no ciphertext": (lambda at, own: at.term(3, (own[0][:16] + bytes(len(own[0]) - 16),)), "SEAL refuses"),
    "changed": (lambda at, own: replace(at.term(3, own), parts=(spoilt(own[0]),)), "not what was sent"),
    "of another step": (lambda at, own: at.term(3, own, "train.topics move 2"), "belongs to something else"),
    "another's": (lambda at, own: at.term(2, own), "belongs to something else"),
    "in another's name": (lambda at, own: at.term(3, own, name="beta"), "belongs to something else"),
    "without a tag": (lambda at, own: SumTerm(own), "belongs to something else"),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_term_that_is_none_is_left_out_of_the_sum_and_its_device_named(party: Party, kind: str) -> None:
    make, reason = HOSTILE[kind]
    own = tuple(party.cipher.encrypt(np.arange(5.0), 0.0, np.random.default_rng(0)))
    total = party.sums.add(STEP, {1: party.term(1, own), 2: party.term(2, own), 3: make(party, own)}, 5)
    assert party.cipher.total(total, 5) == pytest.approx(2 * np.arange(5.0))
    assert list(party.transport.traffic.missing) == ["mallory"]
    assert party.transport.traffic.missing["mallory"].startswith(STEP)
    assert reason in party.transport.traffic.missing["mallory"]


def test_a_term_under_another_key_spoils_the_sum_and_is_seen_by_who_reads_it(party: Party, tmp_path: Path) -> None:
    """The server has no key, so it cannot tell whose it was."""
    other = GroupCipher(tmp_path / "group.key", shared_sandbox())
    other.make()
    own, foreign = (tuple(one.encrypt(np.ones(5), 0.0, np.random.default_rng(0))) for one in (party.cipher, other))
    total = party.sums.add(STEP, {1: party.term(1, own), 3: party.term(3, foreign)}, 5)
    assert party.transport.traffic.missing == {}
    with pytest.raises(CipherError, match="made with another key"):
        party.cipher.total(total, 5)


def test_of_sealed_keys_for_one_peer_the_first_goes_to_it() -> None:
    taken: list[bytes] = []
    app = ClientApp()
    names = {100: "mallory", 101: "beta"}

    @app.train("group")
    def group(message: Message, context: Context) -> Message:
        sealed = wire.decode(message.content, GroupRequest, run=RUN).sealed
        made = [SealedMessage("", name, told) for name in ("beta", "nobody") for told in (b"first", b"second")]
        if sealed:
            taken.append(sealed)
        said = SealedMessages(names[message.metadata.dst_node_id], () if sealed else tuple(made))
        return Message(wire.encode(said, run=RUN), reply_to=message)

    transport = Transport(LocalGrid(app, [{}, {}], {}), RUN, timeout=30.0, names=dict(names))
    cards = {
        node: DeviceCard(name, (), "e", 4, "g", 0, 0, 0, "", 0, key=SealingKey.fresh().public)
        for node, name in names.items()
    }
    assert PrivateSums(transport, cards, SealingKey.fresh()).agree(list(names), 2) == list(names)
    assert taken == [b"first"]
    assert list(transport.traffic.missing) == ["mallory"]
    assert "more than once" in transport.traffic.missing["mallory"]


HARMLESS = {"one bit", "many bytes", "first bytes", "longer"}  # they may make another key, with which no sum is read


@dataclass(frozen=True)
class Maker:
    """A peer that makes group keys for `alpha`, by the protocol or not."""

    sealed: SealingKey
    peer: SealingKey
    key: bytes

    def request(self, key: bytes, *, by: SealingKey | None = None) -> GroupRequest:
        context = context_of("group key", RUN, "", "alpha")
        proof = tag((by or self.peer).tag_key(self.sealed.public), b"group key", context.encode(), sha256(key).digest())
        return GroupRequest((PeerKey("beta", self.peer.public),), seal(key + proof, self.sealed.public, context))


@pytest.fixture
def maker(tmp_path: Path) -> Maker:
    GroupCipher(tmp_path / "made" / "group.key", shared_sandbox()).make()
    return Maker(SealingKey.fresh(), SealingKey.fresh(), (tmp_path / "made" / "group.key").read_bytes())


def sums_of(sealed: SealingKey, folder: Path) -> GroupSums:
    export = ExportFilter([], small_models().encoder, small_models().pipeline, str.upper, "alpha")
    return GroupSums("alpha", folder, sealed, export, shared_sandbox())


def test_a_group_key_that_does_not_load_is_not_kept(maker: Maker, tmp_path: Path) -> None:
    sums = sums_of(maker.sealed, tmp_path / "alpha")
    sums.join(maker.request(maker.key), RUN)
    [kept] = (tmp_path / "alpha").iterdir()
    assert kept.read_bytes() == maker.key
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    for kind in FORGERIES.keys() - HARMLESS:
        forged = FORGERIES[kind](maker.key, np.random.default_rng(7))
        with pytest.raises(CipherError):
            sums.join(maker.request(forged), RUN)
        assert not kept.exists()
    with pytest.raises(CipherError, match="someone or something else"):
        sums.join(maker.request(maker.key), "8")  # a sealed message of another run


def test_a_group_key_that_no_peer_made_is_not_taken(maker: Maker, tmp_path: Path) -> None:
    """The server knows all public keys: with a key of its own under the sums it would read every term."""
    sums = sums_of(maker.sealed, tmp_path / "alpha")
    with pytest.raises(CipherError, match="not what was sent"):
        sums.join(maker.request(maker.key, by=SealingKey.fresh()), RUN)
    with pytest.raises(WireError, match="one peer"):
        sums.join(replace(maker.request(maker.key), peers=()), RUN)
    assert not (tmp_path / "alpha").exists()


@pytest.fixture
def alpha(tmp_path: Path) -> GroupSums:
    export = ExportFilter([], small_models().encoder, small_models().pipeline, str.upper, "alpha")
    return GroupSums("alpha", tmp_path / "alpha", SealingKey.fresh(), export, shared_sandbox())


def sum_of(sums: GroupSums, run: str) -> SumParts:
    """What the server gives back where this device alone takes part."""
    return sums.give(STEP, SealingKey.fresh().public, np.arange(5.0), run).parts


def test_each_run_has_a_key_of_its_own(alpha: GroupSums) -> None:
    alpha.join(GroupRequest(()), RUN)
    total = sum_of(alpha, RUN)
    alpha.join(GroupRequest(()), "8")
    assert alpha.read(total, 5, RUN) == pytest.approx(np.arange(5.0))
    with pytest.raises(CipherError, match="made with another key"):
        alpha.read(total, 5, "8")


def test_a_key_is_made_once_for_the_same_peers(alpha: GroupSums, tmp_path: Path) -> None:
    """The reply with the sealed messages may be too large to be kept, and then the same request is handled again."""
    beta, other = (GroupRequest((PeerKey("beta", SealingKey.fresh().public),)) for _ in range(2))
    sealed_messages = alpha.join(beta, RUN).messages
    total = sum_of(alpha, RUN)
    assert [sealed.device for sealed in alpha.join(beta, RUN).messages] == [sealed.device for sealed in sealed_messages]
    assert alpha.read(total, 5, RUN) == pytest.approx(np.arange(5.0))
    alpha.join(other, RUN)  # who comes later must not read what was summed before
    with pytest.raises(CipherError, match="made with another key"):
        alpha.read(total, 5, RUN)
    assert len(list((tmp_path / "alpha").iterdir())) == 1


def test_a_key_that_was_made_gives_way_to_one_that_is_taken(maker: Maker, tmp_path: Path) -> None:
    sums = sums_of(maker.sealed, tmp_path / "alpha")
    sums.join(GroupRequest(()), RUN)
    sums.join(maker.request(maker.key), RUN)
    [kept] = (tmp_path / "alpha").iterdir()
    assert kept.read_bytes() == maker.key


def test_a_sealed_key_that_does_not_open_leaves_the_key(alpha: GroupSums) -> None:
    alpha.join(GroupRequest(()), RUN)
    with pytest.raises(CipherError, match="sealed for someone"):
        alpha.join(GroupRequest((PeerKey("beta", SealingKey.fresh().public),), b"no key"), RUN)
    assert alpha.read(sum_of(alpha, RUN), 5, RUN) == pytest.approx(np.arange(5.0))


def test_keys_of_old_runs_go(alpha: GroupSums, tmp_path: Path) -> None:
    folder = tmp_path / "alpha"
    for run in range(20):
        alpha.join(GroupRequest(()), str(run))
    assert len(list(folder.iterdir())) == 16
    assert alpha.read(sum_of(alpha, "19"), 5, "19") == pytest.approx(np.arange(5.0))


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
