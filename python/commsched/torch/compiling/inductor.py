# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The way in through Inductor's own hooks.

Inductor calls a pass over its FX graphs last before it lowers them: there
the graph is scheduled. Two more passes over the nodes of Inductor's
scheduler keep that order: one before nodes are fused, which pins the starts,
waits and external calls, and one after, which puts the kernels between them
back to where the graph has them. A graph that is not scheduled is compiled
as without CommSched.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import pathlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Optional

import torch

import commsched
from commsched.torch import private
from commsched.torch.compiling import confirmation, records
from commsched.torch.compiling.contest import Entrant, copy_of
from commsched.torch.compiling.guards import find_obstacle, guarded
from commsched.torch.compiling.inductor_settings import (
    check_effective,
    required,
    user_pass,
)
from commsched.torch.compiling.options import (
    Options,
    OptionsError,
    check_runs_by_backend,
)
from commsched.torch.compiling.partitioner import Partitioner
from commsched.torch.compiling.roles import roles_by_position
from commsched.torch.compiling.schedule import optimize_graph
from commsched.torch.compiling.store import current_job
from commsched.torch.private import cache_keys, names
from commsched.torch.private import scheduler as private_scheduler
from commsched.torch.private.names import (
    CustomGraphPass,
    CustomSchedulerPass,
    compile_fx,
    compile_fx_inner,
)


def inductor_options(
    inductor: Optional[Mapping[str, Any]] = None, /, **options: Any
) -> dict[str, Any]:
    """Returns options of Inductor that schedule each graph's communication.

    They are for ``torch.compile(model, options=inductor_options(...))``.
    `options` are those of :class:`Options`; `inductor` are further options
    of Inductor, which are in what is returned. Passes of the user's among
    them, or in torch._inductor.config, run first. Raises OptionsError for an
    option of Inductor that would undo the schedule.

    Inductor's caches keep what is compiled. Where ranks agree on plans
    (``agree=True``), code from a cache is used in a later job if that job's
    ranks decide on the same launches, and else compiled again.
    """
    if not isinstance(inductor, (Mapping, type(None))):
        raise OptionsError(
            f"options of Inductor are {inductor!r}; they are a dictionary"
        )
    checked, given = Options.of(options), dict(inductor or {})
    check_runs_by_backend(checked, "inductor_options")
    needed = ("inductor", "partition") if checked.partitions else ("inductor",)
    if find_obstacle(checked, *needed):
        return given
    return settings_of(checked, given)


def compile_graph(
    gm: torch.fx.GraphModule,
    inputs: Sequence[Any],
    options: Options,
) -> Callable[..., Any]:
    """Compiles Dynamo's graph `gm` with Inductor and schedules its graphs.

    Settings that only last while the forward is compiled would not reach the
    backward, so they go into Inductor's own configuration of this graph.
    """
    settings = settings_of(options, {})
    if not options.verify_gain:
        return compile_fx(gm, list(inputs), config_patches=settings)
    # Caches do not keep two graphs in the place of one.
    settings["force_disable_caches"] = True
    both = functools.partial(_compile_both, options)
    return compile_fx(
        gm, list(inputs), inner_compile=both, config_patches=settings
    )


def _compile_both(options: Options, gm, inputs, **settings: Any) -> Any:
    """Compiles a graph as it is, and scheduled, and returns what runs the faster
    one after it has seen which that is."""
    kind = private.graph_kind() or "inference"
    entrant = Entrant(gm, kind, options)
    with _left_alone():
        original = compile_fx_inner(copy_of(gm), inputs, **settings)
    strides = list(private.output_strides())
    private.output_strides().clear()
    before = records.latest()
    scheduled = compile_fx_inner(gm, inputs, **settings)
    record = records.latest()
    if record is before or record.status != "scheduled":
        return scheduled
    if private.output_strides() != strides:
        original = None  # The backward is compiled for the schedule's layout.
    return entrant.against(original, scheduled, record)


#: Whether graphs are compiled without a schedule just now.
_alone = threading.local()


@contextlib.contextmanager
def _left_alone() -> Iterator[None]:
    _alone.on = True
    try:
        yield
    finally:
        _alone.on = False


def settings_of(
    options: Options,
    given: dict[str, Any],
    schedule: Callable[..., SchedulePass] | None = None,
) -> dict[str, Any]:
    """Returns Inductor's settings `given` and those of the passes here;
    `schedule` makes another than SchedulePass of its arguments."""
    _carry_contracts()
    cache_keys.tell_shards_apart()
    settings = {**given, **required(given)}
    before_fusion = user_pass("_pre_fusion_custom_pass", given)
    after_fusion = user_pass("_post_fusion_custom_pass", given)
    theirs = user_pass("post_grad_custom_post_pass", given) or ()
    if not isinstance(theirs, (list, tuple)):
        theirs = (theirs,)
    key = CacheKey(options, (before_fusion, after_fusion))
    settings["_pre_fusion_custom_pass"] = PinOrder(
        key, options, before_fusion
    )
    settings["_post_fusion_custom_pass"] = RestoreOrder(
        key, options, after_fusion
    )
    own = (schedule or SchedulePass)(options, key)
    # PyTorch takes several since 2.13.
    settings["post_grad_custom_post_pass"] = [*theirs, own] if theirs else own
    if options.partitions or options.reshard_after_forward is not None:
        if user_pass("custom_partitioner_fn", given) is not None:
            raise OptionsError(
                "Inductor's option 'custom_partitioner_fn' is set, and so is "
                "an option of CommSched's partitioner (partition, "
                "activation_memory_budget, memory_budget in bytes, "
                "quantize_activations, collectives or "
                "reshard_after_forward): leave out one of the two"
            )
        settings["custom_partitioner_fn"] = Partitioner(options)
    return settings


