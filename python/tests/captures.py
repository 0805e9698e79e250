# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The graphs that torch.compile makes of a function, for tests.

Nothing is compiled: each graph runs node by node, so that a backward follows
its forward.
"""

import contextlib
from dataclasses import dataclass, field

import torch
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.aot_autograd import make_boxed_func
from torch._inductor import compile_fx
from torch._inductor.virtualized import V

from commsched.torch import GraphSpec
from commsched.torch.importer.ordering import put_in_order

@dataclass
class Capture:
    """The graphs of one run, in the order in which they were compiled, as
    pairs of a kind ("forward", "backward", "inference") and a graph."""

    graphs: list = field(default_factory=list)
    lowered: list = field(default_factory=list)

    def of(self, kind):
        return [graph for known, graph in self.graphs if known == kind]

    def specs(self, graphs=None):
        """Returns what the importer takes; a backward has its forward."""
        specs, forward = [], None
        for index, (kind, graph) in enumerate(graphs or self.graphs):
            if kind == "forward":
                forward = graph
            specs.append(
                GraphSpec(
                    f"f{index}",
                    graph,
                    kind=kind,
                    forward=forward if kind == "backward" else None,
                )
            )
        return specs


def aot_backend(capture, **settings):
    """Returns a backend of torch.compile that keeps AOT autograd's graphs."""

    def keep(kind):
        def compile_graph(gm, _):
            capture.graphs.append((kind, gm))
            return make_boxed_func(gm.forward)

        return compile_graph

    return aot_autograd(
        fw_compiler=keep("forward"),
        bw_compiler=keep("backward"),
        inference_compiler=keep("inference"),
        **settings,
    )


def inductor_backend(capture, config=None):
    """Returns a backend of torch.compile that keeps Inductor's graphs:
    decomposed, and as `post_grad_custom_post_pass` sees them; `lowered` has
    them after the passes that follow, which bring writes in place.

    `config` holds settings of torch._inductor.config."""
    def lower(gm, inputs, *, is_backward=False, is_inference=False, **_):
        kind = "inference" if is_inference else "forward"
        kind = "backward" if is_backward else kind

        def keep(graph):
            if graph is gm.graph:
                put_in_order(graph)
                copy = torch.fx.Graph()
                copy.output(copy.graph_copy(graph, {}))
                copy.output_node().meta = graph.output_node().meta
                kept = torch.fx.GraphModule(gm, copy)
                capture.graphs.append((kind, kept))

        compile_fx.view_to_reshape(gm)
        with torch.no_grad():
            mode = compile_fx.fake_tensor_prop(gm, inputs)
        settings = torch._inductor.config.patch(post_grad_custom_post_pass=keep)
        with V.set_fake_mode(mode), settings:
            compile_fx._recursive_post_grad_passes(gm, is_inference)
        capture.lowered.append((kind, gm))
        return make_boxed_func(torch.fx.Interpreter(gm).run)

    def backend(gm, inputs):
        return compile_fx.compile_fx(
            gm, inputs, inner_compile=lower, config_patches=config
        )

    return backend


BACKENDS = {"aot": aot_backend, "inductor": inductor_backend}


@contextlib.contextmanager
def fresh_compiler():
    """Without what was compiled before, and without caches."""
    torch._dynamo.reset()
    with torch._functorch.config.patch(enable_autograd_cache=False):
        yield
    torch._dynamo.reset()


def graphs_of(function, *inputs, backend="aot", config=None, **options):
    """Returns the graphs of `function(*inputs)`, and of a backward if what it
    gives requires gradients. `options` are those of torch.compile."""
    capture = Capture()
    more = {} if config is None else {"config": config}
    with fresh_compiler():
        compiled = torch.compile(
            function, backend=BACKENDS[backend](capture, **more), **options
        )
        out = compiled(*inputs)
        losses = [
            t.real.float().sum()
            for t in torch.utils._pytree.tree_leaves(out)
            if isinstance(t, torch.Tensor) and t.requires_grad
        ]
        if losses:
            sum(losses).backward()
    return capture


def graphs_of_step(step, backend="aot"):
    """Returns the graphs of one of testsupport/parallelisms.py."""
    capture = Capture()
    kept = BACKENDS[backend](capture)

    def compiler(function):
        return torch.compile(function, backend=kept)

    with fresh_compiler(), step.context(compiler):
        step.compile(compiler)(*step.inputs).backward()
    return capture
