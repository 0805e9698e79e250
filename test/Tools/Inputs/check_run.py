"""Checks what commsched-run has measured and written.

    check_run.py measurements JSON REPORT [--modelled]
    check_run.py timeline TRACE RANKS

`measurements`: the one line of --format=json, beside the report of the same
program: predictions are the report's. With --modelled, what was measured of
collectives is what was predicted, and the step takes no less. `timeline`: the
processes are the prediction and each rank, on the same threads, and each rank
has each collective."""

import argparse
import json


def check_measurements(args):
    with open(args.file) as file:
        (line,) = file.read().splitlines()
    measured = json.loads(line)
    with open(args.report) as file:
        report = json.load(file)
    for key in ("step_time_ns", "exposed_comm_ns", "peak_memory_bytes"):
        assert measured[key]["predicted"] == report[key], key
        assert measured[key]["measured"] >= 0, key
    assert measured["peak_memory_bytes"]["measured"] > 0
    sites = measured["collectives"]
    assert len(sites) == len(report["collectives"]) > 0
    for site, expected in zip(sites, report["collectives"]):
        for key in ("name", "kind", "group"):
            assert site[key] == expected[key], (site, expected)
        prediction = {
            "start_ns": expected["start_ns"],
            "duration_ns": expected["end_ns"] - expected["start_ns"],
            "exposed_ns": expected["exposed_ns"]}
        assert site["predicted"] == prediction, (site, expected)
        assert set(site["measured"]) == set(prediction)
        if args.modelled:
            assert site["measured"] == prediction, site
    if args.modelled:
        step = measured["step_time_ns"]
        assert step["measured"] >= step["predicted"], step
    print(f"{len(sites)} collectives, repeat {measured['repeat']}, "
          f"{measured['ranks']} ranks, backend {measured['backend']}")


def check_timeline(args):
    with open(args.file) as file:
        events = json.load(file)["traceEvents"]
    processes, threads, slices, arrows = {}, {}, {}, {}
    for event in events:
        pid = event["pid"]
        if event["name"] == "process_name":
            processes[pid] = event["args"]["name"]
        elif event["name"] == "thread_name":
            threads.setdefault(pid, {})[event["tid"]] = event["args"]["name"]
        elif event["ph"] == "X":
            assert event["dur"] >= 0 and event["ts"] >= 0, event
            slices.setdefault(pid, []).append(
                (event["tid"], event["cat"], event["name"]))
        elif event["ph"] in "sf":
            arrows.setdefault(event["id"], []).append(event)
    assert list(processes.values()) == ["predicted"] + [
        f"rank {rank} measured" for rank in range(args.ranks)], processes
    for pid in processes:
        assert threads[pid] == threads[1], threads
        for kind in ("compute", "wait"):
            assert all(threads[pid][tid] == "compute"
                       for tid, category, _ in slices[pid] if category == kind)
        # What is no compute and no wait is a collective on its group's thread.
        collectives = [
            [slice for slice in slices[of] if slice[1] not in
             ("compute", "wait")] for of in (1, pid)]
        assert sorted(collectives[0]) == sorted(collectives[1]), collectives
        computes = [
            sorted(slice[2] for slice in slices[of] if slice[1] == "compute")
            for of in (1, pid)]
        assert computes[0] == computes[1], computes
    for ends in arrows.values():
        assert [end["ph"] for end in ends] == ["s", "f"], ends
        assert ends[0]["ts"] <= ends[1]["ts"], ends
        assert threads[1][ends[1]["tid"]] == "compute", ends
    print(f"{len(processes)} processes, threads", *threads[1].values())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    measurements = commands.add_parser("measurements")
    measurements.add_argument("file")
    measurements.add_argument("report")
    measurements.add_argument("--modelled", action="store_true")
    timeline = commands.add_parser("timeline")
    timeline.add_argument("file")
    timeline.add_argument("ranks", type=int)
    args = parser.parse_args()
    if args.command == "measurements":
        check_measurements(args)
    else:
        check_timeline(args)


if __name__ == "__main__":
    main()
