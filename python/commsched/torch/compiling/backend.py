# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The backend `commsched` of `torch.compile`."""

from __future__ import annotations

import functools
import linecache
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Optional, Union

import torch
from torch import distributed, fx

from commsched.torch import private
from commsched.torch.compiling import records
from commsched.torch.compiling.confirmation import RanksDiffer, RanksSilent
from commsched.torch.compiling.contest import Entrant, copy_of
from commsched.torch.compiling.guards import find_obstacle
from commsched.torch.compiling.options import Options, OptionsError
from commsched.torch.compiling.partitioner import Partitioner
from commsched.torch.compiling.parts import warn_of_parts
from commsched.torch.compiling.records import Record
from commsched.torch.compiling.roles import (
    parameter_inputs,
    parameter_roles,
)
from commsched.torch.compiling.schedule import optimize_graph
from commsched.torch.compiling.shared_reads import share_reads
from commsched.torch.importer.modules import ModulePaths


def commsched(
    gm: torch.fx.GraphModule,
    example_inputs: Sequence[Any],
    *,
    options: Union[None, Options, Mapping[str, Any]] = None,
    mode: Optional[str] = None,
) -> Callable[..., Any]:
    """Compiles Dynamo's graph `gm` and schedules its communication.

    PyTorch finds it as ``torch.compile(model, backend="commsched",
    options={...})``; the options are those of :class:`Options`. Modes of
    `torch.compile` are Inductor's, and are none of this backend's.
    """
    if mode is not None:
        raise ValueError(
            f"the backend 'commsched' has no mode {mode!r}; for Inductor's use "
            "torch.compile(model, options=commsched.torch.inductor_options("
            f"torch._inductor.list_mode_options({mode!r})))"
        )
    checked = _checked(options)
    needed = ["inductor"] if checked.inner == "inductor" else []
    if checked.partitions:
        needed.append("partition")
    obstacle = find_obstacle(checked, *needed)
    if obstacle:
        records.add(Record("whole", status="failed", reason=obstacle))
        return _compile_without(gm, example_inputs, checked)
    return GraphCompiler(checked, example_inputs)(gm, example_inputs)


def _compile_without(gm, inputs, options: Options) -> Callable[..., Any]:
    """Compiles Dynamo's graph as without this package."""
    if options.inner == "eager" or not private.names.has("compile_fx"):
        return gm.forward
    return private.names.compile_fx(gm, list(inputs))


def _checked(options: Any) -> Options:
    """As `Options.of`, with a hint for options of Inductor."""
    if isinstance(options, Mapping):
        for key in options:
            if hasattr(Options, str(key)):
                continue
            if private.names.has("inductor_config") and (
                private.has_inductor_setting(str(key).replace("-", "_"))
            ):
                raise OptionsError(
                    f"option {key!r} is one of Inductor's; use "
                    "torch.compile(model, options=commsched.torch."
                    f"inductor_options({{{key!r}: ...}}, ...))"
                )
    return Options.of(options)


class GraphCompiler:
    """The compilers of one graph of Dynamo.

    The backward is compiled when it first runs, long after the forward: what
    it needs of the forward and of the options is kept here.
    """

    def __init__(self, options: Options, inputs: Sequence[Any]):
        self.options = options
        self.parameters = parameter_inputs(inputs)
        self._forward: Optional[torch.fx.GraphModule] = None
        self._roles: dict[str, Optional[str]] = {}

    def __call__(
        self, gm: torch.fx.GraphModule, inputs: Sequence[Any]
    ) -> Callable[..., Any]:
        warn_of_parts(inputs)
        share_reads(gm, inputs)
        if self.options.inner == "inductor":
            from commsched.torch.compiling.inductor import compile_graph

            run = compile_graph(gm, inputs, self.options)
            graph = f"the forward of graph {private.compile_frame()}"
            return told(run, graph, nowhere)
        return private.names.aot_autograd(
            fw_compiler=self._compile_forward,
            bw_compiler=self._compile_backward,
            inference_compiler=self._compile_inference,
            partition_fn=Partitioner(self.options, self.parameters),
        )(gm, inputs)

    def _roles_of(self, graph: torch.fx.Graph) -> dict[str, Optional[str]]:
        return parameter_roles(graph, self.parameters)

    def _compile_forward(self, gm, inputs):
        self._roles = self._roles_of(gm.graph)
        self._forward = gm
        return self._scheduled(gm, "forward", self._roles)

    def _compile_backward(self, gm, inputs):
        return self._scheduled(gm, "backward", self._roles, self._forward)

    def _compile_inference(self, gm, inputs):
        return self._scheduled(gm, "inference", self._roles_of(gm.graph))

    def _scheduled(self, gm, kind, roles, forward=None):
        verified = self.options.verify_gain
        if verified:
            original, entrant = copy_of(gm), Entrant(gm, kind, self.options)
        done = optimize_graph(
            gm, kind, self.options, roles, forward, recompile=False
        )
        frame = private.compile_frame()

        def run_of(gm):
            graph = f"the {kind} graph {frame}"
            return told(private.boxed(gm), graph, Places(gm, forward))

        if not verified or not done:
            return run_of(gm)
        return entrant.against(run_of(original), run_of(gm), records.latest())


Run = Callable[..., Any]


def told(run: Run, graph: str, where: Callable[[Exception], str]) -> Run:
    """Returns `run` with a note on what it raises (of Python 3.11 or newer); `where`
    says in which part of `graph`."""

    @functools.wraps(run)
    def run_told(*args: Any) -> Any:
        try:
            return run(*args)
        except (RanksDiffer, RanksSilent):
            raise  # They name ranks and graphs.
        except Exception as error:
            if hasattr(error, "add_note"):
                place = f"{graph}{where(error)}"
                error.add_note(f"CommSched: raised{_rank()} in {place}")
            raise

    return run_told


def nowhere(_: Exception) -> str:
    """Where nothing is known of the part of a graph that raised."""
    return ""


class Places:
    """Finds the node of `gm`, which runs as Python, that raised; `forward` is the
    graph whose backward it is."""

    def __init__(self, gm: fx.GraphModule, forward: Optional[fx.GraphModule]):
        self._gm = gm
        self._forward = None if forward is None else forward.graph

    def __call__(self, error: Exception) -> str:
        code = self._gm.forward.__code__
        for frame, line in traceback.walk_tb(error.__traceback__):
            if frame.f_code is code:
                return self._describe(linecache.getline(code.co_filename, line))
        return ""

    def _describe(self, line: str) -> str:
        """Says what the line of the graph's code computes."""
        name = line.partition("=")[0].partition(":")[0].strip()
        node = next((n for n in self._gm.graph.nodes if n.name == name), None)
        if node is None:
            return ""
        path = ModulePaths(self._gm.graph, self._forward).of(node)
        module = "" if path is None else f" of the module '{path}'"
        return f", node '{name}'{module}"


def _rank() -> str:
    if not distributed.is_available() or not distributed.is_initialized():
        return ""
    return f" on rank {distributed.get_rank()}"
