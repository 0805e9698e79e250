# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How the regions of split_regions.py are divided.

They are divided by force in several ways, and scheduled; and by the decision,
for a machine on which even what is so small pays.
"""

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class RegionRun:
    text: str
    # Whether chunks are left; None: that depends on the sizes.
    divides: bool | None = True
    # Whether sums of what is no exact number may come out otherwise.
    rounds: bool = False


def split(options):
    return f"func.func(commsched-split{{{options}}})"


def may_divide(runs):
    return [replace(run, divides=run.divides and None) for run in runs]


def make_runs(counts, forced="", decided="", **rest):
    """By force into so many chunks, the last of these also before a pipeline;
    and by the decision."""
    texts = [split(f"chunks={count} extent={extent}{forced}")
             for count in counts for extent in ("nearest", "widest")]
    return [
        *(RegionRun(text, **rest) for text in texts),
        RegionRun(f"{texts[-1]},commsched-pipeline{{memory-budget=1GiB}}", **rest),
        RegionRun(f"commsched-pipeline{{memory-budget=1GiB{decided}}}", **rest),
    ]


def make_rings(divides=True):
    """As rings, also before a pipeline."""
    texts = [split(f"mode=ring extent={extent}") for extent in ("nearest", "widest")]
    return [
        *(RegionRun(text, divides=divides) for text in texts),
        RegionRun(f"{texts[1]},commsched-pipeline{{memory-budget=1GiB}}",
                  divides=divides),
    ]


REGION_RUNS = {
    "gather_products_scatter": make_runs((2, 3, 4)) + make_rings(),
    "scatter_norm_gather": make_runs((2, 3)) + make_rings(),
    # Several experts of a rank are what is divided.
    "experts": may_divide(make_runs((2, 3, 4))),
    "batch_block": make_runs((2,)),
    "dual_batch": make_runs((2,)),
    "outer_layout": make_runs((2, 3, 6)) + make_rings(),
    "columns": make_runs((2, 4)) + make_rings(),
    "partial_sums": make_runs((2, 3), " bitwise=false", " split=sums", rounds=True),
    "uneven_columns": make_runs((2, 3, 4)),
}
