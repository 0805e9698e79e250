# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What operations cost on the machine at hand, where the options do not say.

An accelerator is known by its name. A processor whose ranks talk by gloo is
measured, once for each machine and layout of groups: the table is kept in a
folder of the user's. One that was measured on a busy machine is measured again
by a job that finds it and the machine at rest. The first rank that finds it
there gives it to all others in the job's store. If none does, the ranks measure
together before the first graph is compiled, for a few seconds, in process
groups of their own; a rank that waits too long for the others decides that all
do without. So all ranks have one table, or none.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import json
import os
import platform
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Optional

import torch
from torch import distributed

from commsched.output import replacing
from commsched.torch import measuring, private
from commsched.torch.compiling import records
from commsched.torch.compiling.launches import digest_of
from commsched.torch.compiling.meeting import exchange, in_new_thread
from commsched.torch.compiling.operator_times import OperatorTimes
from commsched.torch.compiling.publishing import pack, unpack
from commsched.torch.compiling.store import (
    Job,
    StoreSilent,
    current_job,
    poll,
)
from commsched.torch.measuring.collectives import SIZES, measure_collectives
from commsched.torch.measuring.machine import is_busy, measure_target, slowest
from commsched.torch.measuring.profile import (
    ProfileError,
    operators_in,
    write_profile,
)
from commsched.torch.private import gloo

#: Values of the option `measure` that are no file.
NEVER, ONCE = "never", "once"

#: The folder of the tables, instead of the user's own for caches.
FOLDER = "COMMSCHED_CACHE_DIR"
#: The option `measure` where none is given.
DEFAULT = "COMMSCHED_MEASURE"

#: Seconds that a rank waits for the others to measure, that collectives are
#: measured for, and that a call of them may take.
MEETING, MEASURING, CALL = 60.0, 6.0, 30.0
REPEATS = 11

#: The presets of devices, by what the names of these have in them.
_DEVICES = {
    "GH200": "gh200",
    "H200": "h200",
    "H100": "h100",
    "B200": "b200",
    "A100": "a100",
}

_GO = "go"

#: The member of a table that was measured beside other programs.
_BUSY = "busy"


@dataclasses.dataclass(frozen=True)
class Prices:
    """Where times come from: the preset `target` and the file `profile`, None
    for what the passes take by default, `note`, how they were found, and the
    `operators` that were or are measured."""

    target: Optional[str] = None
    profile: Optional[str] = None
    note: str = ""
    operators: Optional[OperatorTimes] = dataclasses.field(
        default=None, compare=False
    )


def prices_at_hand(
    measure: str, agree: bool, node_size: int, timeout: Optional[float]
) -> Prices:
    """Returns the prices of this machine, the same on all ranks of the job that
    call this with equal arguments."""
    if torch.accelerator.is_available():
        return preset_of(_device_name())
    job = current_job() if agree else None
    if job is None or measure == NEVER or not gloo.carries_all():
        return Prices()
    known = job.state.setdefault("prices", {})
    if measure not in known:
        seconds = job.limit(timeout)
        known[measure] = _Table(job, measure, node_size, seconds).prices()
    return known[measure]


def _device_name() -> str:
    if torch.cuda.is_available():
        return torch.cuda.get_device_name()
    return torch.accelerator.current_accelerator().type


def preset_of(name: str) -> Prices:
    """Returns the prices of the accelerator that calls itself `name`."""
    for part, target in _DEVICES.items():
        if part in name:
            return Prices(target, note=f"times are those of the device, {name}")
    return Prices(note=f"there is no target for the device {name}")


