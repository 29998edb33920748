"""Scores of an encrypted question against plain rows: the device's side, the side that has the rows, and its quota."""

from __future__ import annotations

import hashlib
import io
import sqlite3
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from fcntl import LOCK_EX, LOCK_NB, LOCK_SH, flock
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from fedrag_flwr.errors import CipherError
from fedrag_flwr.files import making_in, replace_file
from fedrag_flwr.privacy.ckks.parameters import MOST_CIPHERTEXT, MOST_KEYS, MOST_ROWS, SLOTS, check_bytes, chunks
from fedrag_flwr.privacy.ckks.sandbox import MEMORY, Sandbox
from fedrag_flwr.privacy.ledger import DurableFile

Floats = NDArray[np.float32]
T = TypeVar("T")
_GRID = 2.0**16  # steps to which a score is rounded before anything is chosen by it
_SECRET, _PUBLIC = "ckks-secret.key", "ckks-rotations-{}.key"
_PER_CHUNK, _BASE = 40 * 2**20, 700 * 2**20  # of the worker's memory: the diagonals of one chunk, and all else


@dataclass(frozen=True)
class QuestionCipher:
    """A device's keys and what it does with them; what was decrypted leaves this class as a choice of rows alone."""

    folder: Path  # where the keys are kept, readable by their owner only; made when they are first needed
    dimension: int  # of question vectors
    sandbox: Sandbox  # where SEAL runs

    @cached_property
    def public(self) -> bytes:
        """The rotation keys, which whoever scores needs."""
        path = self.folder / _PUBLIC.format(self.dimension)
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with making_in(self.folder):  # of two processes each would write one half of a pair
            if not self._usable(path):
                [made] = self.sandbox.call("make_keys", secret=str(self._secret), dimension=str(self.dimension))
                replace_file(path, made)
            return path.read_bytes()

    def _usable(self, path: Path) -> bool:
        """Whether both keys are there, load and belong together: a power cut or a kill may have left them otherwise."""
        if not (path.is_file() and self._secret.is_file()):
            return False
        told = {"secret": str(self._secret), "dimension": str(self.dimension)}
        try:
            self.sandbox.call("check_pair", [path.read_bytes()], **told)
        except CipherError:
            return False
        return True

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of the public keys, by which the other side knows them again."""
        return hashlib.sha256(self.public).hexdigest()

    @property
    def _secret(self) -> Path:
        return self.folder / f"{self.dimension}-{_SECRET}"

    def encrypt(self, vectors: Iterable[Floats]) -> list[bytes]:
        """Encrypt question vectors, each of shape (dimension,) and unit norm; one ciphertext each."""
        _ = self.public  # the keys are there from now on
        rows = [np.ascontiguousarray(row, dtype=np.float32).tobytes() for row in vectors]
        return self.sandbox.call("encrypt_questions", rows, secret=str(self._secret))

    def choose(self, scores: Sequence[bytes], rows: int, choice: Callable[[NDArray[np.float64]], T]) -> T:
        """Decrypt the scores of one question, round them, and give what is chosen by them; raises CipherError where
        these are no scores of this device's question.

        Exact decrypted values would tell the secret key to whoever has the ciphertexts. So they are rounded at once, to
        many units of the scheme's own, which leaves noisy equations for the key, and only the choice goes on. `choice`
        is made by the rounded scores, shape (rows,).
        """
        return choice(np.rint(self._decrypt(scores, rows) * _GRID) / _GRID)

    def _decrypt(self, scores: Sequence[bytes], rows: int) -> NDArray[np.float64]:
        if rows < 1 or len(scores) != chunks(rows):
            raise CipherError("there is another number of ciphertexts than the rows take", where="scores")
        [found] = self.sandbox.call("decrypt_scores", scores, secret=str(self._secret))
        values = np.frombuffer(found, dtype=np.float64)
        if len(values) != len(scores) * SLOTS:
            raise CipherError("the worker gave another number of scores", where="scores")
        return values[:rows]


class SummaryScorer:
    """The side that has the rows, and sees neither questions nor scores.

    Its folder keeps devices' public keys and the rows for the worker.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._sandbox = Sandbox()
        self._matrix = folder / "none.npy"
        self._held = ExitStack()  # keeps the matrix locked, by which other runs see that it is needed
        self.shape = (0, 0)

    def close(self) -> None:
        """End the worker, and let go of the rows."""
        self._sandbox.close()
        self._held.close()

    def learn(self, device: str, public: bytes, dimension: int) -> str:
        """Keep a device's public keys in place of older ones, once they load; give their fingerprint; raises
        CipherError where they are no rotation keys for vectors of this dimension.
        """
        check_bytes(public, MOST_KEYS)
        self._sandbox.call("check_keys", [public], dimension=str(dimension))
        fingerprint = hashlib.sha256(public).hexdigest()
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = self._folder / f"{device}~{fingerprint}.key"
        with making_in(self._folder):  # another run may learn keys of this device, too
            replace_file(path, public)
            for older in self._kept(device):
                if older != path:
                    older.unlink()
        return fingerprint

    def known(self, device: str) -> str:
        """The fingerprint of a device's keys; "" where there are none."""
        return next((path.stem.rpartition("~")[2] for path in self._kept(device)), "")

    def hold(self, rows: Floats) -> None:
        """Score from now on against these rows, shape (n, dimension), unit rows; raises CipherError where there are
        none, or too many.
        """
        if not 0 < len(rows) <= MOST_ROWS:
            raise CipherError(f"{len(rows)} rows, where 1 to {MOST_ROWS} can be scored", where="rows")
        body = io.BytesIO()
        np.save(body, np.ascontiguousarray(rows, dtype=np.float32), allow_pickle=False)
        path = self._folder / f"rows-{hashlib.sha256(body.getvalue()).hexdigest()[:32]}.npy"
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with making_in(self._folder):
            self._held.close()
            self._drop_rows()
            if not path.is_file():
                replace_file(path, body.getvalue())
            flock(self._held.enter_context(path.open("rb")), LOCK_SH)
        self._sandbox.close()  # the worker holds the diagonals of one matrix
        self._sandbox = Sandbox(max(MEMORY, _BASE + _PER_CHUNK * chunks(len(rows))))
        self._matrix, self.shape = path, rows.shape

    def _drop_rows(self) -> None:
        """Delete the rows of runs that have ended, however they did."""
        for path in self._folder.glob("rows-*.npy"):
            with path.open("rb") as rows, suppress(BlockingIOError):
                flock(rows, LOCK_EX | LOCK_NB)
                path.unlink()

    def score(self, device: str, questions: Sequence[bytes]) -> list[list[bytes]]:
        """Score a device's encrypted questions: for each the ciphertexts of all rows' scores; raises CipherError where
        the device's keys are not known, or a question is no ciphertext.
        """
        if not (path := next(iter(self._kept(device)), None)):
            raise CipherError("this device's keys are not known", where=device)
        for question in questions:
            check_bytes(question, MOST_CIPHERTEXT)
        told = {"keys": str(path), "matrix": str(self._matrix), "dimension": str(self.shape[1])}
        found = [self._sandbox.call("score", [question], **told) for question in questions]
        if any(len(one) != chunks(self.shape[0]) for one in found):
            raise CipherError("the worker gave another number of ciphertexts", where="scores")
        return found

    def _kept(self, device: str) -> list[Path]:
        return [path for path in self._folder.glob("*.key") if path.stem.rpartition("~")[0] == device]


