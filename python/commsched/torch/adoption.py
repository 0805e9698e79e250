# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models under FSDP2's `fully_shard` or under `DistributedDataParallel`, with their
collectives in the graph.

Both gather parameters or reduce gradients in hooks that a compiler does not see. An
adopted model has the same parameters with the same names, so that optimizers,
checkpoints and the clipping of gradients work as before. But reading one in a forward,
through its module, gathers it, as in :mod:`.sharding`, or reduces its gradient in the
backward (:mod:`.reads`).
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import warnings
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from typing import Optional

import torch
from torch import nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy
from torch.nn.parallel import DistributedDataParallel

from .adopted import (
    TAKEN,
    AdoptedModule,
    AdoptedReplica,
    AroundAdopted,
    list_reads_of,
    list_sharded,
    list_taken,
    take,
    watch_optimizers,
)
from .comparison import Comparison, compare_models
from .private import fsdp
from .private.names import missing as find_missing
from .reads import ReadReplica, ReadShards, register_forward
from .sharding import (
    forget_reads,
    gather_on_read,
    list_parameters,
    with_own_code,
)


def adopt(model: nn.Module) -> nn.Module:
    """Show the collectives of a model under `fully_shard`, or of one that is a
    `DistributedDataParallel`, to compilers.

    Returns `model`, which is changed: parameters, their names and placements stay,
    and a training step computes the same. Call it before the model first runs;
    :func:`release` undoes it.

    A module stays as `fully_shard` made it, with a warning that names it and a
    parameter, if its parameters are offloaded, gather themselves or have hooks, or
    if their gradients are not reduced just then or by collectives of the user.

    ValueError: no module of the model is under `fully_shard`, or two that share a
    parameter are by themselves; a `DistributedDataParallel` looks for unused
    parameters, has sparse gradients, an embedding with `max_norm`, hooks for its
    parameters or communication, or a policy of mixed precision, or reduces no
    gradients just then. RanksDiffer: another rank has adopted other parameters.
    """
    if renamed := _find_renamed(model):
        warnings.warn(
            f"PyTorch {torch.__version__} has other interfaces than adopt uses, and "
            f"the collectives of the {type(model).__name__} stay hidden: {renamed}",
            stacklevel=2,
        )
        return model
    if isinstance(model, DistributedDataParallel):
        return _adopt_replica(model)
    modules = list_sharded(model.modules())
    if not modules:
        raise ValueError(
            f"no module of {type(model).__name__} is under fully_shard"
            + (", or they are adopted already" if list_taken(model) else "")
        )
    names = {module: name or "the model" for name, module in model.named_modules()}
    reads: _Reads = defaultdict(dict)
    tied = _Tied()
    parameters = {module: list(fsdp.list_parameters(module)) for module in modules}
    for parameter in itertools.chain.from_iterable(parameters.values()):
        for owner, _ in parameter.owners:  # Which the user may have taken away.
            names.setdefault(owner, f"a {type(owner).__name__}")
    _check_shared(names, parameters)
    refused: set[nn.Module] = set()
    for module in modules:
        if _is_refused(names, module, parameters[module]):
            refused.update(fsdp.list_modules(module))
    inner = {m for parent in modules for m in parent.modules() if m is not parent}
    for module in modules:
        if module in refused:
            continue
        module.reshard()
        taken = take(module)
        taken.parameters = parameters[module]
        device = None if module in inner else fsdp.get_input_device(module)
        entry = _Entry(device, fsdp.get_policy(module), bool(parameters[module]))
        taken.methods = fsdp.take_methods(
            module, functools.partial(_make_forward, entry)
        )
        if fsdp.has_forward_hooks(module):
            # Where those of fully_shard are, between the user's. They break graphs
            # that begin at a module, which others do without.
            taken.hooks = fsdp.take_hooks(module, entry.make_hooks())
            entry = _Entry()
        else:
            taken.hooks = fsdp.take_hooks(module)
        if forward := vars(module).get("forward"):
            taken.methods["forward"] = forward
            module.forward = _make_forward(entry, forward)
        module.__class__ = _make_adopted_class(fsdp.original_class(module), entry)
        taken.state = fsdp.take_state(module)
        for parameter in parameters[module]:
            read = ReadShards(parameter)
            taken.reads.append(read)
            _add_read(reads, tied, parameter.owners, read)
    _apply(model, reads, tied)
    for module in list_taken(model):
        if not (take(module).hooks or isinstance(module, FSDPModule)):
            take(module).hooks = fsdp.take_hooks(module)
    for module in refused:
        if list_taken(module) and not isinstance(module, AroundAdopted):
            cls = take(module).cls
            module.__class__ = type(cls.__name__, (AroundAdopted, cls), {})
    watch_optimizers(list_reads_of(model.modules()))
    compare_models(model, list_reads_of(model.modules()))
    return model


