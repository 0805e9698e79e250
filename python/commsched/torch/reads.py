# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What reading a parameter of an adopted model does.

Reading in a forward gathers a sharded parameter, and its backward reduces the
gradient. All of it is operators that a compiler sees, so that the functions here are
traced. Elsewhere reading gives the parameter itself, so that what sets its values, as
initialization does, sets those of the parameter.

Gradients may also be added up over several backwards and reduced in the last. Those
that are not reduced stay with the parameter's `Accumulation`, whole and in the type
of the reduction; a backward that reduces adds its own, as `fully_shard` and
`DistributedDataParallel` do.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterable
from typing import Any, Optional

import torch
import torch.distributed as dist
import torch.utils.checkpoint
from torch import nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor, Partial, Replicate
from torch.utils.hooks import RemovableHandle

from .compiling import records
from .compiling.shared_reads import register_read
from .private import call_after_backward, fsdp
from .sharding import MixedPrecision, gather_parameter


@dataclasses.dataclass
class Accumulation:
    """Gradients of a parameter that are not reduced yet."""

    #: What has them as its `grad`; not before they are first to be added up.
    leaf: Optional[torch.Tensor] = None
    #: Whether the next backward reduces.
    reduces: bool = True
    #: Whether there are some, which that backward adds to its own.
    is_pending: bool = False
    #: Its `grad` is how many reads added them in a backward: each does that knows
    #: of them, and uses that several graphs have, or eager code, are several reads.
    uses: Optional[torch.Tensor] = None
    #: What was pending when the gradient of the parameter was added up.
    taken: Optional[torch.Tensor] = None
    #: Of the hook that takes it.
    hook: Optional[RemovableHandle] = None
    #: Of the hook of what has a gradient where a forward has said that it is kept.
    keeping: Optional[RemovableHandle] = None
    #: Hooks of the parameter that wait until it has its gradient: where they belong,
    #: and those.
    waiting: tuple[dict, dict] = ({}, {})


