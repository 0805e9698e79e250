# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Everything that the package uses of PyTorch beyond its public interfaces.

The names are in `names`; this module and those beside it know how they are used.
What is not here is public, or an operator.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import logging
import os
import types
import weakref
from collections.abc import Callable, Iterable
from typing import Any, ContextManager, Optional

import torch

from commsched.torch.private import names

#: The first and the last release of PyTorch that all this was tested with.
TESTED = ("2.13", "2.15")

_PACKAGE = os.path.dirname(os.path.dirname(__file__))


def boxed(gm: torch.fx.GraphModule) -> Callable[[list], Any]:
    """Returns a function that runs `gm` in the order of its nodes, and frees
    each input of its one list of arguments after its last use."""
    gm.graph.set_codegen(names.BoxedCodeGen())
    gm.recompile()
    return mark_boxed(gm.forward)


def mark_boxed(forward: Callable) -> Callable[[list], Any]:
    """Returns `forward` as a function that AOT autograd gives one list of
    arguments."""

    def run(args: list) -> Any:
        return forward(args)

    run._boxed_call = True  # What AOT autograd asks for.
    return run


def call_after_backward(function: Callable[[], Any]) -> None:
    """Calls `function` at the end of the backward that is running."""
    names.execution_engine.queue_callback(function)


def outside_transforms() -> ContextManager:
    """Computes as if no transform of torch.func were active."""
    return names.temporarily_clear_interpreter_stack()


@torch.compiler.assume_constant_result
def is_transforming() -> bool:
    """Whether a transform of torch.func is active; traced code has it while it is
    traced."""
    return (
        names.has("peek_interpreter_stack")
        and names.peek_interpreter_stack() is not None
    )


def compile_only_in_others(function: Callable) -> None:
    """Lets Dynamo compile `function` with code that calls it, but not by itself."""
    if names.has("skip_code"):
        names.skip_code(function.__code__)


#: Returns what Dynamo is called with for frames of the caller, or None. Not a function
#: of Python, which Dynamo would compile there.
get_frame_callback = (
    names.get_frame_callback if names.has("get_frame_callback") else lambda: None
)


def backend_of(callback: Callable) -> Optional[Callable]:
    """Returns the backend with which Dynamo is called, without the options of
    `torch.compile`, or the Inductor of those."""
    if not names.has("innermost_backend"):
        return None
    backend = names.innermost_backend(callback)
    return getattr(backend, "compiler_fn", backend)


def compile_frame() -> Optional[str]:
    """Returns "frame/compilation" of what Dynamo compiles just now, "!n/..."
    for the n-th graph of compiled autograd; None outside of it."""
    compile_id = names.current_compile_id()
    return None if compile_id is None else str(compile_id)


def compiled_codes() -> tuple:
    """Returns the code objects of what Dynamo compiles just now, the frame's
    own first, and those of functions that it inlined; the user's own where
    Dynamo had rewritten them."""
    codes = names.get_traced_code() or []
    own = codes[:1]
    if own and own[0].co_filename.endswith("_dynamo/external_utils.py"):
        # What Dynamo compiles in place of a module: it calls the module, which
        # is the last to be done.
        own = codes[-1:]
    if own and is_own(own[0]):
        # The forward of an adopted module, which calls the user's. Of the codes
        # that were inlined there, that is the one that ended last.
        own = [
            code
            for code in codes
            if code.co_name == own[0].co_name
            and not is_own(code)
        ][-1:] or own
    return tuple(
        dict.fromkeys(names.orig_code_map.get(code, code) for code in own + codes)
    )


def is_own(code: types.CodeType) -> bool:
    """Returns whether code is of this package."""
    return code.co_filename.startswith(_PACKAGE)


def compiled_parameters() -> tuple[weakref.ref, ...]:
    """Returns references to the parameters that the graph of Dynamo reads that is
    compiled just now, as far as they are known: some backends lose them before the
    backward."""
    known = getattr(names.get_tracing_context(), "tensor_to_context", ())
    return tuple(weakref.ref(t) for t in known if isinstance(t, torch.nn.Parameter))


def parameters_of(step: Any) -> frozenset[int]:
    """Returns the ids of the parameters of a module, compiled or not; a function has
    none."""
    module = getattr(step, "_orig_mod", step)
    is_module = isinstance(module, torch.nn.Module)
    return frozenset(map(id, module.parameters() if is_module else ()))


def codes_of(step: Any) -> frozenset:
    """Returns the code objects of a function, or of the `forward`s of a
    module and its parts, compiled or not."""
    step = getattr(step, "_orig_mod", step)
    if isinstance(step, torch.nn.Module):
        functions = [module.forward for module in step.modules()]
    else:
        functions = [step]
    codes = set()
    for function in functions:
        while hasattr(function, "_torchdynamo_orig_callable"):
            function = function._torchdynamo_orig_callable
        function = getattr(function, "__func__", function)
        while function is not None:  # The forward of an adopted module wraps its own.
            codes.add(getattr(function, "__code__", None))
            function = getattr(function, "__wrapped__", None)
    return frozenset(codes - {None})


def find_failure(codes: Iterable[types.CodeType]) -> str:
    """Returns why Dynamo has compiled nothing of one of these `codes` of late, if it
    has tried and that is known."""
    places = {(code.co_filename, code.co_firstlineno) for code in codes}
    known = names.get_compilation_metrics() if names.has("get_compilation_metrics") else ()
    for tried in map(vars, reversed(known)):
        place = tried.get("co_filename"), tried.get("co_firstlineno")
        if place in places and tried.get("fail_reason"):
            reason = tried["fail_reason"].partition("\n")[0]
            file = os.path.basename(tried.get("fail_user_frame_filename") or "")
            return f"{reason} ({file}:{tried.get('fail_user_frame_lineno')})"
    return ""


