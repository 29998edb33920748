"""A text told piece by piece: whatever its bytes are cut into, the pieces joined are the text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fedrag_flwr.models.chat import Spoken


@given(st.lists(st.one_of(st.binary(max_size=5), st.text(max_size=4).map(str.encode), st.just(b" \n"))))
def test_the_pieces_joined_are_the_text_without_space_around_it(cut: list[bytes]) -> None:
    told: list[str] = []
    spoken = Spoken(told.append)
    for piece in cut:
        spoken.add_bytes(piece)
    assert "".join(told) == b"".join(cut).decode("utf-8", "ignore").strip()
    assert "" not in told


def test_a_character_is_told_whole() -> None:
    told: list[str] = []
    spoken = Spoken(told.append)
    for byte in " Fluß 🦆 ".encode():
        spoken.add_bytes(bytes([byte]))
    assert told == ["F", "l", "u", "ß", " 🦆"]
