# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The way in through a partitioner of joint graphs.

`commsched-partition-joint` decides what a forward saves for its backward and
what the backward computes again, gathered parameters included
(docs/guide/whole-steps.md), and `commsched-quantize-activations` what is
saved in 8 bits. `commsched-pipeline` decides what is saved within the memory
of the device, and what is sent to the host. AOT autograd calls a partitioner as
`partition_fn`, Inductor as its setting `custom_partitioner_fn`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Optional

from torch import fx

from commsched import opt
from commsched.torch.compiling.launches import Launches
from commsched.torch.compiling import records
from commsched.torch.compiling.guards import find_obstacle, guarded
from commsched.torch.compiling.memory import excess, fit_settings
from commsched.torch.compiling.options import Options
from commsched.torch.compiling.partition_agreement import (
    agree_on_partition,
    launch_in_order,
    repeated_launches,
)
from commsched.torch.compiling.partition_facts import (
    log_operators,
    mark_beside,
    partition_notes,
)
from commsched.torch.compiling.reshard import (
    keep_after_forward,
    repeat_collectives,
    reshard_after_forward,
)
from commsched.torch.compiling.roles import parameter_roles
from commsched.torch.compiling.runs import partition_text
from commsched.torch.compiling.schedule import (
    describe,
    import_options,
    measure_operators,
    recorded,
)
from commsched.torch.importer.graphs import GraphSpec, import_graphs
from commsched.torch.importer.roles import BACKWARD_ROLES, FORWARD_SEED
from commsched.torch.private import partition as private_partition
from commsched.torch.private import names, transfers
from commsched.torch.private.names import CustomPartitionerFn
from commsched.torch.rewriting.errors import PlanError
from commsched.torch.rewriting.halves import (
    mark_new_sizes,
    mark_reads_of_written,
    split_joint,
)
from commsched.torch.rewriting.partition import Partition, make_partition

_FUNCTION = "joint"

Halves = tuple[fx.GraphModule, fx.GraphModule]


class Partitioner(CustomPartitionerFn):
    """Splits joint graphs as the options say.

    options:    `partition`, `activation_memory_budget`,
                `quantize_activations`, `collectives`, `memory_budget`,
                `host_memory`, `reserved_bytes` and `reshard_after_forward` of
                :class:`Options`. With neither of the first four nor a
                budget in bytes, PyTorch's
                own partitioner decides what is saved.
                Sizes are bytes, as a number or with a unit ("80GiB", "80GB").
                A step that does not fit `memory_budget` gets the least that
                is known, with one warning.
    parameters: the positions of parameters among the inputs of Dynamo's
                graph; if None, those of all inputs that PyTorch takes for
                parameters or buffers.

    A graph that cannot be partitioned goes to PyTorch's own partitioner, with
    one warning. With `options.strict` either is a ScheduleError.
    """

    def __init__(
        self,
        options: Options,
        parameters: Optional[Collection[int]] = None,
    ):
        self._options = options
        self._parameters = parameters

    def uuid(self) -> Any:
        """What Inductor's caches know code by that this had part in."""
        return f"commsched partition {self._options.fingerprint()}"

    def __call__(
        self,
        gm: fx.GraphModule,
        joint_inputs: Sequence[Any],
        *,
        num_fwd_outputs: int,
        static_lifetime_input_indices: Optional[list[int]] = None,
        **_settings: Any,
    ) -> Halves:
        """Returns the forward and the backward of the joint graph `gm`, as
        AOT autograd's `partition_fn`."""
        known = self._parameters
        if known is None:
            known = frozenset(static_lifetime_input_indices or ())
        with guarded("decide what is gathered again", self._options):
            if self._options.reshard_after_forward is True:
                reshard_after_forward(gm, known)
            elif self._options.reshard_after_forward is False:
                keep_after_forward(gm, known)
        halves = None
        if self._options.partitions and not find_obstacle(
            self._options, "partition"
        ):
            halves = self._partition(
                gm, known, num_fwd_outputs, static_lifetime_input_indices
            )
        if halves is None:
            halves = names.min_cut(
                gm,
                joint_inputs,
                num_fwd_outputs=num_fwd_outputs,
                static_lifetime_input_indices=static_lifetime_input_indices,
            )
        with guarded("find what lives beside a backward", self._options):
            mark_beside(*halves, num_fwd_outputs)
        return halves

    def _partition(self, gm, parameters, num_fwd_outputs, static):
        """Returns the halves, or None if the graph is PyTorch's to split."""
        otherwise = "a joint graph to PyTorch's partitioner"
        with recorded("joint", self._options, otherwise) as record:
            marked = private_partition.first_marked(gm)
            halves = self._split(
                gm, parameters, num_fwd_outputs, static, record
            )
            launches = Launches.of(halves[1].graph).names
            record.notes = partition_notes(
                *halves,
                num_fwd_outputs,
                len(repeated_launches(gm.graph, launches)),
            )
            if self._options.partition == "default" and marked is not None:
                record.notes.append(
                    "makes a minimum cut in place of partition='default', for "
                    f"'{marked.name}' is marked to be computed again"
                )
            log_operators(*halves)
            return halves
        return None

    def _split(self, gm, parameters, num_fwd_outputs, static, record) -> Halves:
        def split(partition: Partition) -> Halves:
            return split_joint(gm, partition, num_fwd_outputs, static)

        own, launches, error = None, (), None
        try:
            self._prepare(gm)
            own = decide(gm, parameters, num_fwd_outputs, self._options)
            halves = split(own)
            launches = Launches.of(halves[1].graph).names
        except Exception as problem:
            if self._options.strict:
                raise
            own, error = None, problem
        reason = "" if error is None else describe(error)
        agreed = agree_on_partition(
            gm.graph, record.frame, own, launches, self._options, reason
        )
        record.decided = agreed.how
        if agreed.launches is not None:
            # Whoever partitions from here on repeats these.
            repeated = repeated_launches(gm.graph, agreed.launches)
            repeat_collectives(gm, repeated)
            followed = agreed.partition or decide(
                gm, parameters, num_fwd_outputs, self._options
            )
            halves = split(followed)
            launch_in_order(halves[1], agreed.launches)
            return halves
        if agreed.reason:
            raise error or PlanError(agreed.reason)
        return halves

    def _prepare(self, gm: fx.GraphModule) -> None:
        reason = private_partition.refusal(gm)
        if reason is not None:
            raise PlanError(reason)
        if self._options.partition != "default" or (
            private_partition.first_marked(gm) is not None
        ):
            # A minimum cut follows.
            private_partition.simplify(gm)
        private_partition.mark_what_has_to_be_saved(gm)
        mark_reads_of_written(gm)
        mark_new_sizes(gm)


