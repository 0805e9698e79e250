# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Adopted models with blocks: compiled as a whole, block by block, with graph breaks
and with blocks that are computed again."""

import warnings

import pytest

torch = pytest.importorskip("torch")

from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.utils.checkpoint import checkpoint

import commsched.torch as cs
from commsched.torch.compiling import records

EAGER = {"backend": "commsched", "options": {"inner": "eager", "strict": True}}
BLOCKS = 10  # More than Dynamo compiles one function for (recompile_limit).


class Block(nn.Module):
    def __init__(self, breaks=False):
        super().__init__()
        self.linear = nn.Linear(8, 8)
        self.breaks = breaks

    def forward(self, x):
        x = torch.tanh(self.linear(x))
        if self.breaks:
            torch._dynamo.graph_break()
        return x


@pytest.fixture
def make(fake_world):
    """Makes an adopted model of blocks."""
    fake_world(2)
    torch._dynamo.reset()
    records.reset()

    def make(*blocks):
        mesh = init_device_mesh("cpu", (2,))
        for block in blocks:
            fully_shard(block, mesh=mesh)
        return cs.adopt(fully_shard(nn.Sequential(*blocks), mesh=mesh))

    return make


def run(model):
    x = torch.ones(2, 8, requires_grad=True)
    model(x).sum().backward()


def scheduled():
    return [record.kind for record in records.records() if record.plan]


def test_all_blocks_run_one_compiled_graph(make):
    model = make(*(Block() for _ in range(BLOCKS)))
    graphs, ran = [], []

    def backend(gm, _):
        graphs.append(gm)

        def run_graph(*inputs):
            ran.append(gm)
            return gm(*inputs)

        return run_graph

    for block in model:
        block.compile(backend=backend)
    run(model)
    assert len(graphs) == 1 and len(ran) == BLOCKS


def test_compiled_by_block_is_said_once(make, opt_program):
    model = make(Block(), Block(), nn.Sequential(Block()))
    with pytest.warns(cs.CommSchedWarning, match="2 of the 6 parameters") as seen:
        for block in model:
            block.compile(**EAGER)
        run(model)
    assert len([w for w in seen if "one by one" in str(w.message)]) == 1
    assert set(scheduled()) == {"forward", "backward"}


def test_graph_breaks_are_said(make, opt_program):
    step = torch.compile(make(Block(breaks=True), Block(breaks=True)), **EAGER)
    with pytest.warns(cs.CommSchedWarning, match="without graph breaks"):
        run(step)
    assert scheduled() == ["forward", "backward"]  # Of both blocks.


def test_a_whole_model_and_another_are_no_parts(make, opt_program):
    with warnings.catch_warnings():
        warnings.simplefilter("error", cs.CommSchedWarning)
        run(torch.compile(make(Block(), Block()), **EAGER))
        run(torch.compile(make(Block()), **EAGER))
    assert scheduled() == ["forward", "backward"] * 2


class Random(Block):
    """Draws numbers, and is computed again in the backward."""

    def forward(self, x):
        return checkpoint(self.draw, x, use_reentrant=False)

    def draw(self, x):
        return nn.functional.dropout(super().forward(x), 0.5)


@pytest.mark.parametrize(
    "settings",
    [
        {"backend": "aot_eager"},
        EAGER,
        {**EAGER, "options": {**EAGER["options"], "partition": "min-cut"}},
    ],
    ids=["aot", "commsched", "partitioner"],
)
def test_states_of_random_generators_are_saved_beside_meshes(
    make, opt_program, settings
):
    run(torch.compile(make(Random(), Random()), dynamic=False, **settings))