def trace_artifact(name: str, payload: Callable[[], str]) -> None:
    """Writes an artifact to the structured trace that tlparse reads, if one
    is written."""
    if not names.has("trace_structured"):
        return
    names.trace_structured(
        "artifact",
        metadata_fn=lambda: {"name": name, "encoding": "string"},
        payload_fn=payload,
        expect_trace_id=False,
    )


def artifact_logger(
    module: str, artifact: str, description: str
) -> logging.Logger:
    """Returns the logger of an artifact of TORCH_LOGS.

    PyTorch reads TORCH_LOGS when it is imported; a name that is no artifact
    by then, but a package, stands for the loggers below the package's name,
    as this one is.
    """
    try:
        names.register_artifact(artifact, description, visible=True)
        return names.get_artifact_logger(module, artifact)
    except (names.MissingName, TypeError):
        # Of another PyTorch than was tested; logging works all the same.
        return logging.getLogger(module)


def is_tested(version: str) -> bool:
    """Returns whether `version` of PyTorch is one of TESTED or between them,
    whatever its patch release."""
    return _release(TESTED[0]) <= _release(version) <= _release(TESTED[1])


def _release(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2])


def graph_kind() -> Optional[str]:
    """Returns which of AOT autograd's graphs is compiled just now: "forward",
    "backward" or "inference"; None outside of it."""
    context = names.get_aot_compilation_context()[0]
    kind = context[0].rpartition("_")[2] if context else None
    return kind if kind in ("forward", "backward", "inference") else None


@functools.cache
def has_inductor_setting(name: str) -> bool:
    """Returns whether Inductor has a setting, dots in its name included."""
    return name in names.inductor_config.get_config_copy()


def inductor_setting(name: str) -> Any:
    """Returns the value of one of Inductor's settings as it is just now, in
    the compilation at hand if there is one."""
    value: Any = names.inductor_config
    for part in name.split("."):
        value = getattr(value, part)
    return value


def static_inputs() -> list[int]:
    """Returns which of the tensors that AOT autograd's graph takes are
    parameters and buffers, by position; empty outside of a compilation."""
    context = names.get_tracing_context()
    metadata = None if context is None else context.fw_metadata
    return [] if metadata is None else list(metadata.static_input_indices)


def output_strides() -> list:
    """Returns the list of strides to which Inductor adds those of the results of
    each graph that it compiles, for AOT autograd; it has to be empty before."""
    context = names.get_tracing_context()
    return [] if context is None else context.output_strides or []


def own_connection(store: Any) -> Any:
    """Returns `store` over a connection of its own, or `store` itself where
    it has no such thing."""
    try:
        return store.clone()
    except (AttributeError, NotImplementedError, RuntimeError):
        return store


def carry_line(
    operator: Any,
    line: Callable[..., str],
    guard: Callable[[], ContextManager] = contextlib.nullcontext,
) -> None:
    """Makes Inductor's code that calls `operator` begin with the line of
    Python that `line` returns for the call's arguments. The line is
    written in the context that `guard` makes."""

    class Kernel(names.FallbackKernel):
        def codegen(self, wrapper: Any) -> None:
            with guard():
                write_header(line(*self.constant_args), wrapper)
            # Inductor does so itself for calls that have a device: kernels
            # of a CPU are written late, and what they read is freed here.
            names.V.graph.scheduler.flush()
            super().codegen(wrapper)

    @names.register_lowering(operator, type_promotion_kind=None)
    def lower(*args: Any) -> None:
        Kernel.create(operator, *args)


def write_header(text: str, wrapper: Any) -> None:
    """Makes Inductor's code of a graph begin with a line of Python, unless it is
    code in C++."""
    while getattr(wrapper, "parent_wrapper", None) is not None:
        wrapper = wrapper.parent_wrapper
    if not names.V.graph.cpp_wrapper:
        wrapper.header.writeline(text)


def relink(graph: torch.fx.Graph, order: Iterable[torch.fx.Node]) -> None:
    """Puts all nodes of `graph` into `order`, each linked anew once; moving
    them by `Node.append` one by one makes the keys by which nodes are compared
    longer and longer."""
    end = graph._root
    for node in order:
        end.prepend(node)


def forget_names(graph: torch.fx.Graph) -> None:
    """Lets a graph without nodes name new ones as if it had had none."""
    graph._graph_namespace = type(graph._graph_namespace)()


def copy_names(graph: torch.fx.Graph) -> Any:
    """Returns which names the nodes of a graph have had, for :func:`put_names`."""
    copied = copy.copy(graph._graph_namespace)
    for name, value in vars(copied).items():
        setattr(copied, name, copy.copy(value))
    return copied


def put_names(graph: torch.fx.Graph, names_before: Any) -> None:
    """Lets a graph name new nodes as it would have when `names_before` was
    copied."""
    graph._graph_namespace = names_before


def schema(overload: Any) -> Any:
    return overload._schema


def storage_key(value: torch.Tensor) -> Optional[int]:
    """Returns a number that two live tensors share exactly when they share
    memory; None for a tensor without a storage of its own, as some subclasses
    are."""
    try:
        return value.untyped_storage()._cdata
    except (NotImplementedError, RuntimeError):
        return None


def storage_of(node: Any) -> Optional[int]:
    """Returns the :func:`storage_key` of the tensor that a node of a graph
    gives; None for anything else."""
    value = node.meta.get("val") if isinstance(node, torch.fx.Node) else None
    return storage_key(value) if isinstance(value, torch.Tensor) else None
