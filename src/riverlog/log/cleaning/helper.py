"""The program of a helper process: it cleans what it is told to clean, one partition at a time.

    standard input     job NUMBER {...}        what to clean, see `job`
                       rate BYTES_PER_SECOND   from now on
                       abort NUMBER            if that job is the one at work
    standard output    {"replacement": ...}    as often as there are any
                       {"outcome": ...}  or  {"failure": ..., "text": ...}

A process of its own, since a thread would take the interpreter from the event loop for as long as it works.
It ends with its standard input, thus with the broker, however that ends.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
import threading
import time
from queue import SimpleQueue

from riverlog.errors import CorruptBatch, StorageError
from riverlog.log.cleaning.cleaning import Cleaning
from riverlog.log.cleaning.job import CleaningAborted, Job, Replacement
from riverlog.log.cleaning.key_hashes import SEED_BYTES
from riverlog.log.cleaning.throttle import Throttle
from riverlog.log.disk import Disk

ABORTED, CORRUPT, STORAGE = "aborted", "corrupt", "storage"

NICENESS = 5
"""Producers and consumers come first where there are too few processors for all."""


class Orders:
    """What came from the broker, read in a thread of its own."""

    def __init__(self) -> None:
        self.jobs: SimpleQueue[tuple[int, Job]] = SimpleQueue()
        self.throttle = Throttle(float("inf"), time.monotonic, self.wait)
        self.number_at_work = 0
        self._number_aborted = -1

    @property
    def is_aborted(self) -> bool:
        """Whether the job at work is called off."""
        return self._number_aborted == self.number_at_work

    def wait(self, seconds: float) -> None:
        """Let time pass. Raises CleaningAborted."""
        time.sleep(seconds)
        if self.is_aborted:
            raise CleaningAborted("the cleaning was called off")

    def read(self) -> None:
        """Take orders until there are no more; then end the process, whatever it is doing."""
        for line in sys.stdin.buffer:
            what, _, rest = line.partition(b" ")
            if what == b"job":
                number, _, description = rest.partition(b" ")
                job = Job.decode(description)
                # Here, so that a rate which comes behind the job is not overruled when that begins.
                self.throttle.bytes_per_second = job.bytes_per_second
                self.jobs.put((int(number), job))
            elif what == b"rate":
                self.throttle.bytes_per_second = float(rest)
            elif what == b"abort":
                self._number_aborted = int(rest)
        # What is left half done is removed by the next cleaning of that partition, or the next start.
        os._exit(0)


def main() -> None:
    """Work until the broker is gone."""
    # Ctrl-C goes to all processes of a terminal. The broker decides when we end.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(NICENESS)
    orders = Orders()
    threading.Thread(target=orders.read, name="orders", daemon=True).start()
    while True:
        orders.number_at_work, job = orders.jobs.get()
        # A cleaning makes hundreds of thousands of small objects and no cycles: looking for those would take
        # up to a third of its time where batches are small.
        gc.disable()
        _work(orders, job)
        gc.enable()
        gc.collect()


def _work(orders: Orders, job: Job) -> None:
    orders.throttle.forgive()
    try:
        cleaning = Cleaning(
            job,
            Disk(),
            seed=os.urandom(SEED_BYTES),
            throttle=orders.throttle,
            is_aborted=lambda: orders.is_aborted,
        )
        outcome = cleaning.run(_tell_replacement)
    except CleaningAborted as error:
        _tell({"failure": ABORTED, "text": str(error)})
    except CorruptBatch as error:
        _tell({"failure": CORRUPT, "text": str(error)})
    except (StorageError, MemoryError) as error:
        _tell({"failure": STORAGE, "text": str(error) or "not enough memory"})
    else:
        _tell({"outcome": outcome})


def _tell_replacement(replacement: Replacement) -> None:
    _tell({"replacement": replacement})


def _tell(message: dict[str, object]) -> None:
    try:
        sys.stdout.write(json.dumps(message, separators=(",", ":")) + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        # The broker has gone, and we did not know yet.
        os._exit(0)


if __name__ == "__main__":
    main()
