# Part of the CommSched project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The functions of PyTorch Inductor that are compared, each with some settings,
and what answers to them here."""

from dataclasses import dataclass, replace

FIXED = "func.func(commsched-order-collectives);"


@dataclass(frozen=True)
class Counterpart:
    """What answers to a function of Inductor with some settings: the pass, and
    the solver behind it where that is measured as well."""

    function: str  # Inductor's.
    pipeline: str  # SETUP;PASS
    solver: str | None = None
    # Settings of config_comms, which are options of the pass by the same name.
    knobs: tuple = ()
    # The setting by which only the first collectives or waits are moved.
    limit: str | None = None
    # What `reorder_for_compute_comm_overlap_passes` lists.
    passes: tuple = ()
    is_sort: bool = False

    @property
    def is_iterative(self):
        return self.limit is not None

    def get_pipeline(self, **more):
        """The pass with the settings and `more` of them."""
        knobs = "".join(
            f" {knob}={str(value).lower() if isinstance(value, bool) else value}"
            for knob, value in {**dict(self.knobs), **more}.items()
        )
        return self.pipeline.replace("})", f"{knobs}}})") if knobs else self.pipeline

    def get_account(self, first=None):
        """The pass that also says what became of each collective; and moves no
        more than the first ones."""
        knobs = {"reorder_sink_verbose_logging": True}
        if first is not None:
            knobs[self.limit] = first
        return self.get_pipeline(**knobs)


def make_list_schedule(function, solver):
    return Counterpart(function, f"{FIXED}func.func(commsched-{solver})", solver)


def make_iterative(function, name, solver, limit):
    # Inductor's rules: what memory counts, and groups of any size.
    knobs = "reference-memory-model=true max-group-size=2147483647"
    return Counterpart(
        function, f"func.func(commsched-{name}{{{knobs}}})", solver, limit=limit
    )


def make_sort(solver):
    return Counterpart(
        f"topological_sort_{solver}",
        f"{FIXED}func.func(commsched-reorder-for-peak-memory{{methods={solver}}})",
        solver,
        is_sort=True,
    )


def vary(counterpart, prefix, unsafe, together):
    """The same function with other settings, by name."""
    estimations = {f"{prefix}_use_runtime_estimations": True}
    ordered = {unsafe: False}
    moving = {together: True}
    factors = {
        "reorder_sink_runtime_estimations_comm_mult": 1.0,
        "reorder_sink_runtime_estimations_non_comm_mult": 3.0,
        f"{prefix}_extra_comm_comp_overlap": 0.0,
        f"{prefix}_peak_memory_budget": 1.0,
    }
    settings = {
        "budget 0": {f"{prefix}_peak_memory_budget": 0.0},
        "budget 1": {f"{prefix}_peak_memory_budget": 1.0},
        "ordered": ordered,
        "collectives": moving,
        "collectives, ordered": {**moving, **ordered},
        "estimations": estimations,
        "estimations, budget 0": {
            **estimations, f"{prefix}_peak_memory_budget": 0.0
        },
        "estimations, ordered": {**estimations, **ordered},
        "estimations, collectives": {**estimations, **moving},
        "estimations, collectives, ordered": {**estimations, **moving, **ordered},
        "estimations, factors": {**estimations, **factors},
        "first 3": {counterpart.limit: 3},
    }
    return {
        f"{counterpart.function}[{name}]": replace(
            counterpart, solver=None, knobs=tuple(knobs.items())
        )
        for name, knobs in settings.items()
    }


RAISE = make_iterative(
    "reorder_communication_preserving_peak_memory",
    "reorder-comms-preserving-peak-memory", "reorder-comms",
    "reorder_iterative_debug_limit_to_reorder",
)
SINK = make_iterative(
    "sink_waits_iterative", "sink-waits-iterative", "sink-waits-iteratively",
    "sink_waits_iterative_debug_limit_to_sink",
)
# By Inductor's function.
BUDGETED = {RAISE.function: RAISE, SINK.function: SINK}
FUNCTIONS = {
    "raise_comms": make_list_schedule("raise_comms", "raise-comms"),
    "sink_waits": make_list_schedule("sink_waits", "sink-waits"),
    "reorder_compute_for_overlap": make_list_schedule(
        "reorder_compute_for_overlap", "reorder-compute-for-overlap"
    ),
    **BUDGETED,
    **{f"topological_sort_{sort}": make_sort(sort) for sort in ("lpmf", "bfs", "dfs")},
}
# Several functions one after the other.
LIST_SCHEDULES = ("sink_waits", "raise_comms", "reorder_compute_for_overlap")
# By function and settings; for random steps only.
VARIANTS = {
    "reorder_compute_and_comm_for_overlap": Counterpart(
        "reorder_compute_and_comm_for_overlap",
        FIXED + "func.func("
        + ",".join("commsched-" + p.replace("_", "-") for p in LIST_SCHEDULES)
        + ")",
        passes=LIST_SCHEDULES,
    ),
    **vary(RAISE, "reorder_iterative",
           "reorder_iterative_unsafe_collectives_reorder",
           "reorder_iterative_group_with_collectives"),
    **vary(SINK, "sink_iterative",
           "sink_waits_iterative_unsafe_collectives_reorder",
           "sink_waits_iterative_swap_with_collectives"),
}
ALL = {**FUNCTIONS, **VARIANTS}
# The functions that find what hides a collective.
WALKS = ("_coll_exposed_communication_time", "_wait_exposed_communication_time")
