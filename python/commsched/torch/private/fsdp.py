# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `fully_shard` and `DistributedDataParallel` keep at a module, beyond their
public interfaces.

Tested with 2.13: torch.distributed.fsdp._fully_shard, torch.nn.parallel.distributed.
"""

from __future__ import annotations

import dataclasses
import weakref
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, Optional

import torch
from torch import nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy
from torch.distributed.tensor import Placement, Replicate
from torch.nn.parallel import DistributedDataParallel

from commsched.torch.private import names
from commsched.torch.private.names import broadcast

#: The dictionaries of hooks of a module, each with those that say more of a hook
#: with the same key.
_HOOKS = {
    "_forward_pre_hooks": ("_forward_pre_hooks_with_kwargs",),
    "_forward_hooks": (
        "_forward_hooks_with_kwargs",
        "_forward_hooks_always_called",
    ),
    "_state_dict_pre_hooks": (),
    "_load_state_dict_post_hooks": (),
}
#: What Dynamo looks for at the modules that FSDP2 manages.
_MARKS = ("_is_fsdp_managed_module", "_fsdp_use_orig_params")


class Distribution(NamedTuple):
    """How a `DTensor` is distributed."""

    mesh: DeviceMesh
    placements: tuple[Placement, ...]
    shape: torch.Size
    stride: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Reduction:
    """How gradients are reduced: they are multiplied and divided, "avg" or "sum" over
    the ranks that shard and over the replicas, and divided."""

    factor: Optional[float] = None
    divisor_before: Optional[float] = None
    shards: str = "avg"
    replicas: str = "avg"
    divisor: Optional[float] = None


@dataclasses.dataclass(frozen=True)
class ShardedParameter:
    """A parameter that `fully_shard` has sharded."""

    parameter: nn.Parameter
    #: What it is sharded over and how, by dimension of that mesh: the last shards.
    mesh: DeviceMesh
    placements: tuple[Placement, ...]
    #: Of what is gathered.
    shape: torch.Size
    stride: tuple[int, ...]
    #: How what is gathered is distributed over other meshes, or None.
    outer: Optional[Distribution]
    #: The modules that have it, more than one if it is tied, and its name there.
    owners: tuple[tuple[nn.Module, str], ...]
    policy: MixedPrecisionPolicy
    reduction: Reduction
    #: Why its collectives cannot be made from its placements, or None.
    obstacle: Optional[str]
    #: What is equal of parameters that were one before they were sharded.
    origin: Hashable
    #: FSDP2's own record, and that of the group.
    record: Any
    group: Any


def list_parameters(module: FSDPModule) -> Iterator[ShardedParameter]:
    """The parameters of the groups of a module that `fully_shard` was given; of
    several modules that it was given at once, those of the first."""
    state = module._get_fsdp_state()
    if state._modules[0] is not module:
        return
    for group in state._fsdp_param_groups:
        for record in group.fsdp_params:
            info = record._module_info
            owners = [(info.module, info.param_name)]
            owners += zip(info.shared_modules, info.shared_param_names)
            mesh = record.mesh_info.mesh
            yield ShardedParameter(
                record.sharded_param,
                mesh,
                (Replicate(),) * (mesh.ndim - 1) + (record.fsdp_placement,),
                record._orig_size,
                record._contiguous_orig_stride,
                _get_outer(record),
                tuple(owners),
                record.mp_policy,
                _get_reduction(group, record),
                _find_obstacle(group, record),
                getattr(record, "_orig_param_uid", record),
                record,
                group,
            )


def reshards(parameter: ShardedParameter) -> bool:
    """Whether backwards free what was gathered."""
    return parameter.group.reshard_after_backward


def set_reshards(parameter: ShardedParameter, is_freed: bool) -> None:
    parameter.group.reshard_after_backward = is_freed


def _get_outer(record: Any) -> Optional[Distribution]:
    spec = record._unsharded_dtensor_spec
    if spec is None:
        return None
    return Distribution(spec.mesh, tuple(spec.placements), spec.shape, spec.stride)


def get_policy(module: FSDPModule) -> MixedPrecisionPolicy:
    """What a module that `fully_shard` was given casts."""
    return module._get_fsdp_state()._mp_policy


def list_modules(module: FSDPModule) -> tuple[nn.Module, ...]:
    """The modules that `fully_shard` was given with `module`."""
    return module._get_fsdp_state()._modules


#: Of a group of parameters: its attributes that are None or false as long as its
#: collectives are the usual ones, and what to call them.
_UNUSUAL = {
    "reduce_scatter_unused_params": "gradients are reduced where there are none",
    "_all_reduce_hook": "it has a hook for reductions",
}


def _find_obstacle(group: Any, record: Any) -> Optional[str]:
    parameter = record.sharded_param
    for name, text in _UNUSUAL.items():
        if getattr(group, name, None):
            return text
    info = record._module_info
    for module in (info.module, *info.shared_modules):
        if obstacle := _find_embedding_obstacle(module):
            return obstacle
    if not (group.reduce_grads and group.all_reduce_grads):
        return "its gradients are not reduced now"
    if record.offload_to_cpu:
        return "it is offloaded"
    if record.mesh_info.is_spmd_mesh:
        return "its mesh has dimensions that do not shard it (dp_mesh_dims)"
    if not hasattr(record.mesh_info, "shard_mesh_size"):
        return "it is not sharded"
    ranks = record.mesh_info.mesh.mesh
    if any((ranks.diff(dim=dim) < 0).any() for dim in range(ranks.ndim)):
        # fully_shard counts shards as the group does, and DTensor as the mesh.
        return "its mesh has ranks in another order than its process group"
    if hasattr(parameter._local_tensor, "fsdp_pre_all_gather"):
        return "its tensor has a gather of its own"
    if parameter._backward_hooks:
        return "it has hooks, which fully_shard does not call"
    if not all(map(_is_of_fsdp, (group._all_gather_comm, group._reduce_scatter_comm))):
        return "it has collectives of its own"
    if (
        record.mesh_info.shard_mesh_size == 1
        and group.gradient_divide_factor is not None
        and _get_reduction(group, record).divisor is not None
    ):
        return "its gradients are divided twice (by one rank that shards)"
    return None


def _get_reduction(group: Any, record: Any) -> Reduction:
    factor = group.gradient_divide_factor
    policy = record.mp_policy
    dtype = policy.reduce_dtype or policy.param_dtype or record.sharded_param.dtype
    # Sums in this type may overflow.
    is_narrow = dtype not in (torch.float32, torch.bfloat16)
    shards = getattr(record.mesh_info, "shard_mesh_size", 1)
    if not (is_narrow or group.force_sum_reduction_for_comms):
        if factor is None:
            return Reduction()
        if factor == shards:
            return Reduction(replicas="sum")
        if shards == 1:
            return Reduction(divisor_before=factor, shards="sum", replicas="sum")
        return Reduction(factor=1 / factor, shards="sum", replicas="sum")
    if factor is None:
        factor = float(record.mesh_info.mesh.size())
    before = 1
    while is_narrow and factor % before == 0 and factor / before > before:
        before *= 2
    before, after = (None if d == 1 else d for d in (before, factor / before))
    return Reduction(None, before, "sum", "sum", after)


def syncs_buffers(model: DistributedDataParallel) -> bool:
    """Whether forwards broadcast buffers, of which there are some."""
    return bool(model.forward_sync_buffers and model.modules_buffers)


def find_replica_obstacle(model: DistributedDataParallel) -> Optional[str]:
    """Why the reductions of a model cannot be made from its parameters, or None."""
    if not model.require_backward_grad_sync:
        return "its gradients are not reduced now"
    if model.find_unused_parameters:
        return "find_unused_parameters is set"
    # Those that are built in are in C++ alone.
    if model._comm_hooks or model._get_ddp_logging_data().get("comm_hook"):
        return "a communication hook is registered"
    if model._use_python_reducer:
        return (
            'torch._dynamo.config.optimize_ddp was "python_reducer" when it was made, '
            "and it reduces where compiled autograd sees it"
        )
    if model.mixed_precision is not None:
        return "it has a policy of mixed precision"
    if hasattr(model, "buffer_hook"):
        return "it has a hook for its buffers"
    for name, module in model.module.named_modules():
        own = list(module.parameters(recurse=False))
        if any(map(list_hooks, own)):
            return f"a parameter of '{name}' has hooks, which see what is not reduced"
        if any(hasattr(p, "_st_info") for p in own):
            return f"'{name}' is distributed, and gets its parameters before a forward"
        if obstacle := _find_embedding_obstacle(module):
            return f"a parameter of '{name}': {obstacle}"
    return None


def _find_embedding_obstacle(module: nn.Module) -> Optional[str]:
    if not isinstance(module, (nn.Embedding, nn.EmbeddingBag)):
        return None
    if not module.weight.requires_grad:
        return None
    if module.sparse:
        return "its gradient is sparse"
    if module.max_norm is not None:
        return "its module has a max_norm, and changes it in forwards"
    return None


def original_class(module: FSDPModule) -> type:
    """The class that a module had before `fully_shard`."""
    classes = [c for c in type(module).__mro__ if not issubclass(c, FSDPModule)]
    return classes[0]


def take_methods(
    module: nn.Module, convert: Callable[[Callable], Callable]
) -> dict[str, Callable]:
    """Replaces the methods of a module that `register_fsdp_forward_method` was given
    by what `convert` makes of the original ones. Returns what was replaced, by name.
    """
    taken = {}
    for name, method in list(vars(module).items()):
        function = getattr(method, "__func__", None)
        if function is not None and _is_of_fsdp_code(function):
            taken[name] = method
            vars(module)[name] = convert(function.__wrapped__)
    return taken


def _is_of_fsdp_code(function: Any) -> bool:
    # Its `__module__` is that of what it wraps.
    return function.__globals__["__name__"].startswith("torch.distributed.fsdp.")


def take_hooks(
    module: nn.Module, replacements: Mapping[str, Callable] = {}
) -> dict[str, dict]:
    """Removes FSDP2's hooks and marks of a module, and returns them for
    :func:`put_hooks`. `replacements` get their places, by the dictionary."""
    taken: dict[str, dict] = {}
    for name, flags in _HOOKS.items():
        hooks = getattr(module, name)
        for key in [key for key, hook in hooks.items() if _is_of_fsdp(hook)]:
            if name in replacements:
                taken.setdefault(name, {})[key] = hooks[key]
                hooks[key] = replacements[name]
                continue
            for dictionary in (name, *flags):
                known = getattr(module, dictionary)
                if key in known:
                    taken.setdefault(dictionary, {})[key] = known.pop(key)
    marks = {name: vars(module).pop(name) for name in _MARKS if name in vars(module)}
    return {**taken, "": marks}


def take_state(module: FSDPModule) -> tuple:
    """Gives a module a state without parameters, since a module around it, if it is
    not adopted, runs what those below it have. Returns the state for
    :func:`put_state`, and what is in its place and has to live as long."""
    taken = names.module_states[module]
    instead = type(taken())()
    names.module_states[module] = weakref.ref(instead)
    return taken, instead


def put_state(module: nn.Module, taken: tuple) -> None:
    names.module_states[module] = taken[0]


def take_accumulation_hooks(parameter: nn.Parameter) -> tuple[dict, dict]:
    """Removes the hooks that are called when the gradient of a parameter was added up.
    Returns where they belong, and those."""
    hooks = parameter._post_accumulate_grad_hooks or {}
    taken = dict(hooks)
    hooks.clear()
    return hooks, taken


def list_hooks(parameter: nn.Parameter) -> set[int]:
    """The ids of the hooks of a parameter and of its gradient."""
    return {
        *(parameter._backward_hooks or ()),
        *(parameter._post_accumulate_grad_hooks or ()),
    }


def has_forward_hooks(module: nn.Module) -> bool:
    hooks = (*module._forward_pre_hooks.values(), *module._forward_hooks.values())
    return not all(map(_is_of_fsdp, hooks))


def put_hooks(module: nn.Module, taken: dict[str, dict]) -> None:
    """Gives a module back what was taken. Hooks before the forward come first, as
    `fully_shard` has registered them."""
    for name, hooks in taken.items():
        known = getattr(module, name) if name else vars(module)
        known.update(hooks)
        if name == "_forward_pre_hooks":
            for key in reversed(hooks):
                known.move_to_end(key, last=False)


def _is_of_fsdp(hook: Any) -> bool:
    """Whether a hook, or another object, is made by PyTorch's code for FSDP2."""
    hook = getattr(hook, "hook", hook)  # Of a state dictionary: wrapped.
    return (getattr(hook, "__module__", None) or "").startswith(
        "torch.distributed.fsdp."
    )


