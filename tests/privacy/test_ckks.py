"""Encrypted scores and sums: as good as plain ones, refused where they are forged, and silent about keys."""

import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import tenseal.sealapi as seal
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from fedrag_flwr.errors import CipherError
from fedrag_flwr.files import making_in
from fedrag_flwr.privacy.ckks.parameters import (
    DEGREE,
    MODULI,
    QUESTION_SCALE,
    SCORE_SCALE,
    SLOTS,
    chunk,
    chunks,
    diagonal,
    galois_element,
    padded,
    repeated,
    rotations,
    steps,
)
from fedrag_flwr.privacy.ckks.sandbox import Sandbox
from fedrag_flwr.privacy.ckks.scores import QuestionCipher, QuestionQuota, SummaryScorer
from fedrag_flwr.privacy.ckks.sums import STEP, GroupCipher, add_ciphertexts
from fedrag_flwr.privacy.ckks.worker import Scheme
from fedrag_flwr.settings import Settings
from tests.privacy.forged_ciphertexts import FORGERIES, attack, targets

DIMENSION = 48
LITTLE = 2**28  # of a worker's memory: twice what one needs
ENCODER_DIMENSION = 384  # of the shipped encoder's vectors
Rows = NDArray[np.float32]
Values = NDArray[np.float64]


def rows_of(count: int, dimension: int, seed: int) -> Rows:
    made = np.random.default_rng(seed).normal(size=(count, dimension)).astype(np.float32)
    return np.asarray(made / np.linalg.norm(made, axis=1, keepdims=True), dtype=np.float32)


def everything(scores: Values) -> Values:
    return scores


@dataclass(frozen=True, slots=True)
class Pair:
    """A device and who scores for it."""

    folder: Path
    sandbox: Sandbox
    device: QuestionCipher
    scorer: SummaryScorer

    def scores(self, rows: Rows, questions: Rows) -> Values:
        """What the device chooses by, for each question."""
        self.scorer.hold(rows)
        found = self.scorer.score("device", self.device.encrypt(questions))
        return np.array([self.device.choose(one, len(rows), everything) for one in found])


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    folder = tmp_path_factory.mktemp("ckks")
    sandbox = Sandbox()
    made = Pair(folder, sandbox, QuestionCipher(folder / "own", DIMENSION, sandbox), SummaryScorer(folder / "server"))
    made.scorer.learn("device", made.device.public, DIMENSION)
    yield made
    made.scorer.close()
    sandbox.close()


@settings(deadline=None, max_examples=10)
@given(st.integers(1, 3 * SLOTS), st.integers(1, 60), st.integers(0, 2**16))
def test_the_diagonals_multiply_as_the_matrix_does(count: int, dimension: int, seed: int) -> None:
    matrix, [question] = rows_of(count, dimension, seed), rows_of(1, dimension, seed + 1)
    baby, giant = steps(padded(dimension))
    found = []
    for number in range(chunks(count)):
        whole = chunk(matrix, number)
        parts = [
            np.roll(sum(diagonal(whole, b, g * baby) * np.roll(repeated(question), -b) for b in range(baby)), -g * baby)
            for g in range(giant)
        ]
        found.append(sum(parts))
    assert np.concatenate(found)[:count] == pytest.approx(matrix @ question, abs=1e-5)
    assert len(set(map(galois_element, rotations(padded(dimension))))) == baby + giant - 2


@pytest.mark.parametrize("dimension", [0, SLOTS + 1])
def test_vectors_that_do_not_fit_are_refused(dimension: int) -> None:
    with pytest.raises(CipherError, match="do not fit"):
        padded(dimension)


@pytest.mark.parametrize("count", [1, SLOTS - 1, SLOTS, SLOTS + 1, 2 * SLOTS + 1])
def test_encrypted_scores_are_the_plain_ones(pair: Pair, count: int) -> None:
    rows, questions = rows_of(count, DIMENSION, count), rows_of(3, DIMENSION, 1)
    questions[0] = rows[-1]  # a score of one, in the last slot that is taken
    plain, found = questions.astype(np.float64) @ rows.T, pair.scores(rows, questions)
    assert np.abs(found - plain).max() < 5e-5
    for one, other in zip(plain, found, strict=True):
        assert list(np.argsort(-one, kind="stable")[:5]) == list(np.argsort(-other, kind="stable")[:5])


