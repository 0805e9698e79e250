# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The forms in which compilers write StableHLO and HLO, told apart by their
first bytes or lines."""

from __future__ import annotations

import enum
import re


class Form(enum.Enum):
    """A form of a program, by what to call it in a message."""

    OWN_BYTECODE = "bytecode of commsched-opt"
    BYTECODE = "MLIR bytecode"
    ARTIFACT = "portable artifact of StableHLO"
    TEXT = "MLIR text"
    HLO_TEXT = "HLO text"
    HLO_PROTO = "HLO proto"


#: Dialects that jaxlib links, and commsched-opt does not.
_FOREIGN = rb"stablehlo|mhlo|chlo|vhlo|sdy"
_BYTECODE_MAGIC = b"ML\xefR"
# NamedDialect.cpp writes it before each operation of a dialect by name.
_OWN_MARK = b"commsched: one attribute"
_ARTIFACT_PRODUCER = b"StableHLO_v"

_COMMENTS = re.compile(rb"\A(?:\s+|//[^\n]*(?:\n|\Z)|/\*.*?\*/)*", re.DOTALL)
_CUSTOM_FORM = re.compile(
    rb"^[ \t]*(?:%[^=\"\n]*=[ \t]*)?(?:" + _FOREIGN + rb")\.\w", re.MULTILINE
)
_MHLO = re.compile(rb"^[^\n\"]*\"mhlo\.\w+\"\(", re.MULTILINE)
_FOREIGN_NAME = re.compile(rb"\0(?:" + _FOREIGN + rb")\0")


def form_of(data: bytes) -> Form:
    """Returns the form that `data` has by its beginning."""
    if data.startswith(_BYTECODE_MAGIC):
        if _OWN_MARK in data:
            return Form.OWN_BYTECODE
        if _ARTIFACT_PRODUCER in data[:32]:
            return Form.ARTIFACT
        return Form.BYTECODE
    if _is_text(data):
        start = _COMMENTS.match(data).end()
        is_hlo = re.match(rb"HloModule\b", data[start:])
        return Form.HLO_TEXT if is_hlo else Form.TEXT
    return Form.HLO_PROTO


def needs_conversion(data: bytes) -> bool:
    """Whether commsched-opt reads `data` only after `commsched.jax.convert`."""
    form = form_of(data)
    if form is Form.TEXT:
        return bool(_CUSTOM_FORM.search(data) or _MHLO.search(data))
    if form is Form.BYTECODE:
        return bool(_FOREIGN_NAME.search(data))
    return form is not Form.OWN_BYTECODE


def _is_text(data: bytes) -> bool:
    if b"\0" in data:
        return False
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
