# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CommSched's buckets of FX graphs against those of PyTorch's own passes, by
testsupport/fx, on fewer graphs than there."""

from pathlib import Path

import pytest
import torch
from seeds import seeds
FOLDER = Path(__file__).parents[2] / "testsupport" / "fx"
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
def parity(monkeypatch, fake_world):
    """The module that compares; skipped with another PyTorch."""
    monkeypatch.syspath_prepend(str(FOLDER))
    import fx_buckets
    import random_fsdp

    if reason := fx_buckets.get_skip_reason():
        pytest.skip(reason)
    fake_world(random_fsdp.WORLD)
    random_fsdp.groups.cache_clear()
    yield fx_buckets
    random_fsdp.groups.cache_clear()


def families():
    return ["one key", "default cap", "small cap", "over the cap", "several keys",
            "recognition", "dependent", "all together"]


@pytest.mark.parametrize("name", families())
def test_every_difference_is_explained(parity, opt_program, name):
    import random_fsdp

    (family,) = [f for f in random_fsdp.FAMILIES if f.name == name]
    account = parity.compare(family, seeds(NUM_GRAPHS), merge_every=2)
    assert account.unexplained == []
    used = {rule for _, rules in account.differences for rule in rules}
    assert used <= ALLOWED.get(name, {*parity.RULES, parity.CYCLE})
    if name in ALLOWED:
        assert account.roles == {}
    assert sum(account.recognized.values()) > 0


def test_all_families_are_compared(parity):
    import random_fsdp

    assert families() == [family.name for family in random_fsdp.FAMILIES]


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
    import random_fsdp

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
