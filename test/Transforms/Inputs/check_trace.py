# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads a Chrome trace from standard input and checks and lists what it shows.

Every event must have its required fields, no two slices of a track may
overlap, and flows must have a start and an end. Prints tracks, slices and the
counter in a form that FileCheck reads, in nanoseconds.
"""

import json
import sys
from decimal import Decimal


def ns(event, key):
    value = event[key] * 1000
    assert value == int(value), f"a fraction of a nanosecond: {event}"
    return int(value)


def main():
    trace = json.load(sys.stdin, parse_float=Decimal)
    tracks, slices, flows = {}, {}, {}
    for event in trace["traceEvents"]:
        track = (event["pid"], event.get("tid", 0))
        if event["ph"] == "M":
            tracks[event["name"], *track] = event["args"]["name"]
            print("track", *track, event["name"], event["args"]["name"])
        elif event["ph"] == "X":
            slices.setdefault(track, []).append(
                (ns(event, "ts"), ns(event, "dur"), event["name"]))
        elif event["ph"] == "C":
            print("counter", track[0], event["name"], ns(event, "ts"),
                  event["args"]["bytes"])
        else:
            assert event["ph"] in "sf", f"unknown phase: {event}"
            flows.setdefault(event["id"], []).append((event["ph"], ns(event, "ts")))
    for track, entries in sorted(slices.items()):
        assert ("thread_name", *track) in tracks, f"track {track} has no name"
        end = 0
        for begin, duration, name in sorted(entries):
            assert begin >= end, f"{name} overlaps with the slice before it"
            end = begin + duration
            print("slice", *track, begin, end, name)
    for ends in flows.values():
        (first, begin), (second, end) = ends
        assert (first, second) == ("s", "f") and begin <= end, f"flow {ends}"
        print("flow", begin, end)


if __name__ == "__main__":
    main()
