# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What modules have while they are adopted: the methods of `FSDPModule` and of
`DistributedDataParallel`, as far as the schedule of the graph leaves them something to
say."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterable
from typing import Optional

import torch
from torch import nn
from torch.distributed.fsdp import FSDPModule, UnshardHandle
from torch.optim.optimizer import register_optimizer_step_pre_hook
from torch.utils.hooks import RemovableHandle

from .comparison import Comparison
from .compiling.shared_reads import list_reads
from .private import fsdp
from .reads import Read, ReadShards


@dataclasses.dataclass
class Taken:
    """What a module had before it was adopted."""

    cls: type
    hooks: dict[str, dict] = dataclasses.field(default_factory=dict)
    methods: dict[str, Callable] = dataclasses.field(default_factory=dict)
    parameters: list[fsdp.ShardedParameter] = dataclasses.field(default_factory=list)
    state: tuple = ()
    #: What reads the parameters that the module manages.
    reads: list[Read] = dataclasses.field(default_factory=list)
    #: Of a hook before its forward that joins gradients or checks the call.
    hook: Optional[RemovableHandle] = None
    comparison: Optional[Comparison] = None


#: The attribute of a module that has its `Taken`. Not a dictionary by weak references
#: to modules, which would live as long as what was taken, since that refers to them.
TAKEN = "commsched_taken"


class _SetsAll:
    """The methods of `FSDPModule` that tell both what is adopted, and what is not."""

    def set_requires_gradient_sync(
        self, requires_gradient_sync: bool, *, recurse: bool = True
    ) -> None:
        modules = list(self.modules()) if recurse else [self]
        _set_reduces(modules, requires_gradient_sync)
        for module in list_sharded(modules):
            FSDPModule.set_requires_gradient_sync(
                module, requires_gradient_sync, recurse=False
            )

    def set_reshard_after_backward(
        self, reshard_after_backward: bool, *, recurse: bool = True
    ) -> None:
        modules = list(self.modules()) if recurse else [self]
        reads = list_reads_of(modules)
        for read in reads:
            fsdp.set_reshards(read.sharded, reshard_after_backward)
        for module in list_sharded(modules):
            FSDPModule.set_reshard_after_backward(
                module, reshard_after_backward, recurse=False
            )
        watch_optimizers(reads)


class AdoptedModule(_SetsAll):
    """What `FSDPModule` has, of a module that is adopted. When parameters are
    gathered and freed is decided by the schedule of the graph."""

    def unshard(self, async_op: bool = False) -> Optional[UnshardHandle]:
        self._set_unsharded(True)
        return _Unsharded() if async_op else None

    def reshard(self) -> None:
        self._set_unsharded(False)

    def reset_iter_state(self) -> None:
        for read in list_reads_of(self.modules()):
            read.discard()
        fsdp.reset_roots(self)

    def _set_unsharded(self, is_unsharded: bool) -> None:
        for read in take(self).reads:
            read.is_unsharded = is_unsharded

    def _leave_to_schedule(self, *args: object, **kwargs: object) -> None:
        pass

    set_is_last_backward = _leave_to_schedule
    set_modules_to_backward_prefetch = _leave_to_schedule
    set_modules_to_forward_prefetch = _leave_to_schedule
    set_post_optim_event = _leave_to_schedule
    set_reshard_after_forward = _leave_to_schedule
    set_unshard_in_backward = _leave_to_schedule

    def __getattr__(self, name: str) -> object:
        if name.startswith("set_") and hasattr(FSDPModule, name):
            raise AttributeError(
                f"{name} changes the collectives of a module that is adopted: call it "
                "before commsched.torch.adopt or after commsched.torch.release"
            )
        return super().__getattr__(name)


class AroundAdopted(_SetsAll, FSDPModule):
    """What a module under `fully_shard` that is not adopted tells those below it."""

    def reset_iter_state(self) -> None:
        for read in list_reads_of(self.modules()):
            read.discard()
        super().reset_iter_state()


class _Unsharded(UnshardHandle):
    def wait(self) -> None:
        pass


