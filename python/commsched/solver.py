# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The scheduler on arrays, without a module and without MLIR.

A :class:`Problem` has operations (nodes), dependences between them, and
buffers. Nodes and buffers are numbered from 0 as they are added; the numbers
of the nodes are also the order of the program. Times are in nanoseconds, sizes
in bytes.

    problem = Problem()
    large = problem.compute(500)
    gather = problem.start(400, stream=0)
    gathered = problem.wait(gather)
    problem.compute(100, after=[gathered])
    schedule(problem).step_ns  # 600

The work is done by the extension `commsched._native`; without it the functions
raise ImportError. They release the interpreter's lock, and several threads may
schedule one problem at once.
"""

from __future__ import annotations

import array
import json
import math
from typing import (
    Any, Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple, Union,
)

from . import native

KINDS = ("compute", "start", "wait", "blocking")
DEPENDENCES = ("data", "memory", "order", "barrier", "stream")
ORIGINS = ("program", "simple_overlap", "constructed", "least_memory")

#: The limit in bytes that nothing exceeds.
UNLIMITED = 2**63 - 1
_NONE = -1


class Schedule(NamedTuple):
    """A legal order with its times and its memory.

    The arrays are :class:`array.array`, which numpy.asarray() takes without a
    copy. `order` has the node at each position; the others have an element for
    each node.
    """

    order: array.array
    #: The time of the whole step.
    step_ns: int
    #: The sum of the costs of all computations, and of all collectives.
    compute_ns: int
    comm_ns: int
    #: The time of the step beyond its computation.
    exposed_comm_ns: int
    #: The most bytes that are live at once.
    peak_bytes: int
    #: Which kind of candidate was chosen: one of ORIGINS.
    origin: str
    #: When each node begins and ends; of a start: its collective.
    begin_ns: array.array
    end_ns: array.array
    #: How long each node stalls the compute stream. The stall of a wait is
    #: that of its start, too.
    exposed_ns: array.array


def _to_array(code: str, what: str, values: Any) -> array.array:
    """Returns integers as an array of the type `code` of :mod:`array`.

    Raises TypeError for what is no sequence of integers, and ValueError for
    integers that do not fit.
    """
    if isinstance(values, array.array) and values.typecode == code:
        return array.array(code, values)
    if hasattr(values, "tolist"):
        # An array of numpy, of any type of integers.
        values = values.tolist()
    try:
        return array.array(code, values)
    except OverflowError as error:
        raise ValueError(
            f"a value of {what} is out of range: {error}"
        ) from None
    except TypeError as error:
        raise TypeError(f"{what} must be integers: {error}") from None


#: The tables of a problem, and the types of their columns, in the order in
#: which the extension takes them.
_TABLES = {
    "nodes": {"kind": "B", "cost": "q", "stream": "i", "start": "i"},
    "dependences": {"on": "i", "node": "i", "kind": "B"},
    "buffers": {"size": "q", "producer": "i", "freed": "B"},
    "uses": {"buffer": "i", "node": "i"},
    "expensive": {"node": "i"},
}


class Problem:
    """A scheduling problem, which is checked when it is first used."""

    def __init__(self) -> None:
        self._tables = {
            table: {name: array.array(code) for name, code in types.items()}
            for table, types in _TABLES.items()
        }
        self._native: Any = None

    @classmethod
    def from_arrays(
        cls,
        kinds: Sequence[int],
        costs_ns: Sequence[int],
        streams: Optional[Sequence[int]] = None,
        starts: Optional[Sequence[int]] = None,
        *,
        dependences: Tuple[Sequence[int], ...] = ((), ()),
        buffers: Tuple[Sequence[int], ...] = ((), ()),
        uses: Tuple[Sequence[int], Sequence[int]] = ((), ()),
        expensive: Sequence[int] = (),
    ) -> Problem:
        """Makes a problem of arrays: lists, or arrays of numpy.

        kinds:       of each node: an index of KINDS.
        costs_ns:    of each node: its duration; 0 for a wait.
        streams:     of each start and blocking collective: its stream, one for
                     each process group, from 0; -1 for other nodes. Default:
                     0 for all collectives.
        starts:      of each wait: its start; -1 for other nodes. Default: all
                     -1, if there is no wait.
        dependences: the nodes that come first, those that come after them, and
                     optionally indices of DEPENDENCES. The dependence of a
                     wait on its start is there already.
        buffers:     sizes in bytes, nodes that allocate (-1: live from the
                     start), and optionally whether the last user frees each.
        uses:        buffers, and the nodes that use them.
        expensive:   the nodes that are large computations.
        """
        kinds = _to_array("B", "kinds", kinds)
        if streams is None:
            streams = [0 if kind in (1, 3) else _NONE for kind in kinds]
        if starts is None:
            starts = [_NONE] * len(kinds)
        # The last column of a table may be left out.
        before, after, *reasons = dependences
        sizes, producers, *freed = buffers
        tables = {
            "nodes": (kinds, costs_ns, streams, starts),
            "dependences": (before, after, *(reasons or [[0] * len(after)])),
            "buffers": (sizes, producers, *(freed or [[1] * len(sizes)])),
            "uses": uses,
            "expensive": (expensive,),
        }
        problem = cls()
        for table, columns in tables.items():
            names = [table] * len(columns)
            if table == "nodes":
                names = ["kinds", "costs_ns", "streams", "starts"]
            types = _TABLES[table].items()
            problem._tables[table] = {
                name: _to_array(code, what, values)
                for (name, code), what, values in zip(types, names, columns)
            }
        return problem

    # -- Building ----------------------------------------------------------

    def _add(
        self, kind: int, cost_ns: int, stream: int, start: int, after: Iterable
    ) -> int:
        node = len(self)
        self._append(
            "nodes", cost=cost_ns, stream=stream, start=start, kind=kind
        )
        for other in after:
            self.depend(node, other)
        return node

    def compute(
        self, cost_ns: int, *, after: Iterable[int] = (), expensive=False
    ) -> int:
        """Adds a computation that reads the results of the nodes `after`, and
        returns its number. `expensive`: it is one of the large computations
        that hide communication."""
        node = self._add(0, cost_ns, _NONE, _NONE, after)
        if expensive:
            self._append("expensive", node=node)
        return node

    def start(
        self, cost_ns: int, stream: int, *, after: Iterable[int] = ()
    ) -> int:
        """Adds the start of a collective, whose duration is `cost_ns`."""
        return self._add(1, cost_ns, stream, _NONE, after)

    def wait(self, start: int, *, after: Iterable[int] = ()) -> int:
        """Adds the one wait of `start`, which depends on it.

        A collective reads and writes its operands until it is waited for: the
        wait is a user of every buffer that the start uses.
        """
        return self._add(2, 0, _NONE, start, after)

    def blocking(
        self, cost_ns: int, stream: int, *, after: Iterable[int] = ()
    ) -> int:
        """Adds a collective that is start and wait in one."""
        return self._add(3, cost_ns, stream, _NONE, after)

    def depend(self, node: int, on: int, kind: str = "data") -> None:
        """Requires that `node` runs after `on`; `kind` is one of DEPENDENCES,
        and texts of errors name it."""
        if kind not in DEPENDENCES:
            raise ValueError(
                f"kind is {kind!r}, which is none of " + ", ".join(DEPENDENCES)
            )
        self._append(
            "dependences", on=on, node=node, kind=DEPENDENCES.index(kind)
        )

    def buffer(
        self,
        size: int,
        producer: Optional[int] = None,
        *,
        users: Iterable[int] = (),
        freed: bool = True,
    ) -> int:
        """Adds storage of `size` bytes, and returns its number.

        `producer` is the node that allocates it, or None if it is live from
        the start. Its last user frees it, unless `freed` is false.
        """
        buffer = len(self._tables["buffers"]["size"])
        where = _NONE if producer is None else producer
        self._append("buffers", producer=where, size=size, freed=int(bool(freed)))
        for user in users:
            self.use(buffer, user)
        return buffer

    def use(self, buffer: int, node: int) -> None:
        """Adds a user of a buffer. The producer need not be added."""
        self._append("uses", buffer=buffer, node=node)

    def _append(self, table: str, **row: int) -> None:
        """Appends a row to a table: all of it, or nothing."""
        done = []
        try:
            for what, value in row.items():
                try:
                    self._tables[table][what].append(value)
                except OverflowError:
                    raise ValueError(
                        f"{what} {value} is out of range"
                    ) from None
                except TypeError:
                    raise TypeError(
                        f"{what} must be an integer, not {value!r}"
                    ) from None
                done.append(what)
        except (ValueError, TypeError):
            for what in done:
                self._tables[table][what].pop()
            raise
        self._native = None

    # -- Reading -----------------------------------------------------------

    def __len__(self) -> int:
        """The number of nodes."""
        return len(self._tables["nodes"]["kind"])

    def kind(self, node: int) -> str:
        """Returns what a node is: one of KINDS."""
        return KINDS[self._tables["nodes"]["kind"][node]]

    def check(self) -> None:
        """Raises ValueError, with the node or buffer, if the problem is not
        sound: an index is out of range, a cost is negative, a start does not
        have exactly one wait, dependences have a cycle, and so on."""
        self._checked()

    def _checked(self) -> Any:
        if self._native is None:
            self._native = native.load().make_problem(
                *(c for each in self._tables.values() for c in each.values())
            )
        return self._native


def read_problems(text: Union[str, bytes]) -> Dict[str, Problem]:
    """Reads what `commsched-dump-problem` writes: by name of the function, its
    problem. Raises ValueError for another text."""
    try:
        dump = json.loads(text)
        version, functions = dump["version"], dump["functions"]
        if version != 1:
            raise ValueError(f"version {version} is not supported, only 1")
        return {each["function"]: _from_dump(each) for each in functions}
    except (KeyError, IndexError, TypeError) as error:
        raise ValueError(
            f"the text is no dump of problems: {error!r}"
        ) from None


def _from_dump(function: dict) -> Problem:
    kinds, costs, streams, expensive, starts = _columns(function["nodes"], 5)
    before, after, reasons = _columns(function["dependences"], 3)
    # A dump lists the dependences of waits on their starts as well.
    kept = [
        i
        for i, node in enumerate(after)
        if not (reasons[i] == "data" and starts[node] == before[i] != _NONE)
    ]
    sizes, producers, freed, users = _columns(function["buffers"], 4)
    return Problem.from_arrays(
        [KINDS.index(kind) for kind in kinds],
        costs,
        streams,
        starts,
        dependences=(
            [before[i] for i in kept],
            [after[i] for i in kept],
            [DEPENDENCES.index(reasons[i]) for i in kept],
        ),
        buffers=(sizes, producers, freed),
        uses=(
            [i for i, nodes in enumerate(users) for _ in nodes],
            [node for nodes in users for node in nodes],
        ),
        expensive=[node for node, large in enumerate(expensive) if large],
    )


def _columns(rows: List[list], count: int) -> List[list]:
    return [[row[i] for row in rows] for i in range(count)]


# -- Scheduling ------------------------------------------------------------


def schedule(
    problem: Problem,
    *,
    memory_budget: Union[None, int, str] = None,
    slack_percent: int = 40,
    effort: int = 1 << 22,
    exclusive: Iterable[Tuple[int, int]] = (),
    links: Sequence[int] = (),
    compute_slowdown: float = 0.0,
) -> Schedule:
    """Returns the schedule with the shortest step within the memory budget; if
    none is within it, the one that needs the least memory.

    memory_budget:    live bytes (a number, or text such as "64GiB"), or a
                      percentage over the peak of the program ("5%"); None:
                      unlimited.
    slack_percent:    by how many percent longer than their costs collectives
                      are taken to be, where that makes the step longer by no
                      more than a thousandth.
    effort:           how many nodes the simulations of the improvement phase
                      may run through together.
    exclusive:        pairs of streams that are never in flight together.
    links:            of each stream: the link that its collectives share the
                      speed of, or -1 for one of its own.
    compute_slowdown: by which part of its own time computation takes longer
                      beside a collective in flight, such as 0.19.

    Equal problems and options have equal schedules, on every machine. Raises
    ValueError for a problem or an option that is not sound, TypeError for
    values of another type, ImportError without the extension.
    """
    contention = _contention(exclusive, links, compute_slowdown)
    limit = _limit(problem, memory_budget)
    _check_range("slack_percent", slack_percent, 2**31 - 1)
    _check_range("effort", effort, UNLIMITED)
    return _schedule(
        native.load().schedule(
            problem._checked(), limit, slack_percent, effort, *contention
        )
    )


def simulate(
    problem: Problem,
    order: Optional[Sequence[int]] = None,
    *,
    exclusive: Iterable[Tuple[int, int]] = (),
    links: Sequence[int] = (),
    compute_slowdown: float = 0.0,
) -> Schedule:
    """Returns the times and the memory of an order, by default that of the
    program. The options and errors are those of :func:`schedule`; an illegal
    order is a ValueError that names the nodes and their positions."""
    contention = _contention(exclusive, links, compute_slowdown)
    if order is None:
        order = range(len(problem))
    positions = _to_array("i", "order", order)
    return _schedule(
        native.load().simulate(problem._checked(), positions, *contention)
    )


def lower_bound(problem: Problem, *, tight: bool = True) -> int:
    """Returns a time in nanoseconds that no order falls below. The one that is
    not tight takes linear time."""
    return native.load().lower_bound(problem._checked(), bool(tight))


def _schedule(parts: tuple) -> Schedule:
    order, step, compute, comm, exposed, peak, origin, *times = parts
    return Schedule(
        array.array("i", order), step, compute, comm, exposed, peak,
        ORIGINS[origin], *(array.array("q", each) for each in times),
    )


def _contention(exclusive, links, compute_slowdown) -> tuple:
    pairs = [tuple(_to_array("i", "exclusive", pair)) for pair in exclusive]
    for pair in pairs:
        if len(pair) != 2:
            raise ValueError(f"exclusive has {pair}, which is no pair")
    if not math.isfinite(compute_slowdown) or abs(compute_slowdown) > 1e6:
        raise ValueError(
            f"compute_slowdown {compute_slowdown} is out of range"
        )
    return (
        pairs, _to_array("i", "links", links), round(compute_slowdown * 10**6)
    )


def _check_range(what: str, value: int, largest: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{what} must be an integer, not {value!r}")
    if not 0 <= value <= largest:
        raise ValueError(f"{what} {value} is not from 0 to {largest}")


def _limit(problem: Problem, budget: Union[None, int, str]) -> int:
    """Returns the live bytes that a budget allows."""
    if budget is None:
        return UNLIMITED
    if not isinstance(budget, str):
        _check_range("memory_budget", budget, UNLIMITED)
        return budget
    try:
        peak = simulate(problem).peak_bytes if budget.endswith("%") else 0
        return native.load().limit_bytes(budget, peak)
    except ValueError as error:
        raise ValueError(f"memory_budget {error}") from None
