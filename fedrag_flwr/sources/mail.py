"""Mail: single messages and mailboxes; headers as lines, then the body, then the attachments that can be read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from email import message_from_bytes, policy
from email.message import EmailMessage, MIMEPart
from pathlib import PurePosixPath

from fedrag_flwr.errors import DocumentError
from fedrag_flwr.sources.html import html_text

Attached = Callable[[str, bytes], str]  # ending and bytes -> text, "" where that is not read

_SHOWN = ("Subject", "From", "To", "Cc", "Date")
_DEEPEST = 5  # messages within messages
_BEGINS = re.compile(rb"(?:\A|(?<=\n\n)|(?<=\n\r\n))From [^\n]*\n")


def read_eml(raw: bytes, attached: Attached) -> tuple[str, str]:
    """Read a message; the title is its subject."""
    message = _message(raw)
    return _header(message, "Subject"), "\n\n".join(_told(message, attached))


def read_mbox(raw: bytes, attached: Attached) -> tuple[str, str]:
    """Read a mailbox: each message under its subject; raises DocumentError where it is none."""
    starts = [found.span() for found in _BEGINS.finditer(raw)]
    if not starts or starts[0][0]:
        raise DocumentError("it is no mailbox", fix="export it again")
    ends = [begin for begin, _ in starts[1:]] + [len(raw)]
    told = []
    for (_, start), end in zip(starts, ends, strict=True):
        message = _message(raw[start:end].replace(b"\n>From ", b"\nFrom "))
        told += [f"# {_header(message, 'Subject')}".rstrip("# "), *_told(message, attached)]
    return "", "\n\n".join(filter(None, told))


def _message(raw: bytes) -> EmailMessage:
    message = message_from_bytes(raw, policy=policy.default)
    assert isinstance(message, EmailMessage)
    if not any(name in message for name in _SHOWN):
        raise DocumentError("it is no message", fix="export it again")
    return message


def _header(message: EmailMessage, name: str) -> str:
    return " ".join(str(message.get(name, "")).split())


def _told(message: EmailMessage, attached: Attached, depth: int = 0) -> Iterator[str]:
    yield "\n\n".join(f"{name}: {value}" for name in _SHOWN if (value := _header(message, name)))
    body = message.get_body(("plain", "html"))
    if body is not None:
        yield _text(body)
    for part in message.iter_attachments():
        if part.get_content_type() == "message/rfc822":
            inner = part.get_content()
            if isinstance(inner, EmailMessage) and depth < _DEEPEST:
                yield from _told(inner, attached, depth + 1)
            continue
        name = part.get_filename("")
        content = part.get_payload(decode=True)
        if isinstance(content, bytes) and (text := attached(PurePosixPath(name).suffix.lower(), content).strip()):
            yield f"Attachment {name}:"
            yield text


def _text(body: MIMEPart) -> str:
    try:
        text = str(body.get_content()).strip()
    except LookupError:  # a charset that nobody knows
        raw = body.get_payload(decode=True)
        text = raw.decode("utf-8", "replace").strip() if isinstance(raw, bytes) else ""
    return html_text(text)[1] if body.get_content_subtype() == "html" else text