class CacheKey:
    """What Inductor's caches know code by that these passes had part in."""

    def __init__(self, options: Options, passes: Sequence[Any]):
        self._options = options
        self._passes = [p for p in passes if p is not None]

    def value(self) -> Optional[str]:
        """Returns the key; None if what is compiled must not be kept."""
        keys = [f"commsched {self._options.fingerprint()} {_sources()}"]
        for other in self._passes:
            key = other.uuid() if hasattr(other, "uuid") else None
            if key is None:
                return None
            keys.append(str(key))
        # Code that was compiled without other ranks does not compare itself
        # with theirs.
        agreed = self._options.agree and current_job() is not None
        if agreed and private.inductor_setting("cpp_wrapper"):
            return None  # Code in C++ cannot carry what it launches.
        keys.append("agreed" if agreed else "alone")
        return " ".join(keys)


@functools.cache
def _sources() -> str:
    """Returns a digest of this package's source: an installation from a
    repository changes without its version."""
    digest = hashlib.sha256()
    root = pathlib.Path(commsched.__file__).parent
    for file in sorted(root.rglob("*.py")):
        digest.update(file.relative_to(root).as_posix().encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()


@functools.cache
def _carry_contracts() -> None:
    """Makes Inductor's code carry what it launches."""
    private.carry_line(
        torch.ops.commsched.confirm.default,
        confirmation.carried,
        lambda: guarded("let cached code compare its launches", Options()),
    )


class SchedulePass(CustomGraphPass):
    """Schedules a graph just before Inductor lowers it."""

    def __init__(self, options: Options, key: CacheKey):
        self._options = options
        self._key = key

    def uuid(self) -> Optional[str]:
        return self._key.value()

    def __call__(self, graph: torch.fx.Graph) -> None:
        check_effective(self._options)
        if getattr(_alone, "on", False):
            return
        with guarded("schedule a graph of Inductor's", self._options):
            gm = graph.owning_module
            kind, roles = self._known(graph)
            done = optimize_graph(
                gm, kind, self._options, roles, recompile=False
            )
            private_scheduler.mark(gm, done, records.carried(kind))

    def _known(
        self, graph: torch.fx.Graph
    ) -> tuple[str, dict[str, Optional[str]]]:
        """Returns the kind of the graph that is compiled just now, and the
        roles of its inputs."""
        kind = private.graph_kind() or "inference"
        return kind, _roles(graph, kind)


def _roles(graph: torch.fx.Graph, kind: str) -> dict[str, Optional[str]]:
    """Returns the roles of parameters and buffers by name. They come from
    what caches know graphs by, so that a backward has the same ones whether
    its forward was compiled or found in a cache."""
    positions = private.static_inputs()
    if kind != "inference":
        return roles_by_position(graph, positions)
    inputs = graph.find_nodes(op="placeholder")
    return {
        inputs[i].name: "parameter"
        for i in positions
        if i < len(inputs)
        and isinstance(inputs[i].meta.get("val"), torch.Tensor)
    }


# Before 2.13 Inductor's caches know passes over nodes, too, as passes over graphs.
_NodePass = (
    CustomSchedulerPass if names.has("CustomSchedulerPass") else CustomGraphPass
)


class _OrderPass(_NodePass):
    """A pass over the scheduler's nodes, after the user's own if any."""

    def __init__(
        self,
        key: CacheKey,
        options: Options,
        first: Optional[Callable] = None,
    ):
        self._key = key
        self._options = options
        self._first = first

    def uuid(self) -> Optional[str]:
        return self._key.value()

    def __reduce__(self):
        # Inductor pickles its settings for the keys of its caches.
        return (str, (f"{type(self).__name__} {self.uuid()}",))

    def __deepcopy__(self, memo: dict) -> _OrderPass:
        return self

    def __call__(self, nodes: list[Any]) -> list[Any]:
        if self._first is not None:
            nodes = self._first(nodes)
        with guarded("keep a schedule's order in Inductor", self._options):
            return self._order(nodes, private_scheduler.is_scheduled())
        return nodes


class PinOrder(_OrderPass):
    """Pins starts, waits and external calls before nodes are fused."""

    def _order(self, nodes: list[Any], scheduled: bool) -> list[Any]:
        with guarded("keep the report of a graph in caches", self._options):
            private_scheduler.write_end()
        return private_scheduler.chain(nodes) if scheduled else nodes


class RestoreOrder(_OrderPass):
    """Puts all nodes into the order of the graph after nodes were fused."""

    def _order(self, nodes: list[Any], scheduled: bool) -> list[Any]:
        if scheduled:
            return private_scheduler.sort_by_graph(nodes)
        return private_scheduler.sort_for_peak_memory(nodes)