class AdoptedReplica:
    """What `DistributedDataParallel` does otherwise when it is adopted."""

    is_running = False
    #: Whether a forward had no backward yet, and one no gradient of some parameter.
    is_awaited: bool
    is_unfinished: bool

    def forward(self, *args: object, **kwargs: object) -> object:
        if torch.is_grad_enabled() and self.require_backward_grad_sync:
            if self.is_unfinished:
                raise RuntimeError(self.describe_missing())
            self.is_awaited = True
        has_buffers = fsdp.syncs_buffers(self)
        if has_buffers and self.require_forward_param_sync:
            fsdp.broadcast_buffers(fsdp.list_buffers(self), self.process_group)
        args, kwargs = fsdp.move(fsdp.get_input_device(self), (args, kwargs))
        self.is_running = True
        try:
            outputs = self.module(*args, **kwargs)
        finally:
            self.is_running = False
        if has_buffers:
            self.require_forward_param_sync = (
                torch.is_grad_enabled() and self.require_backward_grad_sync
            )
        return outputs

    @torch.compiler.assume_constant_result
    def describe_missing(self) -> str:
        return take(self).comparison.describe_missing()

    def check_call(self, module: nn.Module, inputs: tuple) -> None:
        """Is called before forwards of the model inside, and refuses those that would
        have reduced no gradients."""
        if (
            not self.is_running
            and module.training
            and torch.is_grad_enabled()
            and self.require_backward_grad_sync
            and any(
                p.requires_grad and isinstance(p, nn.Parameter)
                for p in module.parameters()
            )
        ):
            raise RuntimeError(
                f"a {type(module).__name__} is called by itself, where the "
                "DistributedDataParallel around it would not reduce gradients, but is "
                "adopted and does: call that, use no_sync(), or call "
                "commsched.torch.release first"
            )

    def _refuse(self, *args: object, **kwargs: object) -> None:
        raise RuntimeError(
            "join, hooks for communication, _set_static_graph, and stages of "
            "torch.distributed.pipelining need the reducer of a DistributedDataParallel, "
            "which reduces nothing while that is adopted: call commsched.torch.release "
            "first"
        )

    join_hook = register_comm_hook = _set_static_graph = _refuse
    reducer = property(_refuse)

    @property
    def require_backward_grad_sync(self) -> bool:
        return vars(self)["require_backward_grad_sync"]

    @require_backward_grad_sync.setter
    def require_backward_grad_sync(self, value: bool) -> None:
        # `no_sync` sets it.
        _set_reduces([self], value)
        vars(self)["require_backward_grad_sync"] = value


def _set_reduces(modules: Iterable[nn.Module], reduces: bool) -> None:
    reads = list_reads_of(modules)
    for read in reads:
        read.set_reduces(reduces, reads)


def watch_optimizers(reads: Iterable[ReadShards]) -> None:
    if not all(fsdp.reshards(read.sharded) for read in reads):
        _register_once(_refuse_stale)


_register_once = functools.cache(register_optimizer_step_pre_hook)


@torch.compiler.disable
def _refuse_stale(optimizer: torch.optim.Optimizer, *_: object) -> None:
    """Refuses steps behind which `fully_shard` would read what it has kept of before."""
    kept = {
        id(read.parameter): read
        for read in list_reads()
        if isinstance(read, ReadShards) and not fsdp.reshards(read.sharded)
    }
    for parameter in itertools.chain(*(g["params"] for g in optimizer.param_groups)):
        if parameter.grad is not None and (read := kept.get(id(parameter))):
            raise RuntimeError(
                f"an optimizer changes the parameter '{read.name}' of a "
                f"{type(read.owner).__name__} after set_reshard_after_backward(False): "
                "fully_shard would compute with its old values then, and a model that "
                "is adopted does not. Call set_reshard_after_backward(True) before the "
                "last backward of a step, or commsched.torch.release first"
            )


def list_sharded(modules: Iterable[nn.Module]) -> list[FSDPModule]:
    return [module for module in modules if isinstance(module, FSDPModule)]


def list_reads_of(modules: Iterable[nn.Module]) -> list[Read]:
    return [read for m in modules if TAKEN in vars(m) for read in take(m).reads]


def list_taken(model: nn.Module) -> list[nn.Module]:
    return [module for module in model.modules() if TAKEN in vars(module)]


def take(module: nn.Module) -> Taken:
    return vars(module).setdefault(TAKEN, Taken(type(module)))