@pytest.mark.parametrize("tiny", [0.0, 1e-6])  # of which the latter rounds to nothing at the rows' scale
@pytest.mark.parametrize(("before", "head"), [(0, (0.6, 0.8)), (0, ()), (SLOTS, (0.6, 0.8)), (SLOTS, ())])
def test_rows_that_round_to_nothing_are_scored(pair: Pair, before: int, head: tuple[float, ...], tiny: float) -> None:
    last = np.array([[*head, *[tiny] * (DIMENSION - len(head))]], dtype=np.float32)
    rows, questions = np.vstack([rows_of(before, DIMENSION, 5), last]), rows_of(2, DIMENSION, 6)
    assert np.abs(pair.scores(rows, questions) - questions.astype(np.float64) @ rows.T).max() < 5e-5


def test_keys_are_made_once_and_for_their_owner_alone(pair: Pair) -> None:
    again = QuestionCipher(pair.folder / "own", DIMENSION, pair.sandbox)
    assert again.fingerprint == pair.device.fingerprint == pair.scorer.known("device")
    assert pair.scorer.known("another") == ""
    [secret] = (pair.folder / "own").glob("*secret.key")
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600


@pytest.mark.parametrize("which", ["*secret.key", "*rotations*.key"])
def test_a_key_that_a_power_cut_emptied_is_made_anew(pair: Pair, tmp_path: Path, which: str) -> None:
    before = QuestionCipher(tmp_path / "own", DIMENSION, pair.sandbox).fingerprint
    [torn] = (tmp_path / "own").glob(which)
    torn.write_bytes(b"")
    device = QuestionCipher(tmp_path / "own", DIMENSION, pair.sandbox)
    assert device.fingerprint != before
    scorer = SummaryScorer(tmp_path / "server")
    try:
        scorer.learn("device", device.public, DIMENSION)
        rows, questions = rows_of(5, DIMENSION, 2), rows_of(2, DIMENSION, 3)
        found = Pair(tmp_path, pair.sandbox, device, scorer).scores(rows, questions)
        assert np.abs(found - questions.astype(np.float64) @ rows.T).max() < 5e-5
    finally:
        scorer.close()


def test_two_runs_learn_a_devices_keys_at_once(pair: Pair, tmp_path: Path) -> None:
    fresh = QuestionCipher(tmp_path / "own", DIMENSION, pair.sandbox)
    scorers = [SummaryScorer(tmp_path / "server") for _ in range(4)]
    try:
        with ThreadPoolExecutor(4) as pool:
            for public in [pair.device.public, fresh.public] * 8:
                learning = [pool.submit(one.learn, "device", public, DIMENSION) for one in scorers]
                [fingerprint] = {one.result() for one in learning}
                assert [path.stem for path in (tmp_path / "server").glob("*.key")] == [f"device~{fingerprint}"]
    finally:
        for one in scorers:
            one.close()


def test_keys_that_do_not_belong_together_are_made_anew(pair: Pair, tmp_path: Path) -> None:
    one, other = (QuestionCipher(tmp_path / name, DIMENSION, pair.sandbox) for name in ("one", "other"))
    before = {one.fingerprint, other.fingerprint}
    [secret], [foreign] = ((tmp_path / name).glob("*secret.key") for name in ("one", "other"))
    secret.write_bytes(foreign.read_bytes())
    made = QuestionCipher(tmp_path / "one", DIMENSION, pair.sandbox).fingerprint
    assert made not in before
    assert QuestionCipher(tmp_path / "one", DIMENSION, pair.sandbox).fingerprint == made


def test_keys_wait_while_another_process_makes_them(pair: Pair, tmp_path: Path) -> None:
    device = QuestionCipher(tmp_path, DIMENSION, pair.sandbox)
    with ThreadPoolExecutor(1) as pool:
        with making_in(tmp_path):
            fingerprint = pool.submit(lambda: device.fingerprint)
            with pytest.raises(TimeoutError):
                fingerprint.result(timeout=1.0)
            assert not list(tmp_path.iterdir())
        assert fingerprint.result() == QuestionCipher(tmp_path, DIMENSION, pair.sandbox).fingerprint


