# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The page docs/results/pytorch.md, from the data of matrix.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

#: Ways whose kernels are eager ones, and those that Inductor compiles.
EAGER_WAYS = ("backend, eager", "graph pass", "partitioner")
INDUCTOR_WAYS = ("backend, inductor", "inductor_options", "default")
WAYS = (*EAGER_WAYS, *INDUCTOR_WAYS)

STAGES = ("imported", "scheduled", "put back")

HEAD = """\
<!-- Generated from data/pytorch.json; `benchmarks/pytorch/matrix.py` writes it again. -->

# PyTorch: parallelisms and ways in

Every case
is a small model (one or two transformer blocks, width 32) that is trained for
two steps on two gloo ranks, those over meshes of two dimensions on four, in every
way in:

* backend, eager: `backend="commsched"` with `inner="eager"`;
* graph pass: `commsched.torch.schedule_pass()` over AOT autograd's graphs;
* partitioner: as the first, with `partition="min-cut"`;
* backend, inductor: `backend="commsched"` with `buckets="off"`;
* inductor_options: `options=commsched.torch.inductor_options(buckets="off")`;
* default: `backend="commsched"` and nothing else, which merges collectives and
  compiles with Inductor.

Models under `fully_shard` (FSDP2) and `DistributedDataParallel` are given to
`commsched.torch.adopt` before they are compiled.

Cells, for PyTorch {versions}, in this order where they differ:

* yes: every graph with collectives was imported, scheduled and put back; the losses
  and all gradients of both steps are equal in every bit, in the first three ways to
  eager execution, where FSDP2 and DDP run as PyTorch made them, in the others to what
  plain Inductor makes of the same model, adopted where it is here; and starts, waits
  and external calls ran in the order of the schedule, as Inductor's code has them, or,
  with eager kernels, as they were called.

What else a cell says is what differs from that. "aot" means that AOT autograd by
itself differs from eager execution, and the schedule does not differ from that;
"within" gives the largest difference. In the default way equal bits are not promised
([results](../guide/pytorch.md#results)).

"hidden" means that no graph has collectives, "no" that a case ended with an error.

    COMMSCHED_OPT=build/bin/commsched-opt PYTHONPATH=python \\
      python benchmarks/pytorch/matrix.py --python .venv/bin/python \\
        --python other/bin/python

"""


TAIL = """
## Again and again

`benchmarks/pytorch/soak.py --runs 600 --inner eager none` starts a job of two gloo ranks
for each run, which trains three linear layers under `fully_shard` for four steps,
compares all gradients bit by bit, and ends its interpreters. Every second run is as
PyTorch made it, the others are adopted, compiled and scheduled. With PyTorch 2.13.0, on
two cores, under a load of mostly 7 to 30 for 221 of each and of 2 for the other 80, no
job failed: 301 scheduled and 301 plain. Nor did 12 that measured the machine anew.
"""


def render(
    data: Mapping[str, Mapping], cases: Sequence[str], ways: Sequence[str]
) -> str:
    """Returns the page; `data` has the cells by version, case and way."""
    versions = sorted(data, key=lambda v: [int(part) for part in v.split(".")])
    notes: list[str] = []
    lines = [
        "| case | " + " | ".join(ways) + " |",
        "|---|" + "---|" * len(ways),
    ]
    for case in cases:
        cells = []
        for way in ways:
            found = [data[v].get(case, {}).get(way) for v in versions]
            cells.append(_join([_describe(cell, notes) for cell in found]))
        lines.append(f"| {case} | " + " | ".join(cells) + " |")
    text = HEAD.replace("{versions}", " and ".join(versions))
    text += "\n".join(lines) + "\n"
    if notes:
        text += "\nReasons:\n\n"
        text += "".join(f"{i}. {note}\n" for i, note in enumerate(notes, 1))
    return text + TAIL


def find_failures(data: Mapping[str, Mapping]) -> list[str]:
    """Returns the cells in which a step did not run as it was scheduled, or not all
    of it was."""
    return [
        f"{version} {case}: {way}"
        for version, cases in data.items()
        for case, ways in cases.items()
        for way, cell in ways.items()
        if not _holds(cell, way)
    ]


def _holds(cell: Mapping, way: str) -> bool:
    return (
        "error" not in cell
        and 0 < cell["graphs"] <= min(cell["stages"][stage] for stage in STAGES)
        and cell["order"] is None
        and (way == "default" or not cell["difference"])
    )


def _join(parts: Sequence[str]) -> str:
    return parts[0] if len(set(parts)) == 1 else " / ".join(parts)


def _describe(cell: Mapping | None, notes: list[str]) -> str:
    if cell is None:
        return "not run"
    if "error" in cell:
        return "no" + _note(cell["error"], notes)
    parts = [] if cell["graphs"] else ["hidden"]
    marks = "".join(_note(reason, notes) for reason in cell["reasons"])
    for stage in STAGES:
        count = cell["stages"][stage]
        if count < cell["graphs"]:
            parts.append(f"{stage} {count} of {cell['graphs']}{marks}")
            marks = ""
    if cell["difference"]:
        parts.append(f"within {cell['difference']:.0e}")
    elif cell.get("without us"):
        parts.append("aot")
    if cell["order"] is not None:
        parts.append("another order" + _note(cell["order"], notes))
    return ", ".join(parts) or "yes"


def _note(text: str, notes: list[str]) -> str:
    """Returns the mark of a note, which is added if it is new."""
    text = text.replace("|", "\\|").replace("<", "&lt;")
    if text not in notes:
        notes.append(text)
    return f" ({notes.index(text) + 1})"