def _find_renamed(model: nn.Module) -> Optional[str]:
    """What PyTorch does not have of what is read of `model`, or None."""
    if missing := find_missing("graphs", "adoption"):
        return missing
    try:
        for module in model.modules():
            if isinstance(module, FSDPModule):
                list(map(fsdp.reshards, fsdp.list_parameters(module)))
                fsdp.get_policy(module)
                fsdp.get_input_device(module)
        if isinstance(model, DistributedDataParallel):
            fsdp.find_replica_obstacle(model)
            fsdp.syncs_buffers(model)
    except AttributeError as error:
        return str(error)
    return None


def _adopt_replica(model: DistributedDataParallel) -> DistributedDataParallel:
    if TAKEN in vars(model):
        raise ValueError("the DistributedDataParallel is adopted already")
    if obstacle := fsdp.find_replica_obstacle(model):
        raise ValueError(
            f"this DistributedDataParallel cannot be adopted: {obstacle}"
        )
    take(model)
    # Copies of the model inside copy its hook, and with that what is around it.
    cls = _make_uncopied_class(type(model))

    def forward(self, *args, **kwargs):
        return AdoptedReplica.forward(self, *args, **kwargs)

    attributes = {"__module__": __name__, "forward": with_own_code(forward)}
    model.__class__ = type(cls.__name__, (AdoptedReplica, cls), attributes)
    mesh = DeviceMesh.from_group(model.process_group, model.device_type)
    owners: dict[nn.Parameter, list[tuple[nn.Module, str]]] = defaultdict(list)
    for full_name, module, name in list_parameters(model.module):
        parameter = module._parameters[name]
        if parameter.requires_grad and full_name not in model.parameters_to_ignore:
            owners[parameter].append((module, name))
    reads: _Reads = defaultdict(dict)
    tied = _Tied()
    for of_parameter in owners.values():
        read = ReadReplica(*of_parameter[0], mesh)
        take(model).reads.append(read)
        _add_read(reads, tied, of_parameter, read)
    _apply(model, reads, tied)
    taken = take(model)
    taken.hook = model.module.register_forward_pre_hook(model.check_call)
    taken.comparison = Comparison(model, taken.reads)
    # Not of the class: graphs would be compiled again when they become the model's.
    model.is_awaited = model.is_unfinished = False
    compare_models(model, taken.reads)
    return model


def release(model: nn.Module) -> nn.Module:
    """Give an adopted model back to `fully_shard` or `DistributedDataParallel`.
    Returns `model`.

    ValueError: it has gradients that are not reduced yet.
    """
    for read in list_reads_of(model.modules()):
        if read.has_unreduced():
            raise ValueError(
                f"parameter '{read.name}' of a {type(read.owner).__name__} has "
                "gradients that are not reduced yet"
            )
    parameters = []
    for module in list_taken(model):
        taken = vars(module).pop(TAKEN)
        module.__class__ = taken.cls
        forget_reads(module)
        fsdp.put_hooks(module, taken.hooks)
        if taken.state:
            fsdp.put_state(module, taken.state)
        vars(module).update(taken.methods)
        if taken.hook is not None:
            taken.hook.remove()
        if taken.comparison is not None:
            taken.comparison.remove()
        parameters += taken.parameters
        for read in taken.reads:
            read.forget()
    for parameter in parameters:
        fsdp.forget_values(parameter)
    fsdp.forget_roots(model)
    return model


#: By module and name: what reads that parameter.
_Reads = defaultdict[nn.Module, dict[str, Callable]]


def _add_read(
    reads: _Reads,
    tied: _Tied,
    owners: Iterable[tuple[nn.Module, str]],
    read: Callable,
) -> None:
    owners = list(owners)
    if len(owners) > 1:
        read = tied.share(owners[0], read)
    for owner, name in owners:
        reads[owner][name] = read


def _apply(model: nn.Module, reads: _Reads, tied: _Tied) -> None:
    for owner, by_name in reads.items():
        take(owner)
        owner.__class__ = _make_uncopied_class(type(owner))
        gather_on_read(owner, by_name, is_once=True)
    if tied.reads:
        take(model)
        model.__class__ = tied.make_class(type(model))
    for read in list_reads_of(model.modules()):
        read.model = model