class Read:
    """Reads a parameter of the adopted `model`. Subclasses say how."""

    #: Waits until the other ranks have adopted the model, too.
    arrive: Callable[[], None] = staticmethod(lambda: None)

    def __init__(self, owner: nn.Module, name: str, mesh: DeviceMesh):
        self.owner, self.name, self.mesh = owner, name, mesh
        self.model = owner
        self.accumulation = Accumulation()
        #: Whether reading gives the whole outside of forwards, too.
        self.is_unsharded = False
        register_read(self)

    @property
    def parameter(self) -> Optional[nn.Parameter]:
        # None, where the user has deleted it.
        return self.owner._parameters.get(self.name)

    def set_reduces(self, reduces: bool, others: Iterable[Read]) -> None:
        """Whether the next backwards reduce the gradient, together with those of
        `others`."""
        state = self.accumulation
        if reduces == state.reduces or self.parameter is None:
            return
        state.leaf = self.make_leaf()
        if state.uses is None:
            # Not the parameter's device, which may be meta until it has values.
            device = self.mesh.device_type
            state.uses = torch.zeros((), device=device, requires_grad=True)
        if state.hook is not None:
            state.hook.remove()
        # What had it before may have been replaced.
        watched = self.get_watched()
        if watched.requires_grad:
            state.hook = watched.register_hook(lambda _: self._finish(others))
        if not reduces:
            if state.keeping is not None:
                state.keeping.remove()
            kept = self.get_kept()
            state.keeping = kept.register_hook(lambda _: self._keep(others))
        state.reduces = reduces
        state.is_pending = reduces and state.leaf.grad is not None
        if not state.is_pending:
            self.put_hooks()
        if not reduces and state.leaf is not self.parameter:
            # They would be called, by compiled code, without a gradient.
            state.waiting = fsdp.take_accumulation_hooks(self.parameter)

    def has_unreduced(self) -> bool:
        """Whether there are gradients that were not reduced."""
        state = self.accumulation
        return (
            state.leaf is not None
            and state.leaf.grad is not None
            and (state.is_pending or not state.reduces)
        )

    def discard(self) -> None:
        """Drops gradients that are not reduced, after a step that has raised."""
        state = self.accumulation
        state.is_pending, state.taken = False, None
        if state.reduces:
            self.put_hooks()
        if state.leaf is not None:
            state.leaf.grad = state.uses.grad = None

    def forget(self) -> None:
        """Takes back what was done to the parameter."""
        for hook in (self.accumulation.hook, self.accumulation.keeping):
            if hook is not None:
                hook.remove()
        self.put_hooks()
        self.accumulation = Accumulation()

    def put_hooks(self) -> Iterable[Callable]:
        """Gives the parameter its hooks that wait, and returns them."""
        (hooks, waiting), self.accumulation.waiting = (
            self.accumulation.waiting, ({}, {})
        )
        hooks.update(waiting)
        return waiting.values()

    def _finish(self, others: Iterable[Read]) -> None:
        """Is called when the gradient of `get_watched`, with which what was pending is
        reduced, is about to be added up."""
        self.accumulation.taken = self._take_pending()
        if self.accumulation.taken is not None:
            call_after_backward(lambda: _finish_all(others))

    def _keep(self, others: Iterable[Read]) -> None:
        """Is called when a gradient is about to be kept, as its forward has said."""
        if self.accumulation.reduces:
            self.keep_late(others)

    def _take_pending(self) -> Optional[torch.Tensor]:
        state = self.accumulation
        if not state.is_pending:
            return None
        state.is_pending = False
        pending, state.leaf.grad = state.leaf.grad, None
        return pending

    @torch.no_grad()
    def add_pending(self, pending: torch.Tensor, times: int) -> None:
        """Adds what was pending, reduced, `times` to the gradient."""
        reduced = self.to_gradient(pending)
        if self.parameter.grad is None:
            self.parameter.grad = reduced
        else:
            self.parameter.grad += reduced * times

    def __call__(self, parameter: nn.Parameter) -> torch.Tensor:
        # What is compiled is taken for a forward: code that initializes is not.
        if torch.compiler.is_compiling():
            return self.read_now(parameter)
        if self.is_unsharded or is_in_forward():
            self.arrive()
            return self.read_now(parameter)
        return parameter

    def read_now(self, parameter: nn.Parameter) -> torch.Tensor:
        """The whole, whose gradient goes where it belongs just now."""
        if parameter.is_meta:
            raise RuntimeError(
                f"parameter '{self.name}' of a {type(self.owner).__name__} has no "
                "values (device meta): call to_empty and initialize it first"
            )
        state = self.accumulation
        if not parameter.requires_grad or (state.reduces and not state.is_pending):
            return self.read(parameter)
        if state.reduces:
            return self.read_reducing(parameter, state.leaf.grad, state.uses)
        return self.read_keeping(parameter, state.leaf)

    def make_leaf(self) -> torch.Tensor:
        """What gets gradients that are not reduced: what did so before, if it fits."""
        raise NotImplementedError

    def get_watched(self) -> torch.Tensor:
        """What has a gradient where what was pending is reduced."""
        raise NotImplementedError

    def get_kept(self) -> torch.Tensor:
        """What has a gradient where one is kept."""
        raise NotImplementedError

    def keep_late(self, others: Iterable[Read]) -> None:
        """A gradient is about to be kept in a backward that reduces."""
        raise NotImplementedError

    def to_gradient(self, pending: torch.Tensor) -> torch.Tensor:
        """Reduces the gradient of the whole to that of the parameter."""
        raise NotImplementedError

    def read(self, parameter: nn.Parameter) -> torch.Tensor:
        """The whole, whose gradient is reduced."""
        raise NotImplementedError

    def read_keeping(
        self, parameter: nn.Parameter, leaf: torch.Tensor
    ) -> torch.Tensor:
        """The whole, whose gradient becomes that of `leaf`."""
        raise NotImplementedError

    def read_reducing(
        self,
        parameter: nn.Parameter,
        pending: Optional[torch.Tensor],
        uses: Optional[torch.Tensor],
    ) -> torch.Tensor:
        """The whole, whose gradient is added to `pending` and then reduced. The
        gradient of `uses` counts that."""
        raise NotImplementedError


