# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Transfers between the device and the host: how they are imported."""

import pytest
import torch
from torch._dynamo.backends.common import aot_autograd
from commsched.torch import ImportOptions
from graphs import build, lines
from torch._functorch import config, partitioners
from torch.utils.checkpoint import CheckpointPolicy

from commsched.torch import GraphImportError, GraphSpec, import_graphs

ao = torch.ops.ao
aten = torch.ops.aten
HOST = "#commsched.host"


class _Traced(Exception):
    """Ends a compilation: what follows needs a device with streams."""


def traced(settings):
    """The halves of a step in which PyTorch offloads the results of `tanh`."""
    found = []

    def partition(joint, inputs, **given):
        for node in joint.graph.nodes:
            if (
                node.target is aten.tanh.default
                and node.meta.get("partitioner_tag") != "is_backward"
            ):
                node.meta["should_offload"] = True
                node.meta["recompute"] = CheckpointPolicy.MUST_SAVE
        with config.patch(settings):
            found.extend(partitioners.default_partition(joint, inputs, **given))
        raise _Traced

    def step(x, w):
        return (x.relu() @ w).tanh() @ w

    torch._dynamo.reset()
    compiled = torch.compile(
        step, backend=aot_autograd(fw_compiler=None, partition_fn=partition)
    )
    with pytest.raises(Exception, match="_Traced"):
        compiled(torch.randn(4, 8), torch.randn(8, 8, requires_grad=True))
    torch._dynamo.reset()
    return found


@pytest.mark.parametrize("sink", [True, False])
def test_halves_of_pytorch(imported, sink):
    settings = {
        "enable_activation_offloading": True,
        "activation_offload_separate_stream": True,
        "activation_offload_sink_wait": sink,
    }
    forward, backward = traced(settings)
    text = imported(
        GraphSpec("fw", forward, "forward"),
        GraphSpec("bw", backward, "backward", forward=forward),
    )
    ahead, back = text.split("func.func @bw")
    tensor, host = "tensor<4x8xf32>", f"tensor<4x8xf32, {HOST}>"
    assert (
        "%async_cpu_offload_tanh = commsched.offload %tanh "
        '{commsched.name = "async_cpu_offload_tanh"} : '
        f"{tensor} -> !commsched.future<{host}>"
    ) in ahead
    assert "%cpu_offload_tanh = commsched.wait %async_cpu_offload_tanh " in ahead
    assert (
        f'%cpu_offload_tanh: {host} {{commsched.role = "saved_activation"}}'
        in back
    )
    assert (
        "%async_gpu_reload_tanh = commsched.reload %cpu_offload_tanh "
        '{commsched.name = "async_gpu_reload_tanh"} : '
        f"{host} -> !commsched.future<{tensor}>"
    ) in back
    assert "%gpu_reload_tanh = commsched.wait %async_gpu_reload_tanh " in back


def test_what_is_not_waited_for_is_waited_for_at_the_end(imported):
    gm = build([("x", (4, 8))], lambda b, x: (b.add("o", ao.offload, (x,), x), x))
    found = lines(imported(gm))
    assert found[-1].startswith("%o_wait = commsched.wait %o ")


def test_a_host_tensor_passes_through(imported):
    """A graph may return what it reloads."""

    def body(b, x):
        taken = b.add("r", ao.reload, (x, torch.device("cpu")), b.like(x))
        return b.add("w", ao.wait_tensor, (taken,), taken), x

    text = imported(build([("x", (4, 8))], body))
    assert f"(tensor<4x8xf32>, tensor<4x8xf32, {HOST}>)" in text


def _computes(b, x):
    host = b.add("h", ao.wait_tensor, (b.add("o", ao.offload, (x,), x),), x)
    return b.add("y", aten.sin, (host,), x)


def _offloads_twice(b, x):
    host = b.add("h", ao.wait_tensor, (b.add("o", ao.offload, (x,), x),), x)
    return b.add("y", ao.offload, (host,), x)


def _sends(b, x):
    taken = b.add("r", ao.reload, (x, torch.device("cpu")), b.like(x))
    reduce = torch.ops._c10d_functional.all_reduce
    return taken, b.add("y", reduce, (x, "sum", "g"), b.like(x))


def _reloads_device(b, x):
    computed = b.add("c", aten.sin, (x,), b.like(x))
    return b.add("y", ao.reload, (computed, torch.device("cpu")), b.like(x))


def _reshapes(b, x):
    return b.add(
        "y",
        ao.reload,
        (x, torch.device("cpu"), [8, 4], [4, 1]),
        b.like(x, (8, 4)),
    )


def _transfers_number(b, x):
    return b.add("y", ao.offload, (3,), x)


@pytest.mark.parametrize("body, message", [
    (_computes, "takes tensor<4x8xf32, #commsched.host>"),
    (_offloads_twice, "takes tensor<4x8xf32, #commsched.host>"),
    (_sends, "takes tensor<4x8xf32, #commsched.host>"),
    (_reloads_device, "reloads 'c', which is in the device's memory"),
    (_reshapes, "its value is tensor<8x4xf32>"),
    (_transfers_number, "transfers 3, not a node"),
])
def test_errors_name_the_node(body, message):
    gm = build([("x", (4, 8))], body)
    with pytest.raises(GraphImportError) as error:
        import_graphs([GraphSpec("f", gm)], ImportOptions({"g": 2}))
    assert message in str(error.value)
    assert "'y'" in str(error.value)
