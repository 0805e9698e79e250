# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Steps in which collectives slow computation down by a known tax: their
programs, and the traces of runs with noise."""

import random

from test_profile_traces import complete

ELEMENTS = 4096
_GATHER = f"""\
  %s{{0}} = commsched.all_gather %s on @dp dim(0)
      {{{{commsched.name = "gather_{{0}}"}}}}
      : tensor<{ELEMENTS}xf32> -> !commsched.future<tensor<{2 * ELEMENTS}xf32>>
"""
_WAIT = f"""\
  %g{{0}} = commsched.wait %s{{0}}
      : !commsched.future<tensor<{2 * ELEMENTS}xf32>>
"""
# Name of the operator, shapes of its operands, time alone in microseconds.
OPERATORS = {
    "mm": ("aten.mm", ((32, 64), (64, 64)), 40.0),
    "add": ("aten.add", ((32, 64), (32, 64)), 10.0)}


def layers(count, hidden, alone, gather_us):
    """A gather in each of `count` layers, with operators before and behind its
    wait."""
    step = []
    for layer in range(count):
        step.append(("start", layer, gather_us))
        step += [("compute", name) for name in hidden]
        step.append(("wait", layer))
        step += [("compute", name) for name in alone]
    return step


def program(step):
    """The step as MLIR."""
    lines, count = [], 0
    for what, key, *_ in step:
        if what == "start":
            lines.append(_GATHER.format(key))
        elif what == "wait":
            lines.append(_WAIT.format(key))
        else:
            operator, shapes, _ = OPERATORS[key]
            second = "%w" if key == "mm" else "%x"
            types = ", ".join(f"tensor<{a}x{b}xf32>" for a, b in shapes)
            lines.append(
                f'  %c{count} = commsched.compute "{operator}"(%x, {second}) '
                f'{{commsched.name = "{key}_{count}"}}\n'
                f"      : ({types}) -> tensor<32x64xf32>\n")
            count += 1
    return (
        "commsched.group @dp size(2)\n"
        "func.func @step(%x: tensor<32x64xf32>, %w: tensor<64x64xf32>, "
        f"%s: tensor<{ELEMENTS}xf32>) {{\n{''.join(lines)}  return\n}}\n")


class Run:
    """Steps that run with a tax. Times are in microseconds; each work differs
    from the mean by up to `noise`, and one in 40 is `outlier` times as long."""

    def __init__(self, step, tax, noise=0.03, outlier=1.0, slower=1.0, seed=1):
        self.step, self.tax, self.slower = step, tax, slower
        self.noise, self.outlier = noise, outlier
        self.random = random.Random(seed)

    def times(self, begin):
        """(name, begin, end) of the computations, collectives and waits."""
        now = stream = begin
        busy, times = {}, []
        for what, key, *cost in self.step:
            if what == "start":
                stream = max(now, stream) + cost[0]
                busy[key] = stream - cost[0], stream
                times.append(("gather", key, *busy[key]))
            elif what == "wait":
                end = max(now, busy[key][1])
                times.append(("wait", key, now, end))
                now = end
            else:
                end = self._end(now, self._work(key), busy.values())
                times.append(("compute", key, now, end))
                now = end
        return times

    def length(self):
        """How long the step takes, with its last wait."""
        return max(end for *_, end in self.times(0))

    def _work(self, key):
        work = OPERATORS[key][2] * self.slower
        work *= 1 + self.noise * (2 * self.random.random() - 1)
        return work * (self.outlier if self.random.random() < 1 / 40 else 1)

    def _end(self, now, work, spans):
        """When a computation ends that begins now."""
        for begin, end in sorted(spans):
            if end <= now:
                continue
            alone = max(0, begin - now)
            if work <= alone:
                break
            work, now = work - alone, now + alone
            beside = (end - now) / (1 + self.tax)
            if work <= beside:
                return now + work * (1 + self.tax)
            work, now = work - beside, end
        return now + work

    def kineto(self, steps):
        """The events of a trace with kernels. The add has two of them, with a
        gap between them that is no part of its time."""
        events, count = [], 0
        for number in range(steps):
            mark = 100_000 * number
            events.append(complete(f"ProfilerStep#{number}",
                                   "user_annotation", mark, 90_000))
            for what, key, begin, end in self.times(mark + 10):
                if what == "wait":
                    continue
                count += 1
                args = {"External id": count}
                launch = complete("cudaLaunchKernel", "cuda_runtime",
                                  mark + 1, 1, correlation=count)
                kernel = {**args, "stream": 7, "correlation": count}
                if what == "gather":
                    events += [launch, complete(
                        "record_param_comms", "cpu_op", mark + 1, 1, 9,
                        **args, **{
                            "Collective name": "_allgather_base",
                            "In msg nelems": ELEMENTS, "dtype": "Float",
                            "Group size": 2, "Process Group Name": "0"}),
                        complete("ncclDevKernel_AllGather_RING_LL", "kernel",
                                 begin, end - begin, 20, **kernel)]
                    continue
                name, shapes, _ = OPERATORS[key]
                middle = (begin + end) / 2 if key == "add" else end
                events += [launch, complete(
                    name.replace(".", "::"), "cpu_op", mark + 2 + count / 100,
                    0.001, **args, **{
                        "Input Dims": [list(shape) for shape in shapes],
                        "Input type": ["float"] * 2}),
                    *(complete("kernel", "kernel", a, b - a, 7, **kernel)
                      for a, b in ((begin, middle), (middle, end)) if a < b)]
        return events

    def timeline(self, steps):
        """The events of a timeline of commsched-run, of one rank."""
        events = [{"ph": "M", "name": "process_name", "pid": 1, "tid": 0,
                   "args": {"name": "rank 0 measured"}}]
        last = 0
        for _ in range(steps):
            for what, key, begin, end in self.times(last):
                last = max(last, end)
                name, category = {
                    "gather": (f"gather_{key}", "all_gather"),
                    "wait": (f"wait for gather_{key}", "wait"),
                    "compute": (OPERATORS.get(key, [""])[0], "compute"),
                }[what]
                thread = 2 if what == "gather" else 1
                events.append(complete(name, category, begin, end - begin,
                                       thread))
        return events
