# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fully sharded data parallelism that a compiler can see.

Every parameter becomes a ``DTensor`` sharded along dimension 0, and reading it
through its module gathers it: a computed property stands in front of the
sharded parameter and redistributes it to replicated. Autograd differentiates
the redistribution, so the gradient leaves through a reduce-scatter. Nothing
happens in hooks or on side streams: a traced step holds every collective as an
ordinary operation, where a compiler can move it.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator
from typing import Optional

import torch
from torch import nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import (
    DTensor,
    Partial,
    Replicate,
    Shard,
    distribute_tensor,
)

from .compiling.parts import note_uncompiled
from .private import (
    cache_keys,
    compile_only_in_others,
    get_frame_callback,
    is_transforming,
    outside_transforms,
    random_states,
)


@dataclasses.dataclass(frozen=True)
class MixedPrecision:
    """Element types of the gathered parameters and of the reduction; None: the
    parameter's own."""

    param_dtype: Optional[torch.dtype] = torch.bfloat16
    reduce_dtype: Optional[torch.dtype] = torch.float32


def shard_parameters(
    model: nn.Module,
    mesh: DeviceMesh,
    precision: MixedPrecision = MixedPrecision(),
    reduction: str = "avg",
) -> None:
    """Shard every parameter of ``model`` over the last dimension of ``mesh``.

    Gradients are averaged over all ranks of ``mesh``, or added up with the
    ``reduction`` "sum", where a rank's loss is a part of the loss.

    Earlier dimensions of the mesh replicate; all dimensions of a mesh of
    several have names. The parameters have their values, equal on all ranks,
    and the optimizer is made afterwards, of ``model.parameters()``. A forward
    that is not compiled gathers where it reads: all ranks have to read alike,
    whatever their data.

    A dimension 0 that the shards do not divide is split as ``torch.chunk``
    does and padded for the collectives, as ``DTensor`` defines it; a parameter
    without dimensions cannot be sharded and is a ``ValueError``, as is one
    that two modules share (each would gather and reduce it on its own), and
    one that is sharded already.
    """
    _check(model, mesh)
    for module in list(model.modules()):
        names = [n for n, p in module._parameters.items() if p is not None]
        for name in names:
            module._parameters[name] = _shard(module._parameters[name], mesh)
        if names:
            gather_on_read(
                module,
                dict.fromkeys(
                    names, lambda p: gather_parameter(p, precision, reduction)
                ),
            )


def _check(model: nn.Module, mesh: DeviceMesh) -> None:
    """Raise ValueError for what cannot be sharded, before anything is."""
    if mesh.ndim > 1 and mesh.mesh_dim_names is None:
        raise ValueError(
            f"the mesh has {mesh.ndim} dimensions without names; give "
            "mesh_dim_names to init_device_mesh"
        )
    owners: dict[nn.Parameter, str] = {}
    for name, module, own_name in list_parameters(model):
        parameter = module._parameters[own_name]
        if parameter.dim() == 0:
            raise ValueError(f"parameter '{name}' has no dimension")
        if isinstance(parameter, DTensor):
            raise ValueError(
                f"parameter '{name}' is sharded already: it has the "
                f"placements {parameter.placements}"
            )
        if parameter in owners:
            raise ValueError(
                f"parameter '{name}' is shared with '{owners[parameter]}'"
            )
        owners[parameter] = name


def list_parameters(model: nn.Module) -> Iterator[tuple[str, nn.Module, str]]:
    """Yield every module's own parameters: the full name, the module, and the name
    there."""
    for path, module in model.named_modules():
        for name, parameter in module._parameters.items():
            if parameter is not None:
                yield f"{path}.{name}" if path else name, module, name


def _shard(parameter: nn.Parameter, mesh: DeviceMesh) -> nn.Parameter:
    placements = [Replicate()] * (mesh.ndim - 1) + [Shard(0)]
    # Without a source rank every rank keeps its slice of its own copy.
    shard = distribute_tensor(
        parameter.detach(), mesh, placements, src_data_rank=None
    )
    return nn.Parameter(shard, requires_grad=parameter.requires_grad)


def gather_on_read(
    module: nn.Module,
    reads: dict[str, Callable[[nn.Parameter], torch.Tensor]],
    *,
    is_once: bool = False,
) -> None:
    """Give ``module`` a class in which reading a parameter calls its function, or if
    `is_once`, its forward calls those of all parameters once, before it begins."""
    # Graphs that read a DTensor have its mesh.
    random_states.put_before_objects()
    cache_keys.tell_shards_apart()
    vars(module).update({_READS: reads, _GATHERED: {}})
    module.__class__ = _make_reading_class(type(module), tuple(reads), is_once)


def forget_reads(module: nn.Module) -> None:
    """Take back what ``gather_on_read`` has done but for the class."""
    for name in (_READS, _GATHERED):
        vars(module).pop(name, None)


#: The attributes of a module that have its reads, and what they gave in the forward
#: that runs.
_READS, _GATHERED = "commsched_reads", "commsched_gathered"


