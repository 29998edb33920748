"""Database servers for tests: on loopback, on a free port, in a folder of their own, ended by their process."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

_MARIADB = ("/usr/sbin/mariadbd", "/usr/bin/mariadb-install-db")
_START_SECONDS = 60.0


@contextmanager
def mariadb() -> Iterator[str]:
    """Run MariaDB with an empty database; gives its URL."""
    if not all(Path(program).exists() for program in _MARIADB):
        pytest.skip("MariaDB is not installed (apt-get install mariadb-server)")
    user = _unprivileged("mysql")
    with _folder(user) as folder:
        data, port = folder / "data", _free_port()
        install = [_MARIADB[1], "--no-defaults", f"--datadir={data}", "--auth-root-authentication-method=normal"]
        _run([*install, "--skip-test-db"], user)
        serve = [_MARIADB[0], "--no-defaults", f"--datadir={data}", f"--port={port}", "--bind-address=127.0.0.1"]
        serve += [f"--socket={folder}/s", f"--pid-file={folder}/pid", "--innodb-buffer-pool-size=32M"]
        with _server(serve, user, folder / "log"):
            admin = f"mariadb+pymysql://root@127.0.0.1:{port}"
            _until_up(lambda: _execute(admin, ["CREATE DATABASE ward"]))
            yield f"{admin}/ward"


@contextmanager
def postgresql() -> Iterator[str]:
    """Run PostgreSQL with an empty database; gives its URL."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if not found:
        pytest.skip("PostgreSQL is not installed (apt-get install postgresql)")
    user = _unprivileged("postgres")
    with _folder(user) as folder:
        data, port = folder / "data", _free_port()
        _run([str(found[-1] / "initdb"), "-D", str(data), "-U", "ward", "-A", "trust", "-E", "UTF8", "-N"], user)
        serve = [str(found[-1] / "postgres"), "-D", str(data), "-p", str(port), "-k", str(folder), "-F"]
        with _server([*serve, "-c", "listen_addresses=127.0.0.1"], user, folder / "log", signal.SIGINT):
            url = f"postgresql+psycopg://ward@127.0.0.1:{port}/postgres"
            _until_up(lambda: _execute(url, ["SELECT 1"]))
            yield url


def _execute(url: str, statements: Sequence[str]) -> None:
    from sqlalchemy import create_engine, text

    engine = create_engine(url, connect_args={"connect_timeout": 2})
    try:
        with engine.begin() as connection:
            for statement in statements:
                connection.execute(text(statement))
    finally:
        engine.dispose()


def _until_up(ask: Callable[[], None]) -> None:
    from sqlalchemy.exc import OperationalError

    end = time.monotonic() + _START_SECONDS
    while True:
        try:
            return ask()
        except OperationalError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


@contextmanager
def _server(
    command: Sequence[str], user: str | None, log: Path, stop: signal.Signals = signal.SIGTERM
) -> Iterator[None]:
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, user=user, cwd=log.parent)
    try:
        yield
    finally:
        process.send_signal(stop)
        process.wait(timeout=_START_SECONDS)


def _run(command: Sequence[str], user: str | None) -> None:
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    subprocess.run(command, check=True, capture_output=True, user=user, cwd="/tmp", env=environment)


@contextmanager
def _folder(user: str | None) -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="fedrag-"))
    try:
        if user is not None:
            shutil.chown(path, user)
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def _unprivileged(user: str) -> str | None:
    """The server's own account where tests run as root, which servers refuse to be."""
    return user if os.geteuid() == 0 else None


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
