# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs PyTorch Inductor's functions on stand-ins, unmodified or repaired.

A repair changes the arguments of one of a function's helpers, the state that it
leaves, or what it finds; none replaces a decision.

One helper is always replaced: Inductor takes a wait for that of a collective if
it depends on it in any way. The stand-ins have dependences that say no more than
that one follows the other, such as those of blocking collectives, and know the
collective of each wait.
"""

import contextlib
from dataclasses import dataclass, field
from unittest import mock

from torch._inductor import comms, config, config_comms, memory
from torch.utils._ordered_set import OrderedSet

RAISE = "reorder_communication_preserving_peak_memory"
SINK = "sink_waits_iterative"
INTERNALS = {
    RAISE: "_reorder_communication_preserving_peak_memory_internal",
    SINK: "_sink_waits_iterative_internal",
}
SORTS = {
    "topological_sort_lpmf": memory.topological_sort_lpmf,
    "topological_sort_bfs": memory.topological_sort_bfs,
    "topological_sort_dfs": memory.topological_sort_dfs,
}


@dataclass
class Move:
    """What became of one collective or wait."""

    moves: int
    grouped: int
    limit: str  # none, dependence, collective, memory, hidden or exposure
    comm_ns: float


@dataclass
class Answer:
    order: list
    moves: dict = field(default_factory=dict)  # Index -> Move.


def classify(limiting_factor):
    """The kind of reason that Inductor's text gives."""
    if limiting_factor == "None":
        return "none"
    for start, kind in [
        ("data dependency", "dependence"),
        ("peak memory", "memory"),
        ("collective ordering", "collective"),
        ("candidate contains_async_collective", "collective"),
        ("unexposed by runtime estimations", "hidden"),
        ("candidate has compute", "exposure"),
        ("candidate is wait", "exposure"),
    ]:
        if limiting_factor.startswith(start):
            return kind
    if limiting_factor.startswith("candidate ") and " is collective" in limiting_factor:
        return "exposure"
    raise ValueError(f"unknown limiting factor: {limiting_factor}")


def prepare(standin, name):
    """A function without arguments that returns nodes and statistics."""
    if name in INTERNALS:
        return lambda: getattr(comms, INTERNALS[name])(standin.nodes)
    if name not in SORTS:
        return lambda: (getattr(comms, name)(standin.nodes), {})
    outputs = OrderedSet(standin.graph.outputs)
    _, inputs = memory.prepare_planning_info(
        standin.nodes,
        standin.name_to_buf,
        standin.name_to_node,
        OrderedSet(standin.graph.graph_inputs),
        outputs,
    )
    more = []
    if name == "topological_sort_lpmf":
        more = [inputs, standin.name_to_buf, outputs]
    return lambda: (SORTS[name](standin.nodes, *more), {})


def run(standin, counterpart, repairs=()):
    """The answer of the function of `counterpart` with its settings."""
    name, knobs = counterpart.function, dict(counterpart.knobs)
    with contextlib.ExitStack() as stack:
        stack.enter_context(standin.installed())
        stack.enter_context(pair_by_start())
        stack.enter_context(config_comms.patch(knobs))
        stack.enter_context(
            config.patch(
                reorder_for_compute_comm_overlap_passes=list(counterpart.passes)
            )
        )
        for repair in repairs:
            stack.enter_context(REPAIRS[name][repair]())
        nodes, stats = prepare(standin, name)()
    # Inductor reports the times that it used.
    scale = knobs.get(
        "reorder_sink_runtime_estimations_comm_mult",
        config_comms.reorder_sink_runtime_estimations_comm_mult,
    )
    return Answer(
        [node.index for node in nodes],
        {
            node.index: Move(
                info.moves,
                info.grouped,
                classify(info.limiting_factor),
                info.comm_time / scale,
            )
            for node, info in stats.items()
        },
    )


def pair_by_start():
    """See above."""
    return mock.patch.object(
        comms,
        "_is_corresponding_collective_wait",
        lambda collective, wait, *_: wait.start == collective.index,
    )


