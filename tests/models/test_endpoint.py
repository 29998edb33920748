"""A generator behind an address, with llama.cpp's server there: what comes back, what is refused, where texts go."""

import json
import math
import socket
import traceback
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from fedrag_flwr.errors import ModelError, PromptError
from fedrag_flwr.loaded_models import load_models
from fedrag_flwr.models.base import Generator, Grammar, Prompt
from fedrag_flwr.models.endpoint import EndpointGenerator
from fedrag_flwr.models.load import load_endpoint
from fedrag_flwr.settings import Settings
from tests.models.llama_server import KEY, Front, llama_server, serve

ASKED = Prompt("Answer in a word.", "What is the capital of France?", (("What is the capital of Peru?", "Lima"),))
TALE = Prompt("", "Tell a short story about a ship.")
SECRET = "Odile Varro has the measles"
LLAMA_CPP: dict[str, object] = {"default_generation_settings": {"n_ctx": 512}}


@pytest.fixture(scope="module")
def address(smollm2: Path) -> Iterator[str]:
    with llama_server(smollm2) as url:
        yield url


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FEDRAG_GENERATOR_KEY", KEY)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def test_it_completes_and_counts(address: str) -> None:
    generator: Generator = EndpointGenerator(address, "smollm2")
    [said] = generator.complete(ASKED, max_tokens=12)
    assert "Paris" in said.text
    assert (said.tokens_in > 20, 0 < said.tokens_out <= 12, said.seconds > 0, said.cached) == (True, True, True, False)
    assert generator.complete(ASKED, max_tokens=12)[0].text == said.text
    assert generator.id == f"smollm2@{address.removeprefix('http://').removesuffix('/v1')}"
    assert 0 < generator.count_tokens(ASKED.user) < len(ASKED.user)


@pytest.mark.parametrize("props", [None, LLAMA_CPP], ids=["another server", "llama.cpp"])
def test_what_is_heard_is_the_text_piece_by_piece(address: str, props: dict[str, object] | None) -> None:
    pieces: list[str] = []
    with serve(Front(address, props)) as front:
        generator = EndpointGenerator(front.url, "smollm2")
        [silent] = generator.complete(TALE, max_tokens=12)
        [heard] = generator.complete(TALE, max_tokens=12, heard=pieces.append)
    assert len(pieces) > 1
    assert "".join(pieces) == heard.text == silent.text
    assert heard.tokens_in > 5
    assert heard.tokens_out > 0
    assert np.isclose(heard.logprob, silent.logprob, atol=1e-3) if props else math.isnan(heard.logprob)
    assert front.asked[1]["stream"] is True
    assert ("stream_options" in front.asked[1]) == bool(props)


BROKEN = [
    ("", "chat protocol"),
    (json.dumps({"choices": []}), "chat protocol"),
    ("data: not JSON\n\n", "chat protocol"),
    ('data: {"error": {"message": "MESSAGE", "type": "exceed_context_size_error"}}\n\n', "not fit"),
    ('data: {"error": {"message": "MESSAGE"}}\n\n', "failed while it replied"),
]


@pytest.mark.parametrize(("body", "said"), BROKEN)
def test_a_fault_in_a_reply_that_comes_in_pieces_is_told_without_a_text(body: str, said: str) -> None:
    front = Front(body=body.replace("MESSAGE", SECRET), content_type="text/event-stream")
    with serve(front), pytest.raises(ModelError, match=said) as refused:
        EndpointGenerator(front.url, "m").complete(Prompt("", SECRET), heard=lambda _: None)
    assert SECRET not in "".join(traceback.format_exception(refused.value))


def test_several_completions_are_drawn(address: str) -> None:
    said = EndpointGenerator(address, "smollm2").complete(TALE, max_tokens=12, n=3)
    assert len({one.text for one in said}) > 1


def test_a_grammar_holds_where_the_server_is_llama_cpps(address: str) -> None:
    grammar = Grammar('root ::= "seven" | "eight"')
    with serve(Front(address, LLAMA_CPP)) as front:
        [said] = EndpointGenerator(front.url, "smollm2").complete(ASKED, grammar=grammar, max_tokens=8)
    assert said.text in ("seven", "eight")
    assert said.logprob < 0
    assert front.asked[0]["grammar"] == grammar
    with serve(Front(address)) as front:
        [said] = EndpointGenerator(front.url, "smollm2").complete(ASKED, grammar=grammar, max_tokens=8)
    assert "Paris" in said.text
    assert front.asked[0].keys() == {"model", "messages", "max_tokens", "temperature", "seed"}
    assert math.isnan(said.logprob)