class _Table:
    def __init__(self, job: Job, measure: str, node_size: int, timeout: float):
        self._job = job
        self._groups = [g for g in gloo.ranks_of_groups() if len(g) > 1]
        self._node_size = node_size
        self._timeout = timeout
        self._deadline = time.monotonic() + min(timeout, MEETING)
        self._exchanges = 0
        self._path = Path(measure)
        if measure == ONCE:
            self._path = _folder() / f"{self._machine()[:16]}.json"

    def prices(self) -> Prices:
        try:
            table = json.loads(self._decided())
        except StoreSilent as error:
            return self._without(str(error))
        if "reason" in table:
            return self._without(table["reason"])
        text = unpack(table["text"])
        members = json.loads(text)
        try:
            known = operators_in(members, self._path)
        except ProfileError as error:
            return self._without(str(error))
        profile = self._keep(text, members, table["new"])
        operators = OperatorTimes(self._job, self._path, known, self._timeout)
        return Prices(None, profile, table["note"], operators)

    def _without(self, reason: str) -> Prices:
        records.warn_once(
            f"CommSched knows no times of this machine: {reason}; schedules "
            "are made for the default target. 'python -m "
            "commsched.torch.measure' measures it, for the option 'profile'"
        )
        return Prices(note=f"this machine was not measured: {reason}")

    def _decided(self) -> str:
        """Returns what holds for all ranks, as JSON."""
        known = self._job.get("prices/table")
        if known is not None:
            return known
        try:
            text = self._path.read_text("utf-8")
            members = json.loads(text)
        except OSError:
            return self._measured()
        except ValueError as error:
            return self._decline(f"{self._path} is not JSON ({error})")
        if isinstance(members, dict) and members.get(_BUSY) and not is_busy():
            return self._measured()
        return self._publish(text, f"as once measured, {self._path}", False)

    def _publish(self, text: str, note: str, new: bool) -> str:
        note = f"times of this machine, {note}"
        table = {"text": pack(text), "note": note, "new": new}
        return self._job.decide("prices/table", json.dumps(table))

    def _decline(self, reason: str) -> str:
        table = json.dumps({"reason": reason})
        return self._job.decide("prices/table", table)

    # -- measuring -----------------------------------------------------------

    def _measured(self) -> str:
        """Returns the table that all ranks measure together, or why there is
        none, or what was decided meanwhile."""
        job, size = self._job, distributed.get_world_size()
        job.add("prices/count", 1)

        def met() -> Optional[str]:
            if job.add("prices/count", 0) >= size:
                return _GO
            return job.get("prices/table")

        found = poll(met, self._deadline)
        if found not in (None, _GO):
            return found
        late = f"rank {job.rank} waited for other ranks to compile, too"
        if job.decide("prices/go", found or late) != _GO:
            return self._decline(job.decide("prices/go", late))
        self._deadline = time.monotonic() + MEETING
        try:
            text, busy = in_new_thread(self._measure)
        except Exception as error:  # Whatever gloo raises.
            lines = str(error).strip().splitlines() or [repr(error)]
            return self._decline(f"rank {job.rank}: {lines[0]}")
        beside = ", beside other programs: later jobs measure again" if busy else ""
        return self._publish(text, f"measured just now{beside}", True)

    def _measure(self) -> tuple[str, bool]:
        """Measures one group of each layout, and returns the table, and whether
        the machine was busy."""
        everyone = self._exchange(self._groups)
        chosen = _chosen(everyone, self._node_size)
        store, device = private.names.get_default_store(), torch.device("cpu")
        busy = is_busy()
        with contextlib.ExitStack() as groups:
            mine = []
            for ranks in chosen:
                if self._job.rank in ranks:
                    name = f"commsched-{'-'.join(map(str, ranks))}"
                    group = gloo.separate_group(store, name, ranks, CALL)
                    mine.append(groups.enter_context(group))
            rows = measure_collectives(
                mine,
                SIZES,
                repeats=REPEATS,
                device=device,
                limit=MEASURING / len(mine),
                exchange=self._exchange,
            )
            # The last group is that of all ranks.
            target = measure_target(device, REPEATS, mine[-1])
            targets = self._exchange(target)
        busy = any(self._exchange(is_busy() or busy))
        return _text(rows, slowest(targets), busy), busy

    def _exchange(self, mine: Any) -> list:
        """Returns what all ranks give in this call."""
        self._exchanges += 1
        return exchange(
            self._job,
            f"prices/exchange/{self._exchanges}",
            mine,
            range(distributed.get_world_size()),
            self._deadline,
            lambda: self._job.get("prices/table"),  # A rank gave up.
        )

    # -- keeping -------------------------------------------------------------

    def _machine(self) -> str:
        """What tables are kept by: the machine, and how this rank uses it."""
        facts = [
            platform.node(),
            platform.machine(),
            len(os.sched_getaffinity(0)),
            torch.get_num_threads(),
            torch.__version__,
            _method(),
            distributed.get_world_size(),
            sorted({_layout(g, self._node_size) for g in self._groups}),
        ]
        return digest_of(facts)

    def _keep(self, text: str, members: Any, new: bool) -> str:
        """Writes the table, which is `new`, where later jobs find it, and where
        this one reads it, whatever those write; returns the latter. It has no
        operators, which become more with each job: what plans and caches are
        known by stays."""
        if isinstance(members, dict):
            left_out = ("operators", _BUSY)
            members = {k: v for k, v in members.items() if k not in left_out}
        read = json.dumps(members)
        name = f"{hashlib.sha256(read.encode()).hexdigest()[:16]}.json"
        try:
            if new or not self._path.exists():
                _write(self._path, text)
            return _write(_folder() / name, read)
        except OSError:
            return _write(Path(tempfile.mkdtemp()) / name, read)


@functools.cache
def _method() -> str:
    """A digest of what measures: with another one a machine has another table."""
    files = sorted(Path(measuring.__file__).parent.glob("*.py"))
    return digest_of([file.read_text("utf-8") for file in files])


def _folder() -> Path:
    if FOLDER in os.environ:
        return Path(os.environ[FOLDER])
    caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(caches) / "commsched"


def _write(path: Path, text: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary:
        Path(temporary).write_text(text, "utf-8")
    return str(path)


def _layout(ranks: Sequence[int], node_size: int) -> tuple[int, int]:
    """How many ranks a group has, and on how many nodes."""
    return len(ranks), len({rank // node_size for rank in ranks})


def _chosen(
    everyone: Sequence[Sequence[Sequence[int]]], node_size: int
) -> list[tuple[int, ...]]:
    """Returns which groups of all ranks are measured, in this order: of each
    layout as many as have no rank in common, which then are busy at once, as
    in a step; the group of all ranks last."""
    chosen: dict[tuple, list] = {}
    for ranks in sorted({tuple(group) for own in everyone for group in own}):
        others = chosen.setdefault(_layout(ranks, node_size), [])
        if not any(set(ranks) & set(other) for other in others):
            others.append(ranks)
    return [ranks for layout in sorted(chosen) for ranks in chosen[layout]]


def _text(rows: list, target: Mapping[str, float], busy: bool) -> str:
    """Returns the table as a file has it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.json"
        write_profile(
            path,
            rows,
            target=target,
            name=f"gloo, {distributed.get_world_size()} ranks",
            source=f"before a first compilation; PyTorch {torch.__version__}",
            device=f"{platform.machine()}, {os.cpu_count()} cores",
        )
        return json.dumps({_BUSY: busy, **json.loads(path.read_text("utf-8"))})

