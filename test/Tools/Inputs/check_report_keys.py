# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the keys that JSON files have with those that a page lists.

    check_report_keys.py PAGE FILE...

Every line of a file is a JSON object. A row of the page begins with a key such
as `collectives[].reorder.start.moves`; what is said of `start` holds for `wait`.
Keys below `attributes`, `target_changes` and `type` are not compared.
"""

import json
import pathlib
import re
import sys

KEY = re.compile(r"^\| `([a-z_.\[\]]+)` \|", re.MULTILINE)
OPAQUE = ("attributes", "target_changes", "type")


def collect(value, path, keys):
    """Adds the paths of all keys in `value`, which stands at `path`."""
    if isinstance(value, list):
        for element in value:
            collect(element, path + "[]", keys)
    elif isinstance(value, dict):
        for key, member in value.items():
            inner = f"{path}.{key}" if path else key
            keys.add(inner)
            if key not in OPAQUE:
                collect(member, inner, keys)


def main():
    page, *reports = map(pathlib.Path, sys.argv[1:])
    documented = KEY.findall(page.read_text())
    repeated = sorted({key for key in documented if documented.count(key) > 1})
    expected = set(documented)
    expected |= {key.replace(".start.", ".wait.") for key in expected}
    printed = set()
    for report in reports:
        for line in report.read_text().splitlines():
            collect(json.loads(line), "", printed)
    for text, keys in (("listed twice", repeated),
                       ("printed, but not on the page", printed - expected),
                       ("on the page, but never printed", expected - printed)):
        for key in sorted(keys):
            print(f"{key}: {text}")
    print(f"{len(printed)} keys printed, {len(documented)} on the page")
    return bool(repeated) or printed != expected


if __name__ == "__main__":
    sys.exit(main())
