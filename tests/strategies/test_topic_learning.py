"""Topics learnt over encrypted sums: the same as over all documents, while nobody sees one device's part."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from fedrag_flwr.errors import FederationError, SettingError
from fedrag_flwr.exchange.sums import tagged_term
from fedrag_flwr.overlay.device_sketches import document_vectors
from fedrag_flwr.overlay.sketches import counts_of
from fedrag_flwr.overlay.topic_sums import Floats, moved, topic_sums
from fedrag_flwr.privacy.ckks.sandbox import shared_sandbox
from fedrag_flwr.privacy.ckks.sums import COLLUSION, GroupCipher
from fedrag_flwr.privacy.seals import SealingKey, tag
from fedrag_flwr.records import DeviceCard, Question, SealedMessages, SumTerm, TopicRequest, TopicUpdate, TopicWeight
from strategies import ServerTools, make_strategy, private_sums, topic_learning
from strategies.overlay_walk import OverlayWalk
from tests.overlay.test_learning import topic_counts
from tests.strategies.federation import Federation, Tamper, server_tools, small_models, tampering

# Nothing here exists; all names are this project's own.
DEVICES = ("east", "north", "south")
PLACES = ("Arvel", "Bromme", "Cassel", "Dunwick", "Eskerby", "Fennrow", "Gallant", "Hollin", "Istrey", "Jorrow")
SUBJECTS = {
    "bridge": "The {} bridge is a stone bridge over a river. Its arches carry a road, and boats pass below.",
    "choir": "The {} choir sings old songs in the church. Its singers and the organ are heard at festivals.",
    "fever": "The {} fever is an infection of the lungs. Doctors treat its patients with rest and medicine.",
}
TOPICS, ROUNDS = 4, 2
QUESTION = Question("q1", "Who hears the Dunwick choir at festivals?", "east")
ENCRYPTED = {"train.group", "train.topics"}


def write(root: Path) -> Federation:
    """Three devices; each has most documents on one subject, and two on each of the others."""
    for place, device in enumerate(DEVICES):
        folder = root / "data" / device
        folder.mkdir(parents=True)
        for other, (subject, text) in enumerate(SUBJECTS.items()):
            names = PLACES[2:] if other == place else [PLACES[(place + other) % 2]]
            for name in names:
                (folder / f"{name}-{subject}.md").write_text(f"# {name} {subject}\n\n{text.format(name)}\n")
    (root / "questions.jsonl").write_text("")
    (root / "names.txt").write_text("")
    return Federation(root).with_changes(
        strategy="topic-walk",
        federation__devices=len(DEVICES),
        overlay__walk="sketch",
        overlay__topics="learnt",
        overlay__learnt_topics=TOPICS,
        overlay__epsilon=50.0,  # so few documents are not seen at less
        overlay__cache_similarity=1.1,
        privacy__budget=1_000.0,
    )


@dataclass(frozen=True)
class Learnt:
    """A federation that has learnt its topics, what travelled, and what was said of it."""

    files: Federation
    strategy: OverlayWalk
    sent: list[bytes]
    said: list[str]


@pytest.fixture(scope="module")
def learnt(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Learnt]:
    files, said = write(tmp_path_factory.mktemp("topics")), list[str]()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(topic_learning, "ROUNDS", ROUNDS)
        patch.setattr(private_sums, "log", lambda level, text, *rest: said.append(text))
        yield Learnt(files, *learn(files), said)


@pytest.fixture
def fresh(learnt: Learnt, tmp_path: Path) -> Federation:
    """The federation with stores of its own, of which none holds topics."""
    files = learnt.files.copy_to(tmp_path)
    for notes in (tmp_path / "home" / "devices").rglob("walks.sqlite*"):
        notes.unlink()
    return files


def learn(files: Federation, tamper: Tamper | None = None, *questions: Question) -> tuple[OverlayWalk, list[bytes]]:
    tools = server_tools(files)
    strategy = make_strategy(files.settings.strategy, files.settings, (), tools)
    assert isinstance(strategy, OverlayWalk)
    grid = files.grid(tamper)
    strategy.prepare(grid, "1")
    if questions:
        strategy.ask(questions)
    return strategy, grid.sent


def centroids_of(files: Federation, device: str) -> Floats:
    with files.device(device) as opened:
        return opened.walks.topics.centroids


def reference(files: Federation, steps: Mapping[int, Sequence[str]] | None = None) -> Floats:
    """The same over plain numbers; `steps` names who is in the sum of a step where not all are."""
    documents, held = {}, {}
    for name in DEVICES:
        with files.device(name) as device:
            headings = device.walks.learner.sketches.topics.centroids
            documents[name] = document_vectors(device.store, headings.shape[1])
            held[name] = counts_of(device.walks.learner.sketches.own())
    here = steps or {}
    total = np.sum([held[name] for name in here.get(0, DEVICES)], axis=0)
    centroids: Floats = headings[np.argsort(-total, kind="stable")[:TOPICS]]
    for number in range(1, 2 * ROUNDS + 1, 2):
        counts = np.sum([topic_counts(documents[name], centroids) for name in here.get(number, DEVICES)], axis=0)
        if summed := here.get(number + 1, DEVICES):
            parts = [topic_sums(documents[name], centroids, counts) for name in summed]
            centroids = moved(centroids, counts, np.sum(parts, axis=0))
    return centroids


def changing(device: str, change: Callable[[TopicUpdate, int], TopicUpdate | None]) -> Tamper:
    """Change what one device says to each step that sums up, or keep it back."""
    steps = iter(range(2 * ROUNDS + 1))

    def changed(update: TopicUpdate) -> TopicUpdate | None:
        return change(update, next(steps)) if update.term.parts else update

    return tampering(TopicUpdate, changed, device)


def test_topics_are_those_of_all_documents_together(learnt: Learnt) -> None:
    assert learnt.said[:1] == [COLLUSION]  # whom one has to trust is told whenever it matters
    assert learnt.strategy.outcome().traffic.missing == {}
    found = [centroids_of(learnt.files, name) for name in DEVICES]
    assert all(np.array_equal(one, found[0]) for one in found)  # rounded: the same everywhere
    assert found[0] == pytest.approx(reference(learnt.files), abs=1e-3)
    vectors = small_models().encoder.encode([text.format("Kell") for text in SUBJECTS.values()])
    assert len(set((vectors @ found[0].T).argmax(axis=1).tolist())) == len(SUBJECTS)


def test_a_question_walks_by_topics_that_were_learnt(learnt: Learnt, tmp_path: Path) -> None:
    strategy, _ = learn(learnt.files.copy_to(tmp_path).with_changes(overlay__threshold=0.9), None, QUESTION)
    assert "q1" in strategy.answers
    assert strategy.counts["walk-questions"] == 1


def test_who_has_learnt_together_does_not_learn_again(learnt: Learnt, tmp_path: Path) -> None:
    files = learnt.files.copy_to(tmp_path)
    _, sent = learn(files)
    assert sum(b"train.topics" in data for data in sent) == 2 * len(DEVICES)
    assert not any(b"train.group" in data for data in sent)
    assert (centroids_of(files, "east") == centroids_of(learnt.files, "east")).all()


def test_what_was_learnt_of_peers_goes_with_the_topics(learnt: Learnt, tmp_path: Path) -> None:
    files, topics = learnt.files.copy_to(tmp_path), {0: 1.0}
    with files.device("east") as device:
        device.walks._change(lambda expertise: expertise.learn("north", topics, 0, "good"))
    learn(files)
    with files.device("east") as device:
        assert device.walks.expertise.credit("north", 0) > 0
    fewer = files.with_changes(overlay__learnt_topics=TOPICS - 1)
    learn(fewer)
    with fewer.device("east") as device:
        assert device.walks.expertise.credit("north", 0) == 0
        assert len(device.walks.topics) == TOPICS - 1
        assert device.walks._knows((TopicWeight(0, 1.0),))


def test_noise_is_added_where_it_is_set(fresh: Federation) -> None:
    learn(fresh.with_changes(federation__sum_noise=0.02))
    found = centroids_of(fresh, "east")
    assert np.linalg.norm(found, axis=1) == pytest.approx(1.0, abs=1e-5)
    assert np.abs(found - reference(fresh)).max() > 1e-3


def test_no_text_no_vector_and_no_key_is_in_what_leaves(learnt: Learnt) -> None:
    told = [data for data in learnt.sent if any(kind.encode() in data for kind in ENCRYPTED)]
    assert len(told) >= 2 * len(DEVICES) * (2 * ROUNDS + 3)
    together = b"".join(told)
    for text in (*PLACES, *SUBJECTS, "stone", "organ", "lungs"):
        assert text.encode() not in together, text
    with learnt.files.device("north") as device:
        vectors = document_vectors(device.store, device.models.encoder.dimension)
        counts = topic_counts(vectors, device.walks.topics.centroids)
        sums = topic_sums(vectors, device.walks.topics.centroids, counts)
        held = counts_of(device.walks.learner.sketches.own())
        numbers = [vectors[0], device.walks.topics.centroids[0], sums[sums.any(axis=1)][0], held[held.argmax() :]]
    for row in numbers:
        for kind in (np.float16, np.float32, np.float64):
            assert np.ascontiguousarray(row[:8], dtype=kind).tobytes() not in together


def test_devices_hold_one_key_and_the_server_none(learnt: Learnt) -> None:
    keys = {path.parent.name: path.read_bytes() for path in (learnt.files.root / "home").rglob("group-*.key")}
    assert set(keys) == set(DEVICES)
    assert len(set(keys.values())) == 1
    key = keys["east"]
    assert not any(key[50:80] in data for data in learnt.sent)
    of_the_server = [
        path for path in (learnt.files.root / "home").rglob("*") if path.is_file() and "server" in path.parts
    ]
    assert not any(key[50:80] in path.read_bytes() for path in of_the_server)


WRONG: dict[str, tuple[Callable[[TopicUpdate], TopicUpdate], str]] = {
    "more": (lambda one: replace(one, term=replace(one.term, parts=one.term.parts * 2)), "not what was sent"),
    "torn": (lambda one: replace(one, term=replace(one.term, parts=(one.term.parts[0][:99],))), "not what was sent"),
    "nothing": (lambda one: replace(one, term=SumTerm()), "not what was sent"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_a_wrong_term_is_left_out_and_its_device_named(fresh: Federation, kind: str) -> None:
    change, reason = WRONG[kind]
    tamper = changing("south", lambda update, step: change(update) if step == 2 else update)
    strategy, _ = learn(fresh, tamper)
    assert reason in strategy.outcome().traffic.missing["south"]
    assert set(strategy.outcome().traffic.missing) == {"south"}
    assert centroids_of(fresh, "south") == pytest.approx(reference(fresh, {2: ("east", "north")}), abs=1e-3)


def test_a_sum_that_nobody_can_read_moves_nothing(fresh: Federation, tmp_path: Path) -> None:
    """A term under a key of its own, with a good tag: the server cannot tell, and the run goes on."""
    other = GroupCipher(tmp_path / "other.key", shared_sandbox())
    other.make()
    own = SealingKey.kept(fresh.root / "home" / "privacy" / "south" / "sealing.key")
    server = ServerTools(fresh.settings).key.public

    def foreign(update: TopicUpdate, step: int) -> TopicUpdate:
        if step != 2:
            return update
        parts = tuple(other.encrypt(np.zeros(len(update.term.parts) * 2048), 0.0, np.random.default_rng(0)))
        named = tagged_term("south", TopicRequest("move", step).step, parts)
        return replace(update, term=SumTerm(parts, tag(own.tag_key(server), *named)))

    strategy, _ = learn(fresh, changing("south", foreign))
    assert strategy.outcome().traffic.missing == {}
    assert centroids_of(fresh, "north") == pytest.approx(reference(fresh, {2: ()}), abs=1e-3)


@pytest.mark.parametrize("sealed", [None, b"garbage"])
def test_where_the_first_device_makes_no_key_the_next_one_does(fresh: Federation, sealed: bytes | None) -> None:
    def useless(sent: SealedMessages) -> SealedMessages:
        messages = () if sealed is None else tuple(replace(one, sealed=sealed) for one in sent.messages)
        return replace(sent, messages=messages)

    strategy, _ = learn(fresh, tampering(SealedMessages, useless, "east"))
    assert "1 of 3 devices hold" in strategy.outcome().traffic.missing["east"]
    assert len(strategy.builds) == 3
    assert centroids_of(fresh, "east") == pytest.approx(reference(fresh), abs=1e-3)


def test_where_others_are_silent_nobody_is_named_for_them(fresh: Federation) -> None:
    strict = fresh.with_changes(federation__round_timeout=2.0, federation__quorum=1.0)
    with pytest.raises(FederationError) as raised:
        learn(strict, tampering(SealedMessages, lambda _: None, "south"))
    assert "south" in str(raised.value)
    assert "east" not in str(raised.value)
    assert "north" not in str(raised.value)


@pytest.mark.parametrize("step", [0, 2])
def test_who_misses_a_step_takes_no_part_and_the_others_go_on(fresh: Federation, step: int) -> None:
    quick = fresh.with_changes(federation__round_timeout=2.0, federation__quorum=0.5)
    strategy, _ = learn(quick, changing("south", lambda update, number: None if number == step else update), QUESTION)
    assert "south" in strategy.outcome().traffic.missing
    assert len(strategy.builds) == 2
    assert "q1" in strategy.answers
    with fresh.device("south") as device, pytest.raises(SettingError, match="no topics were learnt"):
        _ = device.walks.topics


def test_a_device_in_another_s_name_and_one_with_other_topics_are_named(fresh: Federation) -> None:
    def lie(update: TopicUpdate) -> TopicUpdate:
        if update.device == "south" and update.topics:
            return replace(update, topics="0" * 16)
        posing = update.device == "north" and not update.topics and not update.term.parts
        return replace(update, device="east") if posing else update

    strategy, _ = learn(fresh.with_changes(federation__quorum=0.3), tampering(TopicUpdate, lie))
    missing = strategy.outcome().traffic.missing
    assert "another device's name" in missing["north"]
    assert "other topics" in missing["south"]


def test_one_with_another_encoder_learns_no_topics_with_the_others(fresh: Federation) -> None:
    strategy, _ = learn(fresh, tampering(DeviceCard, partial(replace, encoder_id="another"), "south"))
    assert "another encoder" in strategy.outcome().traffic.missing["south"]
    assert len(strategy.builds) == 2


def test_without_a_quorum_there_is_no_run(fresh: Federation) -> None:
    silent = changing("south", lambda update, number: None)
    with pytest.raises(FederationError, match="2 devices took part"):
        learn(fresh.with_changes(federation__round_timeout=2.0, federation__quorum=1.0), silent)


def test_a_step_that_comes_again_gives_the_same_and_one_too_many_is_refused(learnt: Learnt, tmp_path: Path) -> None:
    with learnt.files.copy_to(tmp_path).device("east") as device:
        name = device.walks.learner.step(TopicRequest("known"), "1").topics
        last = TopicRequest("keep", 2 * ROUNDS + 1, len(DEVICES))
        assert device.walks.learn(last, "1").topics == name
        with pytest.raises(ValueError, match="missed a step"):
            device.walks.learn(replace(last, number=2 * ROUNDS + 3), "1")
        assert math.isclose(float(np.linalg.norm(device.walks.topics.centroids[0])), 1.0, abs_tol=1e-5)
