# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints the data of a page that commsched-report wrote, a line for each
operation."""

import html.parser
import itertools
import json
import sys


class Data(html.parser.HTMLParser):
    """Collects the text of the element with the data."""

    text = ""
    inside = False

    def handle_starttag(self, tag, attrs):
        self.inside = dict(attrs).get("id") == "data"

    def handle_endtag(self, tag):
        self.inside = False

    def handle_data(self, data):
        if self.inside:
            self.text += data


def show(text):
    return repr(text) if set(text) & set(' "<') else text


def rows(columns):
    """The rows of an object of columns, with times from the beginning on."""
    for key in columns.keys() & {"begin", "wait"}:
        columns[key] = itertools.accumulate(columns[key])
    for row in zip(*columns.values(), strict=True):
        yield dict(zip(columns, row, strict=True))


def print_step(step, texts):
    figures = step["figures"]
    print(
        f"figures {figures['num_ops']} operations, "
        f"step {figures['step_time_ns']}, peak {figures['peak_memory_bytes']}"
    )
    for row in rows(step["computations"]):
        end = row["begin"] + row["time"]
        print("computation", row["begin"], end, show(texts[row["name"]]))
    for row in rows(step["collectives"]):
        words = [show(texts[row[key]]) for key in ("name", "kind", "group")]
        print(
            *("collective", row["begin"], row["begin"] + row["time"]),
            *("wait", row["wait"], "exposed", row["exposed"]),
            *(*words, row["bytes"], show(texts[row["limit"]])),
        )
    memory = step["memory"]
    for sample in zip(
        *map(itertools.accumulate, (memory["time"], memory["bytes"])),
        strict=True,
    ):
        print("memory", *sample)
    for row in rows(step["buffers"]):
        end = row["begin"] + row["time"]
        print("buffer", row["begin"], end, row["bytes"], show(texts[row["name"]]))


def main(path):
    page = Data()
    with open(path, encoding="utf-8") as file:
        page.feed(file.read())
    data = json.loads(page.text)
    for function in data["functions"]:
        present = [v for v in ("before", "after") if v in function]
        versions = list(present)
        frontier = function.get("frontier", {})
        points = [number for column in frontier.values() for number in column]
        if points:
            versions += ["frontier", *points]
        print("function", show(function["function"]), "versions", *versions)
        for version in present:
            print_step(function[version], data["texts"])


main(sys.argv[1])
