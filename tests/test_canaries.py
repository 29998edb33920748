"""What is private in a device's documents appears in nothing that leaves it: messages, logs, errors, results."""

import base64
import gzip
import os
import re
import sqlite3
import zlib
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from flwr.app import Message, RecordDict
from flwr.common.serde import message_to_proto
from hypothesis import given
from hypothesis import strategies as st

from fedrag_flwr import wire
from fedrag_flwr.caching import find_tiers
from fedrag_flwr.demo import PUBLIC_NAMES
from fedrag_flwr.device import EdgeDevice
from fedrag_flwr.loaded_models import Models, load_models
from fedrag_flwr.records import (
    Answer,
    AnswerMode,
    AnswerRequest,
    AskedQuestion,
    EvidenceRequest,
    HitsRequest,
    Question,
    ShareRequest,
)
from fedrag_flwr.sources.mapping import mapping_toml
from fedrag_flwr.sources.sql.proposal import propose_mapping
from tests.canary_federation import SILOS, STRATEGIES, Federation, Run, changes_of
from tests.canary_search import found_in, found_under
from tests.scripted import Scripted

pytestmark = pytest.mark.timeout(900)  # the first test waits for a run of every strategy

MASKED = [canary for silo in SILOS.values() for canary in silo.canaries.masked]
SENTENCES = [silo.canaries.sentence for silo in SILOS.values()]
EVIDENCE = {"query.retrieve", "query.finish"}  # by which sentences may leave, on request and masked
WALKED = {"query.walk", "query.finish"}
TELLING = {  # messages that may hold whole sentences, by strategy
    "memory-fusion": EVIDENCE,
    "summary-routing": EVIDENCE,
    "fedrag": EVIDENCE,
    "rag-route": EVIDENCE,
    "hybrid-fusion": {"query.hits", "query.deliver"},
    "topic-walk": WALKED,
    "topic-walk learnt": WALKED,
    "flooding": WALKED,
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """The federation after one run of each strategy."""

    federation: Federation
    runs: dict[str, Run]


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    federation = Federation(tmp_path_factory.mktemp("canaries"))
    federation.write()
    return Outcome(federation, {name: federation.run(n + 1, **changes_of(name)) for n, name in enumerate(STRATEGIES)})


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Models:
    federation = Federation(tmp_path_factory.mktemp("models"))
    return load_models(federation.settings().models, federation.home)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_nothing_that_is_to_be_masked_is_in_any_message(outcome: Outcome, strategy: str) -> None:
    messages = outcome.runs[strategy].messages
    assert len(messages) >= 20
    assert {kind: found for kind, data in messages if (found := found_in(data, MASKED))} == {}


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_whole_sentences_leave_only_as_evidence(outcome: Outcome, strategy: str) -> None:
    leaving = {kind for kind, data in outcome.runs[strategy].messages if found_in(data, SENTENCES)}
    assert leaving <= TELLING.get(strategy, set())


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_logs_and_results_hold_no_canary(outcome: Outcome, strategy: str) -> None:
    run = outcome.runs[strategy]
    assert any("results:" in line for line in run.logs)
    assert found_in("\n".join(run.logs).encode(), MASKED + SENTENCES) == set()
    assert {file.name for file in run.results.iterdir()} >= {"answers.jsonl", "summary.json", "report.html"}
    assert found_under(run.results, MASKED + SENTENCES) == set()


@pytest.mark.parametrize("device", SILOS)
def test_a_device_s_canaries_are_in_its_own_directory_alone(outcome: Outcome, device: str) -> None:
    home, canaries = outcome.federation.home, SILOS[device].canaries
    own = outcome.federation.store(device)
    cache = home.glob("generations")  # of all devices here; on a device it is its own
    assert found_under(own, canaries.masked) == set(canaries.masked)
    told = home / "fusion"  # what devices said to questions, masked, on the server
    last = home / "privacy" / device  # the device's own, too: its last reply, masked
    assert found_under(home, (*canaries.masked, canaries.sentence), without=[own, told, last, *cache]) == set()
    assert found_under(last, canaries.masked) == set()
    assert found_under(told, canaries.masked) == set()
    assert found_under(own / "caches", canaries.masked) == set()
    assert (home / "shared-memory").is_dir()


def test_the_caches_hold_what_was_said(outcome: Outcome) -> None:
    home = outcome.federation.home
    assert {path.name for path, stats in find_tiers(home) if stats.entries} >= {"summaries", "inputs", "answers"}
    assert b"[PERSON]" in b"".join(path.read_bytes() for path in (home / "fusion").rglob("cache.db*"))


def test_the_questions_touched_what_is_private(outcome: Outcome) -> None:
    fused = outcome.runs["memory-fusion"]
    answers = (fused.results / "answers.jsonl").read_text()
    assert answers.count("[PERSON]") >= 3  # names were answers, and were masked
    assert {kind for kind, _ in fused.messages} >= {"query.share", "query.import", "query.retrieve", "query.finish"}
    evidence = b"".join(data for kind, data in fused.messages if kind == "query.retrieve")
    assert b"[PERSON]" in evidence


def test_summaries_and_the_server_s_answers_touched_what_is_private(outcome: Outcome) -> None:
    messages = outcome.runs["summary-routing"].messages
    told = b"".join(data for kind, data in messages if kind == "query.summaries")
    assert b"Main entities: " in told
    assert b"[PERSON]" in told
    assert {"query.retrieve", "query.deliver"} <= {kind for kind, _ in messages}


@pytest.mark.parametrize("strategy", ["summary-routing encrypted", "summary-routing sealed", "confidential-broadcast"])
def test_sealed_evidence_was_asked_for_and_is_not_in_clear(outcome: Outcome, strategy: str) -> None:
    messages = outcome.runs[strategy].messages
    sealed_messages = [data for kind, data in messages if kind == "query.retrieve_sealed"]
    assert max(map(len, sealed_messages)) > 500
    assert not any(b"Greyholm" in data or b"lamp" in data or b"[PERSON]" in data for data in sealed_messages)


def test_walks_touched_what_is_private(outcome: Outcome) -> None:
    walked = outcome.runs["topic-walk"].messages
    assert {kind for kind, _ in walked} >= {"query.gossip", "query.walk", "query.finish"}
    assert b"[PERSON]" in b"".join(data for kind, data in walked if kind == "query.walk")


def test_topics_were_learnt_of_what_is_private_and_nothing_but_sums_was_told(outcome: Outcome) -> None:
    told = [data for kind, data in outcome.runs["topic-walk learnt"].messages if kind == "train.topics"]
    assert max(map(len, told)) > 40_000  # ciphertexts
    assert found_in(b"".join(told), MASKED + SENTENCES) == set()


def test_failed_documents_travel_under_opaque_names(outcome: Outcome) -> None:
    reports = b"".join(data for kind, data in outcome.runs["local-rag"].messages if kind == "train.build")
    assert b"not UTF-8 at byte" in reports
    assert not found_in(reports, ["complaint", ".jsonl", *MASKED])


def _written(device: str, canary: str) -> set[str]:
    """The forms in which a canary stands in its device's documents, with the word before it."""
    text = " ".join(SILOS[device].documents.values())
    found = re.finditer(rf"(?:[\w.]+ )?({re.escape(canary)})", text, re.IGNORECASE)
    return {form for match in found for form in (match[0], match[1])} | {canary, canary.upper(), canary.lower()}


def _open(outcome: Outcome, device: str, models: Models) -> EdgeDevice:
    federation = outcome.federation
    documents = federation.root / "data" / device
    return EdgeDevice(device, documents, federation.store(device), federation.settings(), models)


def _sent(record: object) -> bytes:
    content = wire.encode(record, run="1")
    return b"".join(repr(dict(part)).encode() for part in content.values())


@pytest.mark.parametrize("mode", ["passages", "closed-book"])
@pytest.mark.parametrize("device", SILOS)
def test_an_answer_that_is_a_canary_does_not_leave(
    outcome: Outcome, models: Models, device: str, mode: AnswerMode
) -> None:
    silo = SILOS[device]
    questions = [Question(f"q{n}", text, device) for n, text in enumerate(silo.questions)]
    model, told = Scripted(""), set[str]()  # the worst there can be: it answers every question with a private text
    with _open(outcome, device, replace(models, generator=model)) as opened:
        for secret in sorted(form for canary in silo.canaries.masked for form in _written(device, canary)):
            model.script = secret
            said = opened.ask(questions[0], mode)
            assert isinstance(said, Answer)
            shown = found_in(said.text.encode(), silo.canaries.masked)
            assert mode == "passages" or shown
            told |= shown
            assert found_in(_sent(opened.answer(questions, mode)), silo.canaries.masked) == set(), secret
    assert told  # over passages only what stands there is said


@pytest.mark.parametrize("device", SILOS)
def test_all_memories_and_all_evidence_leave_without_canaries(outcome: Outcome, models: Models, device: str) -> None:
    silo = SILOS[device]
    with _open(outcome, device, models) as opened:
        delta = opened.giving.memories(ShareRequest(0))
        units = opened.store.units("sentence")
        asked: list[EvidenceRequest] = []
        for unit, vector in zip(units.ids, units.vectors, strict=True):
            edges = opened.store.opaque("own", opened.store.hyperedges_of([unit])[unit])
            asked.append(EvidenceRequest(f"q{len(asked)}", vector, tuple(edges.values()), 4))
        batch = opened.giving.evidence(asked)
        held = _sent(replace(delta, items=tuple(replace(i, hyperedges=()) for i in opened.store.items(device))))
    texts = " ".join(unit.text for evidence in batch.evidence for unit in evidence.units)
    assert silo.canaries.sentence in texts  # every sentence was asked for
    assert found_in(_sent(batch), silo.canaries.masked) == set()
    assert found_in(held, silo.canaries.masked)  # as memories they were there
    assert found_in(_sent(delta), (*silo.canaries.masked, silo.canaries.sentence)) == set()


PATIENTS = (  # as a database that is read by the mapping that is proposed for it
    (1, "Lena Marchbanksy", 483217, "555-0143", "ZX 449201", "asthma"),
    (2, "Oswin Tarrowby", 602194, "030 / 901820", "QX-5521907", "gout"),
)


def test_the_records_of_a_database_leave_without_canaries(tmp_path: Path, models: Models) -> None:
    path, file = tmp_path / "ward.db", tmp_path / "ward.source.toml"
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(
            "CREATE TABLE patients (id INTEGER PRIMARY KEY, name VARCHAR(40), mrn INTEGER, phone VARCHAR(20),"
            " policy_number VARCHAR(20), condition VARCHAR(20))"
        )
        database.executemany("INSERT INTO patients VALUES (?, ?, ?, ?, ?, ?)", PATIENTS)
    file.write_text(mapping_toml(propose_mapping(f"sqlite:///{path}")), encoding="utf-8")
    settings = Federation(tmp_path, {"privacy.lookup": True}).settings()
    canaries = [str(cell) for row in PATIENTS for cell in (*row[1].split(), *row[2:5])]
    asked = tuple(AskedQuestion(f"q{row[0]}", f"What is the mrn of {row[1]}?") for row in PATIENTS)
    with EdgeDevice("birch", None, tmp_path / "store", settings, models, [str(file)]) as opened:
        opened.build()
        delta = opened.giving.memories(ShareRequest(0))
        units = opened.store.units("sentence")
        held = " ".join(one.text for one in opened.store.sentences(units.ids))
        batch = opened.giving.evidence(
            [EvidenceRequest(f"q{n}", vector, (), 4) for n, vector in enumerate(units.vectors)], by="nearest"
        )
        hits = opened.summaries.answer(HitsRequest(asked, records=2, related=2))
    assert found_in(held.encode(), canaries) == set(canaries)
    assert b"[ID]" in _sent(batch)
    for record in (delta, batch, hits):
        assert found_in(_sent(record), canaries) == set()


def _unreadable(federation: Federation) -> None:
    folder = federation.root / "data" / "alder"
    for file in folder.iterdir():
        file.unlink()
    (folder / "Marta Quillfeather.txt").write_bytes(b"Quillfeather \x81\xff")


def _torn(federation: Federation) -> None:
    file = federation.store("alder") / "store.sqlite"
    os.truncate(file, file.stat().st_size // 2)


def _lost_secret(federation: Federation) -> None:
    folder = federation.root / "data" / "alder"
    for file in folder.iterdir():
        file.rename(file.with_name(f"Quillfeather {file.name}"))
    (federation.store("alder") / "secret.key").unlink()


def _no_generator(federation: Federation) -> None:
    (federation.root / "broken.gguf").write_bytes(b"Quillfeather")
    federation.changes["models.generator"] = str(federation.root / "broken.gguf")


FAULTS: list[tuple[Callable[[Federation], None], str, str]] = [
    (_unreadable, "train.build", "EmptySourceError"),
    (_torn, "query.describe", "StoreCorruptError"),
    (_lost_secret, "query.describe", "StoreCorruptError"),
    (_no_generator, "query.answer", "ModelError"),
]


@pytest.mark.parametrize(("fault", "phase", "error"), FAULTS)
def test_errors_that_leave_a_device_hold_no_canary(
    outcome: Outcome, tmp_path: Path, fault: Callable[[Federation], None], phase: str, error: str
) -> None:
    federation = outcome.federation.copy_to(tmp_path)
    federation.changes |= {"strategy": "no-rag", "data.limit": 1}  # it is asked at the faulty device
    fault(federation)
    run = federation.run(2)
    told = [data for kind, data in run.messages if kind == phase and error.encode() in data]
    assert len(told) == 1
    assert found_in(b"\n".join(told), [*MASKED, *SENTENCES, "Marta", str(tmp_path)]) == set()
    assert found_in("\n".join(run.logs).encode(), MASKED + SENTENCES) == set()
    assert found_under(run.results, MASKED + SENTENCES) == set()


HIDING: list[Callable[[bytes], bytes]] = [
    lambda text: text,
    bytes.upper,
    bytes.lower,
    zlib.compress,
    gzip.compress,
    base64.b64encode,
    base64.urlsafe_b64encode,
    lambda text: base64.b64encode(gzip.compress(text)),
    lambda text: gzip.compress(base64.b64encode(zlib.compress(text))),
    lambda text: text.replace(b" ", b"-"),
]


@pytest.mark.parametrize("hide", HIDING)
@pytest.mark.parametrize("canary", [MASKED[0], MASKED[1], SENTENCES[0]])
@given(before=st.binary(max_size=40), after=st.binary(max_size=40))
def test_the_search_finds_what_is_planted(
    hide: Callable[[bytes], bytes], canary: str, before: bytes, after: bytes
) -> None:
    packed = hide(f"The long text in which {canary} stands, and some more of it.".encode())
    blob = before + b"\n" + packed + b"\n" + after
    assert found_in(blob, MASKED + SENTENCES) == {canary}


def test_the_search_finds_a_canary_in_a_real_message_and_in_a_report(outcome: Outcome, tmp_path: Path) -> None:
    question = Question("q", f"Is {MASKED[0].upper()} there?", "alder")
    content = wire.encode(AnswerRequest("memory", (question,)), run="1")
    assert found_in(_bytes_of(content), MASKED) == {MASKED[0]}
    report = (outcome.runs["no-rag"].results / "report.html").read_bytes()
    (tmp_path / "report.html").write_bytes(report.replace(b"</body>", MASKED[0].encode() + b"</body>"))
    assert found_under(tmp_path, MASKED) == {MASKED[0]}


def test_no_canary_is_a_public_name() -> None:
    assert found_in(PUBLIC_NAMES.read_bytes(), MASKED) == set()


def _bytes_of(content: RecordDict) -> bytes:
    return bytes(message_to_proto(Message(content, 100, "query.answer", group_id="1")).SerializeToString())
