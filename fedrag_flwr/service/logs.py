"""A service's log: one JSON object a line, with numbers and names of ours, never a text of people or documents."""

from __future__ import annotations

import json
import logging
import sys
import threading
from datetime import UTC, datetime
from types import TracebackType

from fedrag_flwr.handling import place_of

OURS = "fedrag_flwr"
_log = logging.getLogger(__name__)


class JsonLines(logging.Formatter):
    """Our own messages in full; of a library's only that there was one, as it may quote what it worked on."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        ours = record.name.partition(".")[0] == OURS
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage() if ours else "a library's message",
            "logger": record.name,
        }
        line |= getattr(record, "fields", {})
        if record.exc_info and record.exc_info[1] is not None:
            line |= {"error": type(record.exc_info[1]).__name__, "place": place_of(record.exc_info[1])}
        return json.dumps(line)


def start_logging() -> None:
    """Send all logs of this process to standard error, as JSON lines; errors that nobody caught, too."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger(OURS).setLevel(logging.INFO)
    logging.captureWarnings(True)
    sys.excepthook = _uncaught
    threading.excepthook = lambda told: _uncaught(told.exc_type, told.exc_value, told.exc_traceback)


def told(event: str, **fields: object) -> None:
    """Log an event of the service with its numbers and names."""
    _log.info(event, extra={"fields": fields})


def _uncaught(kind: type[BaseException], error: BaseException | None, trace: TracebackType | None) -> None:
    _log.error("an error that nobody caught", exc_info=(kind, error or kind(), trace))
