"""One message handled by a Flower process that lives for it alone: ``python -m simulations.flower_message FILE``.

The file holds the message type, the node's config, the run's settings, and the content as hexadecimal bytes, in JSON.
Whether a service answers is the node config's to say.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from flwr.app import Context, Message, RecordDict

from client_app.app import app
from fedrag_flwr.local_grid import assume_identity
from fedrag_flwr.wire_bytes import from_bytes, to_bytes

RUN = 1
_NODE = 100


def main(path: Path) -> None:
    """Handle the message of a file, and write the reply's size to standard output."""
    told = json.loads(path.read_text(encoding="utf-8"))
    assume_identity(RUN)
    content = from_bytes(bytes.fromhex(told["content"]), path.name)
    message = Message(content, _NODE, told["type"], group_id=str(RUN))
    message.metadata.__dict__["_message_id"] = "measured"
    reply = app(message, Context(RUN, _NODE, told["node"], RecordDict(), told["run"]))
    if "what" in dict(reply.content["columns"]):
        raise SystemExit("the device could not do it")
    sys.stdout.write(f"{len(to_bytes(reply.content))}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