@pytest.mark.parametrize("props", [None, LLAMA_CPP], ids=["without a grammar", "with one"])
def test_a_score_is_what_the_model_chooses(address: str, props: dict[str, object] | None) -> None:
    noted = Prompt("", "The lamp was made by Ada Morrow. Who made the lamp?")
    with serve(Front(address, props)) as front:
        scores = EndpointGenerator(front.url, "smollm2").score(noted, ["Tomas Hale", "Ada Morrow"])
    assert np.sort(scores.logprobs).tolist() == [-20.0, 0.0]
    assert props or scores.logprobs[1] == 0  # made to choose, so small a model takes the first
    assert scores.tokens_in > 20


CHOSEN = [
    ("Paris.", ["Lyon", "Paris"], 1),
    ("it is PARIS, not Lyon", ["Lyon", "Paris"], 1),
    ("the Tarn Bridge", ["Tarn", "Tarn Bridge"], 1),
    ("2", ["1", "2"], 1),
    ("Rome", ["Lyon", "Paris"], None),
    ("", ["Lyon", "Paris"], None),
]


@pytest.mark.parametrize(("reply", "options", "chosen"), CHOSEN)
def test_the_reply_names_the_choice(reply: str, options: list[str], chosen: int | None) -> None:
    with serve(Front(body=completion(reply))) as front:
        logprobs = EndpointGenerator(front.url, "m").score(ASKED, options).logprobs
    if chosen is None:
        assert np.exp(logprobs).tolist() == pytest.approx([0.5, 0.5])
    else:
        assert int(np.argmax(logprobs)) == chosen
        assert logprobs[chosen] == 0


def test_counts_that_a_server_does_not_tell_are_estimated() -> None:
    with serve(Front(body=completion("Paris"))) as front:
        [said] = EndpointGenerator(front.url, "m").complete(ASKED)
    assert (said.text, said.tokens_out) == ("Paris", 2)
    assert 15 < said.tokens_in < 40


def test_turns_are_sent_as_turns() -> None:
    with serve(Front(body=completion("Paris"))) as front:
        EndpointGenerator(front.url, "m").complete(ASKED, max_tokens=7, n=2, seed=5)
    assert [asked["seed"] for asked in front.asked] == [5, 6]
    assert (front.asked[0]["model"], front.asked[0]["max_tokens"]) == ("m", 7)
    assert front.asked[0]["messages"] == [
        {"role": "system", "content": "Answer in a word."},
        {"role": "user", "content": "What is the capital of Peru?"},
        {"role": "assistant", "content": "Lima"},
        {"role": "user", "content": "What is the capital of France?"},
    ]


def test_a_prompt_that_is_too_long_is_told_as_such(address: str) -> None:
    with pytest.raises(PromptError, match="does not fit"):
        EndpointGenerator(address, "smollm2").complete(Prompt("", f"{SECRET} " * 400))