def is_in_forward() -> bool:
    """Whether the forward of a module runs, for the first time or once more in a
    checkpointed function."""
    frame = inspect.currentframe()
    while frame is not None:
        code = frame.f_code
        # Code that Dynamo has changed has the same names.
        if (
            code.co_filename in _FORWARD_FILES
            or (code.co_filename, code.co_name) in _FORWARD_CODES
        ):
            return True
        frame = frame.f_back
    return False


#: A frame of one of these files, or of one of these functions by its file and name,
#: belongs to a forward.
_FORWARD_FILES = frozenset((torch.utils.checkpoint.__file__,))
_FORWARD_CODES = {
    (nn.Module.__call__.__code__.co_filename, nn.Module.__call__.__code__.co_name)
}


def register_forward(function: Callable) -> None:
    """Makes the calls of `function` forwards."""
    _FORWARD_CODES.add((function.__code__.co_filename, function.__code__.co_name))


class ReadShards(Read):
    """Reads a parameter that `fully_shard` has sharded. It may be a part of a
    tensor that other dimensions of a mesh distribute, which then is read."""

    def __init__(self, sharded: fsdp.ShardedParameter):
        super().__init__(*sharded.owners[0], sharded.mesh)
        self.sharded = sharded
        # Not the parameter's type, which may change after it is adopted.
        param_dtype = sharded.policy.param_dtype
        reduce_dtype = sharded.policy.reduce_dtype or param_dtype
        self.precision = MixedPrecision(param_dtype, reduce_dtype)
        self.placements = sharded.placements
        self.shard_mesh, self.replica_mesh = sharded.mesh, None
        if self.mesh.ndim > 1:
            self.replica_mesh, self.shard_mesh = (
                self.mesh[name] for name in self.mesh.mesh_dim_names
            )
        self.reduction = sharded.reduction
        # DTensor's reductions have one factor, and those over two dimensions other
        # types.
        self.reduces_itself = self.reduction != fsdp.Reduction() or (
            self.mesh.ndim > 1 and reduce_dtype is not None
        )

    def make_leaf(self) -> torch.Tensor:
        before = self.accumulation.leaf
        dtype = self.precision.reduce_dtype or self.parameter.dtype
        if before is not None and (before.grad is not None or before.dtype == dtype):
            return before
        # It has no memory of its own: only its gradient counts.
        value = torch.zeros((), dtype=dtype, device=self.mesh.device_type)
        value = self._as_distributed(value.expand(self.sharded.shape))
        return value.detach().requires_grad_()

    def get_watched(self) -> torch.Tensor:
        # Not the parameter: a DTensor loses hooks where a module is converted.
        return self.accumulation.uses

    def get_kept(self) -> torch.Tensor:
        return self.accumulation.leaf

    def keep_late(self, others: Iterable[Read]) -> None:
        records.warn_once(
            "gradients were kept in a forward, but its backward reduces them: "
            f"{type(self.owner).__name__}.{self.name} and others are not scheduled; call "
            "set_requires_gradient_sync before the forward",
            "kept late",
        )
        state = self.accumulation
        state.is_pending = True
        if not state.waiting[1]:
            state.waiting = fsdp.take_accumulation_hooks(self.parameter)
        call_after_backward(lambda: _finish_all(others))

    def to_gradient(self, pending: torch.Tensor) -> torch.Tensor:
        like = self.parameter
        return DTensor.from_local(
            self._reduce(pending), like.device_mesh, like.placements,
            run_check=False, shape=like.shape, stride=like.stride(),
        )

    def read(self, parameter: nn.Parameter) -> torch.Tensor:
        if self.reduces_itself:
            return self.read_reducing(parameter, None, None)
        return self._as_distributed(self._gather(parameter))

    def read_keeping(
        self, parameter: nn.Parameter, leaf: torch.Tensor
    ) -> torch.Tensor:
        whole = self._as_distributed(self._gather(parameter.detach()))
        return _KeepGradient.apply(whole, leaf, None)

    def read_reducing(
        self,
        parameter: nn.Parameter,
        pending: Optional[torch.Tensor],
        uses: Optional[torch.Tensor],
    ) -> torch.Tensor:
        whole = self._as_distributed(self._gather(parameter.detach()))
        return _ReduceGradient.apply(
            parameter.to_local(), whole, pending, uses, self._reduce
        )

    def _gather(self, parameter: DTensor) -> torch.Tensor:
        if self.sharded.outer is not None:
            parameter = DTensor.from_local(
                parameter.to_local(), self.mesh, self.placements, run_check=False,
                shape=self.sharded.shape, stride=self.sharded.stride,
            )
        return gather_parameter(parameter, self.precision)

    def _as_distributed(self, whole: torch.Tensor) -> torch.Tensor:
        outer = self.sharded.outer
        if outer is None:
            return whole
        return DTensor.from_local(
            whole, outer.mesh, outer.placements, run_check=False,
            shape=outer.shape, stride=outer.stride,
        )

    def _reduce(self, gradient: torch.Tensor) -> torch.Tensor:
        """The shard of the mean of all ranks' gradients."""
        if self.sharded.outer is not None:
            # What was accumulated may be partial sums over the other dimensions.
            outer = self.sharded.outer
            gradient = gradient.redistribute(placements=outer.placements).to_local()
        if self.precision.reduce_dtype is not None:
            gradient = gradient.to(self.precision.reduce_dtype)
        how = self.reduction
        if how.factor is not None:
            gradient = gradient * how.factor
        if how.divisor_before is not None:
            gradient = gradient / how.divisor_before
        shard = _reduce(gradient, self.shard_mesh, self.placements[-1], how.shards)
        if self.replica_mesh is not None:
            shard = _reduce(shard, self.replica_mesh, Replicate(), how.replicas)
        if how.divisor is not None:
            shard = shard / how.divisor
        return shard.to(self.parameter.dtype)