@functools.cache
def _make_reading_class(cls: type, names: tuple[str, ...], is_once: bool) -> type:
    """Modules of one class stay of one class, so that one compiled graph does for
    all blocks of a model that is compiled block by block."""

    def gathered(name: str) -> property:
        def read(self):
            try:
                parameter = self._parameters[name]
            except KeyError:
                raise AttributeError(name) from None
            if parameter is None:
                return None
            if name in self.commsched_gathered:
                return self.commsched_gathered[name]
            if type(parameter) is torch.Tensor:
                # What torch.func.functional_call has put there.
                return parameter
            if is_transforming():
                return _read_outside(self.commsched_reads[name], parameter)
            if torch.compiler.is_compiling():
                return self.commsched_reads[name](parameter)
            value = _read_alone(self.commsched_reads[name], parameter)
            if callback := get_frame_callback():
                note_uncompiled(callback, self, [value])
            return value

        def refuse(self, value):
            raise AttributeError(
                f"parameter '{name}' of a {cls.__name__} is gathered or reduced where it "
                "is read, and cannot become a plain attribute, as pruning and "
                "parametrizations make it: do that before adopt or shard_parameters"
            )

        # Code that is not compiled would get a graph for each parameter.
        compile_only_in_others(read)
        return property(read, refuse)

    attributes = {name: gathered(name) for name in names}
    if is_once and not cls.__module__.startswith("torch.nn."):
        # How often the forward reads may depend on data, which ranks do not share.
        attributes["forward"] = _make_forward(cls, names)
    return type(cls.__name__, (cls,), {**attributes, "__module__": cls.__module__})


def _make_forward(cls: type, names: tuple[str, ...]) -> Callable:
    """The forward of ``cls``, with all parameters read before it."""

    @functools.wraps(cls.forward)
    def forward(self, *args, **kwargs):
        # Dynamo does not compile a part of a frame with such a block: this one is in
        # one graph with all that it calls, or is not compiled.
        before = self.commsched_gathered
        try:
            if not (before or torch.compiler.is_compiling()):
                self.commsched_gathered = _read_all(self, names)
                if callback := get_frame_callback():
                    values = self.commsched_gathered.values()
                    note_uncompiled(callback, self, values)
            return cls.forward(self, *args, **kwargs)
        finally:
            if not torch.compiler.is_compiling():
                self.commsched_gathered = before

    return with_own_code(forward)


def with_own_code(function: Callable) -> Callable:
    """`function`, for which Dynamo counts by itself what it compiles: it does so by
    code, which else is that of all functions that were defined at one place."""
    function.__code__ = function.__code__.replace()
    return function


@torch.compiler.disable(reason="transforms of torch.func do not have DTensors")
def _read_outside(read: Callable, parameter: nn.Parameter) -> torch.Tensor:
    with outside_transforms():
        return read(parameter)


@torch.compiler.disable
def _read_alone(read: Callable, parameter: nn.Parameter) -> torch.Tensor:
    return read(parameter)


@torch.compiler.disable  # Rather than a graph for each.
def _read_all(module: nn.Module, names: tuple[str, ...]) -> dict[str, torch.Tensor]:
    present = [n for n in names if module._parameters.get(n) is not None]
    # A forward without gradients may enable them.
    with torch.set_grad_enabled(not torch.is_inference_mode_enabled()):
        return {name: getattr(module, name) for name in present}


def gather_parameter(
    parameter: DTensor, precision: MixedPrecision, reduction: str = "avg"
) -> torch.Tensor:
    """The whole of a sharded parameter, as a plain tensor.

    Gathers in ``param_dtype``. The gradient is this rank's part of a mean over
    all ranks, or of a sum: it is reduced in ``reduce_dtype`` and returns
    sharded, in the parameter's own type.
    """
    mesh = parameter.device_mesh
    if mesh.ndim > 1:
        parameter = _within_replica(parameter, reduction)
    whole = parameter.redistribute(
        placements=[Replicate()],
        forward_dtype=precision.param_dtype,
        backward_dtype=precision.reduce_dtype,
    )
    return whole.to_local(grad_placements=[Partial(reduction)])


def _within_replica(parameter: DTensor, reduction: str) -> DTensor:
    """``parameter`` as a tensor of its replica's own mesh.

    Its gradient comes back already reduced and scattered within the replica,
    so that the replicas' all-reduce moves a shard. One redistribution over
    both dimensions of the mesh would all-reduce the whole gradient first.
    """
    mesh = parameter.device_mesh
    # Leaves the value alone; its backward is the all-reduce over replicas.
    synchronized = parameter.redistribute(placements=parameter.placements)
    local = synchronized.to_local(
        grad_placements=[Partial(reduction)] * (mesh.ndim - 1)
        + [parameter.placements[-1]]
    )
    return DTensor.from_local(
        local,
        mesh[mesh.mesh_dim_names[-1]],
        [parameter.placements[-1]],
        run_check=False,
        shape=parameter.shape,
        stride=parameter.stride(),
    )
