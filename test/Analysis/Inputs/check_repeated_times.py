# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fails unless random loops and calls take what the same operations take
without a loop and without calls, with each kind of contention."""

import argparse
import itertools
import json
import random
import re
import subprocess

T, FUTURE = "tensor<64xf32>", "!commsched.future<tensor<64xf32>>"
# Inside a node, across nodes, and one with two ranks of both.
GROUPS = """commsched.group @node size(8)
commsched.group @across size(8) ranks_per_node(1) stride(8)
commsched.group @all size(64)
"""
FACTS = ["exclusive-groups", "link-sharing", "compute-slowdown=0.3"]
KEYS = ["step_time_ns", "compute_time_ns", "comm_time_ns", "exposed_comm_ns",
        "compute_slowdown_ns", "num_collectives", "comm_bytes"]


def make_body(draw):
    """Returns the lines of one run, which makes a new %v of the last one."""
    lines, flights = [], []

    def compute(operands):
        lines.append(
            f'%n{len(lines)} = commsched.compute "c"({", ".join(operands)}) '
            f"{{commsched.runtime_ns = {draw.randrange(50)}}} : "
            f"({', '.join([T] * len(operands))}) -> {T}")
        return f"%n{len(lines) - 1}"

    def wait(future):
        lines.append(f"%n{len(lines)} = commsched.wait {future} : {FUTURE}")
        return f"%n{len(lines) - 1}"

    value = "%v"
    for _ in range(draw.randrange(1, 7)):
        for _ in range(draw.randrange(3)):
            group = draw.choice(["node", "across", "all"])
            flights.append(f"%n{len(lines)}")
            lines.append(
                f"%n{len(lines)} = commsched.all_reduce {value} on @{group} "
                f"reduction(sum) {{commsched.runtime_ns = "
                f"{draw.randrange(90)}}} : {T} -> {FUTURE}")
        value = compute([value])
        if flights and draw.random() < 0.5:
            future = flights.pop(draw.randrange(len(flights)))
            value = compute([value, wait(future)])
    return lines, compute([value, *map(wait, flights)])


def make_case(draw, number):
    body, last = make_body(draw)
    count = draw.randrange(1, 5)

    def result(run):
        return f"{last}_{run}"

    def write(run, value):
        text = re.sub(r"%n\d+", lambda name: f"{name[0]}_{run}", "\n".join(body))
        return re.sub(r"%v\b", value, text)

    flat, value = "", "%x"
    for run in range(count):
        flat += write(run, value) + "\n"
        value = result(run)
    head = f"(%x: {T}) -> {T} {{\n"
    callee = (f"func.func private @body_{number}(%v: {T}) -> {T} {{\n"
              f"{write(0, '%v')}\nreturn {result(0)} : {T}\n}}\n")
    calls = "".join(
        f"%{run + 1} = call @body_{number}(%{run}) : ({T}) -> {T}\n"
        for run in range(count)).replace("(%0)", "(%x)")
    loop = (f"%zero = arith.constant 0 : index\n"
            f"%one = arith.constant 1 : index\n"
            f"%count = arith.constant {count} : index\n"
            f"%r = scf.for %i = %zero to %count step %one "
            f"iter_args(%v = %x) -> ({T}) {{\n"
            f"{write(0, '%v')}\nscf.yield {result(0)} : {T}\n}}\n")
    return (callee + f"func.func @flat_{number}{head}{flat}"
            f"return {value} : {T}\n}}\n"
            f"func.func @calls_{number}{head}{calls}return %{count} : {T}\n}}\n"
            f"func.func @loop_{number}{head}{loop}return %r : {T}\n}}\n")


def simulate(opt, text, facts):
    flags = [f"--commsched-set-costs={' '.join(facts)}"] if facts else []
    run = subprocess.run(
        [opt, "-", *flags, "--commsched-report=format=json", "-o",
         "/dev/null"], input=text, stdout=subprocess.PIPE, text=True,
        check=True)
    reports = map(json.loads, run.stdout.splitlines())
    return {report["function"]: [report.get(key, 0) for key in KEYS]
            for report in reports}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("opt")
    parser.add_argument("--cases", type=int, required=True)
    parser.add_argument("--seed", type=int, required=True)
    options = parser.parse_args()
    draw = random.Random(options.seed)
    text = GROUPS + "".join(make_case(draw, number) for number in range(options.cases))
    slowed, times = 0, set()
    for facts in itertools.chain.from_iterable(
            itertools.combinations(FACTS, length)
            for length in range(len(FACTS) + 1)):
        reports = simulate(options.opt, text, facts)
        for number in range(options.cases):
            flat = reports[f"flat_{number}"]
            for form in "calls", "loop":
                found = reports[f"{form}_{number}"]
                assert found == flat, (
                    f"seed {options.seed}, {facts}, @{form}_{number}: "
                    f"{dict(zip(KEYS, found))}, flat {dict(zip(KEYS, flat))}")
            slowed += flat[KEYS.index("compute_slowdown_ns")] > 0
        times.add(sum(report[0] for report in reports.values()))
    assert slowed > options.cases and len(times) >= 6, (slowed, times)


if __name__ == "__main__":
    main()
