# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A process group whose collectives take longer: a slow network on one machine.

:func:`register` adds the backend `delayed` to `torch.distributed`. Its groups
are gloo's behind one queue: a collective returns at once and gets in line; a
thread takes collectives from the line in their order, runs each with gloo, and
ends it `delay` later. So at any time one collective is under way, beside the
computation, as on the communication stream of a GPU, and waiting for one waits
for all that started before it.
"""

from __future__ import annotations

import atexit
import queue
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import _create_work_from_future

#: Name of the backend, for `init_process_group`.
NAME = "delayed"


class DelayedGroup(dist.ProcessGroup):
    """gloo behind an in-order queue, each collective `delay` seconds longer."""

    def __init__(
        self, store: dist.Store, gloo: dist.ProcessGroupGloo, delay: float
    ):
        super().__init__(gloo.rank(), gloo.size())
        self._inner = dist.ProcessGroup(store, gloo.rank(), gloo.size())
        kind = dist.ProcessGroup.BackendType.GLOO
        for group in (self, self._inner):  # A group's backend has its name.
            group._register_backend(torch.device("cpu"), kind, gloo)
            group._set_default_backend(kind)
        self._delay = delay
        self._line: queue.SimpleQueue = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()
        # A thread that still runs when the interpreter ends aborts it.
        atexit.register(self.shutdown)

    def _serve(self) -> None:
        while (job := self._line.get()) is not None:
            start, future = job
            try:
                start().wait()
            except Exception as error:  # It belongs to whoever waits.
                future.set_exception(error)
                continue
            time.sleep(self._delay)
            # Until the next job this thread keeps no tensors of this one.
            del job, start
            future.set_result(None)
            del future

    def _enqueue(self, start: Callable[[], dist.Work]) -> dist.Work:
        future: torch.futures.Future = torch.futures.Future()
        self._line.put((start, future))
        return _create_work_from_future(future)

    def getBackendName(self) -> str:
        return NAME

    def shutdown(self) -> None:
        """Ends the queue after what is in it."""
        self._line.put(None)
        self._thread.join()


def _forwarded(name: str) -> Callable[..., dist.Work]:
    def collective(self: DelayedGroup, *args: Any, **kwargs: Any) -> dist.Work:
        run = getattr(self._inner, name)
        return self._enqueue(lambda: run(*args, **kwargs))

    return collective


for _name in (
    "allgather",
    "allgather_into_tensor_coalesced",
    "allreduce",
    "allreduce_coalesced",
    "alltoall_base",
    "barrier",
    "broadcast",
    "gather",
    "recv",
    "reduce_scatter_tensor_coalesced",
    "scatter",
    "send",
):
    setattr(DelayedGroup, _name, _forwarded(_name))


def register(delay: float) -> str:
    """Adds the backend, with `delay` in seconds, and returns its name.

    The queue's thread is woken many times in a step: threads of Python are
    switched every 0.1 ms from here on, not every 5 ms.
    """

    def create(store, rank, size, timeout):
        gloo = dist.ProcessGroupGloo(store, rank, size, timeout)
        return DelayedGroup(store, gloo, delay)

    sys.setswitchinterval(1e-4)
    dist.Backend.register_backend(NAME, create, devices=["cpu"])
    return NAME
