"""A service as people, a Flower process and monitoring meet it."""

import http.client
import json
import select
import socket
import stat
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families as families
from typer.testing import CliRunner

from client_app.app import app as client_app
from fedrag_flwr import wire
from fedrag_flwr.cli import app as command_line
from fedrag_flwr.demo import CORPUS
from fedrag_flwr.errors import ServiceError
from fedrag_flwr.handling import respond
from fedrag_flwr.local_grid import LocalGrid
from fedrag_flwr.nodes import Node
from fedrag_flwr.records import (
    AnswerBatch,
    AnswerRequest,
    BuildReport,
    BuildRequest,
    DescribeRequest,
    DeviceCard,
    Question,
    ShareRequest,
)
from fedrag_flwr.service.config import beside_file
from fedrag_flwr.service.peers import HEAD_SECONDS, MOST_CONNECTIONS
from fedrag_flwr.service.protocol import ASK, ASK_ALOUD, CONFIG, HEALTH, LOCK, MESSAGES, METRICS, MOST_JSON, frame
from fedrag_flwr.wire_bytes import from_bytes, to_bytes
from tests.service.conftest import RUN, RUN_CONFIG, exchange
from tests.service.running import ANSWER, CANARY, NAME, PLANTED, QUESTION
from tests.service.service_process import ServiceProcess, serve_command

ASKED = AnswerRequest("memory", (Question("q1", QUESTION, NAME), Question("q2", "Who ate the moon?", NAME)))


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def test_a_question_is_answered_from_memory_with_what_the_answer_rests_on(service: ServiceProcess) -> None:
    with service.client() as client:
        told = client.ask(QUESTION)
        assert (told["answer"], told["path"], told["llm_calls"], told["waiting"]) == (ANSWER, "memorizer", 0, False)
        assert isinstance(told["evidence"], list)
        assert {shown["document"] for shown in told["evidence"]} == {"tarn-bridge"}
        assert told["told"] == {"lead": "From memory:", "name": QUESTION, "sure": "sure"}
        assert isinstance(told["marked"], list)
        assert told["marked"][0] == ["Tarn Bridge was designed by the engineer ", ANSWER, "."]
        assert client.answers()[0] == told
        learnt = client.feedback(str(told["id"]), "bad")
        assert str(learnt["learnt"]).startswith("noted")
        assert client.answers()[0] == {**told, "verdict": "bad"}


def test_an_answer_is_heard_while_it_is_written(service: ServiceProcess) -> None:
    with service.client() as client:
        texts: list[str] = []
        told = client.ask("Which people can cross the valley that the viaduct bridges?", heard=texts.append)
        assert len(texts) > 2
        assert any(later.startswith(earlier) and later != earlier for earlier, later in pairwise(texts))
        assert client.answers()[0] == told
        assert told["llm_calls"]
        texts.clear()
        assert client.ask(QUESTION, heard=texts.append)["answer"] == ANSWER
        assert texts == []  # memory says it at once
        with pytest.raises(ServiceError, match="RequestError"):
            client.ask("", heard=texts.append)
        assert client.ask(QUESTION)["answer"] == ANSWER  # over the same connection


def test_who_leaves_while_an_answer_is_written_stops_nobody(service: ServiceProcess) -> None:
    body = json.dumps({"question": "Why was the viaduct built, and who paid for it?"}).encode()
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=60)
    headers = {"Authorization": f"Bearer {service.token}", "Content-Type": "application/json"}
    connection.request("POST", ASK_ALOUD, body, headers)
    response = connection.getresponse()
    assert response.getheader("Content-Type") == "application/x-ndjson"
    assert json.loads(response.readline())["text"]
    response.close()
    connection.close()
    with service.client() as client:
        assert client.ask(QUESTION)["answer"] == ANSWER
        assert client.health()["status"] == "ok"


def test_many_ask_at_once_and_each_gets_its_own_answer(service: ServiceProcess) -> None:
    questions = [QUESTION, PLANTED, "When did Tarn Bridge open?"] * 8

    def ask(question: str) -> tuple[object, object]:
        with service.client() as client:
            told = client.ask(question)
            return told["question"], told["answer"]

    with ThreadPoolExecutor(12) as pool:
        answered = list(pool.map(ask, questions))
    assert [question for question, _ in answered] == questions
    assert dict(answered) == {QUESTION: ANSWER, PLANTED: CANARY, "When did Tarn Bridge open?": "1924"}


def test_a_connection_that_was_idle_for_too_long_is_made_anew(service: ServiceProcess) -> None:
    with service.client() as client:
        client.health()
        sock = client._connection.sock
        assert sock is not None
        sock.shutdown(socket.SHUT_RDWR)
        assert client.health()["device"] == NAME


