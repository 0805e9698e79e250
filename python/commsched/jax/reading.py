# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads programs in every form that jaxlib knows, as modules of StableHLO."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from jaxlib.mlir import ir

from commsched.forms import Form, form_of
from commsched.jax import private

#: HloSnapshot holds an HloProto, which holds an HloModuleProto.
_MOST_NESTED_PROTOS = 2

_COUNTS = {
    "mhlo.num_replicas": re.compile(r"\breplica_count=(\d+)"),
    "mhlo.num_partitions": re.compile(r"\bnum_partitions=(\d+)"),
}
_MODULE_ALIASES = "mhlo.input_output_alias"
_ALIASES = " input_output_alias={"
_DONORS = " buffer_donor={"
# "{0}: (1, {2, 0}, may-alias)", and "(1, {2, 0})" of a donor.
_ALIAS = re.compile(r"\{([\d, ]*)\}: \((\d+), \{([\d, ]*)\}")
_DONOR = re.compile(r"\((\d+), \{([\d, ]*)\}\)")


def read_module(data: bytes) -> Any:
    """Returns the module of StableHLO in `data`. Raises
    :class:`commsched.jax.private.ParseError`."""
    context = private.make_context()
    form = form_of(data)
    if form in (Form.HLO_TEXT, Form.HLO_PROTO):
        return _read_hlo(data, form, context)
    if form is Form.ARTIFACT:
        return private.parse_artifact(data, context)
    module = private.parse_module(data, context)
    if not _has_mhlo(module):
        return module
    printed = module.operation.get_asm(
        print_generic_op_form=True, enable_debug_info=True
    )
    converted = private.stablehlo_of_mhlo(printed.encode())
    return private.parse_module(converted, context)


def _has_mhlo(module: Any) -> bool:
    found = []

    def visit(op: Any) -> Any:
        if op.name.startswith("mhlo."):
            found.append(op.name)
            return ir.WalkResult.INTERRUPT
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return bool(found)


# -- HLO -------------------------------------------------------------------


def _read_hlo(data: bytes, form: Form, context: Any) -> Any:
    is_text = form is Form.HLO_TEXT
    hlo = private.parse_hlo_text(data) if is_text else _parse_proto(data)
    module = private.parse_module(private.stablehlo_of_hlo(hlo), context)
    # jaxlib's importer leaves out the counts.
    header, _, _ = hlo.to_string().partition("\n")
    with context:
        _set_counts(module, header)
        _set_donations(module, hlo, header)
    return module


def _parse_proto(data: bytes) -> Any:
    first = None
    for _ in range(_MOST_NESTED_PROTOS + 1):
        try:
            return private.parse_hlo_proto(data)
        except private.ParseError as error:
            first = first or error
        data = _first_field(data)
        if data is None:
            break
    raise first


def _first_field(data: bytes) -> bytes | None:
    """Returns the content of a message's field 1, if it begins with that one
    and has a length."""
    if data[:1] != b"\x0a":
        return None
    length = 0
    for position, byte in enumerate(data[1:11]):
        length |= (byte & 0x7F) << (7 * position)
        if byte < 0x80:
            start = position + 2
            return data[start : start + length]
    return None


def _set_counts(module: Any, header: str) -> None:
    attributes = module.operation.attributes
    i32 = ir.IntegerType.get_signless(32)
    for name, pattern in _COUNTS.items():
        found = pattern.search(header)
        if found and name not in attributes:
            attributes[name] = ir.IntegerAttr.get(i32, int(found[1]))


# -- Donated arguments -----------------------------------------------------


def _set_donations(module: Any, hlo: Any, header: str) -> None:
    """Marks donated arguments of `main` as JAX does.

    The importer makes an argument of each array in the parameters, which may be
    tuples, and a result of each array in the result. It stores aliases in an
    attribute of the module, by their place in the parameters, and leaves donors
    out.
    """
    parameters, result = private.shapes_of(hlo)
    main = ir.SymbolTable(module.operation)["main"]
    arguments = _numbers(_paths(parameters))
    results = _numbers(_paths(result))
    if len(arguments) != len(main.arguments):
        return
    marks = [{each.name: each.attr for each in d} for d in main.arg_attrs]
    i32 = ir.IntegerType.get_signless(32)
    for output, parameter, index in _ALIAS.findall(_braces(header, _ALIASES)):
        argument = arguments.get(_path(parameter, index))
        number = results.get(_path(output))
        if argument is not None and number is not None:
            alias = ir.IntegerAttr.get(i32, number)
            marks[argument]["tf.aliasing_output"] = alias
    for parameter, index in _DONOR.findall(_braces(header, _DONORS)):
        argument = arguments.get(_path(parameter, index))
        if argument is not None:
            marks[argument]["jax.buffer_donor"] = ir.BoolAttr.get(True)
    main.arg_attrs = ir.ArrayAttr.get([ir.DictAttr.get(d) for d in marks])
    if _MODULE_ALIASES in module.operation.attributes:
        del module.operation.attributes[_MODULE_ALIASES]


def _paths(shape: Any, path: tuple = ()) -> Iterator[tuple]:
    """Gives where the arrays of a shape are in it."""
    if isinstance(shape, list):
        elements = shape
    elif shape.is_tuple():
        elements = shape.tuple_shapes()
    else:
        yield path
        return
    for index, element in enumerate(elements):
        yield from _paths(element, (*path, index))


def _numbers(paths: Iterator[tuple]) -> dict:
    return {path: number for number, path in enumerate(paths)}


def _path(*texts: str) -> tuple:
    """Returns the numbers in the texts."""
    return tuple(int(n) for text in texts for n in re.findall(r"\d+", text))


def _braces(header: str, start: str) -> str:
    """Returns what is between the braces after `start`, or "" without it."""
    _, _, rest = header.partition(start)
    depth = 1
    for position, letter in enumerate(rest):
        depth += {"{": 1, "}": -1}.get(letter, 0)
        if depth == 0:
            return rest[:position]
    return ""
