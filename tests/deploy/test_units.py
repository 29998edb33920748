"""The units: systemd reads them, they are hardened, and TLS and keys are what they start with."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from simulations.deployment.federation import APP

UNITS = sorted((APP / "deploy" / "systemd").glob("*.service"))
MOST_EXPOSED = 2.0  # of 10, as `systemd-analyze security` reckons


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_reads_the_units_and_finds_them_hardened(tmp_path: Path) -> None:
    for unit in UNITS:
        text = re.sub(r"/opt/fedrag/\.venv/bin/\S+", sys.executable, unit.read_text(encoding="utf-8"))
        (tmp_path / unit.name.replace("@.", "@ward.")).write_text(text, encoding="utf-8")
    files = [str(path) for path in tmp_path.iterdir()]
    assert len(files) == 3
    verified = subprocess.run(["systemd-analyze", "verify", *files], capture_output=True, text=True, check=False)
    assert verified.returncode == 0, verified.stderr
    assert not [line for line in verified.stderr.splitlines() if "fedrag" in line]
    judged = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--no-pager", *files],
        capture_output=True,
        text=True,
        check=False,
    )
    exposures = [float(number) for number in re.findall(r"Overall exposure level for \S+: ([\d.]+)", judged.stdout)]
    assert len(exposures) == 3
    assert max(exposures) <= MOST_EXPOSED


@pytest.mark.parametrize(
    "path", [*UNITS, *sorted((APP / "deploy" / "container").iterdir())], ids=lambda path: path.name
)
def test_nothing_starts_without_tls(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert "--insecure" not in text
    if "flower-superlink" in text:
        assert "--enable-supernode-auth" in text
        assert "--ssl-keyfile" in text
        assert "--host 127.0.0.1" in text
