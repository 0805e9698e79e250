# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The time and memory model of docs/guide/model.md on a dumped problem.

It is independent of CommSched's simulator; the results of both are compared on
CommSched's orders.
"""


def check_legal(problem, order):
    """Raises ValueError unless the order respects every dependence."""
    place = {node: position for position, node in enumerate(order)}
    if sorted(order) != list(range(len(problem["nodes"]))):
        raise ValueError("not each operation once")
    for source, user, kind in problem["dependences"]:
        if place[source] > place[user]:
            raise ValueError(f"{user} before {source}, which it needs ({kind})")


def simulate_time(problem, order):
    """Step time and exposed communication in nanoseconds."""
    clock = computed = 0
    streams, ends = {}, {}
    for node in order:
        kind, cost, stream, _, start = problem["nodes"][node]
        if kind == "compute":
            clock += cost
            computed += cost
        elif kind == "wait":
            clock = max(clock, ends[start])
        else:
            ends[node] = max(clock, streams.get(stream, 0)) + cost
            streams[stream] = ends[node]
            if kind == "blocking":
                clock = ends[node]
    step = max([clock, *streams.values()])
    return step, step - computed


def simulate_peak(problem, order):
    """Peak of live bytes."""
    place = {node: position for position, node in enumerate(order)}
    made, freed = [0] * len(order), [0] * len(order)
    live = 0
    for size, producer, is_freed, users in problem["buffers"]:
        if producer < 0:
            live += size
        else:
            made[place[producer]] += size
        last = max((place[n] for n in [*users, producer] if n >= 0), default=-1)
        if is_freed and last >= 0:
            freed[last] += size
    peak = live
    for allocated, released in zip(made, freed):
        live += allocated
        peak = max(peak, live)
        live -= released
    return peak


def simulate(problem, order):
    """The costs as commsched-parity writes them."""
    check_legal(problem, order)
    step, exposed = simulate_time(problem, order)
    return {
        "step_time_ns": step,
        "exposed_comm_ns": exposed,
        "peak_memory_bytes": simulate_peak(problem, order),
    }
