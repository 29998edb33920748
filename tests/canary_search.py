"""A search for planted texts in bytes of any kind: as they are, in any case, run together, and inside packed parts."""

import base64
import binascii
import gzip
import re
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

_PACKED = re.compile(rb"[A-Za-z0-9+/_-]{24,}={0,2}")
_GZIP, _ZLIB = b"\x1f\x8b", (b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda")
_DEPTH = 3


def found_in(blob: bytes, canaries: Iterable[str]) -> set[str]:
    """Give the canaries that a blob holds."""
    plain = list(_layers(blob, _DEPTH))
    bare = [_bare(layer) for layer in plain]
    return {
        canary
        for canary in canaries
        if any(canary.casefold().encode() in layer for layer in plain)
        or any(_bare(canary.casefold().encode()) in layer for layer in bare)
    }


def found_under(folder: Path, canaries: Iterable[str], *, without: Iterable[Path] = ()) -> set[str]:
    """Give the canaries in the names and contents of all files under a folder."""
    wanted, left_out = tuple(canaries), tuple(without)
    found: set[str] = set()
    for file in folder.rglob("*"):
        if not any(file.is_relative_to(other) for other in left_out):
            body = file.read_bytes() if file.is_file() else b""
            found |= found_in(file.relative_to(folder).as_posix().encode() + b"\n" + body, wanted)
    return found


def _bare(text: bytes) -> bytes:
    return re.sub(rb"[\s().,;:_-]+", b"", text)


def _layers(blob: bytes, depth: int) -> Iterator[bytes]:
    """The blob in lower case, and whatever base64, gzip and zlib streams in it hold."""
    yield blob.lower()
    if not depth:
        return
    for inner in (*_unpacked(blob), *_decoded(blob)):
        yield from _layers(inner, depth - 1)


def _decoded(blob: bytes) -> Iterator[bytes]:
    for match in _PACKED.finditer(blob):
        text = match[0].rstrip(b"=").replace(b"-", b"+").replace(b"_", b"/")
        try:
            yield base64.b64decode(text[: len(text) // 4 * 4] + _padded(text[len(text) // 4 * 4 :]))
        except binascii.Error:
            continue


def _padded(rest: bytes) -> bytes:
    return rest + b"=" * (4 - len(rest)) if len(rest) > 1 else b""


def _unpacked(blob: bytes) -> Iterator[bytes]:
    for magic in (_GZIP, *_ZLIB):
        start = blob.find(magic)
        while start >= 0:
            try:
                inner = zlib.decompressobj(wbits=47).decompress(blob[start:])
            except (zlib.error, gzip.BadGzipFile):
                inner = b""
            if inner:
                yield inner
            start = blob.find(magic, start + 1)
