# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is private of JAX: all access to it is here.

`jax.stages.Lowered` gives its module away but takes none. It keeps what it
compiles in `_lowering`, an object of `jax._src.interpreters.pxla` with the
module in `_hlo` and the program, once it is compiled, in `_executable`. jaxlib
reads HLO in `_hlo` and makes StableHLO of it in `_jax.mlir`. This holds for JAX
0.10.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import jax
from jax._src.interpreters import mlir as _mlir
from jaxlib import _hlo, _jax
from jaxlib.mlir import ir as _ir


class UnknownJax(RuntimeError):
    """This version of JAX keeps a module elsewhere."""


class ParseError(ValueError):
    """jaxlib does not read a text."""


def module_of(lowered: jax.stages.Lowered) -> Any:
    """Returns the StableHLO module that `lowered` compiles. Raises
    UnknownJax."""
    module = lowered.compiler_ir("stablehlo")
    if getattr(_lowering_of(lowered), "_hlo", None) is not module:
        raise UnknownJax(
            f"JAX {jax.__version__} does not keep the module of a lowered "
            "function where commsched.jax looks for it, as JAX 0.10 does; "
            "install commsched[jax], which names versions that fit"
        )
    return module


def with_module(lowered: jax.stages.Lowered, module: Any) -> Any:
    """Returns a copy of `lowered` that compiles `module`, which takes and
    gives the same arrays. Raises UnknownJax."""
    module_of(lowered)
    lowering = copy.copy(lowered._lowering)
    lowering._hlo = module
    lowering._executable = None
    result = copy.copy(lowered)
    result._lowering = lowering
    return result


def parse_like(module: Any, text: str) -> Any:
    """Parses text to a module with the dialects of another one. Raises
    ParseError."""
    return _parsed(type(module).parse, text, module.context)


def make_context() -> Any:
    """Returns a context with the dialects of JAX's modules. Operations of other
    dialects are read as well."""
    context = _mlir.make_ir_context()
    context.allow_unregistered_dialects = True
    return context


def parse_module(data: bytes, context: Any) -> Any:
    """Reads MLIR text or bytecode. Raises ParseError."""
    return _parsed(_ir.Module.parse, data, context=context)


def parse_artifact(data: bytes, context: Any) -> Any:
    """Reads a portable artifact of StableHLO. Raises ParseError."""
    return _parsed(_jax.mlir.deserialize_portable_artifact, data, context)


def stablehlo_of_mhlo(data: bytes) -> bytes:
    """Makes StableHLO, as bytecode, of a module of MHLO. Raises ParseError."""
    return _parsed(_jax.mlir.mhlo_to_stablehlo, data)


def parse_hlo_text(data: bytes) -> Any:
    """Reads HLO text to an `HloModule`. Raises ParseError."""
    return _parsed(_hlo.hlo_module_from_text, data.decode())


def parse_hlo_proto(data: bytes) -> Any:
    """Reads an HloModuleProto to an `HloModule`. Raises ParseError."""
    return _parsed(_hlo.HloModule.from_serialized_hlo_module_proto, data)


def stablehlo_of_hlo(module: Any) -> bytes:
    """Makes StableHLO, as bytecode, of an `HloModule`. Raises ParseError."""
    proto = module.as_serialized_hlo_module_proto()
    return _parsed(_jax.mlir.hlo_to_stablehlo, proto)


def shapes_of(module: Any) -> tuple:
    """Returns the list of the shapes of the parameters of an `HloModule`, and
    the shape of its result."""
    computation = _hlo.XlaComputation(module.as_serialized_hlo_module_proto())
    shape = computation.program_shape()
    return shape.parameter_shapes(), shape.result_shape()


def _parsed(parse: Callable, *args: Any, **keywords: Any) -> Any:
    try:
        return parse(*args, **keywords)
    except Exception as error:  # jaxlib's errors have no common public name.
        raise ParseError(str(error)) from error


def _lowering_of(lowered: jax.stages.Lowered) -> Any:
    return getattr(lowered, "_lowering", None)
