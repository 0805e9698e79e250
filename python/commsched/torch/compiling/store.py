# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The job's store: requests that end in bounded time.

A client of a TCPStore whose server is stopped waits without end, whatever
its time-out. So every request runs in a thread of its own, on a connection
of its own where the store gives one: if it does not end in time, nothing is
ever asked of the store again.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any, Optional, TypeVar

from torch import distributed

from commsched.torch import private
from commsched.torch.private import gloo

#: Seconds between two looks at the store: the first, and the longest.
FIRST_LOOK, LONGEST_LOOK = 0.005, 0.5
#: The longest value in bytes. A TCPStore closes the connection at 8 MiB.
LONGEST = 4 << 20

Result = TypeVar("Result")


class StoreSilent(RuntimeError):
    """The job's store did not answer, or not in time."""


class Job:
    """This process's part in one job: its store, and what it confirmed.

    rank:    this process's rank.
    timeout: seconds that collectives of the job may take.
    state:   what other modules keep for as long as the job runs.
    """

    def __init__(self, store: Any, rank: int, prefix: str, timeout: float):
        self.rank = rank
        self.timeout = timeout
        self._answer = timeout
        self.state: dict[str, Any] = {}
        self._store = store
        self._own: Any = None
        self._prefix = prefix
        self._error: Optional[str] = None
        self._lock = threading.Lock()

    def limit(self, timeout: Optional[float]) -> float:
        """Returns the seconds that this rank waits for others: `timeout`, the
        option, or as long as their collectives would. From now on no request
        takes longer."""
        seconds = self.timeout if timeout is None else timeout
        self._answer = min(self._answer, seconds)
        return seconds

    def decide(self, key: str, value: str) -> str:
        """Returns the value of `key`, which is `value` if this rank is the
        first that decides it."""
        return self._request(
            key, lambda s: s.compare_set(self._prefix + key, "", value)
        ).decode()

    def get(self, key: str) -> Optional[str]:
        """Returns the value of `key`, or None if there is none yet."""

        def read(store: Any) -> Optional[bytes]:
            if not store.check([self._prefix + key]):
                return None
            return store.get(self._prefix + key)

        value = self._request(key, read)
        return None if value is None else value.decode()

    def set(self, key: str, value: str) -> None:
        self._request(key, lambda s: s.set(self._prefix + key, value))

    def add(self, key: str, amount: int) -> int:
        return self._request(key, lambda s: s.add(self._prefix + key, amount))

    def _request(self, key: str, ask: Callable[[Any], Result]) -> Result:
        with self._lock:
            if self._error is not None:
                raise StoreSilent(self._error)
            result: list = []

            def run() -> None:
                try:
                    if self._own is None:
                        self._own = private.own_connection(self._store)
                    result.append((ask(self._own), None))
                except Exception as error:
                    result.append((None, error))

            thread = threading.Thread(target=run, daemon=True)
            thread.start()
            # No thread waits longer than this, some 292 years.
            thread.join(min(self._answer, threading.TIMEOUT_MAX))
            if not result:
                self._error = (
                    f"the job's store did not answer in {self._answer:g} s when "
                    f"rank {self.rank} asked for '{key}'"
                )
                raise StoreSilent(self._error)
            value, error = result[0]
            if error is not None:
                lines = str(error).strip().splitlines() or [repr(error)]
                self._error = (
                    f"the job's store failed when rank {self.rank} asked for "
                    f"'{key}': {lines[0]}"
                )
                raise StoreSilent(self._error) from error
            return value


def poll(ask: Callable[[], Optional[Result]], deadline: float) -> Optional[Result]:
    """Asks in growing intervals, and returns the first answer that is not None;
    None if there is none before `deadline`, a time of `time.monotonic`."""
    pause = FIRST_LOOK
    while (found := ask()) is None:
        if time.monotonic() > deadline:
            return None
        time.sleep(pause)
        pause = min(2 * pause, LONGEST_LOOK)
    return found


_current: Optional[tuple[Any, Optional[Job]]] = None


def current_job() -> Optional[Job]:
    """Returns the job that this process belongs to; None if there is no
    other rank to agree with, as without a process group, and with the fake
    one of tests.

    Every initialization of the default process group is a job of its own.
    """
    global _current
    if not distributed.is_available() or not distributed.is_initialized():
        return None
    world = distributed.group.WORLD
    if _current is None or _current[0]() is not world:
        _current = (weakref.ref(world), _open())
    return _current[1]


def _open() -> Optional[Job]:
    if distributed.get_world_size() == 1:
        return None
    if "fake" in distributed.get_backend():
        return None
    gloo.rest_at_exit()
    # A restarted job may find the keys of the one before it in its store.
    incarnation = "/".join(
        os.environ.get(name, "0")
        for name in ("TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT")
    )
    store = private.names.get_default_store()
    return Job(
        store,
        distributed.get_rank(),
        f"commsched/{incarnation}/",
        store.timeout.total_seconds(),
    )
