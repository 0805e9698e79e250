# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What CommSched's table says of operators by their names, against the lists
of PyTorch's partitioner."""

import json
import re
import subprocess
from pathlib import Path

import pytest
import torch
from torch._functorch import partitioners

from commsched.torch.importer.targets import target_name

TABLES = Path(__file__).parents[2] / "data" / "operations"


def _packets(namespace):
    """Every operator of a namespace of `torch.ops`. (`dir` lists only those
    that have been looked up before.)"""
    names = {
        name.split(".")[0].removeprefix(f"{namespace}::")
        for name in torch._C._dispatch_get_all_op_names()
        if name.startswith(f"{namespace}::")
    }
    for name in sorted(names):
        packet = getattr(getattr(torch.ops, namespace), name, None)
        if isinstance(packet, torch._ops.OpOverloadPacket):
            yield packet


@pytest.fixture(scope="module")
def packets():
    """Every operator of the namespaces that joint graphs have."""
    return [p for space in ("aten", "prims") for p in _packets(space)]


@pytest.fixture(scope="module")
def lists(packets):
    """The reference's lists. It takes as pointwise what has been asked for
    until it is first called; now that is every operator."""
    partitioners.pointwise_ops.cache_clear()
    return partitioners.get_default_op_list()


@pytest.fixture(scope="module")
def tester(built):
    """The tool with the test passes."""
    return built("commsched-test-opt")


def _names(targets):
    """The names that the importer gives to `targets`, but for `getitem`, which
    is no operation of the dialect, and for lambdas, which have none."""
    names = {target_name(target) for target in targets}
    return {
        name
        for name in names - {"operator.getitem"}
        if not name.endswith("<lambda>")
    }


@pytest.fixture(scope="module")
def classes(tester, packets, lists):
    """By name, the attributes that state an operator's class. Operators are
    called by one of their overloads, as they are in graphs."""
    names = {}
    for packet in packets:
        overload = packet.overloads()[-1]
        names[target_name(packet)] = target_name(getattr(packet, overload))
    names.update((name, name) for name in _names(lists.recomputable_ops))
    body = "".join(
        f'  commsched.compute "{name}"(%x) : (tensor<8xf32>) -> tensor<8xf32>\n'
        for name in names.values()
    )
    text = f"func.func @f(%x: tensor<8xf32>) {{\n{body}  return\n}}\n"
    output = subprocess.run(
        [tester, "--test-operator-classes"],
        input=text,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    found = dict(re.findall(r'compute "([^"]+)"\(.*?\) \{(.*?)\}', output))
    assert set(found) == set(names.values())
    return {name: found[called] for name, called in names.items()}


def _with(classes, attribute):
    return {name for name, text in classes.items() if attribute in text}


def test_recomputable(classes, lists):
    reference = _names(lists.recomputable_ops)
    assert len(reference) > 300
    assert _with(classes, "test.recomputable") == reference


def test_fusible(classes, lists):
    assert _with(classes, "test.fusible") == _names(lists.fusible_ops)


def test_random(classes, lists):
    assert _with(classes, '"random"') == _names(lists.random_ops)


def test_compute_intensive(classes, lists):
    assert _with(classes, '"compute_intensive"') == _names(lists.compute_intensive_ops)


def test_views(classes, lists):
    """Without an `alias`, one more than the reference's is known as a view."""
    assert _with(classes, '"view"') == _names(lists.view_ops) | {"aten._unsafe_view"}


def test_concatenation(classes):
    assert _with(classes, '"concatenation"') == {"aten.cat"}


def test_pointwise_table(packets, lists):
    """The table has what PyTorch tags as pointwise."""
    tagged = {
        str(packet)
        for packet in packets
        if str(packet).startswith("aten.")
        and any(
            torch.Tag.pointwise in getattr(packet, overload).tags
            for overload in packet.overloads()
        )
    }
    assert tagged == set(map(str, partitioners.pointwise_ops()))
    table = json.loads((TABLES / "aten.json").read_text(encoding="utf-8"))
    assert tagged <= set(table["operators"]["pointwise"])


# -- What the table of the torch dialect says about operators is what PyTorch
# says about them.


def operators():
    """Yields the name, the overload of PyTorch and the entry of each operator
    of the table that PyTorch has."""
    for entry in json.loads((TABLES / "torch.json").read_text())["operations"]:
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
