# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CommSched's buckets of FX graphs against those of PyTorch's own passes, by
testsupport/fx, on fewer graphs than there."""

import pytest
import torch
import fx_buckets
import random_fsdp
from seeds import seeds

NUM_GRAPHS = 2

#: The rules of CommSched that explain other buckets, by family; those of the
#: others may be any.
ALLOWED = {
    "one key": set(),
    "default cap": {"starts", "left over"},
    "small cap": {"starts", "left over"},
    "over the cap": {"starts", "left over", "over the cap"},
    "several keys": {"one rank", "keys", "starts"},
}


@pytest.fixture
def parity(fake_world):
    """The module that compares; skipped with another PyTorch."""
    if reason := fx_buckets.get_skip_reason():
        pytest.skip(reason)
    fake_world(random_fsdp.WORLD)
    random_fsdp.groups.cache_clear()
    yield fx_buckets
    random_fsdp.groups.cache_clear()


@pytest.mark.parametrize("family", random_fsdp.FAMILIES, ids=lambda family: family.name)
def test_every_difference_is_explained(parity, opt_program, family):
    name = family.name
    account = parity.compare(family, seeds(NUM_GRAPHS), merge_every=2)
    assert account.unexplained == []
    used = {rule for _, rules in account.differences for rule in rules}
    assert used <= ALLOWED.get(name, {*parity.RULES, parity.CYCLE})
    if name in ALLOWED:
        assert account.roles == {}
    assert sum(account.recognized.values()) > 0


def test_default_cap_is_that_of_pytorch(parity, opt_program):
    """Gathers of 400 MiB: five fit into the default cap."""
    graph = sized_gathers(parity, [400] * 6)
    way = parity.WAYS[0]
    (ours,) = parity.our_buckets(
        [graph], parity.import_text([graph]), parity.flag_of(way, "default", None)
    )
    assert ours == graph.ordered(graph.buckets(way, "default"))
    assert list(map(len, ours)) == [5]


def sized_gathers(parity, sizes):
    """A graph that gathers shards to buffers of so many MiB."""
    family = random_fsdp.Family("sized", ("itself",), ("output",))
    maker = random_fsdp.Maker(family, 0)
    shards = [
        maker.input(f"shard{i}", size * random_fsdp.MIB // 4 // 8)
        for i, size in enumerate(sizes)
    ]
    waits = []
    for shard in shards:
        maker.gather(shard)
        start, _ = maker.pending.pop()
        waits.append(maker.call(random_fsdp.c10d.wait_tensor.default, start))
    maker.graph.output(tuple(waits))
    gm = torch.fx.GraphModule(torch.nn.Module(), maker.graph)
    return parity.Graph(family, 0, gm)