def test_the_command_line_asks_the_service(service: ServiceProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FEDRAG_HOME", str(service.home))
    result = CliRunner().invoke(command_line, ["ask", QUESTION, "--name", NAME, "--json"])
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    with service.client() as client:
        assert client.answers()[0]["id"] == told["id"]
    shown = CliRunner().invoke(command_line, ["ask", QUESTION, "--name", NAME]).stdout
    assert ANSWER in shown
    assert "tarn-bridge" in shown
    assert any(line.split()[1:5] == ["service", "of", NAME, "│"] for line in _doctor().splitlines())


def _doctor() -> str:
    return CliRunner().invoke(command_line, ["doctor"]).stdout


def test_messages_are_answered_as_in_the_flower_process_itself(service: ServiceProcess) -> None:
    own = beside_file(service.node)
    assert own["memory.delta"] == 0.8  # what its service answers under holds without the service, too
    for message_type, request, kind in (
        ("query.describe", DescribeRequest(), DeviceCard),
        ("query.answer", ASKED, AnswerBatch),
    ):
        through = exchange(service, message_type, request, kind)
        node = Node(own, RUN_CONFIG)
        content = respond(node, node.device, message_type, wire.encode(request, run=RUN), RUN)
        assert _lasting(through) == _lasting(wire.decode(content, kind, run=RUN))


def _lasting(reply: object) -> object:
    """A reply without what differs from time to time."""
    if isinstance(reply, AnswerBatch):
        answers = tuple(replace(one, cost=replace(one.cost, seconds=0.0)) for one in reply.answers)
        return replace(reply, answers=answers, peak_rss_mb=0.0)
    return reply


def test_a_message_that_cannot_be_handled_comes_back_as_a_failure(service: ServiceProcess) -> None:
    spoilt = exchange(service, "query.answer", ShareRequest(0), wire.Failure)
    assert (spoilt.device, spoilt.error) == (NAME, "WireError")


def test_late_and_oversized_messages_are_refused_and_logged(service: ServiceProcess) -> None:
    def described(step: int) -> bytes:
        return to_bytes(wire.encode(DescribeRequest(), run="77", step=step))

    with service.client() as client:
        client.message("query.describe", "77", RUN_CONFIG, described(9))
        late = client.message("query.describe", "77", RUN_CONFIG, described(8))
        assert wire.decode(from_bytes(late, "late"), wire.Failure, run="77").error == "StaleMessageError"
        with pytest.raises(ServiceError, match="TooLarge"):
            client.message("query.describe", "77", RUN_CONFIG, bytes(2**20))
    lines = [json.loads(line) for line in service.log.read_text().splitlines() if line.startswith("{")]
    assert any(line["event"].startswith("query.describe of run 77: StaleMessageError") for line in lines)
    assert any(line.get("status") == 413 and line["by"] == "socket" for line in lines)


def test_the_device_s_own_settings_are_not_the_caller_s_to_choose(service: ServiceProcess, tmp_path: Path) -> None:
    grid = LocalGrid(
        client_app,
        [{**service.node, "export": "none", "share-documents": True, "service": str(service.socket)}],
        {**RUN_CONFIG, "privacy.export": "none", "privacy.share-documents": True, "home": str(tmp_path)},
    )
    request = grid.create_message(wire.encode(ShareRequest(0), run=RUN), "query.share", 100, RUN)
    grid.send_and_receive([request])
    assert b"metres" in grid.sent[-1]  # how long the bridge is
    assert CANARY.encode() not in grid.sent[-1]
    assert not list(tmp_path.iterdir())


def test_questions_are_answered_while_a_build_goes_on(service: ServiceProcess) -> None:
    for path in sorted((CORPUS / "launchers").glob("*.md"))[:3]:
        (service.documents / path.name).write_text(path.read_text())
    with ThreadPoolExecutor(1) as pool, service.client() as client:
        build = pool.submit(exchange, service, "train.build", BuildRequest(memories=True), BuildReport)
        answered = 0
        while not build.done():
            assert client.ask(QUESTION)["answer"] == ANSWER
            answered += not build.done()
            time.sleep(0.1)
        assert build.result().added == 3
        assert answered
        assert client.ask("Where was the Ariane 1 rocket launched from?")["evidence"]


def test_files_are_the_owner_s_alone(service: ServiceProcess) -> None:
    assert mode(service.root) == 0o700
    assert stat.S_ISSOCK(service.socket.stat().st_mode)
    files = {path.name: mode(path) for path in service.root.iterdir()}
    assert set(files.values()) == {0o600}
    assert {service.socket.name, LOCK, CONFIG, "service.token"} <= set(files)


def send(
    service: ServiceProcess, method: str, path: str, headers: dict[str, str], body: bytes | Iterator[bytes] = b""
) -> tuple[int, bytes]:
    """Send a request over loopback."""
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=30)
    try:
        connection.request(method, path, body or None, headers)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("headers", "status", "error"),
    [
        ({}, 401, "TokenError"),
        ({"Authorization": "Bearer guessed"}, 401, "TokenError"),
        ({"X-Forwarded-For": "unix"}, 401, "TokenError"),
        ({"X-Forwarded-For": "unix", "X-Forwarded-Proto": "unix", "Host": "evil.example"}, 421, "HostError"),
        ({"Authorization": "Basic TOKEN"}, 401, "TokenError"),
        ({"Authorization": "Bearer TOKEN"}, 200, ""),
        ({"Authorization": "Bearer TOKEN", "Host": "evil.example"}, 421, "HostError"),
        ({"Authorization": "Bearer TOKEN", "Host": "localhost"}, 200, ""),
    ],
)
def test_loopback_needs_a_token(service: ServiceProcess, headers: dict[str, str], status: int, error: str) -> None:
    sent = {name: told.replace("TOKEN", service.token) for name, told in headers.items()}
    asked = json.dumps({"question": QUESTION}).encode()
    for method, path, body in (
        ("GET", HEALTH, b""),
        ("GET", METRICS, b""),
        ("GET", "/v1/answers", b""),
        ("POST", ASK_ALOUD, asked),
    ):
        got, told = send(service, method, path, {**sent, "Content-Type": "application/json"}, body)
        assert got == status
        assert not error or json.loads(told)["error"] == error


