"""Checks what commsched-bench has printed and written.

check_bench_table.py printed.txt table.json [--estimated FILE] [--direct]

The printed lines have nccl-tests' columns, nothing is wrong, and bandwidths
follow from bytes and times. The table's rows say the same as the lines, are
unique where readers look them up, and carry ordered statistics. With
--estimated, each collective of that program has the time of its row.
"""

import argparse
import json
import re

PLACES = ("out_of_place", "in_place")
BUS_FACTORS = {
    "all_reduce": lambda n: 2 * (n - 1) / n,
    "all_gather": lambda n: (n - 1) / n,
    "reduce_scatter": lambda n: (n - 1) / n,
    "all_to_all": lambda n: (n - 1) / n,
    "broadcast": lambda n: 1,
    "permute": lambda n: 1,
    "send_recv": lambda n: 1,
}


def read_lines(path):
    """Yields (collective, group, ranks, columns) of each printed point."""
    heading = re.compile(r"# (\w+) on (\S+): .* (\d+) ranks?$")
    collective = None
    for line in open(path):
        if match := heading.match(line):
            collective, group, ranks = match.groups()
        elif not line.startswith("#"):
            yield collective, group, int(ranks), line.split()


def check_bandwidths(collective, ranks, size, columns):
    """time, algbw, busbw, #wrong of one place."""
    time, algorithm, bus, wrong = columns
    assert wrong == "0", columns
    expected = size / (float(time) * 1e3)
    # Times and bandwidths are printed rounded.
    slack = 0.006 + expected * 0.01
    assert abs(float(algorithm) - expected) <= slack, columns
    assert abs(float(bus) - expected * BUS_FACTORS[collective](ranks)) \
        <= 2 * slack, columns


def check_line(collective, ranks, columns, direct):
    assert len(columns) == 16 + 2 * direct, columns
    size, count, type_name, reduction, root = columns[:5]
    whole = collective in ("all_gather", "reduce_scatter", "all_to_all")
    parts = ranks if whole else 1
    assert int(size) % int(count) == 0 and int(size) // int(count) % parts == 0
    assert root == ("0" if collective == "broadcast" else "-1")
    assert (reduction != "none") == ("reduce" in collective)
    check_bandwidths(collective, ranks, int(size), columns[5:9])
    if columns[9] == "N/A":
        assert collective in ("all_to_all", "permute", "send_recv")
        assert columns[9:13] == ["N/A"] * 4
    else:
        check_bandwidths(collective, ranks, int(size), columns[9:13])
    median, p5, p95 = map(float, columns[13:16])
    assert 0 < p5 <= median <= p95, columns
    if direct:
        assert all(ratio == "none" or float(ratio) > 0
                   for ratio in columns[16:]), columns
    return int(size), type_name, reduction


def check_row(row):
    assert row["time_ns"] == max(row["isolated_median_ns"], 1)
    times = ["isolated", "back_to_back"]
    if "direct_isolated_median_ns" in row:
        times += ["direct_isolated", "direct_back_to_back"]
    for kind in times:
        values = [row[f"{kind}_{name}_ns"]
                  for name in ("p5", "median", "p95")]
        assert values == sorted(values) and values[0] >= 0, row


def check_estimates(rows, path):
    found = 0
    for line in open(path):
        match = re.search(r"commsched\.(\w+) .*commsched\.runtime_ns = (\d+)",
                          line)
        if not match or match[1] in ("wait", "compute"):
            continue
        found += 1
        times = [row["time_ns"] for row in rows
                 if row["collective"] == match[1]]
        assert times == [int(match[2])], (line, times)
    assert found > 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("printed")
    parser.add_argument("table")
    parser.add_argument("--estimated")
    parser.add_argument("--direct", action="store_true")
    args = parser.parse_args()

    table = json.load(open(args.table))
    rows, others = table["rows"], table["other_rows"]
    for text in ("name", "source", "device"):
        assert table[text]
    assert "command: commsched-bench" in table["source"]
    for row in rows + others:
        check_row(row)
    keys = [(row["collective"], row["ranks"], row["nodes"], row["bytes"])
            for row in rows]
    assert len(set(keys)) == len(keys)
    assert all(row["place"] == "out_of_place" for row in rows)

    written = {(row["collective"], row["group"], row["bytes"], row["type"],
                row.get("reduction", "none"), row["place"])
               for row in rows + others}
    assert len(written) == len(rows) + len(others)
    printed = set()
    for collective, group, ranks, columns in read_lines(args.printed):
        size, type_name, reduction = check_line(collective, ranks, columns,
                                                args.direct)
        names = [collective]
        if collective == "send_recv":
            names = ["send", "recv"]
        places = PLACES if columns[9] != "N/A" else PLACES[:1]
        printed |= {(name, group, size, type_name, reduction, place)
                    for name in names for place in places}
    assert printed == written, printed ^ written
    if args.estimated:
        check_estimates(rows, args.estimated)
    print(f"{len(rows)} rows, {len(others)} others")


main()
