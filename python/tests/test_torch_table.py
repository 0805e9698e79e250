# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the table of the torch dialect says about operators is what PyTorch
says about them."""

import json
import pathlib

import pytest

torch = pytest.importorskip("torch")

TABLE = (
    pathlib.Path(__file__).parents[2] / "data" / "operations" / "torch.json"
)

# Views in PyTorch as long as nothing changes, but copies where they matter.
COPIES = ("aten.contiguous", "aten.cpu", "aten.cuda", "aten.to.")


def operators():
    """Yields the name, the overload of PyTorch and the entry of each operator
    of the table that PyTorch has."""
    for entry in json.loads(TABLE.read_text())["operations"]:
        for name in entry["names"]:
            _, namespace, *path = name.split(".")
            if namespace not in ("aten", "prims"):
                continue
            packet = getattr(getattr(torch.ops, namespace), path[0], None)
            overload = path[1] if len(path) > 1 else "default"
            # Names ending in "hacked_twin" are TorchScript's own.
            if packet is None or overload not in packet.overloads():
                continue
            yield name, getattr(packet, overload), entry


def test_operators_that_have_effects():
    found = list(operators())
    assert len(found) > 500
    for name, overload, entry in found:
        assert not overload._schema.is_mutable, name
        random = torch.Tag.nondeterministic_seeded in overload.tags
        assert entry["effects"] == ("random" if random else "none"), name


def test_elementwise_operators():
    for name, overload, entry in operators():
        pointwise = torch.Tag.pointwise in overload.tags
        if entry["effects"] == "none":
            traits = entry.get("traits", ())
            assert ("elementwise" in traits) == pointwise, name
