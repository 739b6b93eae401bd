"""`python -m bench.sendfile_floor`: what the kernel alone takes to send a file over loopback.

A budget for fetching cannot lie below it: whoever sends by sendfile pays this, and what a broker adds is the
rest. One process sends a gigabyte from the page cache by calls of one megabyte, another throws it away.
"""

import multiprocessing
import os
import resource
import socket
import tempfile
from statistics import median

TURNS = 5
BYTES = 10**9
CALL_BYTES = 1024 * 1024
FILL = bytes(CALL_BYTES)


def drain(port: int) -> None:
    """Load: receive until the sender is done."""
    buffer = bytearray(CALL_BYTES)
    with socket.create_connection(("127.0.0.1", port)) as connection:
        while connection.recv_into(buffer):
            pass


def turn(connection: socket.socket, file: int) -> float:
    """Send the file once; give the CPU seconds that this process took for it."""
    before = _cpu()
    position = 0
    while position < BYTES:
        position += os.sendfile(connection.fileno(), file, position, min(CALL_BYTES, BYTES - position))
    return _cpu() - before


def main() -> None:
    """Print the median of some turns."""
    with tempfile.TemporaryFile() as file, socket.create_server(("127.0.0.1", 0)) as server:
        for _ in range(0, BYTES, CALL_BYTES):
            file.write(FILL)
        file.flush()
        receiver = multiprocessing.get_context("spawn").Process(target=drain, args=server.getsockname()[1:])
        receiver.start()
        connection, _ = server.accept()
        with connection:
            taken = [turn(connection, file.fileno()) for _ in range(TURNS)]
        receiver.join(10)
    print(f"sendfile over loopback: {median(taken):.3f} CPU s per GB ({min(taken):.3f}-{max(taken):.3f})")


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