def list_buffers(model: DistributedDataParallel) -> list[torch.Tensor]:
    """What a model broadcasts before a forward. Forwards may set other buffers."""
    named = model.module.named_buffers()
    return [b for name, b in named if name not in model.parameters_to_ignore]


@torch.no_grad()
def broadcast_buffers(tensors: Iterable[torch.Tensor], group: Any) -> None:
    """Sets tensors to those of the first rank of a group, such that a compiler sees
    it. Backwards of earlier forwards have saved them, but do not read them."""
    for tensor in tensors:
        tensor.data.copy_(broadcast(tensor, 0, group))


def forget_values(parameter: ShardedParameter) -> None:
    """Lets FSDP2 look at what its modules have as that parameter now."""
    parameter.record.reset_sharded_param()


def reset_roots(model: nn.Module) -> None:
    """Resets what FSDP2 has of a step that has raised, below a model."""
    for module in model.modules():
        if isinstance(module, FSDPModule) and module._get_fsdp_state()._is_root:
            module.reset_iter_state()


def forget_roots(model: nn.Module) -> None:
    """Lets FSDP2 find out anew which of its modules are roots, if some have not run as
    its modules: those below them may have run as roots."""
    modules = [m for m in model.modules() if isinstance(m, FSDPModule)]
    states = {module._get_fsdp_state() for module in modules}
    if any(state._is_root is None for state in states):
        for state in states:
            state._is_root = None
            state._state_ctx = type(state._state_ctx)()


def get_input_device(model: nn.Module) -> Optional[torch.device]:
    """Where the inputs of a root of FSDP2 or of a `DistributedDataParallel` are moved
    before its forward; None: they stay."""
    if isinstance(model, DistributedDataParallel):
        ids = model.device_ids
        return torch.device(model.device_type, ids[0]) if ids else None
    device = model._get_fsdp_state()._device
    return None if device.type == "cpu" else device


def move(device: Optional[torch.device], values: Any) -> Any:
    """`values` with all tensors on `device`; None: where they are."""
    if device is None:
        return values
    return names.tree_map_only(torch.Tensor, lambda tensor: tensor.to(device), values)


def cast_floats(dtype: Optional[torch.dtype], values: Any) -> Any:
    """`values` with all floating-point tensors in `dtype`; None: as they are."""
    if dtype is None:
        return values
    return names.tree_map_only(
        torch.Tensor,
        lambda tensor: tensor.to(dtype) if tensor.is_floating_point() else tensor,
        values,
    )


def view_differentiable(values: Any) -> Any:
    """`values` with a view of each tensor that takes a gradient."""
    return names.tree_map_only(
        torch.Tensor,
        lambda tensor: tensor.view_as(tensor) if tensor.requires_grad else tensor,
        values,
    )