def _check_shared(
    names: dict[nn.Module, str],
    parameters: dict[FSDPModule, list[fsdp.ShardedParameter]],
) -> None:
    """Raises what `fully_shard` raises in the first forward."""
    first: dict[Hashable, str] = {}
    for parameter in itertools.chain.from_iterable(parameters.values()):
        owner, name = parameter.owners[0]
        text = f"parameter '{name}' of {names[owner]}"
        if (other := first.setdefault(parameter.origin, text)) is not text:
            raise ValueError(
                f"{other} and {text} were one before fully_shard, which shards them "
                "by themselves: give it the modules as one list"
            )


@functools.cache
def _make_uncopied_class(cls: type) -> type:
    attributes = {"__module__": cls.__module__, "__reduce_ex__": _refuse_copies}
    return type(cls.__name__, (cls,), attributes)


def _refuse_copies(module: nn.Module, protocol: int) -> None:
    raise TypeError(
        f"a {type(module).__name__} that is adopted cannot be copied or pickled: save "
        "its state_dict, or call commsched.torch.release first"
    )


def _is_refused(
    names: dict[nn.Module, str],
    module: nn.Module,
    parameters: list[fsdp.ShardedParameter],
) -> bool:
    """Whether a module stays as it is, with a warning."""
    for parameter in parameters:
        if not parameter.obstacle:
            continue
        owner, name = parameter.owners[0]
        warnings.warn(
            f"{names[module]} is not adopted and its collectives stay hidden: "
            f"parameter '{name}' of {names[owner]}: {parameter.obstacle}",
            stacklevel=3,
        )
        return True
    return False


@dataclasses.dataclass(frozen=True)
class _Entry:
    """What `fully_shard` does before and after forwards of a module."""

    #: Where inputs are moved, or None.
    device: Optional[torch.device] = None
    policy: MixedPrecisionPolicy = MixedPrecisionPolicy()
    #: Sums what the module adds to the gradient of each input before that is added to
    #: what other users do. Sums of floating-point numbers depend on their order.
    joins: bool = False

    def enter(self, module: object, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
        inputs = fsdp.move(self.device, (args, kwargs))
        if self.policy.cast_forward_inputs:
            inputs = fsdp.cast_floats(self.policy.param_dtype, inputs)
        if self.joins and torch.is_grad_enabled():
            inputs = fsdp.view_differentiable(inputs)
        return inputs

    def leave(self, module: object, args: tuple, outputs: object) -> object:
        return fsdp.cast_floats(self.policy.output_dtype, outputs)

    def make_hooks(self) -> dict[str, Callable]:
        return {"_forward_pre_hooks": self.enter, "_forward_hooks": self.leave}


@functools.cache
def _make_adopted_class(cls: type, entry: _Entry) -> type:
    """The class of modules before `fully_shard`, with FSDP2's rules for forwards."""
    forward = _make_forward(entry, cls.forward)
    attributes = {"__module__": cls.__module__, "forward": forward}
    return type(cls.__name__, (AdoptedModule, cls), attributes)


def _make_forward(entry: _Entry, function: Callable) -> Callable:
    """`function` as a forward between what `entry` has."""

    # Reports look for what has the name of the function that it calls.
    @functools.wraps(function)
    def forward(*args, **kwargs):
        args, kwargs = entry.enter(None, args, kwargs)
        return entry.leave(None, args, function(*args, **kwargs))

    register_forward(forward)
    return with_own_code(forward)


class _Tied:
    """The parameters that several modules have. Each is gathered once in a forward
    of the model, so that its gradients are added before they are reduced."""

    def __init__(self) -> None:
        self.reads: list[tuple[nn.Module, str, Callable]] = []
        self.gathered: dict[int, torch.Tensor] = {}

    def share(self, owner: tuple[nn.Module, str], read: Callable) -> Callable:
        index, gathered = len(self.reads), self.gathered
        self.reads.append((*owner, read))

        def read_shared(shard: torch.Tensor) -> torch.Tensor:
            return gathered[index] if index in gathered else read(shard)

        return read_shared

    def make_class(self, cls: type) -> type:
        reads, gathered = self.reads, self.gathered

        def forward(self, *args, **kwargs):
            for index, (module, name, read) in enumerate(reads):
                gathered[index] = read(module._parameters[name])
            try:
                return cls.forward(self, *args, **kwargs)
            finally:
                gathered.clear()

        attributes = {"__module__": cls.__module__, "forward": with_own_code(forward)}
        return type(cls.__name__, (cls,), attributes)
