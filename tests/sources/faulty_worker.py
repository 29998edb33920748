"""The process that reads foreign formats, with a reader of .odt that hangs, dies or floods as the file asks."""

import os
import time

from fedrag_flwr.sources.conversion_worker import main
from fedrag_flwr.sources.formats import FOREIGN


def _read(raw: bytes) -> tuple[str, str]:
    if raw == b"hang":
        time.sleep(60)
    elif raw == b"die":
        os.abort()
    elif raw == b"flood":
        return "", "a" * 2**20
    return "", raw.decode()


if __name__ == "__main__":
    FOREIGN[".odt"] = _read
    main()