def test_it_listens_on_loopback_alone(service: ServiceProcess) -> None:
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:] + Path("/proc/net/tcp6").read_text().splitlines()[1:]
    local = [line.split()[1] for line in lines if line.split()[3] == "0A"]
    assert [place for place in local if place.endswith(f":{service.port:04X}")] == [f"0100007F:{service.port:04X}"]


def big(count: int) -> bytes:
    return json.dumps({"question": "a" * count}).encode()


REFUSED = [
    ("POST", ASK, b"", 422, "RequestError"),
    ("POST", ASK, b"{", 422, "RequestError"),
    ("POST", ASK_ALOUD, json.dumps({"question": [CANARY]}).encode(), 422, "RequestError"),
    ("POST", ASK_ALOUD, big(MOST_JSON), 413, "TooLargeError"),
    ("POST", ASK, b"[" * 60_000, 400, "HTTPException"),
    ("POST", ASK, json.dumps({"question": CANARY, CANARY: CANARY}).encode(), 422, "RequestError"),
    ("POST", ASK, json.dumps({"question": [CANARY]}).encode(), 422, "RequestError"),
    ("POST", ASK, json.dumps({"question": "  "}).encode(), 422, "RequestError"),
    ("POST", ASK, big(3_000), 422, "RequestError"),
    ("POST", ASK, big(MOST_JSON), 413, "TooLargeError"),
    ("POST", "/v1/feedback", json.dumps({"answer": CANARY, "verdict": "good"}).encode(), 404, "NotFoundError"),
    ("POST", "/v1/feedback", json.dumps({"answer": CANARY, "verdict": CANARY}).encode(), 422, "RequestError"),
    ("GET", f"/v1/answers/{CANARY.split()[0]}", b"", 404, "NotFoundError"),
    ("GET", f"/{CANARY.split()[0]}", b"", 404, "HTTPException"),
    ("DELETE", ASK, b"", 405, "HTTPException"),
    ("POST", f"{MESSAGES}/query.{CANARY.split()[0]}", b"x", 404, "NotFoundError"),
    ("POST", f"{MESSAGES}/query.describe", CANARY.encode(), 400, "WireError"),
    ("POST", f"{MESSAGES}/query.describe", frame(RUN, {}, CANARY.encode()), 400, "WireError"),
    ("POST", f"{MESSAGES}/query.describe", bytes(2**20), 413, "TooLargeError"),
]


@pytest.mark.parametrize(("method", "path", "body", "status", "error"), REFUSED)
def test_what_is_wrong_is_refused_in_words_that_quote_nothing(
    service: ServiceProcess, method: str, path: str, body: bytes, status: int, error: str
) -> None:
    headers = {"Authorization": f"Bearer {service.token}", "Content-Type": "application/json"}
    got, told = send(service, method, path, headers, body)
    assert (got, json.loads(told)["error"]) == (status, error)
    assert CANARY.split()[0].encode() not in told
    assert set(json.loads(told)) == {"error", "what"}


