"""Bytes that are not what was sent."""


def spoilt(data: bytes) -> bytes:
    """The same bytes, but for the last one, which is another whatever it was."""
    return data[:-1] + bytes([data[-1] ^ 1])