_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS questions (device TEXT, epoch INTEGER, asked INTEGER NOT NULL,"
    " PRIMARY KEY (device, epoch)) WITHOUT ROWID"
)


class QuestionQuota:
    """Counts each device's questions in an epoch, in a file that outlives the run.

    Enough answers about a hidden row tell the row. `most` are the questions of one device in one epoch.
    """

    def __init__(self, path: Path | None, most: int) -> None:
        self._file = DurableFile(path, "question quota", _SCHEMA)
        self._most = most

    def take(self, known_as: Collection[str], epoch: int, wanted: int) -> int:
        """Spend up to so many questions, and say how many were left to spend; asking the same again spends anew.

        Parameters
        ----------
        known_as
            All that the device is known by: a device chooses its name, so its node counts beside it.
        epoch
            The epoch.
        wanted
            Questions.
        """
        with self._file.writing() as connection:
            asked = {name: self._asked(connection, name, epoch) for name in known_as}
            granted = max(0, min(wanted, self._most - max(asked.values())))
            for name, before in asked.items():
                connection.execute("INSERT OR REPLACE INTO questions VALUES (?, ?, ?)", (name, epoch, before + granted))
        return granted

    @staticmethod
    def _asked(connection: sqlite3.Connection, name: str, epoch: int) -> int:
        row = connection.execute("SELECT asked FROM questions WHERE device = ? AND epoch = ?", (name, epoch)).fetchone()
        return int(row[0]) if row else 0

    def close(self) -> None:
        """Close the file."""
        self._file.close()
