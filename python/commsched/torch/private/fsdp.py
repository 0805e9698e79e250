# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `fully_shard` and `DistributedDataParallel` keep at a module, beyond their
public interfaces.

Tested with 2.13: torch.distributed.fsdp._fully_shard, torch.nn.parallel.distributed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, Optional

import torch
from torch import nn
from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy
from torch.nn.parallel import DistributedDataParallel

from commsched.torch.private import names

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


@dataclasses.dataclass(frozen=True)
class ShardedParameter:
    """A parameter that `fully_shard` has sharded."""

    parameter: nn.Parameter
    #: The modules that have it, more than one if it is tied, and its name there.
    owners: tuple[tuple[nn.Module, str], ...]
    policy: MixedPrecisionPolicy
    #: Why its collectives cannot be made from its placements, or None.
    obstacle: Optional[str]
    #: FSDP2's own record.
    record: Any


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
            yield ShardedParameter(
                record.sharded_param,
                tuple(owners),
                record.mp_policy,
                _find_obstacle(group, record),
                record,
            )


def get_policy(module: FSDPModule) -> MixedPrecisionPolicy:
    """What a module that `fully_shard` was given casts."""
    return module._get_fsdp_state()._mp_policy


def list_modules(module: FSDPModule) -> tuple[nn.Module, ...]:
    """The modules that `fully_shard` was given with `module`."""
    return module._get_fsdp_state()._modules


def _find_obstacle(group: Any, record: Any) -> Optional[str]:
    if group.gradient_divide_factor is not None:
        return "its gradients have a divisor of their own"
    if not (group.reduce_grads and group.all_reduce_grads):
        return "its gradients are not reduced now"
    if record.offload_to_cpu:
        return "it is offloaded"
    if record.is_dtensor:
        return "it was a DTensor before"
    if hasattr(record.sharded_param._local_tensor, "fsdp_pre_all_gather"):
        return "its tensor has a gather of its own"
    if record.sharded_param.device.type == "meta":
        return "it has no values yet (device meta)"
    return None


def find_replica_obstacle(model: DistributedDataParallel) -> Optional[str]:
    """Why the reductions of a model cannot be made from its parameters, or None."""
    if model.find_unused_parameters:
        return "find_unused_parameters is set"
    if model._comm_hooks:
        return "a communication hook is registered"
    if model.mixed_precision is not None:
        return "it has a policy of mixed precision"
    if model.will_sync_module_buffers():
        return "it broadcasts buffers (broadcast_buffers=False keeps them as they are)"
    return None


def original_class(module: FSDPModule) -> type:
    """The class that a module had before `fully_shard`."""
    classes = [c for c in type(module).__mro__ if not issubclass(c, FSDPModule)]
    return classes[0]


def take_hooks(module: nn.Module) -> dict[str, dict]:
    """Removes FSDP2's hooks and marks of a module, and returns them for
    :func:`put_hooks`."""
    taken: dict[str, dict] = {}
    for name, flags in _HOOKS.items():
        hooks = getattr(module, name)
        for key in [key for key, hook in hooks.items() if _is_of_fsdp(hook)]:
            for dictionary in (name, *flags):
                known = getattr(module, dictionary)
                if key in known:
                    taken.setdefault(dictionary, {})[key] = known.pop(key)
    marks = {name: vars(module).pop(name) for name in _MARKS if name in vars(module)}
    return {**taken, "": marks}


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
    hook = getattr(hook, "hook", hook)  # Of a state dictionary: wrapped.
    return (getattr(hook, "__module__", None) or "").startswith(
        "torch.distributed.fsdp."
    )


def forget_values(parameter: ShardedParameter) -> None:
    """Lets FSDP2 look at what its modules have as that parameter now."""
    parameter.record.reset_sharded_param()


def cast_floats(dtype: Optional[torch.dtype], values: Any) -> Any:
    """`values` with all floating-point tensors in `dtype`; None: as they are."""
    if dtype is None:
        return values
    return names.tree_map_only(
        torch.Tensor,
        lambda tensor: tensor.to(dtype) if tensor.is_floating_point() else tensor,
        values,
    )
