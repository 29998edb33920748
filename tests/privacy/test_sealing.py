"""Sealed boxes and tags: they open for whom and what they were made for, and for nothing else."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedrag_flwr.errors import CipherError, StoreCorruptError
from fedrag_flwr.privacy.sealing import BoxKey, check_tag, seal, seal_once, tag

OWN, OTHER = BoxKey(bytes(range(32))), BoxKey(bytes(range(1, 33)))


@settings(deadline=None)
@given(st.binary(max_size=200), st.text(max_size=20), st.text(max_size=20), st.data())
def test_a_box_opens_for_its_receiver_and_context_alone(
    body: bytes, context: str, another: str, data: st.DataObject
) -> None:
    box = seal(body, OWN.public, context)
    assert OWN.open(box, context) == body
    assert len(body) < 8 or body not in box
    place = data.draw(st.integers(0, len(box) - 1))
    changed = box[:place] + bytes([box[place] ^ 1]) + box[place + 1 :]
    wrong = [(OTHER, box, context), (OWN, changed, context), (OWN, box[:place], context)]
    wrong += [(OWN, box, another)] if another != context else []
    for key, sent, told in wrong:
        with pytest.raises(CipherError, match="someone or something else"):
            key.open(sent, told)


def test_what_is_sealed_under_a_key_of_its_own_opens_with_that_key() -> None:
    (box, key), (other_box, other) = (seal_once(b"rows", "context") for _ in range(2))
    assert BoxKey(key).open(box, "context") == b"rows"
    assert key != other
    assert key not in box
    for wrong in ((other, box), (key, other_box)):
        with pytest.raises(CipherError, match="someone or something else"):
            BoxKey(wrong[0]).open(wrong[1], "context")


@given(st.lists(st.binary(max_size=8), max_size=4), st.lists(st.binary(max_size=8), max_size=4))
def test_a_tag_tells_parts_apart(parts: list[bytes], others: list[bytes]) -> None:
    key = OWN.tag_key(OTHER.public)
    assert key == OTHER.tag_key(OWN.public)
    check_tag(key, tag(key, *parts), *parts)
    if parts != others:
        with pytest.raises(CipherError, match="not what was sent"):
            check_tag(key, tag(key, *parts), *others)
    with pytest.raises(CipherError, match="not what was sent"):
        check_tag(OWN.tag_key(OWN.public), tag(key, *parts), *parts)


@pytest.mark.parametrize("key", [b"", b"short", bytes(33), bytes(32)])
def test_what_is_no_public_key_is_refused(key: bytes) -> None:
    with pytest.raises(CipherError, match="key is none"):
        OWN.tag_key(key)
    with pytest.raises(CipherError, match="key is none"):
        seal(b"body", key, "")


def test_a_key_s_owner_has_a_secret_for_each_purpose() -> None:
    made = {key.derived(purpose) for key in (OWN, OTHER, BoxKey(bytes(range(32)))) for purpose in ("a", "b")}
    assert len(made) == 4
    assert not made & {bytes(range(32)), OWN.public, OWN.tag_key(OWN.public)}


def test_a_key_is_kept_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "keys" / "box.key"
    public = BoxKey.kept(path).public
    assert BoxKey.kept(path).public == public != BoxKey.fresh().public
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.write_bytes(b"torn")
    with pytest.raises(StoreCorruptError, match="holds no key"):
        BoxKey.kept(path)
