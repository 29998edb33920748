"""Flower's command line from a neutral place: what has to be set, and how to know that a run succeeded."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import tomli_w

from fedrag_flwr.errors import FederationError, SettingError
from fedrag_flwr.settings import Plain

COMPLETED = "finished:completed"
RUN_ID = re.compile(r"run (?:ID:? )?(\d{6,})", re.IGNORECASE)
MARK = "FEDRAG_PROCESSES"  # in the environment of all that is started, and of what that starts
_PATIENCE = 10.0  # seconds between asking processes to stop and making them


@dataclass(frozen=True, slots=True)
class Flower:
    """Flower's commands, run with the environment that the app needs."""

    home: Path  # the app's home; Flower keeps its own state in ``flwr`` below it
    # The connection's name in Flower's configuration in that place; "": the default one, which simulates, and
    # ``FLWR_HOME`` where that is set.
    superlink: str = ""
    mark: str = field(default_factory=lambda: uuid.uuid4().hex)  # by which its processes are known

    @property
    def environment(self) -> dict[str, str]:
        """What Flower needs to be told: its home, no telemetry, no update check, no second installation."""
        own = str(self.home / "flwr")
        return {
            **os.environ,
            "FLWR_HOME": own if self.superlink else os.environ.get("FLWR_HOME", own),
            "FLWR_TELEMETRY_ENABLED": "0",
            "FLWR_DISABLE_UPDATE_CHECK": "1",
            "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",
            "FEDRAG_HOME": str(self.home),
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}",
            "PYTHONUNBUFFERED": "1",
            "COLUMNS": "400",
            "RAY_DEDUP_LOGS": "0",  # devices' progress differs in numbers alone
            MARK: self.mark,
        }

    def run(
        self, app: Path, config: Mapping[str, Plain], devices: int | None, follow: Callable[[str], None]
    ) -> tuple[str, str]:
        """Run the app and follow its log; raises FederationError where Flower did not start a run.

        Parameters
        ----------
        devices
            Simulated devices; None where the devices are real.

        Returns
        -------
        tuple of str
            The run's id and its final status, such as ``finished:completed``.
        """
        command = [*self._flwr("run", str(app), *self._connection), "--stream"]
        if devices is not None:
            command += ["--federation-config", f"num-supernodes={devices} client-resources-num-cpus=1"]
        if config:
            command += ["--run-config", " ".join(f"{key}={_toml(value)}" for key, value in config.items())]
        run_id = ""
        tail: list[str] = []
        with subprocess.Popen(
            command,
            cwd=self._neutral(),
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            umask=0o077,  # of a link that this starts and its log, which hold what the run's messages do
        ) as process:
            assert process.stdout is not None
            try:
                for line in process.stdout:
                    tail = [*tail[-20:], line.rstrip()]
                    run_id = run_id or _found(RUN_ID, line)
                    follow(line.rstrip("\n"))
            except BaseException:  # interrupted: the run would go on without anybody who looks at it
                process.terminate()
                if run_id:
                    self.call("stop", run_id, *self._connection)
                raise
        if not run_id:
            raise FederationError(
                "Flower did not start a run: " + " | ".join(tail[-5:]), where="flwr run", fix="see `fedrag doctor`"
            )
        return run_id, self.status(run_id)

    def status(self, run_id: str) -> str:
        """The status of a run, such as ``finished:completed``."""
        listing = self.call("ls", *self._connection, "--run-id", run_id, "--format", "json")
        try:
            runs = json.loads(listing.stdout)["runs"]
            return str(runs[0]["status"])
        except (ValueError, LookupError, TypeError):
            raise FederationError("Flower does not know the run", where=run_id, fix="see `fedrag doctor`") from None

    @contextmanager
    def own_superlink(self, *, keep: bool = False) -> Iterator[None]:
        """End the local SuperLink that runs start in this block, and all that these left; not where another run is.

        SIGTERM ends the block as an interrupt from the keyboard does. With `keep` the SuperLink stays where nothing
        went wrong; the next run starts faster.
        """
        before, whole = superlink_pid(), False
        terminated = signal.signal(signal.SIGTERM, _leave)
        try:
            yield
            whole = True
        finally:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            interrupted = signal.signal(signal.SIGINT, signal.SIG_IGN)  # another Ctrl-C would leave processes behind
            try:
                if not (keep and whole):
                    self._end(before)
            finally:
                signal.signal(signal.SIGINT, interrupted)
                signal.signal(signal.SIGTERM, terminated)

    def _end(self, before: int | None) -> None:
        started = superlink_pid()
        if started is not None and started != before:
            deadline = time.monotonic() + _PATIENCE
            while self._at_work():  # a run that was stopped takes a moment
                if time.monotonic() > deadline:
                    return
                time.sleep(0.5)
            with suppress(ProcessLookupError):  # it ended meanwhile
                os.kill(started, signal.SIGTERM)
        end_marked(MARK, self.mark, _PATIENCE)

    def _at_work(self) -> bool:
        """Whether the SuperLink has a run that is not finished; so, too, where it does not say."""
        try:
            runs = json.loads(self.call("ls", *self._connection, "--format", "json").stdout)["runs"]
            return any(not str(run["status"]).startswith("finished") for run in runs)
        except (ValueError, LookupError, TypeError):
            return True

    def register(self, public_key: Path, name: str) -> int:
        """Let the SuperLink know a device by its public key; gives the node's id; raises FederationError where the
        SuperLink refused the key, or cannot be reached.
        """
        told = self.call(
            "supernode", "register", str(public_key), *self._connection, "--name", name, "--format", "json"
        )
        try:
            return int(json.loads(told.stdout)["node-id"])
        except (ValueError, LookupError, TypeError):
            raise FederationError(
                "the SuperLink did not register the key: " + " ".join((told.stdout + told.stderr).split())[-300:],
                where=name,
                fix="look at the SuperLink's log",
            ) from None

    def call(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """One call of Flower's command line; what it says is for the caller to judge."""
        return subprocess.run(
            self._flwr(*arguments),
            cwd=self._neutral(),
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )

    @property
    def _connection(self) -> list[str]:
        return [self.superlink] if self.superlink else []

    def _flwr(self, *arguments: str) -> list[str]:
        beside = Path(sys.executable).with_name("flwr")
        program = str(beside) if beside.exists() else shutil.which("flwr")
        if program is None:
            raise SettingError(
                "the program flwr is not there", where="flwr", fix="install the app's environment: make install"
            )
        return [program, *arguments]

    def _neutral(self) -> Path:
        """A directory that holds no app: started inside one, Flower's workers would import it instead of the run's."""
        place = self.home / "flwr-start"
        place.mkdir(parents=True, exist_ok=True)
        return place


def app_directory(configured: Path | None = None) -> Path:
    """The directory of the Flower app: the one given, the working directory, or where this package comes from."""
    places = [configured] if configured else [Path.cwd(), Path(__file__).resolve().parents[2]]
    for place in places:
        if (place / "pyproject.toml").is_file() and (place / "server_app").is_dir():
            return place
    raise SettingError("there is no Flower app here", where="--app", fix="name the directory that holds pyproject.toml")


def _toml(value: Plain) -> str:
    return tomli_w.dumps({"value": value}).partition(" = ")[2].strip()


def _found(pattern: re.Pattern[str], line: str) -> str:
    match = pattern.search(line)
    return match[1] if match else ""


def marked(variable: str, mark: str) -> list[int]:
    """The ids of running processes whose environment has a variable with a value that begins so."""
    wanted = f"{variable}={mark}".encode()
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            variables = (place / "environ").read_bytes().split(b"\0")
        except OSError:  # it ended meanwhile, or is another user's
            continue
        if any(one.startswith(wanted) for one in variables):
            found.append(int(place.name))
    return found


def end_marked(variable: str, mark: str, patience: float) -> None:
    """Wait until marked processes have ended, and kill those that do not; one may start another meanwhile."""
    deadline = time.monotonic() + patience
    while marked(variable, mark) and time.monotonic() < deadline:
        time.sleep(0.1)
    deadline = time.monotonic() + _PATIENCE
    while (ids := marked(variable, mark)) and time.monotonic() < deadline:
        for process_id in ids:
            with suppress(ProcessLookupError):
                os.kill(process_id, signal.SIGKILL)
        time.sleep(0.05)


def _leave(number: int, frame: object) -> None:
    raise SystemExit(128 + number)


def superlink_pid() -> int | None:
    """The process id of the local SuperLink that runs simulations, where one runs and can be seen."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
            own = process.stat().st_uid == os.getuid()
        except OSError:
            continue
        if own and any(word.endswith(b"flower-superlink") for word in words[:2]) and b"--simulation" in words:
            return int(process.name)
    return None
