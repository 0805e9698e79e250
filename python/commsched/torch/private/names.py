# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The names of PyTorch that the package uses beyond its public interfaces.

All of them are declared here, by what needs them. One that this PyTorch does not
have can be imported from here like the others, and using it is a
:class:`MissingName`. So whoever needs a group asks first whether all of it is
there (:func:`missing`), and goes without otherwise.

Tested with 2.13 and 2.15.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Mapping
from typing import Any, Optional

_BASE_NODE = "torch._inductor.scheduler.BaseSchedulerNode"
_DESCRIPTORS = "torch._functorch._aot_autograd.descriptors"
_GUARDS = "torch._guards"
_INDUCTOR = "torch._inductor"
_PARTITIONERS = "torch._functorch.partitioners"
_SCHEDULER = "torch._inductor.scheduler.Scheduler"
_SHARDING = "torch.distributed.tensor"

#: What is imported from here, by what needs it: the name here, and its path in
#: PyTorch.
IMPORTED: Mapping[str, Mapping[str, str]] = {
    # Reading and rewriting graphs.
    "graphs": {
        "HigherOrderOperator": "torch._ops.HigherOrderOperator",
        "OpOverload": "torch._ops.OpOverload",
        "OpOverloadPacket": "torch._ops.OpOverloadPacket",
        "FakeTensor": "torch._subclasses.fake_tensor.FakeTensor",
        "FakeTensorMode": "torch._subclasses.fake_tensor.FakeTensorMode",
        "arg_tree_leaves": "torch.utils._pytree.arg_tree_leaves",
        "tree_leaves": "torch.utils._pytree.tree_leaves",
        "tree_map": "torch.utils._pytree.tree_map",
        "tree_map_only": "torch.utils._pytree.tree_map_only",
        "has_kernel_for_key": "torch._C._dispatch_has_kernel_for_dispatch_key",
        "is_contiguous_or_false": "torch._prims_common.is_contiguous_or_false",
        "make_contiguous_strides_for": "torch._prims_common.make_contiguous_strides_for",
        "called_for_effects": "torch.fx.node._side_effectful_functions",
    },
    # Compiling them.
    "compiling": {
        "BoxedCodeGen": "torch.fx.graph._BoxedCodeGen",
        "aot_autograd": "torch._dynamo.backends.common.aot_autograd",
        "current_compile_id": f"{_GUARDS}.CompileContext.current_compile_id",
        "get_traced_code": f"{_GUARDS}.TracingContext.get_traced_code",
        "get_tracing_context": f"{_GUARDS}.TracingContext.try_get",
        "orig_code_map": "torch._dynamo.utils.orig_code_map",
        "min_cut": f"{_PARTITIONERS}.min_cut_rematerialization_partition",
        "CustomPartitionerFn": f"{_INDUCTOR}.custom_graph_pass.CustomPartitionerFn",
    },
    # Agreeing with other ranks.
    "ranks": {
        "get_default_store": "torch.distributed.distributed_c10d._get_default_store",
        "resolve_process_group": (
            "torch.distributed.distributed_c10d._resolve_process_group"
        ),
        "world": "torch.distributed.distributed_c10d._world",
        "new_process_group_helper": (
            "torch.distributed.distributed_c10d._new_process_group_helper"
        ),
    },
    # CommSched's own partitions.
    "partition": {
        "functorch_config": "torch._functorch.config",
        "partitioners": _PARTITIONERS,
        "fx_graph_cse": f"{_PARTITIONERS}.fx_graph_cse",
        "must_recompute": f"{_PARTITIONERS}.must_recompute",
        "force_save_effectful_ops": f"{_PARTITIONERS}.force_save_effectful_ops",
        "force_save_bw_mutation_src": f"{_PARTITIONERS}.force_save_bw_mutation_src",
        "is_backward_state": f"{_PARTITIONERS}._is_backward_state",
        "is_tangent": f"{_PARTITIONERS}._is_tangent",
        "is_bwd_seed_offset": f"{_PARTITIONERS}._is_bwd_seed_offset",
        "is_sym_node": f"{_PARTITIONERS}.is_sym_node",
        "is_assert_only_symbool": f"{_PARTITIONERS}._is_assert_only_symbool",
        "is_opaque_node": f"{_PARTITIONERS}.is_opaque_node",
        "is_primal": f"{_PARTITIONERS}._is_primal",
        "extract_fwd_bwd_modules": f"{_PARTITIONERS}._extract_fwd_bwd_modules",
        "has_recomputable_rng_ops": f"{_PARTITIONERS}.has_recomputable_rng_ops",
        "functionalize_rng_ops": f"{_PARTITIONERS}.functionalize_rng_ops",
        "reordering_to_mimic_autograd_engine": (
            f"{_PARTITIONERS}.reordering_to_mimic_autograd_engine"
        ),
        "raise_getitems": f"{_PARTITIONERS}.raise_getitems",
        "thread_graphsafe_rng_from_hops": (
            f"{_PARTITIONERS}.thread_graphsafe_rng_from_hops"
        ),
        "SavedForBackwardsAOTOutput": f"{_DESCRIPTORS}.SavedForBackwardsAOTOutput",
        "SavedForBackwardsNoVcCheckAOTOutput": (
            f"{_DESCRIPTORS}.SavedForBackwardsNoVcCheckAOTOutput"
        ),
        "OrderedSet": "torch.utils._ordered_set.OrderedSet",
    },
    # The hooks in Inductor.
    "inductor": {
        "CustomGraphPass": f"{_INDUCTOR}.custom_graph_pass.CustomGraphPass",
        "compile_fx": f"{_INDUCTOR}.compile_fx.compile_fx",
        "compile_fx_inner": f"{_INDUCTOR}.compile_fx.compile_fx_inner",
        "inductor_config": f"{_INDUCTOR}.config",
        "get_aot_compilation_context": (
            "torch._functorch._aot_autograd.logging_utils.get_aot_compilation_context"
        ),
        "FallbackKernel": f"{_INDUCTOR}.ir.FallbackKernel",
        "MultiOutput": f"{_INDUCTOR}.ir.MultiOutput",
        "WaitKernel": f"{_INDUCTOR}.ir._WaitKernel",
        "register_lowering": f"{_INDUCTOR}.lowering.register_lowering",
        "V": f"{_INDUCTOR}.virtualized.V",
        "WeakDep": f"{_INDUCTOR}.dependencies.WeakDep",
        "reorder_for_peak_memory": f"{_INDUCTOR}.memory.reorder_for_peak_memory",
        "OrderedSet": "torch.utils._ordered_set.OrderedSet",
    },
    # Estimates in Inductor's own scheduling.
    "estimates": {
        "estimate_fx_collective_size": (
            f"{_INDUCTOR}.comm_analysis.estimate_fx_collective_size"
        ),
    },
    # Rules of splitting.
    "splitting": {
        "op_dispatcher": f"{_SHARDING}.DTensor._op_dispatcher",
        "TensorMeta": f"{_SHARDING}._dtensor_spec.TensorMeta",
        "DTensorSpec": f"{_SHARDING}._dtensor_spec.DTensorSpec",
        "OpSchema": f"{_SHARDING}._op_schema.OpSchema",
        "OpSpec": f"{_SHARDING}._op_schema.OpSpec",
        "OpStrategy": f"{_SHARDING}._op_schema.OpStrategy",
        "TupleStrategy": f"{_SHARDING}._op_schema.TupleStrategy",
    },
    # Models that are adopted.
    "adoption": {
        "temporarily_clear_interpreter_stack": (
            "torch._functorch.pyfunctorch.temporarily_clear_interpreter_stack"
        ),
        "broadcast": "torch.distributed._functional_collectives.broadcast",
        "execution_engine": "torch.autograd.Variable._execution_engine",
        "module_states": "torch.distributed._composable_state._module_state_mapping",
    },
    # The tracer, which makes graphs without a compiler.
    "tracer": {
        "FakeStore": "torch.testing._internal.distributed.fake_pg.FakeStore",
        "clear_sharding_prop_cache": f"{_SHARDING}.debug._clear_sharding_prop_cache",
        "aot_export_joint_with_descriptors": (
            "torch._functorch.aot_autograd.aot_export_joint_with_descriptors"
        ),
        "default_partition": f"{_PARTITIONERS}.default_partition",
        "InputMutationAOTOutput": f"{_DESCRIPTORS}.InputMutationAOTOutput",
        "SubclassGetAttrAOTInput": f"{_DESCRIPTORS}.SubclassGetAttrAOTInput",
        "SubclassGetAttrAOTOutput": f"{_DESCRIPTORS}.SubclassGetAttrAOTOutput",
    },
    # What nothing else depends on.
    "optional": {
        "CustomSchedulerPass": f"{_INDUCTOR}.custom_graph_pass.CustomSchedulerPass",
        "trace_structured": "torch._logging.trace_structured",
        "register_artifact": "torch._logging._internal.register_artifact",
        "get_artifact_logger": "torch._logging._internal.getArtifactLogger",
        "get_mutated_tensors": (
            "torch._higher_order_ops.triton_kernel_wrap.get_mutated_tensors"
        ),
        "hash_distributed": f"{_SHARDING}.DTensor._stable_hash_for_caching",
        "peek_interpreter_stack": "torch._C._functorch.peek_interpreter_stack",
        "offload_ops": "torch._functorch._activation_offloading.offload_ops",
        "skip_code": "torch._dynamo.eval_frame.skip_code",
        "get_frame_callback": "torch._C._dynamo.eval_frame.get_eval_frame_callback",
        "innermost_backend": "torch._dynamo.eval_frame.innermost_backend",
        "get_compilation_metrics": "torch._dynamo.utils.get_compilation_metrics",
        "is_non_overlapping_and_dense_or_false": (
            "torch._prims_common.is_non_overlapping_and_dense_or_false"
        ),
    },
}

