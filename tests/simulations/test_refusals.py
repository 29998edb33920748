"""A real SuperLink with TLS and node keys: a registered node gets in, and nobody else; what counts as refused."""

import shutil
from pathlib import Path

import pytest

from simulations.deployment.federation import SUPERLINK, Deployment
from simulations.deployment.refusals import ADMITTED, Refusal, refusals


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl")
def test_only_registered_nodes_get_in(tmp_path: Path) -> None:
    with Deployment(tmp_path, {"desk": {"data-path": str(tmp_path)}}) as deployment:
        deployment.processes.wait_for("node-desk", ADMITTED, seconds=90)
        found = {one.case: one for one in refusals(deployment)}
        active = deployment.processes.lines(SUPERLINK, "Activated node_id")
    assert len(active) == 1
    assert all(one.refused for one in found.values())
    assert "Failed to activate SuperNode" in found["unregistered"].node_says
    assert '/v1/fleet/activate-node HTTP/1.1" 412' in found["unregistered"].server_says
    assert "CERTIFICATE_VERIFY_FAILED" in found["wrong-authority"].node_says
    assert "Connection attempt failed" in found["plain"].node_says
    assert deployment.processes.marked() == []


@pytest.mark.parametrize(
    ("admitted", "says", "refused"),
    [
        (False, "ERROR: Failed to activate SuperNode [code 305]", True),
        (False, "Connection attempt failed, retrying", True),
        (False, "nothing", False),
        (True, "nothing", False),
        (True, "Connection attempt failed, retrying", False),
    ],
)
def test_a_stranger_is_refused_only_if_it_says_so(admitted: bool, says: str, refused: bool) -> None:
    assert Refusal("plain", admitted, says, "nothing").refused == refused


def test_strangers_are_not_judged_where_members_say_nothing(tmp_path: Path) -> None:
    deployment = Deployment(tmp_path, {"desk": {}})
    deployment.processes.log("node-desk").write_text("this node is in, in other words\n", encoding="utf-8")
    with pytest.raises(TimeoutError, match=f"node-desk has not said {ADMITTED}"):
        next(refusals(deployment, seconds=0.1))
