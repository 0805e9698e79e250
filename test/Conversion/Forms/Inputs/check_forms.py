"""Checks what becomes of each form in which StableHLO has a collective.

    check_forms.py PAGE COMMSCHED_OPT [NAME ...]
    check_forms.py PAGE                             writes the page

The modules of forms.mlir have one form each, and say what it is and what becomes
of it:

    // NAME: FORM
    // becomes: commsched.all_reduce reduction(sum), commsched.wait
    // becomes: barrier: REASON
    // becomes: stays: OPERATION
    // becomes: error: TEXT

Operations are in the converted module, on a line with what follows their name, and
so are groups; no collective of StableHLO is. A barrier stays, with a remark that has
the reason and the time, and is an error with `strict`. What stays is neither.
Whatever is no error comes back with its text, can be scheduled, and can be read
again then.

PAGE has one row for each form, but for the odd ones, `odd-...`, that nobody writes.
"""

import re
import subprocess
import sys
from functools import partial
from pathlib import Path

HERE = Path(__file__).parent
sys.path.append(str(HERE.parents[2]))

from expand_rows import expand  # noqa: E402

MODULE = re.compile(r"^ *// ([\w-]+): (.*)\.\n *// becomes: (.*)$", re.M)
CONVERT = "--convert-stablehlo-to-commsched"
COLLECTIVE = re.compile(
    r'"stablehlo\.(all_gather|all_reduce|all_to_all|reduce_scatter|'
    r'collective_permute|collective_broadcast|async_start)"\('
)
PRICE = re.compile(r", for (an assumed )?\d+ ns")
HEAD = """\
<!-- Generated from test/Conversion/Forms/Inputs/forms.mlir; `ninja commsched-doc` writes it again. -->

# Forms of StableHLO's collectives

What [`convert-stablehlo-to-commsched`](../guide/stablehlo.md) makes of each form in which
StableHLO has a collective. Each has a module in
[forms.mlir](../../test/Conversion/Forms/Inputs/forms.mlir). A *barrier* blocks in its
place, and what has no barrier stays, but does not block. All forms that are no error come
back with their text if nothing is scheduled.

| form | becomes | module |
|---|---|---|
"""


def split(becomes):
    """The operations that a module becomes, each with what is on its line."""
    return re.split(r", (?=commsched\.)", becomes)


class Mismatch(Exception):
    pass


def run(opt, source, *passes):
    command = [opt, "-", "--allow-unregistered-dialect", *passes]
    return subprocess.run(
        command, input=source, capture_output=True, text=True, check=False
    )


def expect(condition, text):
    if not condition:
        raise Mismatch(text)


SPLIT = "// -----\n"


def convert(opt, sources, *passes):
    """What the passes make of each module, all by one process."""
    result = run(opt, SPLIT.join(sources), "--split-input-file", *passes)
    expect(result.returncode == 0, f"{' '.join(passes)}: {result.stderr}")
    return result.stdout.split(SPLIT)


def check_error(text, opt, sources):
    (source,) = sources
    result = run(opt, source, CONVERT)
    first = result.stderr.split("note: see current operation")[0]
    expect(result.returncode == 1, "is no error")
    expect(": error: " in first and text in first, result.stderr)


def check_barrier(reason, opt, sources):
    (source,) = sources
    result = run(opt, source, CONVERT, "--remarks-filter=commsched")
    expect(result.returncode == 0, result.stderr)
    remark = f"is not converted: {reason}"
    lines = [line for line in result.stderr.splitlines() if remark in line]
    expect(lines, f"no remark '{remark}' in: {result.stderr}")
    for line in lines:
        expect(PRICE.search(line), f"no price: {line}")
    strict = run(opt, source, f"{CONVERT}=strict")
    expect(strict.returncode == 1, "is no error with strict")
    expect(remark in strict.stderr, strict.stderr)


def check_converted(opt, sources):
    converted = convert(opt, sources, f"{CONVERT}=strict")
    for source, text in zip(sources, converted, strict=True):
        for name in split(MODULE.search(source)[3]):
            operation, _, detail = name.partition(" ")
            expect(any(f"{operation} " in line and detail in line
                       for line in text.splitlines()), f"no {name} in: {text}")
        expect(not COLLECTIVE.search(text), f"not converted: {text}")


def check_stays(name, opt, sources):
    (source,) = sources
    result = run(opt, source, f"{CONVERT}=strict", "--remarks-filter=commsched")
    expect(result.returncode == 0, result.stderr)
    expect(f'"{name}"' in result.stdout, f"no {name} in: {result.stdout}")
    expect("is not converted" not in result.stderr, result.stderr)


def check_both_ways(opt, sources):
    back = "--convert-commsched-to-stablehlo"
    locations = ("--mlir-print-debuginfo", "--mlir-print-local-scope")
    plain = convert(opt, sources, *locations)
    returned = convert(opt, sources, CONVERT, back, *locations)
    for before, after in zip(plain, returned, strict=True):
        expect(after == before, f"comes back changed: {before}")
    scheduled = convert(opt, sources, CONVERT, "--commsched-pipeline", back)
    convert(opt, scheduled, CONVERT)


def list_checks(sources):
    """The checks, each with the names of the modules that it is for. One that is
    for several modules does not say which of them a mismatch is in."""
    alone = {"error": check_error, "barrier": check_barrier, "stays": check_stays}
    checks, names = [], {"converted": [], "no error": []}
    for name, source in sorted(sources.items()):
        kind, _, text = MODULE.search(source)[3].partition(": ")
        if kind in alone:
            checks.append((partial(alone[kind], text), [name]))
        else:
            names["converted"].append(name)
        if kind != "error":
            names["no error"].append(name)
    return [*checks, (check_converted, names["converted"]),
            (check_both_ways, names["no error"])]


def list_failures(opt, sources):
    for check, names in list_checks(sources):
        try:
            if names:
                check(opt, [sources[name] for name in names])
        except Mismatch as mismatch:
            if len(names) == 1:
                yield f"{names[0]}: {mismatch}"
                continue
            alone = [failure for name in names
                     for failure in list_failures(opt, {name: sources[name]})]
            yield from alone or [f"{', '.join(names)}: {mismatch}"]


def describe(becomes):
    """What the page says about a module that becomes this."""
    kind, _, _ = becomes.partition(": ")
    if kind in ("barrier", "error"):
        return kind
    if kind == "stays":
        return "stays, no barrier"
    names = [name.split()[0] for name in split(becomes)]
    return ", ".join(f"`{name.removeprefix('commsched.')}`"
                     for name in names if name != "commsched.group")


def read_forms():
    """The modules by name."""
    modules = expand((HERE / "forms.mlir").read_text())
    return {match[1]: module for module in modules if (match := MODULE.search(module))}


def make_page(sources):
    rows = []
    for name, source in sorted(sources.items()):
        if name.startswith("odd-"):
            continue
        _, form, becomes = MODULE.search(source).groups()
        rows.append(f"| {form} | {describe(becomes)} | `{name}` |\n")
    return HEAD + "".join(rows)


def main():
    page, *arguments = sys.argv[1:]
    sources = read_forms()
    if not arguments:
        Path(page).write_text(make_page(sources))
        return 0
    opt, *chosen = arguments
    failures = []
    if not chosen and Path(page).read_text() != make_page(sources):
        failures.append(f"{page} is not what the modules say: write it again")
    tried = {name: sources[name] for name in chosen or sources}
    failures += list_failures(opt, tried)
    print(*failures, f"{len(tried)} forms", sep="\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