def find_exposures(standin, repaired=False):
    """The computation that hides each collective in the program's order, by the
    index of its start: seen from the start, and from the wait."""
    nodes = standin.nodes
    before, after, head = comms._initialize_double_linked_list(nodes)
    runtimes = {node: node.override_estimated_runtime for node in nodes}
    outputs = {node: {o.get_name() for o in node.get_outputs()} for node in nodes}
    dependences = {
        node: {d.name for d in node.unmet_dependencies if not comms._is_fake_dep(d)}
        for node in nodes
    }
    tables = runtimes, outputs, dependences
    found = {}
    with contextlib.ExitStack() as stack:
        stack.enter_context(standin.installed())
        stack.enter_context(pair_by_start())
        if repaired:
            stack.enter_context(find_windows_of_starts())
        for node in nodes:
            if node.start is not None:
                start = nodes[node.start]
                _, ahead, _ = comms._coll_exposed_communication_time(
                    start, after, *tables
                )
                _, back, _ = comms._wait_exposed_communication_time(
                    node, head, before, *tables
                )
                found[start.index] = (round(ahead), round(back))
    return found


def recompute_group_peak(function):
    """The peak of the group is taken where the group stands now.

    Inductor takes it when the group forms, or an operation joins, and keeps it
    while the group moves on and its memory changes.
    """
    original = getattr(comms, function)

    def repaired(candidate, group, end, peak, delta, allocfree, changed, memory, *more):
        peak = max(memory[node][0] for node in group)
        return original(
            candidate, group, end, peak, delta, allocfree, changed, memory, *more
        )

    return mock.patch.object(comms, function, repaired)


@contextlib.contextmanager
def keep_last_uses():
    """The table of last uses follows a swap.

    When sinking waits, Inductor moves what is freed from the candidate to a
    member of the group, but leaves the candidate as the buffer's last user.
    """
    find = comms._find_buffers_with_changed_last_use_sink_waits
    update = comms._update_memory_tracking_after_swap_sink_waits
    last_uses = {}

    def finding(candidate, group, last_use, candidate_map):
        last_uses["table"] = last_use
        return find(candidate, group, last_use, candidate_map)

    def updating(candidate, group, delta, allocfree, changed, *more):
        update(candidate, group, delta, allocfree, changed, *more)
        for node, buffers in changed.items():
            for buffer in buffers:
                last_uses["table"][buffer] = node

    with mock.patch.object(comms, find.__name__, finding):
        with mock.patch.object(comms, update.__name__, updating):
            yield


def allocate_inputs_before():
    """Inputs that are freed are there before the first operation.

    Inductor adds their bytes to what the operation at place 0 allocates. When a
    group moves past that operation, the inputs stay behind with it, and the
    group is judged without them.
    """
    estimate = comms.estimate_peak_memory_allocfree

    def repaired(nodes, inputs, outputs):
        peak, current, allocfree, last_uses = estimate(nodes, inputs, outputs)
        allocfree[nodes[0]].size_alloc -= sum(
            buffer.mpi_buffer.size_free for buffer in inputs.values()
        )
        return peak, current, allocfree, last_uses

    return mock.patch.object(comms, estimate.__name__, repaired)


def walk_from_start(collective, following, runtimes, outputs, dependences):
    """What is exposed of a collective, seen from its start.

    The window ends at its wait, at a blocking collective, or at the wait of a
    later collective of its stream. Inductor means to stop at waits of later
    collectives, of any stream, but compares them with the collective itself; and
    takes every operation that depends on the collective for its wait.
    """
    computed, met = 0.0, {collective.index}
    node = following[collective]
    while node is not None and node.start not in met:
        if not node.is_collective:
            computed += runtimes[node]
        elif not comms.contains_async_collective(node):
            break
        elif node.stream == collective.stream:
            met.add(node.index)
        node = following[node]
    return runtimes[collective], computed, ""


def find_windows_of_starts():
    return mock.patch.object(
        comms, "_coll_exposed_communication_time", walk_from_start
    )


def weigh_no_blocking():
    """A blocking collective in a group has nothing to lose.

    When sinking waits, Inductor counts the computation behind it as if that hid
    it. It looks at no other collective in this way there.
    """
    return mock.patch.object(
        comms, "_coll_exposed_communication_time", lambda *_: (0.0, float("inf"), "")
    )


# By function: defects of torch 2.13 that change orders, and their repairs.
REPAIRS = {
    RAISE: {
        "stale group peak": lambda: recompute_group_peak(
            "_calculate_potential_peak_memory_reorder"
        ),
        "inputs made by the first operation": allocate_inputs_before,
        "windows of starts": find_windows_of_starts,
    },
    SINK: {
        "stale group peak": lambda: recompute_group_peak(
            "_calculate_potential_peak_memory_sink_waits"
        ),
        "stale last use": keep_last_uses,
        "blocking collectives weighed": weigh_no_blocking,
    },
}