def test_scores_under_another_key_and_of_other_rows_are_refused(pair: Pair, tmp_path: Path) -> None:
    other = QuestionCipher(tmp_path, DIMENSION, pair.sandbox)
    pair.scorer.hold(rows_of(10, DIMENSION, 0))
    [question] = other.encrypt(rows_of(1, DIMENSION, 1))
    [scores] = pair.scorer.score("device", [question])
    with pytest.raises(CipherError, match="another key"):
        pair.device.choose(scores, 10, everything)
    with pytest.raises(CipherError, match="another number"):
        pair.device.choose(scores, SLOTS + 1, everything)
    with pytest.raises(CipherError, match="not known"):
        pair.scorer.score("stranger", [question])


def test_a_run_s_rows_stay_while_it_scores_and_no_longer(pair: Pair, tmp_path: Path) -> None:
    questions = rows_of(2, DIMENSION, 3)
    one, other = SummaryScorer(tmp_path), SummaryScorer(tmp_path)
    try:
        one.learn("device", pair.device.public, DIMENSION)
        one.hold(rows_of(5, DIMENSION, 1))
        other.hold(rows_of(5, DIMENSION, 2))
        for scorer, seed in ((one, 1), (other, 2)):
            found = scorer.score("device", pair.device.encrypt(questions))
            scores = np.array([pair.device.choose(given_back, 5, everything) for given_back in found])
            assert np.abs(scores - questions.astype(np.float64) @ rows_of(5, DIMENSION, seed).T).max() < 5e-5
        one.close()
        other.hold(rows_of(5, DIMENSION, 4))
        assert len(list(tmp_path.glob("rows-*.npy"))) == 1
    finally:
        one.close()
        other.close()


@pytest.fixture(scope="module")
def group(pair: Pair) -> GroupCipher:
    made = GroupCipher(pair.folder / "group.key", pair.sandbox)
    made.make()
    return made