def decide(
    gm: fx.GraphModule,
    parameters: Collection[int],
    num_fwd_outputs: int,
    options: Options,
) -> Partition:
    """Returns what the forward of the joint graph `gm` saves.

    Raises GraphImportError, RunError or PlanError where nothing can be said
    of the graph.
    """
    roles = parameter_roles(gm.graph, parameters)
    spec = GraphSpec(
        _FUNCTION, gm, "joint", roles, num_fwd_outputs=num_fwd_outputs
    )
    measure_operators(options, gm, "joint")
    settings = import_options(options, gm, "joint")
    module = import_graphs([spec], settings)
    roles_of = [
        (value.ref, attributes["commsched.role"])
        for value, attributes in module.functions[0].arguments
    ]
    # The forward's random states come last in it.
    primals = [
        name
        for is_seed in (False, True)
        for name, role in roles_of
        if role not in BACKWARD_ROLES and (role == FORWARD_SEED) == is_seed
    ]
    run = partition_text(
        str(module),
        options,
        _partition_flags(options, transfers.has_transfers(gm.graph)),
        _quantize_flags(options),
    )
    _warn_of_excess(run, options)
    return make_partition(gm.graph, primals, run.before, run.after, _FUNCTION)


def _warn_of_excess(run: opt.ProgramRun, options: Options) -> None:
    reports = () if run.reports is None else run.reports.after.values()
    text = excess(options, list(reports))
    if text is not None:
        records.warn_once(f"CommSched knows no step that fits: {text}")


def _partition_flags(options: Options, can_offload: bool) -> tuple[str, ...]:
    if options.fits_memory:
        return (options.pipeline_flag(**fit_settings(options, can_offload)),)
    settings: dict[str, object] = {
        "strategy": "default" if options.partition == "default" else "min-cut"
    }
    budget = options.activation_memory_budget
    if budget is not None:
        settings["activation-memory-budget"] = float(budget)
    if options.collectives != "auto":
        settings["collectives"] = options.collectives
    flags = []
    if options.collectives == "cost":
        # What hides a gather is a question of times.
        settings["runtime-estimator"] = "model"
        flags.append("--commsched-estimate-runtime")
    return (*flags, opt.flag("commsched-partition-joint", settings))


def _quantize_flags(options: Options) -> tuple[str, ...]:
    """Returns the passes that quantize what a partition saves."""
    if options.quantize_activations in (None, "auto"):
        return ()
    settings = {
        key.replace("_", "-"): value
        for key, value in options.quantize_activations
    }
    return (opt.flag("commsched-quantize-activations", settings),)
