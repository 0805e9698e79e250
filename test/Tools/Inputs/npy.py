"""Shows and makes .npy files without NumPy, which machines need not have.

    npy.py show FILE...
    npy.py make FILE DESCR SHAPE VALUE... [--fortran] [--version2] [--cut BYTES]

SHAPE is like 2x3, or - for a scalar. Values of opaque types (V2) are unsigned
integers."""

import argparse
import ast
import math
import struct

CODES = {"b1": "?", "i1": "b", "i2": "h", "i4": "i", "i8": "q", "u1": "B",
         "u2": "H", "u4": "I", "u8": "Q", "f2": "e", "f4": "f", "f8": "d",
         "c8": "ff", "c16": "dd", "V1": "B", "V2": "H"}


def read(path):
    """(description, shape, values) of the array in a file."""
    with open(path, "rb") as file:
        data = file.read()
    assert data[:8] == b"\x93NUMPY\x01\x00", path
    (size,) = struct.unpack("<H", data[8:10])
    header = data[10:10 + size]
    assert (10 + size) % 64 == 0 and header.endswith(b"\n"), path
    header = ast.literal_eval(header.decode("ascii"))
    assert header["fortran_order"] is False, path
    shape = header["shape"]
    code = CODES[header["descr"][1:]]
    numbers = math.prod(shape) * len(code)
    assert len(data) - 10 - size == struct.calcsize("<" + code) * math.prod(shape), path
    values = struct.unpack(f"<{numbers}{code[0]}", data[10 + size:])
    if len(code) == 2:
        values = [complex(*pair) for pair in zip(values[::2], values[1::2])]
    return header["descr"], shape, list(values)


def make(path, descr, shape, values, fortran=False, version2=False, cut=0):
    header = repr({"descr": descr, "fortran_order": fortran, "shape": shape})
    header = header.encode("ascii") + b"\n"
    code = CODES[descr.lstrip("<>|=")]
    order = ">" if descr[0] == ">" else "<"
    kind = int if code in "bhiqBHIQ?" else float
    data = struct.pack(order + code[0] * len(values),
                       *[kind(value) for value in values])
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY" + (b"\x02\x00" if version2 else b"\x01\x00"))
        file.write(struct.pack("<I" if version2 else "<H", len(header)))
        file.write(header + data[:len(data) - cut])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    show_parser = commands.add_parser("show")
    show_parser.add_argument("files", nargs="+")
    make_parser = commands.add_parser("make")
    make_parser.add_argument("file")
    make_parser.add_argument("descr")
    make_parser.add_argument("shape")
    make_parser.add_argument("values", nargs="*")
    make_parser.add_argument("--fortran", action="store_true")
    make_parser.add_argument("--version2", action="store_true")
    make_parser.add_argument("--cut", type=int, default=0)
    args = parser.parse_args()
    if args.command == "show":
        for path in args.files:
            descr, shape, values = read(path)
            name = "/".join(path.split("/")[-2:])
            print(name, descr, shape, *values)
        return
    shape = () if args.shape == "-" else tuple(
        int(size) for size in args.shape.split("x"))
    make(args.file, args.descr, shape, args.values, args.fortran,
         args.version2, args.cut)


if __name__ == "__main__":
    main()