@pytest.mark.parametrize("variable", ["FEDRAG_GENERATOR_KEY", "OPENAI_API_KEY"])
def test_the_key_comes_from_the_environment(address: str, variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FEDRAG_GENERATOR_KEY")
    with pytest.raises(ModelError, match=r"status 401 \(put the server's key into FEDRAG_GENERATOR_KEY\)"):
        EndpointGenerator(address, "smollm2").complete(ASKED)
    monkeypatch.setenv(variable, KEY)
    assert EndpointGenerator(address, "smollm2").complete(ASKED, max_tokens=1)


def test_a_dead_server_is_named() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        host = f"127.0.0.1:{probe.getsockname()[1]}"
    with pytest.raises(ModelError, match="cannot be reached") as refused:
        EndpointGenerator(f"http://{host}/v1", "m").complete(Prompt("", SECRET))
    assert (refused.value.where, SECRET in str(refused.value)) == (host, False)
    assert host not in refused.value.abroad


FAULTS = [
    (Front(status=400, body=json.dumps({"error": {"message": SECRET}})), "status 400", 1),
    (Front(status=400, body=json.dumps({"error": {"message": "the maximum context length is 9"}})), "not fit", 1),
    (Front(status=404, body=json.dumps({"error": {"message": SECRET}})), "status 404 .*model's name", 1),
    (Front(status=503, body=SECRET), "status 503", 3),
    (Front(body=f"<html>{SECRET}</html>", content_type="text/html"), "chat protocol .*/v1", 1),
    (Front(body=f"not JSON: {SECRET}"), "chat protocol", 1),
    (Front(body="{}"), "chat protocol", 1),
    (Front(body='{"choices": []}'), "chat protocol", 1),
    (Front(body='{"choices": [{}]}'), "chat protocol", 1),
    (Front(body='{"choices": [{"message": 7}]}'), "chat protocol", 1),
]


@pytest.mark.parametrize(("front", "said", "tries"), FAULTS, ids=[row[1] for row in FAULTS])
def test_a_fault_is_told_without_a_text(front: Front, said: str, tries: int) -> None:
    with serve(front), pytest.raises(ModelError, match=said) as refused:
        EndpointGenerator(front.url, "m").complete(Prompt("", SECRET))
    assert SECRET not in "".join(traceback.format_exception(refused.value))
    assert len(front.asked) == tries


def test_a_server_that_hangs_is_given_up() -> None:
    with serve(Front(body=completion("late"), delay=1.0)) as front, pytest.raises(ModelError, match=r"within 0.2 s"):
        EndpointGenerator(front.url, "m", seconds=0.2).complete(ASKED)


def test_a_redirection_is_not_followed() -> None:
    with serve(Front(body=completion("taken"))) as other:
        here = Front(status=307, location=f"{other.url}/chat/completions")
        with serve(here), pytest.raises(ModelError, match="status 307"):
            EndpointGenerator(here.url, "m").complete(ASKED)
        assert other.asked == []


def test_no_proxy_sees_what_is_asked_in_the_clear(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "")
    with serve(Front(body=completion("taken"))) as proxy, serve(Front(body=completion("Paris"))) as front:
        monkeypatch.setenv("HTTP_PROXY", proxy.url.removesuffix("/v1"))
        assert EndpointGenerator(front.url, "m").complete(ASKED)[0].text == "Paris"
        assert proxy.asked == []


@pytest.mark.parametrize(
    "address",
    [
        *("http://127.0.0.1:8080/v1", "http://localhost:11434/v1", "http://[::1]:8080/v1", "http://10.1.2.3/v1"),
        *("http://172.31.0.1:8000/v1", "http://192.168.1.20:8080/v1", "http://169.254.3.4/v1", "http://[fe80::1]/v1"),
        *("http://[fd12::7]:8080/v1", "http://box.local:8080/v1", "https://api.example.org/v1", "https://8.8.8.8/v1"),
    ],
)
def test_ones_own_network_and_what_is_encrypted_are_asked(address: str) -> None:
    assert load_endpoint(address, "m") is load_endpoint(address, "m")


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("http://api.example.org/v1", "in the clear"),
        ("http://8.8.8.8/v1", "in the clear"),
        ("http://172.32.0.1/v1", "in the clear"),
        ("http://100.64.0.1/v1", "in the clear"),
        ("http://0.0.0.0/v1", "in the clear"),
        ("http://[2001:db8::1]/v1", "in the clear"),
        ("http://[::ffff:8.8.8.8]/v1", "in the clear"),
        ("http://local/v1", "in the clear"),
        ("http://127.0.0.1.example.org/v1", "in the clear"),
        ("http://2130706433/v1", "in the clear"),
        ("http://127.0.0.1@example.org/v1", "not one"),
        ("http://me:secret@127.0.0.1/v1", "not one"),
        ("http:///v1", "not one"),
        ("http://example.org\\@127.0.0.1/v1", "not one"),
        ("http://127.0.0.1/v1?x=1", "not one"),
        ("http://127.0.0.1/v1\n", "not one"),
        ("http://127.0.0.1:port/v1", "not one"),
        ("http://[::1/v1", "not one"),
    ],
)
def test_other_addresses_are_refused(address: str, said: str) -> None:
    with pytest.raises(ModelError, match=said) as refused:
        load_endpoint(address, "m")
    assert "secret" not in str(refused.value)


def test_a_models_asks_the_server_and_its_id_names_no_host(address: str, tmp_path: Path) -> None:
    asked: dict[str, str] = {"models.generator": address, "models.generator-name": "smollm2"}
    tools = load_models(Settings.from_config(asked).models, tmp_path)
    assert "Paris" in tools.generator().complete(ASKED, max_tokens=12)[0].text
    assert tools.generator_id.startswith("smollm2-")
    assert "127.0.0.1" not in tools.generator_id
    assert list(tmp_path.iterdir()) == []  # no completion is kept
    with pytest.raises(ModelError, match="in the clear"):
        load_models(Settings.from_config(asked | {"models.generator": "http://8.8.8.8/v1"}).models, tmp_path)


def completion(text: str) -> str:
    """A reply of the protocol with nothing that may be left out."""
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    return json.dumps({"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]})
