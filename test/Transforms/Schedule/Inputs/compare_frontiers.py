# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fails unless the CSV file and the JSON file hold the same frontiers."""

import csv
import json
import sys

with open(sys.argv[1], encoding="utf-8", newline="") as file:
    rows = list(csv.DictReader(file))
with open(sys.argv[2], encoding="utf-8") as file:
    objects = json.load(file)
assert rows
as_text = [
    {name: "" if value is None else str(value) for name, value in each.items()}
    for each in objects
]
assert as_text == rows, f"{as_text}\n{rows}"
