# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes commsched operations as text."""

import math

from mlir_values import Type, Value, future_type, list_texts, list_types


class Communication:
    """The part of a function's writer that communicates."""

    def start(self, kind, inputs, group, clause, types, into=()):
        """The future, and the types that it delivers."""
        future = self.fresh()
        written = (f" into {list_texts(into)}", f" into {list_types(into)}"
                   ) if into else ("", "")
        clause = f" {clause}" if clause else ""
        self.lines.append(
            f"{future} = commsched.{kind} {list_texts(inputs)} on @{group}"
            f"{clause}{written[0]} {{{self.marks(kind)}}} : "
            f"{list_types(inputs)}{written[1]} -> {future_type(types)}")
        return future, tuple(types)

    def wait(self, flight):
        future, types = flight
        name, count = self.fresh(), len(types)
        results = f"{name}{f':{count}' if count > 1 else ''} = "
        self.lines.append(
            f"{results if types else ''}commsched.wait "
            f"{future} {{{self.marks('wait_tensor')}}} : {future_type(types)}")
        return [Value(f"{name}#{place}" if count > 1 else name, type)
                for place, type in enumerate(types)]

    def copy_in(self, inputs, group, size, element):
        """The slice and the buffer."""
        count = sum(v.type.count for v in inputs)
        types = [Type((count,), element), Type((count * size,), element)]
        name = self.fresh()
        self.lines.append(
            f"{name}:2 = commsched.all_gather_copy_in {list_texts(inputs)} "
            f"on @{group} {{{self.marks('all_gather_copy_in')}}} : "
            f"{list_types(inputs)} -> {types[0]}, {types[1]}")
        return [Value(f"{name}#{place}", type) for place, type in enumerate(types)]

    def copy_out(self, buffer, group, types):
        name, count = self.fresh(), len(types)
        self.lines.append(
            f"{name}:{count} = commsched.split_with_sizes_copy {buffer.text} "
            f"on @{group} {{{self.marks('split_with_sizes_copy')}}} : "
            f"{buffer.type} -> {', '.join(map(str, types))}")
        return [Value(f"{name}#{place}", type) for place, type in enumerate(types)]

    def chunk_cat(self, inputs, group, size, element):
        """Packs gradients by rank, padded along dimension 0."""
        count = sum(-(-v.type.shape[0] // size) * size
                    * math.prod(v.type.shape[1:]) for v in inputs)
        type = Type((count,), element)
        return self.add(
            f"commsched.chunk_cat {list_texts(inputs)} on @{group} "
            f"{{{self.marks('chunk_cat')}}} : {list_types(inputs)} -> {type}",
            type)
