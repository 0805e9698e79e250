# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The page that `mutate.py --table` writes."""
import datetime
from pathlib import Path

from mutations import EQUIVALENT, MUTATIONS, RANDOM


def format_page(results, head):
    """The page of the results of all mutations, found out at `head`."""
    rows, caught = [], 0
    for number, mutation in enumerate(MUTATIONS, 1):
        result = results.get(mutation)
        caught += result["failed"] is not None
        failed = f"`{result['failed']}`" if result["failed"] else "**none**"
        rows.append(
            f"| {number} | {mutation.area} | `{Path(mutation.file).name}` | "
            f"{mutation.words} | {failed} | {result['seconds']:.1f} |\n")
    equal = [f"- `{Path(file).name}`, {words}: {reason}\n"
             for file, words, reason in EQUIVALENT]
    return PAGE.format(
        date=datetime.date.today(), head=head, caught=caught,
        count=len(MUTATIONS), rows="".join(rows), random=RANDOM,
        equal="".join(equal))


PAGE = """\
<!-- Generated from scripts/mutations.py; `scripts/mutate.py --table` writes it again. -->

# Mutations that the tests find

Each row is a fault that is put into the program, one at a time, and the first
test that fails then. The tests are those of the short run, `scripts/test.sh`,
without the campaigns of random programs; each of them passes without the
fault. The faults are listed in `scripts/mutations.py`.

```console
$ scripts/mutate.py --table docs/results/mutations.md
```

has written this page on {date} at {head}.
{caught} of {count} mutations are found. Seconds are those of the tests up to
the failure, by the clock on a machine of two cores that did other work as well,
without the time to build.

| | area | file | what the program does wrong | test that fails | s |
|---:|---|---|---|---|---:|
{rows}
## One token at random

{random}
## Changes that no test can find

These make another text of the program, but not another program:

{equal}"""
