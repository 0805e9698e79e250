# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The functions of PyTorch Inductor that are compared, each with some settings,
and what answers to them here."""

from dataclasses import dataclass, replace

FIXED = "func.func(commsched-order-collectives),"


@dataclass(frozen=True)
class Counterpart:
    """What answers to a function of Inductor with some settings."""

    function: str  # Inductor's.
    #: The passes; none for a sort, since its pass goes back to the program's
    #: order where that has the lower peak.
    pipeline: str | None
    # Settings of config_comms, which are options of the pass by the same name.
    knobs: tuple = ()
    # What `reorder_for_compute_comm_overlap_passes` lists.
    passes: tuple = ()

    def get_flag(self):
        """What commsched-parity is to run."""
        if self.pipeline is None:
            return f"--sort={self.function.rpartition('_')[2]}"
        knobs = "".join(
            f" {knob}={str(value).lower() if isinstance(value, bool) else value}"
            for knob, value in self.knobs
        )
        run = self.pipeline.replace("})", f"{knobs}}})") if knobs else self.pipeline
        return f"--pipeline={run}"


def make_list_schedule(function):
    name = function.replace("_", "-")
    return Counterpart(function, f"{FIXED}func.func(commsched-{name})")


def make_iterative(function, name):
    # Inductor's rules: what memory counts, and groups of any size; and the pass
    # says what became of each collective.
    knobs = (
        "reference-memory-model=true max-group-size=2147483647 "
        "reorder_sink_verbose_logging=true"
    )
    return Counterpart(function, f"func.func(commsched-{name}{{{knobs}}})")


def vary(counterpart, prefix, together, unsafe=None):
    """The same function with other settings, by name."""
    estimations = {f"{prefix}_use_runtime_estimations": True}
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
        "collectives": moving,
        "estimations": estimations,
        "estimations, budget 0": {
            **estimations, f"{prefix}_peak_memory_budget": 0.0
        },
        "estimations, collectives": {**estimations, **moving},
        "estimations, factors": {**estimations, **factors},
    }
    if unsafe:
        settings |= {
            f"{name}ordered": {**knobs, unsafe: False}
            for name, knobs in (
                ("", {}), ("collectives, ", moving), ("estimations, ", estimations),
                ("estimations, collectives, ", {**estimations, **moving}))
        }
    return {
        f"{counterpart.function}[{name}]": replace(
            counterpart, knobs=tuple(knobs.items())
        )
        for name, knobs in settings.items()
    }


RAISE = make_iterative(
    "reorder_communication_preserving_peak_memory",
    "reorder-comms-preserving-peak-memory",
)
SINK = make_iterative("sink_waits_iterative", "sink-waits-iterative")
# By Inductor's function.
FUNCTIONS = {
    **{
        name: make_list_schedule(name)
        for name in ("raise_comms", "sink_waits", "reorder_compute_for_overlap")
    },
    RAISE.function: RAISE,
    SINK.function: SINK,
    **{
        name: Counterpart(name, None)
        for name in (f"topological_sort_{sort}" for sort in ("lpmf", "bfs", "dfs"))
    },
}
# Several functions one after the other.
LIST_SCHEDULES = ("sink_waits", "raise_comms", "reorder_compute_for_overlap")
# By function and settings.
VARIANTS = {
    "reorder_compute_and_comm_for_overlap": Counterpart(
        "reorder_compute_and_comm_for_overlap",
        FIXED + "func.func("
        + ",".join("commsched-" + p.replace("_", "-") for p in LIST_SCHEDULES)
        + ")",
        passes=LIST_SCHEDULES,
    ),
    **vary(RAISE, "reorder_iterative",
           "reorder_iterative_group_with_collectives",
           "reorder_iterative_unsafe_collectives_reorder"),
    **vary(SINK, "sink_iterative",
           "sink_waits_iterative_swap_with_collectives"),
}
ALL = {**FUNCTIONS, **VARIANTS}
# The functions that find what hides a collective.
WALKS = ("_coll_exposed_communication_time", "_wait_exposed_communication_time")