@settings(deadline=None, max_examples=8)
@given(st.integers(1, 5), st.integers(1, SLOTS + 2), st.integers(0, 2**16))
def test_sums_are_the_plain_ones_rounded(pair: Pair, group: GroupCipher, parties: int, count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.normal(scale=100.0, size=(parties, count))
    sent = [group.encrypt(one, 0.0, rng) for one in values]
    total = group.total(add_ciphertexts(sent, pair.sandbox), count)
    rounded = np.rint(values / STEP).sum(axis=0)
    assert np.array_equal(np.rint(total / STEP), rounded)  # to the last bit
    assert np.abs(total - values.sum(axis=0)).max() <= parties * STEP / 2 + 1e-9


def test_noise_has_the_size_that_was_asked_for(pair: Pair, group: GroupCipher) -> None:
    sent = [group.encrypt(np.zeros(SLOTS), 0.5, np.random.default_rng(seed)) for seed in range(4)]
    total = group.total(add_ciphertexts(sent, pair.sandbox), SLOTS)
    assert total.std() == pytest.approx(1.0, abs=0.1)
    assert total / STEP == pytest.approx(np.rint(total / STEP), abs=1e-6)  # whole numbers leave no traces of a draw


@pytest.mark.parametrize("wrong", [np.inf, np.nan, 2.0**25])
def test_numbers_that_do_not_fit_into_a_sum_are_refused(group: GroupCipher, wrong: float) -> None:
    with pytest.raises(CipherError, match="not finite, or larger"):
        group.encrypt(np.array([0.0, wrong]), 0.0, np.random.default_rng(0))


def test_parties_that_send_different_numbers_of_ciphertexts_are_refused(pair: Pair, group: GroupCipher) -> None:
    one, two = (group.encrypt(np.ones(count), 0.0, np.random.default_rng(0)) for count in (1, SLOTS + 1))
    for parties in ([], [one, two]):
        with pytest.raises(CipherError, match="different numbers"):
            add_ciphertexts(parties, pair.sandbox)


def test_forged_input_is_refused_and_the_honest_go_on(tmp_path: Path) -> None:
    places, (sandbox, scorer) = targets(tmp_path)
    harmless = {"one bit", "many bytes", "first bytes", "longer"}  # they may make another ciphertext: tags tell
    for target in places.values():
        became = {kind: attack(target, FORGERIES[kind](target.good, np.random.default_rng(7))) for kind in FORGERIES}
        assert {kind for kind, what in became.items() if what == "taken"} <= harmless
        assert attack(target, target.good) == "taken"
    pid = scorer._sandbox.worker.pid
    status = Path(f"/proc/{pid}/status")
    if status.is_file():
        [peak] = [line for line in status.read_text().splitlines() if line.startswith("VmHWM")]
        assert int(peak.split()[1]) < 2**20
    scorer.close()
    sandbox.close()


def test_a_worker_that_needs_too_much_memory_fails_alone(pair: Pair, group: GroupCipher, tmp_path: Path) -> None:
    """What does not even fit as a request ends the worker, and another takes its place."""
    secret, vast = str(pair.folder / "group.key"), tmp_path / "rows.npy"
    np.lib.format.open_memmap(vast, mode="w+", dtype=np.float32, shape=(LITTLE // 4 // DIMENSION, DIMENSION))
    small = Sandbox(memory=LITTLE, timeout=5.0)
    try:
        with pytest.raises(CipherError, match=r"score: .*MemoryError"):
            small.call("score", [b""], matrix=str(vast), dimension=str(DIMENSION))
        with pytest.raises(CipherError, match="check_secret: the process that was given it died"):
            small.call("check_secret", [bytes(LITTLE)], secret=secret)
        assert small.worker.pid == 0
        total = add_ciphertexts([group.encrypt(np.ones(3), 0.0, np.random.default_rng(0))] * 2, small)
        assert group.total(total, 3) == pytest.approx(2.0)
        assert small.worker.starts == 2
    finally:
        small.close()
    assert pair.sandbox.call("check_secret", [bytes(LITTLE)], secret=secret) == []  # where there is room


@cache
def scheme() -> Scheme:
    return Scheme()


def coefficients(plain: seal.Plaintext, count: int) -> list[int]:
    return [plain.data(place) for place in range(count)]


def recovered(sent: list[bytes], values: list[Values]) -> list[int]:
    """The secret key's coefficients at the first prime, from two scores' ciphertexts and their decrypted slots.

    Decrypted real slots tell ``m + conj(m)`` of ``m = a + b s``. In the order of SEAL's transform conjugation swaps
    places i and N - 1 - i, so two ciphertexts give two linear equations for s at each such pair.
    """
    prime, equations = MODULI[0], []
    for data, slots in zip(sent, values, strict=True):
        found = scheme().ciphertext(data, scale=SCORE_SCALE, fresh=False)
        plain, array = seal.Plaintext(), found.dyn_array()
        scheme().encoder.encode((2 * slots).tolist(), found.parms_id(), SCORE_SCALE, plain)
        both = [array.at(place) for place in range(2 * DEGREE)]
        equations.append((coefficients(plain, DEGREE), both[:DEGREE], both[DEGREE:]))
    (m, a, b), (n, c, d) = equations
    found_key = []
    for i in range(DEGREE):
        j = DEGREE - 1 - i
        left, right = m[i] - a[i] - a[j], n[i] - c[i] - c[j]
        determinant = (b[i] * d[j] - b[j] * d[i]) % prime
        found_key.append((left * d[j] - right * b[j]) * pow(determinant, -1, prime) % prime)
    return found_key


def test_published_floats_would_tell_the_key_and_what_we_hand_out_does_not(pair: Pair) -> None:
    rows, questions = rows_of(SLOTS, DIMENSION, 0), rows_of(2, DIMENSION, 1)
    pair.scorer.hold(rows)
    sent = [scores[0] for scores in pair.scorer.score("device", pair.device.encrypt(questions))]
    [path] = (pair.folder / "own").glob("*secret.key")
    secret = scheme().secret_key(str(path))
    true = coefficients(secret.data(), DEGREE)
    exact = [scheme().decrypt(secret, scheme().ciphertext(one, scale=SCORE_SCALE, fresh=False)) for one in sent]
    assert recovered(sent, exact) == true  # so the attack works
    chosen_by = [pair.device.choose([one], SLOTS, everything) for one in sent]
    right = sum(a == b for a, b in zip(recovered(sent, chosen_by), true, strict=True))
    assert right < DEGREE // 100


def test_nothing_that_is_sent_holds_the_secret_key(pair: Pair) -> None:
    pair.scorer.hold(rows_of(5, DIMENSION, 0))
    questions = pair.device.encrypt(rows_of(4, DIMENSION, 1))
    [path] = (pair.folder / "own").glob("*secret.key")
    sent = [pair.device.public, *questions]
    kept = path.read_bytes()
    windows = {kept[place : place + 16] for place in range(16, len(kept) - 16)}
    assert not any(data[place : place + 16] in windows for data in sent for place in range(len(data) - 16))
    true = set(coefficients(scheme().secret_key(str(path)).data(), DEGREE))  # also not within what is compressed
    for data in questions:
        array = scheme().ciphertext(data, scale=QUESTION_SCALE, fresh=True).dyn_array()
        assert sum(array.at(place) in true for place in range(array.size())) < 4


def probed(pair: Pair, probes: Rows, rows: int) -> Values:
    """What a device learns that asks two vectors at once, the second in imaginary parts; shape (probes, rows)."""
    [path] = (pair.folder / "own").glob("*secret.key")
    secret, found = scheme().secret_key(str(path)), list[Values]()
    for real, imaginary in zip(probes[::2], probes[1::2], strict=True):
        asked, told = seal.Plaintext(), seal.Plaintext()
        scheme().encoder.encode((repeated(real) + 1j * repeated(imaginary)).tolist(), QUESTION_SCALE, asked)
        [[scored]] = pair.scorer.score(
            "device", [scheme().dump(seal.Encryptor(scheme().context, secret).encrypt_symmetric(asked))]
        )
        loaded = scheme().ciphertext(scored, scale=SCORE_SCALE, fresh=False)
        seal.Decryptor(scheme().context, secret).decrypt(loaded, told)
        slots = np.array(scheme().encoder.decode_complex(told))[:rows]
        found += [slots.real, slots.imag]
    return np.array(found)


def test_a_question_can_tell_two_numbers_of_a_row_and_the_quota_leaves_room_for_that(pair: Pair) -> None:
    """Half as many questions as rows have values tell the rows; a quota's share of them leaves most of a row open."""
    rows, probes = rows_of(50, DIMENSION, 0), rows_of(DIMENSION, DIMENSION, 1)
    pair.scorer.hold(rows)
    told = probed(pair, probes, len(rows))
    assert np.abs(np.linalg.solve(probes.astype(np.float64), told).T - rows).max() < 1e-3
    share = 2 * round(DIMENSION * Settings().routing.quota / ENCODER_DIMENSION)
    guessed = np.linalg.lstsq(probes[:share].astype(np.float64), told[:share], rcond=None)[0].T
    assert np.linalg.norm(guessed - rows, axis=1).mean() > 0.8  # rows have length 1


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 1), st.integers(0, 7)), max_size=12))
def test_no_device_has_more_questions_scored_than_its_quota(asked: list[tuple[str, int, int]]) -> None:
    quota, spent = QuestionQuota(None, 10), dict[tuple[str, int], int]()
    for device, epoch, wanted in asked:
        before = spent.get((device, epoch), 0)
        granted = quota.take((device,), epoch, wanted)
        assert granted == min(wanted, 10 - before)
        spent[device, epoch] = before + granted
    quota.close()


def test_a_quota_outlives_the_run(tmp_path: Path) -> None:
    for granted in (3, 1, 0):
        quota = QuestionQuota(tmp_path / "quota.sqlite", 4)
        assert quota.take(("a",), 0, 3) == granted
        quota.close()


def test_neither_another_name_nor_another_node_gives_a_new_quota() -> None:
    quota = QuestionQuota(None, 10)
    assert quota.take(("a", "node 1"), 0, 7) == 7
    assert quota.take(("b", "node 1"), 0, 7) == 3
    assert quota.take(("a", "node 2"), 0, 7) == 3
    assert quota.take(("c", "node 3"), 0, 7) == 7
    quota.close()