#: What is used of objects, classes and settings, by what needs it: paths again, "()"
#: for what a call makes.
USED: Mapping[str, tuple[str, ...]] = {
    "ranks": ("torch.distributed.distributed_c10d._world.pg_group_ranks",),
    "graphs": (
        "torch.ops.aten.add.Tensor._schema",
        "torch.fx.Graph()._root",
        "torch.fx.Graph()._graph_namespace",
        "torch.UntypedStorage()._cdata",
    ),
    # Models under `fully_shard`.
    "adoption": (
        "torch.distributed.fsdp.FSDPModule._get_fsdp_state",
        "torch.distributed.fsdp._fully_shard._fsdp_param.FSDPParam.reset_sharded_param",
        "torch.nn.Module()._forward_hooks",
        "torch.nn.Module()._forward_hooks_always_called",
        "torch.nn.Module()._forward_hooks_with_kwargs",
        "torch.nn.Module()._forward_pre_hooks",
        "torch.nn.Module()._forward_pre_hooks_with_kwargs",
        "torch.nn.Module()._load_state_dict_post_hooks",
        "torch.nn.Module()._state_dict_pre_hooks",
    ),
    "partition": (
        "torch._functorch.config.cse",
        "torch._functorch.config.enable_activation_offloading",
    ),
    "inductor": (
        f"{_INDUCTOR}.config.get_config_copy",
        f"{_INDUCTOR}.config._pre_fusion_custom_pass",
        f"{_INDUCTOR}.config._post_fusion_custom_pass",
        f"{_INDUCTOR}.config.post_grad_custom_post_pass",
        f"{_INDUCTOR}.config.custom_partitioner_fn",
        f"{_INDUCTOR}.ir.FallbackKernel.codegen",
        f"{_INDUCTOR}.ir.Operation.get_origins",
        f"{_INDUCTOR}.graph.GraphLowering.get_output_names",
        f"{_SCHEDULER}.compute_ancestors",
        f"{_SCHEDULER}.flush",
        f"{_BASE_NODE}.add_fake_dep",
        f"{_BASE_NODE}.get_buffer_names",
        f"{_BASE_NODE}.get_name",
        f"{_BASE_NODE}.get_nodes",
        f"{_BASE_NODE}.is_extern",
        f"{_BASE_NODE}.is_template",
    ),
}


