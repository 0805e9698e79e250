# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Saved values that are sent to the host, with stand-ins for the transfers."""

import dataclasses

import pytest
import torch
import host_kernels
import partitioned
from captures import Capture, aot_backend
from graphs import calls
from partitioned import Trained, are_equal
from torch._functorch.partitioners import default_partition

from commsched.torch.compiling.backend import commsched
from commsched.torch.compiling.partition_facts import partition_notes
from commsched import opt
from commsched.torch.compiling import records
from commsched.torch.compiling.options import Options
from commsched.torch.compiling.partitioner import Partitioner, decide
from commsched.torch.private import transfers
from commsched.torch.rewriting.halves import split_joint
from commsched.torch.rewriting.partition import Partition, Quantized, make_partition

pytestmark = pytest.mark.usefixtures("opt_program")

ao = torch.ops.ao
_MODELS = ("perceptron", "deep", "dynamic", "written")


@pytest.fixture(autouse=True)
def kernels():
    with host_kernels.installed():
        yield


class Offloading:
    """A partitioner that saves what eager execution saves, on the host, some
    of it in 8 bits."""

    def __init__(self, narrow=()):
        self._narrow = narrow

    def __call__(self, joint, inputs, *, num_fwd_outputs, **settings):
        options = Options(strict=True, partition="default")
        Partitioner(options)._prepare(joint)
        partition = decide(joint, (), num_fwd_outputs, options)
        partition = dataclasses.replace(
            partition,
            quantized=tuple(Quantized(name, "f8E4M3FN", True) for name in self._narrow),
            offloaded=partition.saved,
        )
        return split_joint(joint, partition, num_fwd_outputs)


def trained(name, partitioner):
    model, inputs, dynamic = partitioned.case(name)
    return Trained(model, inputs, partitioner, dynamic)


@pytest.mark.parametrize("name", _MODELS)
def test_steps_are_equal(name):
    wanted = trained(name, default_partition)
    assert not host_kernels.started
    found = trained(name, Offloading())
    assert are_equal(found.values, wanted.values)
    sent = calls(found.forward, ao.offload.default)
    taken = calls(found.backward, ao.reload.default)
    assert len(sent) == len(taken) > 0
    assert {"offload", "reload"} == set(host_kernels.started)


def test_values_leave_the_device():
    found = trained("deep", Offloading())
    saved = [n.meta["val"] for n in found.saved if n.name.endswith("_host")]
    assert len(saved) == 7
    notes = partition_notes(found.forward, found.backward, found.outputs, 0)
    size = sum(value.nbytes for value in saved) / 1024
    assert f"sends {len(saved)} tensors to the host, {size:.3g} KiB" in notes
    # The result, which the backward takes as well.
    assert "saves 8 KiB of activations for the backward" in notes


def test_values_in_8_bits_go_to_the_host():
    wanted = trained("deep", default_partition)
    found = trained("deep", Offloading(["tanh", "tanh_1"]))
    sent = calls(found.forward, ao.offload.default)
    types = {n.args[0].name: n.meta["val"].dtype for n in sent}
    for name in ("tanh_f8", "tanh_1_f8"):
        assert types[name] == torch.float8_e4m3fn
    assert len(calls(found.backward, ao.reload.default)) == len(sent)
    for step, other in zip(found.values, wanted.values, strict=True):
        assert torch.equal(step[0], other[0])
        for value, exact in zip(step, other, strict=True):
            assert (value - exact).norm() < 0.05 * exact.norm() + 1e-4