def test_a_question_that_is_not_sent_as_json_is_told_how(service: ServiceProcess) -> None:
    body = json.dumps({"question": CANARY}).encode()
    got, told = send(service, "POST", ASK, {"Authorization": f"Bearer {service.token}"}, body)
    assert got == 422
    assert "Content-Type: application/json" in json.loads(told)["what"]
    assert CANARY.split()[0].encode() not in told


@pytest.mark.parametrize("path", [ASK, f"{MESSAGES}/query.describe"])
def test_a_body_that_does_not_tell_its_length_may_be_no_larger(service: ServiceProcess, path: str) -> None:
    headers = {"Authorization": f"Bearer {service.token}", "Content-Type": "application/json"}
    got, told = send(service, "POST", path, headers, iter([bytes(2**20)]))
    assert (got, json.loads(told)["error"]) == (413, "TooLargeError")


def test_idle_connections_shut_nobody_out(service: ServiceProcess) -> None:
    idle = [socket.create_connection(("127.0.0.1", service.port)) for _ in range(2 * MOST_CONNECTIONS)]
    try:
        headers = {"Authorization": f"Bearer {service.token}"}
        got, _ = send(service, "GET", HEALTH, headers, b"")
        assert got == 200
        with service.client() as client:
            assert client.health()["device"] == NAME
        ready, _, _ = select.select(idle, [], [], 0)
        assert len(ready) >= MOST_CONNECTIONS  # those that waited longest were closed
    finally:
        for one in idle:
            one.close()


@pytest.mark.parametrize("sent", [b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + bytes([65]) * 300_000, b"GET / HT"])
def test_a_head_that_is_too_large_or_late_closes_its_connection(service: ServiceProcess, sent: bytes) -> None:
    with socket.create_connection(("127.0.0.1", service.port), timeout=2 * HEAD_SECONDS) as slow:
        with suppress(ConnectionError, BrokenPipeError):
            slow.sendall(sent)
        with suppress(ConnectionResetError):
            assert slow.recv(1) == b""
    with service.client() as client:
        assert client.health()["device"] == NAME


def test_a_second_service_of_the_device_is_refused(service: ServiceProcess) -> None:
    second = subprocess.run(serve_command(service.root / CONFIG), capture_output=True, timeout=120, check=False)
    assert second.returncode == 1
    assert b"another service has this device" in second.stderr
    service.wait(5)


def test_metrics_count_requests_answers_and_the_memory(service: ServiceProcess) -> None:
    with service.client() as client:
        client.ask(QUESTION)
        found = {family.name: family for family in families(client.metrics())}
    routes = {sample.labels["route"] for sample in found["fedrag_requests"].samples}
    assert ASK in routes
    assert all(route.startswith("/") or route == "none" for route in routes)
    counts = {s.labels["path"]: s.value for s in found["fedrag_answer_seconds"].samples if s.name.endswith("_count")}
    assert counts["memorizer"] >= 1
    held = {sample.labels["what"]: sample.value for sample in found["fedrag_store_held"].samples}
    assert held["documents"] >= 2
    assert held["items"] > 0
    queues = {sample.labels["queue"] for sample in found["fedrag_queue_length"].samples}
    assert queues == {"asks", "messages", "writes"}
    for name in ("process_resident_memory_bytes", "fedrag_store_version", "fedrag_generator_busy_seconds"):
        assert found[name].samples
    assert "fedrag_outbox_length" in found


def test_neither_log_nor_metrics_hold_a_word_of_documents_or_questions(service: ServiceProcess) -> None:
    with service.client() as client:
        assert client.ask(PLANTED)["answer"] == CANARY
        client.ask(f"What did {CANARY} eat?")
        heard: list[str] = []
        client.ask(f"Why did {CANARY} build the viaduct?", heard=heard.append)
        assert heard
        with pytest.raises(ServiceError):
            client.ask("")
        metrics = client.metrics()
    said = service.log.read_text() + metrics
    lines = [json.loads(line) for line in service.log.read_text().splitlines() if line.startswith("{")]
    assert {"serving", "request"} <= {line["event"] for line in lines}
    assert any(line.get("path") == "memorizer" for line in lines)
    for word in (*CANARY.split(), "Viaduct", "Varro", "Tarn", service.token):
        assert word not in said
    assert {line["by"] for line in lines if line["event"] == "request"} <= {"socket", "tcp"}
