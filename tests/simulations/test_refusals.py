"""A real SuperLink with TLS and node keys: a registered node gets in, and nobody else."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from simulations.deployment.federation import SUPERLINK, Deployment
from simulations.deployment.refusals import refusals


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl")
def test_only_registered_nodes_get_in(tmp_path: Path) -> None:
    with Deployment(tmp_path, {"desk": {"data-path": str(tmp_path)}}) as deployment:
        deployment.processes.wait_for("node-desk", "SuperNode ID:", seconds=90)
        found = {one.case: one for one in refusals(deployment)}
        active = deployment.processes.lines(SUPERLINK, "Activated node_id")
    assert len(active) == 1
    assert not any(one.admitted for one in found.values())
    assert "Failed to activate SuperNode" in found["unregistered"].node_says
    assert '/v1/fleet/activate-node HTTP/1.1" 412' in found["unregistered"].server_says
    assert "CERTIFICATE_VERIFY_FAILED" in found["wrong-authority"].node_says
    assert "Connection attempt failed" in found["plain"].node_says
    assert deployment.processes.marked() == []