class Shown(torch.nn.Module):
    """Saves what it returns, and what it does not."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(8, 8))

    def forward(self, x):
        y = (x @ self.weight).tanh()
        return y.sin().exp().tanh(), y


def test_what_lives_on_stays_on_the_device():
    """Inputs and outputs are not sent."""
    inputs = [torch.randn(4, 8)] * 2
    torch.manual_seed(0)
    found = Trained(Shown(), inputs, Offloading())
    own = found.forward.graph.output_node().args[0][: found.outputs]
    given = found.forward.graph.find_nodes(op="placeholder")
    kept = {node.meta["val"].untyped_storage()._cdata for node in (*own, *given)}
    sent = [n.args[0] for n in calls(found.forward, ao.offload.default)]
    assert {node.name for node in sent} == {"exp"}
    assert not kept & {node.meta["val"].untyped_storage()._cdata for node in sent}
    torch.manual_seed(0)
    wanted = Trained(Shown(), inputs, default_partition)
    assert are_equal(found.values, wanted.values)


def test_a_second_backward_finds_what_the_first_did():
    model, inputs, _ = partitioned.case("deep")
    backend = aot_backend(Capture(), partition_fn=Offloading())
    step = torch.compile(model, backend=backend)
    loss = step(inputs[0]).sum()
    loss.backward(retain_graph=True)
    first = [p.grad.clone() for p in model.parameters()]
    loss.backward()
    for parameter, gradient in zip(model.parameters(), first):
        assert torch.equal(parameter.grad, 2 * gradient)


def test_transfers_are_where_they_hide():
    found = trained("deep", Offloading())
    order = {node: i for i, node in enumerate(found.forward.graph.nodes)}
    for start in calls(found.forward, ao.offload.default):
        (value,) = start.args
        (wait,) = [n for n in start.users if n.target is ao.wait_tensor.default]
        others = [n for n in value.users if n not in (start, wait)]
        assert all(order[user] < order[start] for user in others)
        # It may run beside all that follows.
        assert all(
            node.target is ao.wait_tensor.default or node.op == "output"
            for node, index in order.items()
            if index > order[wait]
        )


def test_a_cpu_keeps_what_it_saves(monkeypatch):
    monkeypatch.setattr(transfers, "is_on_accelerator", host_kernels.is_on_accelerator)
    found = trained("deep", Offloading())
    assert not calls(found.forward, ao.offload.default)
    assert not transfers.has_transfers(found.forward.graph)


def offload_all(monkeypatch):
    """Lets the partitioner send to the host all that it saves."""
    from commsched.torch.compiling import partitioner

    def deciding(*args):
        partition = decide(*args)
        return dataclasses.replace(partition, offloaded=partition.saved)

    monkeypatch.setattr(partitioner, "decide", deciding)


def test_graphs_with_transfers_are_scheduled(monkeypatch):
    """Graphs without collectives are, too."""
    offload_all(monkeypatch)
    model, inputs, _ = partitioned.case("deep")
    options = {"partition": "default", "inner": "eager", "strict": True}
    step = torch.compile(model, backend=commsched, options=options)
    values = partitioned.train(step, model, inputs)
    found = records.records()
    assert [(r.kind, r.status) for r in found] == [
        ("joint", "scheduled"),
        ("forward", "scheduled"),
        ("backward", "scheduled"),
    ]
    for record in found[1:]:
        before, after = record.before, record.after
        assert after["num_transfers"] == before["num_transfers"] > 0
        assert after["step_time_ns"] <= before["step_time_ns"]
    assert {"offload", "reload"} == set(host_kernels.started)
    assert are_equal(values, trained("deep", default_partition).values)


_HALVES = """
!full = tensor<4x8xf32>
!sent = tensor<4x8xf32, #commsched.host>
!narrow = tensor<4x8xf8E5M2>
!narrow_sent = tensor<4x8xf8E5M2, #commsched.host>
!scale = tensor<4x1xf32>
func.func @joint_forward(%a: !full) -> (!full, !full, !sent, !full, !narrow_sent, !scale)
    attributes {commsched.num_forward_outputs = 1 : i64} {
  %x = commsched.compute "x"(%a) {commsched.name = "x"} : (!full) -> !full
  %y = commsched.compute "y"(%x) {commsched.name = "y"} : (!full) -> !full
  %z:2 = commsched.compute "merged"(%x) {commsched.name = "u+z"} : (!full) -> (!full, !full)
  %o = commsched.offload %y {commsched.name = "y.offload"} : !full -> !commsched.future<!sent>
  %host = commsched.wait %o {commsched.name = "y.host"} : !commsched.future<!sent>
  %s = commsched.compute "s"(%x) {commsched.name = "x.scale"} : (!full) -> !scale
  %q = commsched.compute "q"(%x, %s) {commsched.name = "x.quantize"} : (!full, !scale) -> !narrow
  %p = commsched.offload %q : !narrow -> !commsched.future<!narrow_sent>
  %there = commsched.wait %p : !commsched.future<!narrow_sent>
  return %x, %a, %host, %z#1, %there, %s : !full, !full, !sent, !full, !narrow_sent, !scale
}
func.func @joint_backward(
    %a: !full {commsched.name = "arg0"}, %y: !sent {commsched.name = "y"},
    %z: !full {commsched.name = "z"}, %x: !narrow_sent {commsched.name = "x"},
    %s: !scale {commsched.name = "x.scale"}) {
  return
}
"""


def test_a_partition_is_read_from_the_halves():
    """What was sent to the host, what a pass has merged with others, and what is
    in 8 bits."""
    graph = torch.fx.Graph()
    value = graph.placeholder("primals_1")
    for name in ("x", "y", "z"):
        value = graph.create_node("call_function", torch.sin, (value,), {}, name)
        value.meta["val"] = torch.empty(4, 8)
    program = opt.run_programs(_HALVES).after
    found = make_partition(graph, ["primals_1"], program, program, "joint")
    quantized = (Quantized("x", "f8E5M2", True),)
    assert found == Partition(("primals_1", "y", "z", "x"), quantized, ("y", "x"))
