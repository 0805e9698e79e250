# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares what converted operations of shard do with what shard says.

`--write DIR` writes the program, as `DIR/program.mlir`, and the inputs of each
device of a 2x3 grid. Without it, the results of the run in `DIR/out` are
compared with those of the definitions, written down here device by device from
the documentation of the shard dialect. What is undefined is not compared.
"""

import argparse
import itertools
import pathlib

import numpy as np

SHAPE = (2, 3)
DEVICES = list(itertools.product(range(2), range(3)))

PROGRAM = """
shard.grid @grid(shape = 2x3)

func.func @program(%x: tensor<6x6xi32>) -> ({types}) {{
{body}
  return {results} : {types}
}}
"""


def inputs():
    """Different numbers everywhere, by device."""
    return {device: np.arange(36, dtype=np.int32).reshape(6, 6) + 100 * rank
            for rank, device in enumerate(DEVICES)}


def group(device, axes):
    """The devices of its group, in order."""
    def coordinates(member):
        return [member[axis] for axis in axes]

    return sorted((member for member in DEVICES
                   if all(member[axis] == device[axis] for axis in (0, 1)
                          if axis not in axes)), key=coordinates)


def place(device, axes):
    return group(device, axes).index(device)


def part(tensor, device, axes, dim):
    """The part of a device of a tensor that is cut for its group."""
    return np.split(tensor, len(group(device, axes)), dim)[place(device, axes)]


# Each operation: its text, the type of its result, and the definition: from all
# inputs and a device to its result, or None where that is undefined.

def all_gather(axes, dim):
    return lambda x, device: np.concatenate(
        [x[member] for member in group(device, axes)], dim)


def reduce(axes, combine, dtype=np.int32):
    return lambda x, device: combine.reduce(
        [x[member].astype(dtype) for member in group(device, axes)],
        dtype=dtype)


def at_root(axes, root, define):
    def only_there(x, device):
        there = tuple(device[axis] for axis in axes) == root
        return define(x, device) if there else None
    return only_there


def reduce_scatter(axes, dim):
    return lambda x, device: part(reduce(axes, np.add)(x, device), device, axes, dim)


def all_to_all(axes, split, concat):
    return lambda x, device: np.concatenate(
        [part(x[member], device, axes, split)
         for member in group(device, axes)], concat)


def root_of(device, axes, root):
    coordinates = list(device)
    for axis, coordinate in zip(axes, root):
        coordinates[axis] = coordinate
    return tuple(coordinates)


def broadcast(axes, root):
    return lambda x, device: x[root_of(device, axes, root)]


def scatter(axes, dim, root):
    return lambda x, device: part(x[root_of(device, axes, root)], device, axes, dim)


def shift(axis, offset, rotate):
    def define(x, device):
        source = list(device)
        source[axis] -= offset
        if rotate:
            source[axis] %= SHAPE[axis]
        return x.get(tuple(source))
    return define


def update_halo(x, device):
    """Halos of 1 and 2 rows, and of 1 and 1 columns: of 6 x 6 elements, 3 x 4
    are the device's own."""
    result = x[device].copy()
    for row, column in itertools.product(range(6), range(6)):
        # Where the element is in the tensor of all devices.
        i, j = device[0] * 3 + row - 1, device[1] * 4 + column - 1
        if not 0 <= i < 6:
            continue
        owner_row = i // 3, i % 3 + 1
        if 0 <= j < 12:
            result[row, column] = x[owner_row[0], j // 4][owner_row[1], j % 4 + 1]
        else:
            # At the border, columns keep what they have, and rows of a
            # neighbour bring its border along.
            result[row, column] = x[owner_row[0], device[1]][owner_row[1], column]
    return result


def update_halo_along_grid(x, device):
    """Halos of 2 and 1 columns between all devices, one behind the other."""
    result, rank = x[device].copy(), DEVICES.index(device)
    if rank > 0:
        result[:, :2] = x[DEVICES[rank - 1]][:, 3:5]
    if rank < len(DEVICES) - 1:
        result[:, 5:] = x[DEVICES[rank + 1]][:, 2:3]
    return result


def indices(x, device):
    rank = DEVICES.index(device)
    down = rank - 1 if device[1] > 0 else -1
    up = rank + 1 if device[1] < 2 else -1
    return np.array([*device, device[1], device[0], rank, down, up, 3])


INDICES = """
  %i:2 = shard.process_multi_index on @grid : index, index
  %j:2 = shard.process_multi_index on @grid axes = [1, 0] : index, index
  %r = shard.process_linear_index on @grid : index
  %n:2 = shard.neighbors_linear_indices on @grid[%i#0, %i#1] split_axes = [1]
      : index, index
  %s = shard.grid_shape @grid axes = [1] : index
  %all = tensor.from_elements %i#0, %i#1, %j#0, %j#1, %r, %n#0, %n#1, %s
      : tensor<8xindex>
  {} = arith.index_cast %all : tensor<8xindex> to tensor<8xi64>"""

SEND = """
  %p = shard.process_multi_index on @grid axes = [0] : index
  %zero = arith.constant 0 : index
  %first = arith.cmpi eq, %p, %zero : index
  {} = scf.if %first -> tensor<6x6xi32> {{
    %sent = shard.send %x on @grid grid_axes = [0] destination = [1]
        : (tensor<6x6xi32>) -> tensor<6x6xi32>
    scf.yield %sent : tensor<6x6xi32>
  }} else {{
    %received = shard.recv %x on @grid grid_axes = [0] source = [0]
        : (tensor<6x6xi32>) -> tensor<6x6xi32>
    scf.yield %received : tensor<6x6xi32>
  }}"""


def collective(name, axes, attributes, result, functional=False):
    source = "(tensor<6x6xi32>)" if functional else "tensor<6x6xi32>"
    return (f"  {{}} = shard.{name} %x on @grid grid_axes = {axes} "
            f"{attributes} : {source} -> {result}")


def cases():
    def add(name, axes, attributes, result, define, functional=False):
        return (collective(name, axes, attributes, result, functional), result, define)

    same = "tensor<6x6xi32>"
    yield add("all_gather", [1], "gather_axis = 1", "tensor<6x18xi32>",
              all_gather([1], 1))
    yield add("all_gather", [1, 0], "gather_axis = 0", "tensor<36x6xi32>",
              all_gather([1, 0], 0))
    yield add("all_reduce", [0], "", "tensor<6x6xf64>", reduce([0], np.add, np.float64))
    yield add("all_reduce", [0, 1], "reduction = bitwise_xor", same,
              reduce([0, 1], np.bitwise_xor))
    for kind, combine in (("product", np.multiply), ("min", np.minimum),
                          ("bitwise_and", np.bitwise_and),
                          ("bitwise_or", np.bitwise_or)):
        yield add("all_reduce", [1], f"reduction = {kind}", same, reduce([1], combine))
    yield add("all_reduce", [0], "reduction = average", "tensor<6x6xf64>",
              lambda x, device: reduce([0], np.add, np.float64)(x, device) / 2)
    yield add("reduce", [1], "reduction = max root = [2]", same,
              at_root([1], (2,), reduce([1], np.maximum)), True)
    yield add("reduce_scatter", [1, 0], "scatter_axis = 1",
              "tensor<6x1xi32>", reduce_scatter([1, 0], 1))
    yield add("all_to_all", [1], "split_axis = 0 concat_axis = 1",
              "tensor<2x18xi32>", all_to_all([1], 0, 1))
    yield add("all_to_all", [1, 0], "split_axis = 1 concat_axis = 1", same,
              all_to_all([1, 0], 1, 1))
    yield add("broadcast", [1, 0], "root = [2, 0]", same,
              broadcast([1, 0], (2, 0)), True)
    yield add("broadcast", [0, 1], "root = [1, 2]", same,
              broadcast([0, 1], (1, 2)), True)
    yield add("gather", [0], "gather_axis = 0 root = [1]",
              "tensor<12x6xi32>", at_root([0], (1,), all_gather([0], 0)), True)
    yield add("scatter", [1], "scatter_axis = 0 root = [2]",
              "tensor<2x6xi32>", scatter([1], 0, (2,)), True)
    yield add("all_slice", [1, 0], "slice_axis = 1", "tensor<6x1xi32>",
              lambda x, device: part(x[device], device, [1, 0], 1))
    yield add("shift", [0, 1], "shift_axis = 1 offset = 1 rotate", same,
              shift(1, 1, True))
    yield add("shift", [1, 0], "shift_axis = 1 offset = -2", same, shift(1, -2, False))
    yield add("shift", [0, 1], "shift_axis = 0 offset = 1", same, shift(0, 1, False))
    yield add("shift", [1], "shift_axis = 1 offset = -4 rotate", same,
              shift(1, -4, True))
    yield ("  {} = shard.update_halo %x on @grid split_axes = [[0], [1]] "
           "halo_sizes = [1, 2, 1, 1] : tensor<6x6xi32>", same, update_halo)
    yield ("  {} = shard.update_halo %x on @grid split_axes = [[], [0, 1]] "
           "halo_sizes = [2, 1] : tensor<6x6xi32>", same,
           update_halo_along_grid)
    yield INDICES, "tensor<8xi64>", indices
    yield SEND, same, lambda x, device: x[0, device[1]]


def write(directory):
    directory.mkdir(parents=True)
    body, types = [], []
    for number, (text, result, _) in enumerate(cases()):
        body.append(text.format(f"%result{number}"))
        types.append(result)
    results = ", ".join(f"%result{number}" for number in range(len(types)))
    (directory / "program.mlir").write_text(PROGRAM.format(
        body="\n".join(body), results=results, types=", ".join(types)))
    for rank, device in enumerate(DEVICES):
        folder = directory / "in" / f"rank{rank}"
        folder.mkdir(parents=True, exist_ok=True)
        np.save(folder / "arg0.npy", inputs()[device])


def compare(directory):
    compared = 0
    for rank, device in enumerate(DEVICES):
        for number, (text, _, define) in enumerate(cases()):
            expected = define(inputs(), device)
            if expected is None:
                continue
            actual = np.load(directory / "out" / f"rank{rank}" / f"result{number}.npy")
            np.testing.assert_array_equal(
                actual, expected, strict=True,
                err_msg=f"device {device}: {text.strip()}")
            compared += 1
    print(f"{compared} results compared")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("directory", type=pathlib.Path)
    options = parser.parse_args()
    (write if options.write else compare)(options.directory)


if __name__ == "__main__":
    main()