class MissingName(ImportError):
    """This PyTorch does not have a name that is used."""


class _Missing(type):
    """A class that stands for a name that there is not. Nothing is an instance
    of it, and all else that is done with it is a MissingName."""

    def __call__(cls, *_args: Any, **_kwargs: Any) -> Any:
        raise MissingName(cls._text())

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise MissingName(cls._text())

    def _text(cls) -> str:
        return f"PyTorch has no {cls.__mro__[-2].__name__}"


@functools.cache
def find(path: str) -> Any:
    """Returns what is at a path of IMPORTED or USED. Raises MissingName."""
    value, reached = importlib.import_module("torch"), "torch"
    for part in path.split(".")[1:]:
        name = part.removesuffix("()")
        reached += f".{name}"
        try:
            value = _member(value, name, reached)
        except (AttributeError, ImportError) as error:
            raise MissingName(f"PyTorch has no {reached}") from error
        if part != name:
            value = value()
    return value


def _member(value: Any, name: str, path: str) -> Any:
    try:
        return getattr(value, name)
    except AttributeError:
        return importlib.import_module(path)


def paths(group: str) -> tuple[str, ...]:
    return (*IMPORTED.get(group, {}).values(), *USED.get(group, ()))


def missing(*groups: str) -> Optional[str]:
    """Returns what this PyTorch does not have of the names of `groups`, as a
    sentence; None if there is all."""
    for path in (path for group in groups for path in paths(group)):
        try:
            find(path)
        except MissingName as error:
            return str(error)
    return None


def has(name: str) -> bool:
    """Returns whether this PyTorch has what is imported as `name`."""
    return not isinstance(__getattr__(name), _Missing)


def __getattr__(name: str) -> Any:
    for group in IMPORTED.values():
        if name in group:
            try:
                return find(group[name])
            except MissingName:
                return _Missing(group[name], (), {})
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
