# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times that are given for nodes."""

import pytest

torch = pytest.importorskip("torch")

from graphs import fake_trace, lines  # noqa: E402

from commsched.torch import GraphImportError  # noqa: E402


def graph(group):
    c10d = torch.ops._c10d_functional

    def f(x, y):
        z = c10d.all_gather_into_tensor(x, 2, group)
        return torch.mm(c10d.wait_tensor(z), y)

    return fake_trace(f, torch.empty(4, 8), torch.empty(8, 4))


def test_times_by_node(fake_world, imported):
    times = {
        "all_gather_into_tensor": 7000,
        "wait_tensor": 5,
        "mm": 0,
        "other": 1,
    }
    gather, wait, mm = lines(imported(graph(fake_world(2)), runtimes=times))
    assert "commsched.runtime_ns = 7000 : i64" in gather
    assert "runtime_ns" not in wait
    assert "commsched.runtime_ns = 0 : i64" in mm


@pytest.mark.parametrize("time", [-1, 2.5, None])
def test_time_that_is_none(fake_world, imported, time):
    with pytest.raises(GraphImportError, match="runtime of 'mm' is"):
        imported(graph(fake_world(2)), runtimes={"mm": time})