class ReadReplica(Read):
    """Reads a parameter of a `DistributedDataParallel`, which is whole and keeps its
    gradients itself."""

    #: Of the hook that reduces what reads do not.
    averaging: Optional[RemovableHandle] = None
    #: Has a gradient where the parameter has one that is kept.
    kept: Optional[torch.Tensor] = None
    #: What was read last where nothing is traced, and where its values were.
    given: Optional[tuple[torch.Tensor, int]] = None

    def read_now(self, parameter: nn.Parameter) -> torch.Tensor:
        if torch.compiler.is_compiling():
            return super().read_now(parameter)
        given, self.given = self.given, None
        if given is not None and given[0].data_ptr() != given[1]:
            raise RuntimeError(
                f"a forward has set the `.data` of the parameter '{self.name}' of a "
                f"{type(self.owner).__name__}, but reads a view of that: set it in "
                "place, as by `.data.copy_()`"
            )
        whole = super().read_now(parameter)
        if type(whole) is torch.Tensor:
            self.given = whole, whole.data_ptr()
        return whole

    def make_leaf(self) -> torch.Tensor:
        return self.parameter

    def get_watched(self) -> torch.Tensor:
        # What is pending has to be taken before the parameter's gradient is added.
        return self.parameter

    def get_kept(self) -> torch.Tensor:
        if self.kept is None:
            device = self.mesh.device_type
            self.kept = torch.zeros((), device=device, requires_grad=True)
        return self.kept

    def keep_late(self, others: Iterable[Read]) -> None:
        raise RuntimeError(
            f"the parameter '{self.name}' of a {type(self.owner).__name__} was read in a "
            "forward inside of no_sync(), but the backward runs outside, where a "
            "DistributedDataParallel that is adopted has reduced all gradients: run both "
            "inside, or call commsched.torch.release first"
        )

    def to_gradient(self, pending: torch.Tensor) -> torch.Tensor:
        return self._reduce(pending)

    def read(self, parameter: nn.Parameter) -> torch.Tensor:
        if torch.compiler.is_exporting():
            return parameter
        if not torch.compiler.is_compiling():
            # Anomaly detection cannot check gradients that are DTensors.
            return self.read_reducing(parameter, None, None)
        whole = DTensor.from_local(
            parameter, self.mesh, [Replicate()], run_check=False
        )
        return whole.to_local(grad_placements=[Partial("avg")])

    def read_keeping(
        self, parameter: nn.Parameter, leaf: torch.Tensor
    ) -> torch.Tensor:
        return _KeepGradient.apply(parameter.detach(), parameter, self.kept)

    def read_reducing(
        self,
        parameter: nn.Parameter,
        pending: Optional[torch.Tensor],
        uses: Optional[torch.Tensor],
    ) -> torch.Tensor:
        return _ReduceGradient.apply(
            parameter, parameter.detach(), pending, uses, self._reduce
        )

    def list_hooks(self) -> set[int]:
        """The ids of those that the parameter has."""
        own = (self.accumulation.hook, self.averaging)
        return {hook.id for hook in own if hook is not None}

    def average_all(self) -> None:
        """Reduces the gradient that the parameter has, and those that it will have,
        whatever used it."""
        parameter = self.parameter
        if parameter.grad is not None:
            parameter.grad = self._reduce(parameter.grad)
        self.averaging = parameter.register_hook(self._average)

    @torch.compiler.disable
    def _average(self, gradient: Optional[torch.Tensor]) -> Optional[torch.Tensor]:
        if gradient is None or not self.accumulation.reduces:
            return None
        return self._reduce(gradient)

    def forget(self) -> None:
        super().forget()
        if self.averaging is not None:
            self.averaging.remove()

    def _reduce(self, gradient: torch.Tensor) -> torch.Tensor:
        try:
            return _reduce(gradient, self.mesh, Replicate(), "avg")
        except RuntimeError as error:
            if hasattr(error, "add_note"):
                error.add_note(
                    f"CommSched: raised on rank {dist.get_rank()} where the gradient of "
                    f"the parameter '{self.name}' of a {type(self.owner).__name__} is "
                    "averaged: all ranks have to use the same parameters"
                )
            raise


