# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The shortest step of a small problem within a limit of live bytes, proved.

A problem as commsched-parity writes it becomes a constraint program for CP-SAT
(OR-tools): one boolean for each pair of operations says which is issued first,
and everything else follows from them. That is the model of docs/guide/model.md:

- an operation is issued when all before it let the compute stream go on, which
  a start does at once and a wait when its collective has ended;
- collectives of one stream run in the order in which they are issued;
- a storage is live beside an operation if it was allocated by then and one of
  its users has not ended before. The order decides, not the time: most waits
  and starts take none.
"""

from dataclasses import dataclass

try:
    from ortools.sat.python import cp_model
except ImportError:
    cp_model = None

SKIP_REASON = "" if cp_model else "ortools, the exact solver, is not installed"


class NotProved(RuntimeError):
    """The time was over before the optimum was proved."""


@dataclass(frozen=True)
class Optimum:
    """No legal order within the limit is shorter."""

    step_ns: int
    order: list


def close(problem):
    """For each operation the set of those that come after it in any legal
    order, as a bit mask."""
    count = len(problem["nodes"])
    edges = [(a, b) for a, b, _ in problem["dependences"]]
    edges += [
        (producer, user)
        for _, producer, _, users in problem["buffers"]
        for user in users
        if producer >= 0 and user != producer
    ]
    after = [0] * count
    for source, user in edges:
        after[source] |= 1 << user
    for middle in range(count):
        for node in range(count):
            if after[node] >> middle & 1:
                after[node] |= after[middle]
    return after


class Model:
    """The constraint program of a problem."""

    def __init__(self, problem, limit):
        self.nodes = problem["nodes"]
        self.buffers = problem["buffers"]
        self.count = len(self.nodes)
        self.after = close(problem)
        self.horizon = sum(cost for _, cost, *_ in self.nodes)
        self.cp = cp_model.CpModel()
        self.before = {}
        self.place = [
            self.cp.new_int_var(
                sum(self.after[other] >> node & 1 for other in range(self.count)),
                self.count - 1 - self.after[node].bit_count(),
                f"place{node}",
            )
            for node in range(self.count)
        ]
        self.order_pairs()
        self.run_streams()
        self.hold_memory(limit)
        self.cp.minimize(self.step)

    def is_before(self, one, other):
        """A literal, or a number where the dependences decide."""
        if self.after[one] >> other & 1:
            return 1
        if self.after[other] >> one & 1:
            return 0
        if one < other:
            return self.before[one, other]
        return self.before[other, one].negated()

    def pairs(self):
        for one in range(self.count):
            for other in range(one + 1, self.count):
                yield one, other

    def imply(self, one, other, constraint):
        """`constraint` holds if `one` is before `other`."""
        before = self.is_before(one, other)
        if isinstance(before, int):
            if before:
                self.cp.add(constraint)
        else:
            self.cp.add(constraint).only_enforce_if(before)

    def order_pairs(self):
        for one, other in self.pairs():
            if not (self.after[one] >> other & 1 or self.after[other] >> one & 1):
                self.before[one, other] = self.cp.new_bool_var(f"{one}<{other}")
        for one, other in self.pairs():
            for a, b in ((one, other), (other, one)):
                self.imply(a, b, self.place[a] < self.place[b])
        for node in range(self.count):
            others = (n for n in range(self.count) if n != node)
            ahead = sum(self.is_before(other, node) for other in others)
            self.cp.add(self.place[node] == ahead)

    def run_streams(self):
        cp = self.cp
        new_time = lambda name: cp.new_int_var(0, self.horizon, name)
        # When each operation is issued, and when the next one may be.
        issue = [new_time(f"issue{n}") for n in range(self.count)]
        release = list(issue)
        begin, end = list(issue), list(issue)
        on_stream = {}
        for node, (kind, cost, stream, _, start) in enumerate(self.nodes):
            if kind == "compute":
                release[node] = end[node] = issue[node] + cost
                on_stream.setdefault(-1, []).append(node)
            elif kind == "wait":
                release[node] = end[node] = new_time(f"release{node}")
                cp.add(release[node] >= issue[node])
                cp.add(release[node] >= end[start])
            else:
                begin[node] = new_time(f"begin{node}")
                end[node] = begin[node] + cost
                cp.add(begin[node] >= issue[node])
                if kind == "blocking":
                    release[node] = end[node]
                on_stream.setdefault(stream, []).append(node)
        for one, other in self.pairs():
            for a, b in ((one, other), (other, one)):
                self.imply(a, b, release[a] <= issue[b])
                if self.share_stream(a, b):
                    self.imply(a, b, end[a] <= begin[b])
        # Follows from the above, but helps the proof.
        for members in on_stream.values():
            cp.add_no_overlap(
                cp.new_fixed_size_interval_var(begin[n], self.nodes[n][1], f"run{n}")
                for n in members
            )
        self.step = new_time("step")
        for node in range(self.count):
            cp.add(self.step >= end[node])

    def share_stream(self, one, other):
        stream = self.nodes[one][2]
        return stream >= 0 and stream == self.nodes[other][2]

    def hold_memory(self, limit):
        for node in range(self.count):
            terms = [
                size * self.is_live(index, node)
                for index, (size, *_) in enumerate(self.buffers)
            ]
            self.cp.add(sum(terms) <= limit)

    def is_live(self, index, node):
        """Whether a storage is there while `node` runs: a literal or a number."""
        _, producer, freed, users = self.buffers[index]
        made = 1 if producer in (-1, node) else self.is_before(producer, node)
        if isinstance(made, int) and made == 0:
            return 0
        last = {*users, producer} - {-1}
        if not freed or not last or node in last:
            return made
        kept = [self.is_before(node, user) for user in last if user != producer]
        if any(isinstance(k, int) and k for k in kept):
            return made
        kept = [k for k in kept if not isinstance(k, int)]
        if not kept:
            return 0
        live = self.cp.new_bool_var(f"live{index}@{node}")
        for literal in kept:
            clause = [live, literal.negated()]
            if not isinstance(made, int):
                clause.append(made.negated())
            self.cp.add_bool_or(clause)
        return live


def solve(problem, limit, hint=None, seconds=600, low=0, high=None):
    """The optimum, or None if no order is within the limit. `hint`: an order to
    begin with; `low`: a bound below the optimum; `high`: the longest step that
    is asked for. Raises NotProved."""
    model = Model(problem, limit)
    model.cp.add(model.step >= low)
    if high is not None:
        model.cp.add(model.step <= high)
    if hint:
        place = {node: position for position, node in enumerate(hint)}
        for (one, other), literal in model.before.items():
            model.cp.add_hint(literal, place[one] < place[other])
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    solver.parameters.num_workers = 2
    status = solver.solve(model.cp)
    if status == cp_model.INFEASIBLE:
        return None
    if status != cp_model.OPTIMAL:
        raise NotProved(f"no proof after {seconds} s")
    order = sorted(range(model.count), key=lambda n: solver.value(model.place[n]))
    return Optimum(solver.value(model.step), order)
