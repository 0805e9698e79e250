#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Verify answers to the scheduling problems of this folder.

    verify.py NAME ANSWER   a file of JSON, may be gzipped; - is standard input
    verify.py --all         all that is stored here, and the figures of the index
    verify.py --list

README.md describes problems, answers and rules. Times and memory are computed by
testsupport/simulate.py, which has nothing in common with the scheduler.
"""

import argparse
import gzip
import json
import pathlib
import sys
import zlib

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parents[1] / "testsupport"))

from simulate import check_legal, simulate_peak, simulate_time  # noqa: E402

GZIP_MAGIC = b"\x1f\x8b"


class Refused(ValueError):
    """Why an answer, or what is stored here, is wrong."""


def read_json(path):
    """The JSON of a file, which may be gzipped."""
    try:
        data = (sys.stdin.buffer.read() if str(path) == "-"
                else pathlib.Path(path).read_bytes())
        if data.startswith(GZIP_MAGIC):
            data = gzip.decompress(data)
        return json.loads(data)
    except OSError as error:
        raise Refused(f"cannot read '{path}': {error.strerror or error}")
    except (EOFError, zlib.error) as error:
        raise Refused(f"'{path}' is damaged: {error}")
    except (ValueError, RecursionError) as error:
        raise Refused(f"'{path}' is no JSON: {error}")


def read_index():
    return {entry["name"]: entry for entry in read_json(HERE / "index.json")}


def read_problem(entry):
    (function,) = read_json(HERE / entry["problem"])["functions"]
    return function


def read_order(path, count):
    """The order in an answer, each of `count` operations once."""
    answer = read_json(path)
    order = answer.get("order") if isinstance(answer, dict) else None
    if not isinstance(order, list):
        raise Refused(f"'{path}' is no object with a list 'order'")
    seen = set()
    for position, node in enumerate(order):
        if type(node) is not int or not 0 <= node < count:
            raise Refused(f"order[{position}] is {json.dumps(node)}, but expected "
                          f"an operation from 0 to {count - 1}")
        if node in seen:
            raise Refused(f"order[{position}] is {node}, which is there already")
        seen.add(node)
    if len(order) != count:
        missing = next(node for node in range(count) if node not in seen)
        raise Refused(f"the order has {len(order)} of {count} operations; "
                      f"{missing} is missing")
    return order


def verify(entry, problem, path):
    """The step time and the peak of an answer, in nanoseconds and bytes."""
    order = read_order(path, len(problem["nodes"]))
    try:
        check_legal(problem, order)
    except ValueError as error:
        raise Refused(f"the order is not legal: {error}")
    peak = simulate_peak(problem, order)
    if peak > entry["limit_bytes"]:
        raise Refused(f"the order needs {peak} bytes, but the limit is "
                      f"{entry['limit_bytes']}")
    step, _ = simulate_time(problem, order)
    if step < entry["bound_ns"]:
        raise Refused(f"the step takes {step} ns, less than the lower bound of "
                      f"{entry['bound_ns']} ns: this is an error of the index")
    return step, peak


def describe(entry, step, peak):
    bound, best = entry["bound_ns"], entry["best_ns"]
    text = (f"{entry['name']}: {step} ns, {peak} bytes; {step / bound - 1:.2%} "
            f"above the bound, {step / best - 1:+.2%} to the best known")
    return text + (": shorter than any known" if step < best else "")


def check_entry(entry):
    """Checks the figures of an instance against what is stored of it."""
    problem = read_problem(entry)
    kinds = [node[0] for node in problem["nodes"]]
    program = range(len(kinds))
    found = {
        "operations": len(kinds),
        "collectives": kinds.count("start") + kinds.count("blocking"),
        "program_ns": simulate_time(problem, program)[0],
        "program_bytes": simulate_peak(problem, program),
    }
    step, peak = verify(entry, problem, HERE / entry["answer"])
    found["best_ns"] = step
    found["optimal"] = entry["optimal"] if step > entry["bound_ns"] else True
    for key, value in found.items():
        if entry[key] != value:
            raise Refused(f"the index says that {key} is {entry[key]}, but it is "
                          f"{value}")
    if entry["optimal"] and step > entry["bound_ns"]:
        raise Refused(f"the index says that {step} ns is optimal, but the bound "
                      f"is {entry['bound_ns']} ns")
    if entry["limit_bytes"] < found["program_bytes"]:
        raise Refused("the limit is below the peak of the program")
    return describe(entry, step, peak)


def check_all(index):
    named = {entry[key] for entry in index.values()
             for key in ("problem", "answer")}
    for path in sorted(HERE.glob("*/*.json.gz")):
        if path.relative_to(HERE).as_posix() not in named:
            raise Refused(f"the index does not name '{path}'")
    for name, entry in index.items():
        try:
            print(check_entry(entry))
        except Refused as error:
            raise Refused(f"{name}: {error}")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("name", nargs="?")
    parser.add_argument("answer", nargs="?")
    options = parser.parse_args()
    try:
        index = read_index()
        if options.list:
            print("\n".join(index))
        elif options.all:
            check_all(index)
        elif options.answer is None:
            parser.error("expected --all, --list, or a name and an answer")
        elif options.name not in index:
            raise Refused(f"there is no instance '{options.name}' (see --list)")
        else:
            entry = index[options.name]
            print(describe(
                entry, *verify(entry, read_problem(entry), options.answer)))
    except Refused as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