def _finish_all(reads: Iterable[Read]) -> None:
    """Makes what was pending count once, after a backward that used it never or
    more than once. `uses` are copied from the device together."""
    found = []
    for read in reads:
        state = read.accumulation
        taken, state.taken = state.taken, None
        # What was not taken, or was kept after that.
        pending = read._take_pending()
        if taken is not None:
            uses, state.uses.grad = state.uses.grad, None
            found.append((read, taken, uses))
        if pending is not None:
            found.append((read, pending, None))
    counted = [uses for _, _, uses in found if uses is not None]
    counts = iter(torch.stack(counted).tolist() if counted else ())
    for read, pending, uses in found:
        times = 1 - (0 if uses is None else int(next(counts)))
        if times:
            read.add_pending(pending, times)
    for read, _, _ in found:
        for hook in read.put_hooks():
            hook(read.parameter)


def _reduce(
    gradient: torch.Tensor, mesh: DeviceMesh, placement: Any, reduction: str
) -> torch.Tensor:
    part = DTensor.from_local(gradient, mesh, [Partial(reduction)], run_check=False)
    return part.redistribute(placements=[placement]).to_local()


class _KeepGradient(torch.autograd.Function):
    """A whole parameter whose gradient becomes that of a leaf. `kept` has a gradient
    then, if it is given."""

    @staticmethod
    def forward(
        ctx: Any,
        whole: torch.Tensor,
        leaf: torch.Tensor,
        kept: Optional[torch.Tensor],
    ) -> torch.Tensor:
        ctx.dtype, ctx.is_seen = leaf.dtype, kept is not None
        return whole.view_as(whole)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple:
        seen = torch.ones((), device=gradient.device) if ctx.is_seen else None
        return None, gradient.to(ctx.dtype), seen


class _ReduceGradient(torch.autograd.Function):
    """A whole parameter whose gradient is added to a pending one and reduced into
    the gradient of its shard."""

    @staticmethod
    def forward(
        ctx: Any,
        shard: torch.Tensor,
        whole: torch.Tensor,
        pending: Optional[torch.Tensor],
        uses: Optional[torch.Tensor],
        reduce: Callable[[torch.Tensor], torch.Tensor],
    ) -> torch.Tensor:
        ctx.reduce = reduce
        ctx.save_for_backward(pending)
        return whole.view_as(whole)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple:
        (pending,) = ctx.saved_tensors
        if pending is None:
            return ctx.reduce(gradient), None, None, None, None
        used = torch.ones((), device=gradient.device)
        return ctx.reduce(pending + gradient), None, None, used, None
