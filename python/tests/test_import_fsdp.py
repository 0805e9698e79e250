# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The bucket copies of FSDP and of Inductor's bucketing passes."""

import pytest

torch = pytest.importorskip("torch")

import torch.distributed.fsdp  # noqa: E402,F401  registers torch.ops.fsdp
from graphs import build, fake_trace, lines  # noqa: E402

c10d = torch.ops._c10d_functional
fsdp = torch.ops.fsdp


def kinds(text):
    return [
        line.removeprefix(line.partition("commsched.")[0]).split()[0][10:]
        for line in lines(text)
    ]


def test_gather_of_a_bucket(fake_world, imported):
    """Copy-in, gather in place, copy-out: the dialect's own operations, and
    none of the buffers that they replace."""
    group = fake_world(4)

    def f(a, b):
        out = torch.empty(4 * 40, device=a.device)
        source, out = fsdp.all_gather_copy_in([a, b], out, [32, 8], 40, 0)
        full = c10d.all_gather_into_tensor_out(source, 4, group, out=out)
        full = c10d.wait_tensor(full)
        first = torch.empty(128, device=a.device)
        second = torch.empty(32, device=a.device)
        fsdp.split_with_sizes_copy(
            full.view(4, -1), [32, 8], dim=1,
            out=[first.view(4, -1), second.view(4, -1)],
        )
        return first.view(16, 8), second

    text = imported(fake_trace(f, torch.empty(32), torch.empty(8)))
    assert kinds(text) == [
        "all_gather_copy_in", "all_gather", "wait", "compute",
        "split_with_sizes_copy", "compute",
    ]
    copy_in, gather, *_ = lines(text)
    assert copy_in.endswith(
        ": tensor<32xf32>, tensor<8xf32> -> tensor<40xf32>, tensor<160xf32>"
    )
    assert "#0 on @pg_0 dim(0) into %all_gather_copy_in#1 {" in gather
    assert "return %view_3, %split_with_sizes_copy#1" in text


def test_gather_into_the_buffer_that_was_given(fake_world, imported):
    """As above, but the graph goes on with the allocation, not with what the
    copy-in returns."""
    group = fake_world(4)

    def f(a):
        out = torch.empty(32, device=a.device)
        source, _ = fsdp.all_gather_copy_in([a], out, [8], 8, 0)
        full = c10d.all_gather_into_tensor_out(source, 4, group, out=out)
        return c10d.wait_tensor(full)

    text = imported(fake_trace(f, torch.empty(8)))
    assert kinds(text) == ["all_gather_copy_in", "all_gather", "wait"]
    assert " into %all_gather_copy_in#1 {" in text


def test_copy_out_into_a_parameter_is_a_computation(fake_world, imported):
    """The buffer is not ours: others may see it."""
    group = fake_world(4)

    def uses(g, x, p):
        y = g.add("ag", c10d.all_gather_into_tensor, (x, 4, group),
                  g.like(x, (32,)))
        y = g.add("w", c10d.wait_tensor, (y,), g.like(x, (32,)))
        g.add("out", fsdp.split_with_sizes_copy, (y, [32]), None,
              {"out": [p]})
        return p

    text = imported(build([("x", (8,)), ("p", (32,))], uses))
    copy = lines(text)[-1]
    assert '"fsdp.split_with_sizes_copy"(%w, %p)' in copy
    assert "mutates = array<i64: 1>" in copy


def test_scatter_of_a_bucket(fake_world, imported):
    group = fake_world(4)

    def f(a, b):
        buffer = torch.empty(160, device=a.device)
        fsdp.chunk_cat([a, b], 0, 4, out=buffer.view(4, -1))
        shard = c10d.reduce_scatter_tensor(buffer, "avg", 4, group)
        return c10d.wait_tensor(shard)

    text = imported(fake_trace(
        f,
        torch.empty(16, 8, dtype=torch.bfloat16),
        torch.empty(7, 4, dtype=torch.bfloat16),
    ))
    assert kinds(text) == ["chunk_cat", "reduce_scatter", "wait"]
    # The second operand is padded to 8 rows, and both are widened.
    assert lines(text)[0].endswith(
        ": tensor<16x8xbf16>, tensor<7x4xbf16> -> tensor<160xf32>"
    )


def test_bucketing_with_custom_operators(fake_world, imported):
    """What Inductor's bucketing makes of two gathers."""
    from torch._inductor.fx_passes import bucketing

    group = fake_world(4)

    def f(a, b):
        x = c10d.wait_tensor(c10d.all_gather_into_tensor(a, 4, group))
        y = c10d.wait_tensor(c10d.all_gather_into_tensor(b, 4, group))
        return x.neg(), y.neg()

    graph = fake_trace(f, torch.empty(8, 4), torch.empty(16, 2))
    bucketing.bucket_all_gather(graph, lambda _: 100.0, "custom_ops")
    text = imported(graph)
    assert kinds(text).count("all_gather") == 1
    assert '"bucketing._pre_bucket_all_gather"' in text
    gather = next(l for l in lines(text) if "commsched.all_gather" in l)
    assert " into %" in gather
    assert "!commsched.future<tensor<256xf32>>" in gather
