"""Sealed messages and tags: they open for whom and what they were made for, and for nothing else."""

import stat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedrag_flwr.errors import CipherError, StoreCorruptError
from fedrag_flwr.privacy.seals import SealingKey, check_tag, seal, seal_once, tag

OWN, OTHER = SealingKey(bytes(range(32))), SealingKey(bytes(range(1, 33)))


@settings(deadline=None)
@given(st.binary(max_size=200), st.text(max_size=20), st.text(max_size=20), st.data())
def test_a_sealed_message_opens_for_its_receiver_and_context_alone(
    body: bytes, context: str, another: str, data: st.DataObject
) -> None:
    sealed = seal(body, OWN.public, context)
    assert OWN.open(sealed, context) == body
    assert len(body) < 8 or body not in sealed
    place = data.draw(st.integers(0, len(sealed) - 1))
    changed = sealed[:place] + bytes([sealed[place] ^ 1]) + sealed[place + 1 :]
    wrong = [(OTHER, sealed, context), (OWN, changed, context), (OWN, sealed[:place], context)]
    wrong += [(OWN, sealed, another)] if another != context else []
    for key, sent, told in wrong:
        with pytest.raises(CipherError, match="someone or something else"):
            key.open(sent, told)


def test_what_is_sealed_under_a_key_of_its_own_opens_with_that_key() -> None:
    (sealed, key), (other_sealed, other) = (seal_once(b"rows", "context") for _ in range(2))
    assert SealingKey(key).open(sealed, "context") == b"rows"
    assert key != other
    assert key not in sealed
    for wrong in ((other, sealed), (key, other_sealed)):
        with pytest.raises(CipherError, match="someone or something else"):
            SealingKey(wrong[0]).open(wrong[1], "context")


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
    made = {key.derived(purpose) for key in (OWN, OTHER, SealingKey(bytes(range(32)))) for purpose in ("a", "b")}
    assert len(made) == 4
    assert not made & {bytes(range(32)), OWN.public, OWN.tag_key(OWN.public)}


def test_a_key_is_kept_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "keys" / "sealing.key"
    public = SealingKey.kept(path).public
    assert SealingKey.kept(path).public == public != SealingKey.fresh().public
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.write_bytes(b"torn")
    with pytest.raises(StoreCorruptError, match="holds no key"):
        SealingKey.kept(path)
