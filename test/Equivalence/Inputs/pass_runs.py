# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How each pass and pipeline is run to see that programs keep their meaning.

Every option of every pass occurs at least once, and each run changes each of
the programs that it is listed with; `check_equivalence.py` sees to both. In a
turn, which has a number, a quarter of the runs is tried on one of their programs.
"""

import re
from dataclasses import dataclass

# What makes programs run, and is run on everything here by commsched-run.
LOWERING = {"test-commsched-expand-float8-casts",
            "test-commsched-pack-request-buffers", "commsched-to-llvm",
            "test-convert-commsched-to-requests", "convert-commsched-to-runtime",
            "convert-commsched-to-stablehlo",
            "test-convert-requests-to-calls",
            # Their input is another dialect's.
            "convert-shard-to-commsched", "convert-stablehlo-to-commsched"}

# Options of transformer_step.py by kind of step.
STEPS = {
    "fsdp": ["--sharding=plain", "--layers=1", "--optimizer=none"],
    "mixed": ["--sharding=mixed", "--layers=1", "--optimizer=adamw"],
    "packed": ["--sharding=packed"],
    "stored": ["--sharding=stored"],
    "hybrid": ["--sharding=hybrid", "--optimizer=none"],
    "accumulated": ["--sharding=mixed", "--layers=1", "--microbatches=2"],
    "regions": ["--sharding=plain", "--regions", "--optimizer=none"],
    "experts": ["--sharding=plain", "--layers=1", "--experts", "--optimizer=none"],
    "implementations": ["--sharding=plain", "--layers=1", "--optimizer=none",
                        "--implementations"],
    "packed-experts": ["--sharding=packed", "--experts", "--optimizer=adamw"],
    "joint": ["--sharding=plain", "--layers=1", "--joint", "--optimizer=none"],
}
# But for the one that is to be partitioned first.
SCHEDULED = tuple(name for name in STEPS if name != "joint")


@dataclass(frozen=True)
class Run:
    """`options` of `name`, which comes behind `after` and, as a run of its
    own, the same pass with `first`."""

    name: str
    options: str = ""
    steps: tuple = ("fsdp", "experts")
    first: str = ""
    after: str = ""
    # What changes: the program, or only attributes.
    marks: bool = False
    # Whether sums of what is no exact number may come out otherwise.
    rounds: bool = False

    def has_turn(self, step, turn):
        """Whether the run is tried on `step`: always if there are no turns."""
        if turn is None or step not in self.steps:
            return step in self.steps
        # Neighbours in the list are tried on different steps.
        turn %= 4 * len(self.steps)
        return turn < len(self.steps) and self.steps[turn] == step

    @property
    def moves_sums(self):
        """Whether what is reduced may travel at other places of messages, for
        which a library may sum in another order."""
        if "pipeline" in self.name or self.name in (
                "commsched-schedule", "test-commsched-fit-memory"):
            return not {"bitwise", "buckets=off"} & set(self.options.split()) and (
                self.name != "commsched-inductor-pipeline"
                or "_fx=" in self.options)
        return (self.name in ("commsched-bucket-reduce-scatter",
                              "commsched-bucket-all-reduce")
                and "bitwise" not in self.options
                and "mode=coalesced" not in self.options)

    @property
    def text(self):
        return self.pipeline(self.options)

    def pipeline(self, options):
        text = f"{self.name}{{{options}}}" if options else self.name
        if self.name in MODULE_PASSES:
            return text
        return f"func.func({text})"


MODULE_PASSES = {"commsched-accumulate-gradients", "commsched-set-costs", "commsched-pipeline", "commsched-inductor-pipeline",
                 "commsched-align-runtimes", "commsched-assume-fusion",
                 "commsched-compile-regions",
                 "commsched-dump-problem", "commsched-export-chakra",
                 "commsched-export-json",
                 "test-commsched-callees-first", "test-commsched-fit-memory",
                 "commsched-frontier", "commsched-interleave",
                 "test-commsched-check-budget", "test-commsched-merge-step", "commsched-partition-joint",
                 "test-commsched-split-backward",
                 "test-commsched-verify-partition",
                 "commsched-quantize-activations", "test-commsched-steady-state"}
CONTENTION = ("slack=5 exclusive-groups link-sharing "
              "compute-slowdown=0.19")
COSTS = "target=b200 profile=%src/data/cost-tables/h100-8gpu-xla.json"
UNITS = "plan=embedding;layers.0;layers.[1-9]*;output"


def make_runs(name, *options, **rest):
    return [Run(name, text, **rest) for text in options]


def bucket_runs(kind, steps, *more):
    return make_runs(
        f"commsched-bucket-{kind}", "mode=copy", "mode=coalesced",
        "mode=auto saturation", "cap-mb=0.002,0.01",
        "max-count=3", UNITS, "plan=auto", *more, steps=steps)


def small_bucket_runs(kind, *modes):
    """For kinds of which steps of training have few: on random programs."""
    return make_runs(
        "commsched-bucket", *(f"kinds={kind} {options}" for options in (
            *modes, "saturation", "cap-mb=0.002,0.01", "max-count=3")),
        steps=())


IN_FRONT = ("commsched-partition-joint{collectives=recompute "
            "mimic-autograd-order=false}")
RAISE = "func.func(commsched-raise-comms)"
ITERATIVE = ("reorder_sink_runtime_estimations_comm_mult=2 "
             "reorder_sink_runtime_estimations_non_comm_mult=0.5 "
             "reorder_sink_verbose_logging max-group-size=50 never-longer")

RUNS = [
    *make_runs("commsched-order-collectives", "", marks=True),
    *make_runs("test-commsched-annotate-fsdp", "", marks=True),
    *make_runs("test-commsched-infer-size-hints", "", steps=()),
    # It runs other passes.
    *make_runs("test-commsched-callees-first", "pipelines={func.func(cse)}", steps=()),
    *make_runs("commsched-set-costs", COSTS, "assume-fusion", CONTENTION,
               steps=("mixed",), marks=True),
    *make_runs("commsched-estimate-runtime", "", COSTS.partition(" ")[2],
               "model=nccl", marks=True),
    *make_runs("commsched-assume-fusion", "", "renew", steps=("mixed",), marks=True),
    Run("commsched-align-runtimes", "ranks=%folder/times",
        first="output=%folder/times", marks=True),
    *make_runs("commsched-report", "format=json output=%folder/report",
               "allocator=pytorch reserved-bytes=1GiB",
               "format=html output=%folder/page before=%src/examples/overview.mlir "
               "frontier=%src/docs/results/data/memory/llama3-8b-dp64.json",
               steps=()),
    *make_runs("commsched-frontier",
               "file=%folder/frontier.json memory-budget=10% buckets=auto "
               "split=auto max-chunks=2 "
               "mode=copy bitwise", steps=()),
    *make_runs("test-commsched-choose-implementations", "memory-budget=10%",
               steps=("implementations",),
               after="commsched-set-costs{profile="
               "%src/testsupport/implementations.json}"),
    *make_runs("commsched-dump-problem", "file=%folder/problem.json", steps=()),
    *make_runs("commsched-export-chakra", "output=%folder/traces", steps=()),
    *make_runs("commsched-export-json", "file=%folder/program.json", steps=()),
    *make_runs("commsched-pipeline-loops",
               "memory-budget=20% max-depth=4 "
               "merge-gathers=false unroll=4", steps=()),
    *make_runs("test-commsched-steady-state",
               "memory-budget=1GiB budget-on=reserved "
               "allocator=pytorch max-depth=4 required "
               "choose-implementations", steps=()),
    *make_runs(
        "commsched-partition-joint", "strategy=default", "memory-budget=1GiB",
        "activation-memory-budget=0.5 memory-budget-solver=greedy "
        "runtime-estimator=testing ban-recompute-used-far-apart=false "
        "ban-recompute-long-fusible-chains=false "
        "ban-recompute-materialized-backward=false",
        "collectives=recompute recompute-views=false max-dist-from-bw=10 "
        "treat-parameters-as-free-to-save=false mimic-autograd-order=false "
        "ban-recompute-not-in-allowlist=false ban-recompute-reductions=false",
        "collectives=cost activation-memory-budget=0 aggressive-recomputation",
        steps=("joint",)),
    *make_runs("commsched-partition-joint", "propose=%folder/proposal", steps=()),
    *make_runs("commsched-mimic-autograd-order", "", steps=("joint",),
               after=f"{IN_FRONT},test-commsched-verify-partition"),
    *make_runs("test-commsched-verify-partition", "", steps=()),
    *make_runs("test-commsched-check-budget",
               "memory-budget=1GiB reserved-bytes=1MiB budget-on=reserved "
               "allocator=pytorch strict", steps=()),
    Run("commsched-partition-joint", "proposals=%folder/proposal", ("joint",),
        first="propose=%folder/proposal"),
    *make_runs(
        "commsched-quantize-activations", "size-in-mb=0 exclude-primals",
        "allowed-dtypes=bf16,f32 quant-type=f8E4M3FN use-scaling=false "
        "quantize-dynamic-shape", steps=()),

    *bucket_runs("all-gather", ("fsdp", "mixed", "experts"), "deduplicate"),
    Run("commsched-bucket-all-gather", "multi-dtype", ("mixed",)),
    Run("commsched-bucket-all-gather", "fsdp-only", ("mixed", "experts")),
    *bucket_runs("reduce-scatter", ("fsdp", "experts"), "bitwise", "fsdp-only"),
    *make_runs("commsched-bucket-reduce-scatter", "mode=copy",
               "mode=coalesced max-count=4", steps=("mixed",)),
    Run("commsched-bucket-reduce-scatter", "sum-first", ("accumulated",), rounds=True),
    *bucket_runs("all-reduce", ("hybrid",), "bitwise", "fsdp-only"),
    *small_bucket_runs("permute", "mode=copy", "mode=coalesced", "mode=auto"),
    *small_bucket_runs("broadcast", "mode=copy", "mode=coalesced"),
    *small_bucket_runs("all-to-all"),
    *make_runs("commsched-bucket", "mode=auto bitwise", steps=("hybrid",)),

    *make_runs("commsched-split", "chunks=2 extent=nearest bitwise",
               "chunks=4 extent=widest bitwise=false",
               "max-chunks=4 extent=auto", "mode=ring", steps=()),

    Run("commsched-reinplace-all-gather", "", ("packed", "packed-experts")),
    Run("commsched-remove-unsharded-param-usage", "", ("stored",)),
    Run("commsched-enforce-fsdp-order", "", ("packed", "packed-experts"), after=RAISE),

    *make_runs("commsched-compile-regions", "", steps=("regions",)),
    *make_runs("commsched-compile-regions", "", steps=("regions",),
               after="commsched-pipeline"),
    *make_runs("commsched-pipeline", "", steps=("regions",),
               after="commsched-compile-regions"),

    *make_runs("commsched-raise-comms", ""),
    *make_runs("commsched-sink-waits", ""),
    *make_runs("commsched-reorder-compute-for-overlap", ""),
    *make_runs("commsched-simple-overlap", ""),
    *make_runs("commsched-reorder-for-peak-memory", "", "methods=lpmf",
               "methods=bfs,dfs", after="func.func(commsched-sink-waits)"),
    *make_runs(
        "commsched-reorder-comms-preserving-peak-memory", "memory-budget=10%",
        "reorder_iterative_peak_memory_budget=0.2 reference-memory-model "
        "reorder_iterative_group_with_collectives",
        "reorder_iterative_unsafe_collectives_reorder",
        "reorder_iterative_use_runtime_estimations "
        f"reorder_iterative_extra_comm_comp_overlap=0.5 {ITERATIVE}"),
    *make_runs(
        "commsched-sink-waits-iterative", "memory-budget=10%",
        "sink_iterative_peak_memory_budget=0.2 reference-memory-model "
        "sink_waits_iterative_swap_with_collectives",
        "sink_iterative_use_runtime_estimations "
        f"sink_iterative_extra_comm_comp_overlap=0.5 {ITERATIVE}"),

    *make_runs(
        "commsched-schedule", "",
        "memory-budget=10% buckets=off", steps=SCHEDULED),
    *make_runs("commsched-schedule", "memory-budget=50%", steps=SCHEDULED,
               after=f"commsched-set-costs{{{CONTENTION}}}"),
    *make_runs("commsched-schedule", "memory-budget=1000000000 strict pipeline-loops",
               "memory-budget=2000000000 reserved-bytes=1000000000 "
               "budget-on=reserved allocator=pytorch-expandable",
               steps=("fsdp", "mixed", "hybrid", "accumulated", "experts")),
    *make_runs("commsched-schedule",
               "memory-budget=20% bitwise split=off",
               "memory-budget=100% buckets=gathers-and-reductions max-chunks=2",
               "mode=coalesced", steps=("fsdp", "hybrid", "experts")),

    *make_runs(
        "commsched-interleave", "first=@step second=@step name=both",
        "first=@step second=@step name=both share=none memory-budget=50% bitwise "
        "split=off buckets=off",
        steps=("fsdp", "experts")),
    *make_runs(
        "commsched-interleave",
        "first=@step second=@step name=both memory-budget=20% mode=coalesced "
        "max-chunks=2",
        steps=("fsdp",)),

    # By check_split_backward.py.
    Run("test-commsched-split-backward", "function=@step input-gradients=0", steps=()),
    # On linked functions, by test/Transforms/Step.
    Run("commsched-accumulate-gradients", "micro-batches=4 name=batches "
        "memory-budget=50% bitwise split=auto max-chunks=2 buckets=auto "
        "mode=coalesced", steps=()),
    *make_runs("test-commsched-merge-step", "", "keep-parts", steps=()),
    *make_runs("commsched-pipeline", "",
               "memory-budget=20% bitwise max-chunks=4", steps=SCHEDULED),
    # On steps that repeat, by test/Transforms/SteadyState.
    Run("commsched-pipeline", "steady-state", steps=()),
    *make_runs("commsched-pipeline", "memory-budget=20% pipeline-loops=false",
               steps=("fsdp",)),
    *make_runs("commsched-pipeline", f"{COSTS} "
               "frontier=%folder/frontier.csv",
               f"buckets=off split=off {CONTENTION} "
               "choose-implementations=false",
               "mode=coalesced memory-budget=2GiB strict budget-on=reserved "
               "allocator=pytorch reserved-bytes=1GiB"),
    *make_runs(
        "commsched-inductor-pipeline", "",
        "bucket_all_gathers_fx=all bucket_reduce_scatters_fx=all "
        "bucket_all_reduces_fx=all bucket-cap-mb=0.01",
        steps=SCHEDULED),
    *make_runs(
        "commsched-inductor-pipeline",
        "bucket_all_gathers_fx=only_fsdp bucket_reduce_scatters_fx=only_fsdp "
        "order-collectives=false reorder_for_peak_memory=false "
        f"memory-budget=50% {COSTS} "
        "passes=sink_waits,raise_comms,reorder_compute_for_overlap",
        "passes=simple_overlap"),
    *make_runs(
        "commsched-pipeline", "collectives=cost",
        "activation-memory-budget=0.2 collectives=recompute "
        "quantize-activations memory-budget=10% bitwise split=auto "
        "max-chunks=4",
        "memory-budget=1GiB",
        f"activation-memory-budget=1 buckets=off {CONTENTION}",
        f"mode=copy memory-budget=1000000000 strict {COSTS}",
        "memory-budget=1GiB reserved-bytes=1KiB host-memory=1GiB "
        "quantize=auto",
        "memory-budget=1GiB budget-on=reserved allocator=pytorch-expandable",
        steps=("joint",)),
    *make_runs(
        "test-commsched-fit-memory",
        "memory-budget=1GiB host-memory=1GiB quantize=auto",
        "memory-budget=1GiB reserved-bytes=1KiB collectives=recompute "
        "buckets=off split=off",
        "memory-budget=1GiB mode=copy bitwise max-chunks=4 strict",
        "memory-budget=1GiB budget-on=reserved allocator=pytorch",
        steps=("joint",)),
    # A frontier takes as long as many runs and changes no program:
    # test/Transforms/Joint has those of small functions.
    *make_runs("commsched-pipeline",
               "memory-budget=1GiB frontier=%folder/joint.csv", steps=()),
    *make_runs("test-commsched-fit-memory",
               "memory-budget=1GiB frontier=%folder/fitted.json", steps=()),
]


def list_known(help_text):
    """What the tool says that it has of ours: name -> options."""
    known, current = {}, None
    for line in help_text.splitlines():
        if match := re.match(r" {6}--([\w-]+)", line):
            name = match[1]
            is_ours = "commsched" in name or name in LOWERING
            current = known.setdefault(name, set()) if is_ours else None
        elif match := re.match(r" {8}--([\w-]+)", line):
            if current is not None:
                current.add(match[1])
    return known


def find_forgotten(help_text):
    """Passes and options that no run has."""
    used = {}
    for run in RUNS:
        words = f"{run.options} {run.first}".split()
        used.setdefault(run.name, set()).update(
            word.partition("=")[0] for word in words)
    forgotten = []
    for name, options in list_known(help_text).items():
        if name in LOWERING:
            continue
        if name not in used:
            forgotten.append(name)
        else:
            forgotten += [f"{name}={o}" for o in sorted(options - used[name])]
    return forgotten
