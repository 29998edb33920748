"""Private routing over five tiny devices: the same choices and answers as in the open, and nothing for the server."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from fedrag_flwr.errors import SettingError
from fedrag_flwr.exchange.routing import tagged_question, tagged_scores
from fedrag_flwr.exchange.sealed import give_sealed
from fedrag_flwr.privacy.ckks.scores import SummaryScorer
from fedrag_flwr.privacy.seals import SealingKey, tag
from fedrag_flwr.records import (
    Answer,
    DeviceCard,
    EncryptedQuestions,
    EncryptedScores,
    EncryptRequest,
    OwnedRows,
    PeerKey,
    Question,
    RouteRequest,
    SealedMessage,
    SealedMessages,
)
from fedrag_flwr.settings import Plain
from strategies import ServerTools, SummaryRouting
from tests.spoiling import spoilt
from tests.strategies.federation import (
    DEVICES,
    QUESTIONS,
    Federation,
    graphed,
    run_strategy,
    small_models,
    tampering,
)
from tests.strategies.waiting import nothing_shows

ASKED = [Question(row[0], row[1], row[4]) for row in QUESTIONS if row[0] in ("f1", "f7", "f8")]
FOREIGN = ASKED[1]
CHANGES: dict[str, Plain] = {
    "gate__threshold": 1.0,  # every question leaves
    "inference__max_answer_tokens": 2,
}
MODES: dict[str, dict[str, Plain]] = {
    "float16": {"exchange": "download"},
    "int8": {"exchange": "download", "routing__precision": "int8"},
    "encrypted": {"exchange": "encrypted"},
}


@pytest.fixture(autouse=True)
def _no_overview(monkeypatch: pytest.MonkeyPatch) -> None:
    """The gate decides alike in all modes."""
    monkeypatch.setattr("strategies.summary_routing.OVERVIEW", 0)


run = partial(run_strategy, SummaryRouting)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Federation:
    return graphed(tmp_path_factory).with_changes(**CHANGES)


@pytest.fixture(scope="module")
def plain(files: Federation) -> SummaryRouting:
    return run(files, *ASKED)[0]


def told(answer: Answer) -> tuple[str, str, set[str]]:
    return answer.text, answer.path, {source.partition("/")[0] for source in answer.sources}


@pytest.mark.parametrize("mode", MODES)
def test_private_routing_chooses_as_in_the_open(files: Federation, plain: SummaryRouting, mode: str) -> None:
    strategy, sent = run(files.with_changes(**MODES[mode]), *ASKED)
    assert strategy.outcome().traffic.missing == {}
    assert strategy.routes == plain.routes
    assert all(strategy.routes.values())
    for question in ASKED:
        assert told(strategy.answers[question.id]) == told(plain.answers[question.id])
        assert "routed at home to" in strategy.answers[question.id].explanation
    assert all(any(kind in data for data in sent) for kind in (b"query.retrieve_sealed", b"query.finish_sealed"))
    assert not any(b"EvidenceBatch" in data or b"EvidenceRequest" in data for data in sent)
    assert strategy.counts["scored"] == (len(ASKED) if mode == "encrypted" else 0)


def test_beyond_what_can_be_scored_devices_are_left_out(files: Federation, monkeypatch: pytest.MonkeyPatch) -> None:
    encrypted = files.with_changes(**MODES["encrypted"])
    run(encrypted, FOREIGN)  # the server holds all summaries now
    tools = ServerTools(encrypted.settings)
    _, owners, _ = tools.summaries.rows(frozenset(DEVICES))
    tools.close()
    monkeypatch.setattr("strategies.private_routing.MOST_ROWS", len(owners) - 1)
    strategy, _ = run(encrypted, FOREIGN)
    [(left_out, reason)] = strategy.outcome().traffic.missing.items()
    assert owners.count(left_out) == max(map(owners.count, owners))
    assert "more than can be scored" in reason
    assert strategy.counts["scored"] == 1


@pytest.mark.parametrize("mode", ["float16", "encrypted"])  # in int8 vectors alone are handed out otherwise
def test_the_server_sees_no_question_evidence_or_answer(files: Federation, tmp_path: Path, mode: str) -> None:
    settled: dict[str, Plain] = {"gate__threshold": -1.0, "inference__max_answer_tokens": 4, "graph__share": "vector"}
    private = files.copy_to(tmp_path).with_changes(**settled, **MODES[mode])
    nothing_shows(private, FOREIGN, "2,144", "Mount Cairl", "Tveit")


@pytest.mark.parametrize("mode", ["float16", "encrypted"])
def test_all_sealed_questions_for_an_owner_are_one_message(files: Federation, mode: str) -> None:
    one_owner = files.with_changes(routing__devices=1, **MODES[mode])
    strategy, sent = run(one_owner, *(replace(FOREIGN, id=f"q{number}") for number in range(3)))
    assert [len(asked) for asked in strategy.routes.values()] == [1, 1, 1]
    assert len([data for data in sent if b"query.retrieve_sealed" in data]) == 2  # the message and its reply


def test_vectors_stay_at_home_and_keys_travel_once(files: Federation) -> None:
    encrypted = files.with_changes(exchange="encrypted")
    asked = ASKED[:1]
    run(encrypted, *asked)
    _, sent = run(encrypted, *asked)
    with encrypted.device(asked[0].home) as home:
        vector = home.models.encoder.encode([asked[0].text])[0]
        public, secret = home.sealed.routing.cipher.public, Path(home.sealed.routing.cipher._secret).read_bytes()
    halves = vector.astype("float16").tobytes()
    assert not any(halves in data or vector.tobytes() in data for data in sent)
    assert not any(public[100:200] in data or secret[100:200] in data for data in sent)
    assert max(map(len, sent)) < 2**19


def test_the_server_cannot_answer_over_what_it_may_not_see(files: Federation) -> None:
    with pytest.raises(SettingError, match="may not see"):
        run(files.with_changes(exchange="encrypted", routing__answers_at="server"))


def test_beyond_its_quota_a_home_asks_nobody(files: Federation, tmp_path: Path) -> None:
    limited = files.copy_to(tmp_path).with_changes(exchange="encrypted", routing__quota=1)
    questions = [replace(ASKED[0], id=f"q{number}") for number in range(3)]
    strategy, _ = run(limited, *questions)
    assert strategy.counts["scored"] == 1
    assert "quota" in strategy.outcome().traffic.missing["bridges"]
    explained = [answer.explanation for answer in strategy.answers.values()]
    assert sum("routed at home to nobody" in told for told in explained) == 2


def test_a_device_that_takes_another_name_has_no_new_quota(files: Federation, tmp_path: Path) -> None:
    limited = files.copy_to(tmp_path).with_changes(exchange="encrypted", routing__quota=1)
    strategy, _ = run(limited, ASKED[0])
    assert strategy.counts["scored"] == 1
    (tmp_path / "data" / "bridges").rename(tmp_path / "data" / "bridges-renamed")  # the same node: their order stays
    strategy, _ = run(limited, replace(ASKED[0], home="bridges-renamed"))
    assert strategy.counts["scored"] == 0
    assert "quota" in strategy.outcome().traffic.missing["bridges-renamed"]


def test_what_a_home_was_not_asked_for_is_not_scored(files: Federation, plain: SummaryRouting) -> None:
    encrypted = files.with_changes(exchange="encrypted")
    server = ServerTools(encrypted.settings).key.public
    with encrypted.device("bridges") as home:
        key = home.sealed.key.tag_key(server)

    def more(sent: EncryptedQuestions) -> EncryptedQuestions:
        own = sent.questions[0]
        tagged = tag(key, *tagged_question("f8", sent.fingerprint, own.ciphertext))  # it asks at another home
        return replace(sent, questions=(*sent.questions, own, replace(own, question_id="f8", tag=tagged)))

    strategy, _ = run(encrypted, *ASKED, tamper=tampering(EncryptedQuestions, more, "bridges"))
    assert strategy.counts["scored"] == len(ASKED)
    missing = strategy.outcome().traffic.missing
    assert list(missing) == ["bridges"]
    assert "not asked for" in missing["bridges"]
    assert {name: told(one) for name, one in strategy.answers.items()} == {n: told(a) for n, a in plain.answers.items()}


def _another_ciphertext(sent: EncryptedQuestions) -> EncryptedQuestions:
    return replace(sent, questions=tuple(replace(one, ciphertext=spoilt(one.ciphertext)) for one in sent.questions))


def _another_key(sent: EncryptedQuestions) -> EncryptedQuestions:
    return replace(sent, fingerprint="0" * 64)


def _for_another(sent: SealedMessages) -> SealedMessages:
    return replace(sent, messages=tuple(replace(one, question_id="f8") for one in sent.messages))


def _torn(sent: SealedMessages) -> SealedMessages:
    return replace(sent, messages=tuple(replace(one, sealed=spoilt(one.sealed)) for one in sent.messages))


def _in_another_s_name(sent: SealedMessages) -> SealedMessages:
    return replace(sent, messages=tuple(replace(one, device="harbours") for one in sent.messages))


LIES: list[tuple[type[object], Callable[..., object], dict[str, str]]] = [
    (EncryptedQuestions, _another_ciphertext, {"bridges": "not what was sent"}),
    (EncryptedQuestions, _another_key, {"bridges": "not those that it names"}),
    (SealedMessages, _for_another, {"bridges": "not its own"}),
    (SealedMessages, _in_another_s_name, {}),  # whoever cannot open a sealed message leaves it out
    (SealedMessages, _torn, {}),
]


@pytest.mark.parametrize(("kind", "lie", "reasons"), LIES)
def test_what_was_changed_on_its_way_is_refused(
    files: Federation, kind: type[object], lie: Callable[..., object], reasons: dict[str, str]
) -> None:
    strategy, _ = run(files.with_changes(exchange="encrypted"), FOREIGN, tamper=tampering(kind, lie))
    answer = strategy.answers[FOREIGN.id]
    assert not any(source.startswith("rivers/") for source in answer.sources)
    missing = strategy.outcome().traffic.missing
    assert missing.keys() == reasons.keys()
    assert all(reason in missing[name] for name, reason in reasons.items())


@pytest.mark.parametrize(("mode", "steps"), [("float16", 2), ("encrypted", 3)])
def test_seconds_of_every_step_count(files: Federation, mode: str, steps: int) -> None:
    """Home encrypts, home chooses, and the owners give, which work at the same time."""
    encrypted, sealed = (
        tampering(kind, partial(replace, seconds=800.0)) for kind in (EncryptedQuestions, SealedMessages)
    )
    strategy, _ = run(
        files.with_changes(**MODES[mode]), FOREIGN, tamper=lambda reply: encrypted(reply) and sealed(reply)
    )
    assert 800.0 * steps < strategy.answers[FOREIGN.id].cost.seconds < 800.0 * steps + 700.0


def test_a_device_without_a_usable_key_costs_the_others_nothing(files: Federation) -> None:
    without = tampering(DeviceCard, partial(replace, key=bytes(32)), "rivers")
    strategy, _ = run(files.with_changes(**MODES["float16"]), *ASKED, tamper=without)
    assert not any("rivers" in str(told(answer)) for answer in strategy.answers.values())
    assert told(strategy.answers["f8"])[2] & set(DEVICES)
    assert "query.route" not in str(strategy.outcome().traffic.missing)


def test_more_requests_than_may_be_asked_reach_nobody(files: Federation) -> None:
    def many(sent: SealedMessages) -> SealedMessages:
        return replace(sent, messages=sent.messages * 64)

    changed = files.with_changes(**MODES["float16"])
    strategy, _ = run(changed, FOREIGN, tamper=tampering(SealedMessages, many))
    assert any(source.startswith("rivers/") for source in strategy.answers[FOREIGN.id].sources)
    assert "too many" in strategy.outcome().traffic.missing["bridges"]


@pytest.mark.parametrize(
    ("more", "room", "reason"),
    [
        (3 * 2**18, 2**26, "larger than the evidence may be"),
        (2**16, 2**16, "more in sealed messages than goes into one"),
    ],
)
def test_sealed_evidence_that_is_too_large_takes_no_other_s_room(
    files: Federation, monkeypatch: pytest.MonkeyPatch, more: int, room: int, reason: str
) -> None:
    def fill(sent: SealedMessages) -> SealedMessages:
        grown = tuple(replace(one, sealed=one.sealed + bytes(more)) for one in sent.messages)
        return replace(sent, messages=grown) if sent.messages[0].device == sent.device == "people" else sent

    monkeypatch.setattr("strategies.sealed_relay._ROOM", room)
    changed = files.with_changes(routing__devices=4, routing__summaries=50, **MODES["float16"])
    strategy, sent = run(changed, FOREIGN, tamper=tampering(SealedMessages, fill))
    assert reason in strategy.outcome().traffic.missing["people"]
    assert set(strategy.outcome().traffic.missing) == {"people"}
    assert any(source.startswith("rivers/") for source in strategy.answers[FOREIGN.id].sources)
    finish = [data for data in sent if b"query.finish_sealed" in data]
    assert max(map(len, finish)) < more


def test_scores_of_another_question_are_refused(files: Federation) -> None:
    with files.with_changes(exchange="encrypted").device("bridges") as home:
        request = RouteRequest((ASKED[0],), (), home.sealed.key.public, (), ())
        assert home.sealed.routing.route(request, "1").messages == ()  # no overview, nobody to ask
        stranger = replace(ASKED[0], home="rivers")
        with pytest.raises(ValueError, match="another home"):
            home.sealed.routing.route(replace(request, questions=(stranger,)), "1")


def test_scores_that_are_none_cost_their_own_question_alone(files: Federation, tmp_path: Path) -> None:
    """A row of more than unit length gives a score beyond any cosine's."""
    server, near, far = SealingKey.fresh(), ASKED[0], replace(FOREIGN, home=ASKED[0].home)
    with files.with_changes(exchange="encrypted").device(near.home) as home, closing(SummaryScorer(tmp_path)) as scorer:
        routing = home.sealed.routing
        encrypted = routing.encrypt(EncryptRequest((near, far), server.public, ""))
        rows = small_models().encoder.encode([near.text, far.text]) * np.array([[1.09], [1.0]], dtype=np.float32)
        scorer.learn(near.home, encrypted.public, rows.shape[1])
        scorer.hold(rows)
        found = scorer.score(near.home, [one.ciphertext for one in encrypted.questions])
        key = server.tag_key(home.sealed.key.public)
        scores = []
        for question, chunks in zip((near, far), found, strict=True):
            told = EncryptedScores(question.id, tuple(chunks), b"")
            scores.append(replace(told, tag=tag(key, *tagged_scores(told, encrypted.fingerprint))))
        owners = ("harbours", "rivers")
        request = RouteRequest(
            (near, far),
            tuple(PeerKey(name, SealingKey.fresh().public) for name in owners),
            server.public,
            tuple(OwnedRows(name, 1) for name in owners),
            tuple(scores),
        )
        sealed = routing.route(request, "1").messages
    assert [(one.question_id, one.device) for one in sealed] == [(far.id, "rivers"), (far.id, "harbours")]


def test_owners_leave_out_what_they_cannot_open(files: Federation) -> None:
    with files.device("rivers") as owner:
        sealed = SealedMessage("f7", "rivers", b"nothing sealed")
        asked = SealedMessages("rivers", (sealed,))
        assert give_sealed(owner.name, owner.key, asked, owner.giving.evidence, "1").messages == ()
        assert len({owner.sealed.key.public, files.device("people").sealed.key.public}) == 2
    assert len(DEVICES) == 5
