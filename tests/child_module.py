"""A child process for tests: it echoes, sleeps, dies, prints or babbles, as it is asked."""

import os
import sys
import time

from fedrag_flwr.processes import private_streams, read_frames, write_frames


def main() -> None:
    asked, told = private_streams()
    while True:
        try:
            what, *rest = read_frames(asked, 2**20)
        except EOFError:
            return
        if what == b"sleep":
            time.sleep(60)
        elif what == b"die":
            os.abort()
        elif what == b"print":
            os.write(1, b"a library's own words")
            sys.stdout.flush()
        elif what == b"babble":
            told.write(b"\xff" * 64)
            told.flush()
        write_frames(told, rest)


if __name__ == "__main__":
    main()
