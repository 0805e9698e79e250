# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The memory of a device as one limit for a step: options, errors, notes."""

import pytest
import torch
import partitioned
from compiled_steps import shard
from installed import ROOT
from partitioned import Trained, are_equal
from torch._functorch.partitioners import default_partition

from commsched.torch import (
    CommSchedWarning,
    Options,
    OptionsError,
    Partitioner,
    ScheduleError,
)
from commsched.options import limit_bytes
from commsched.torch.compiling import records
from commsched.torch.compiling.memory import beside, excess, fit_settings

_NONE_FITS = "knows no step that fits: the least is"


@pytest.mark.parametrize("given, size", [
    (7, 7),
    ("7", 7),
    ("80GiB", 80 << 30),
    ("80GB", 80 * 10**9),
    ("1TiB", 1 << 40),
    ("4.5GiB", 9 << 29),
])
def test_sizes(given, size):
    assert limit_bytes("memory_budget", given) == size


@pytest.mark.parametrize("given", ["80 GiB", "80G", "-1", "1.5", "x%", 0.5, True, [], ""])
@pytest.mark.parametrize("name", ["memory_budget", "host_memory", "reserved_bytes"])
def test_what_is_no_size_is_an_error_that_names_the_option(name, given):
    options = {"memory_budget": "80GiB", name: given}
    with pytest.raises(OptionsError, match=f"'{name}' (is|must)"):
        Options(**options)


IN_BYTES = {"memory_budget": "80GiB"}


@pytest.mark.parametrize("options, message", [
    # Only budgets are percentages.
    ({**IN_BYTES, "host_memory": "5%"}, "'host_memory' must be bytes"),
    ({**IN_BYTES, "reserved_bytes": "5%"}, "'reserved_bytes' must be bytes"),
    ({**IN_BYTES, "activation_memory_budget": 0.5},
     "'memory_budget' in bytes and 'activation_memory_budget' both"),
    ({**IN_BYTES, "partition": "default"}, "'partition' is 'default'"),
    ({**IN_BYTES, "reserved_bytes": "80GiB"}, "leaves nothing of 'memory_budget'"),
    # What belongs to a budget in bytes.
    ({"host_memory": "1GiB"}, "'host_memory' is .* in bytes"),
    ({"reserved_bytes": 1}, "'reserved_bytes' is .* in bytes"),
    ({"quantize_activations": "auto"}, "'quantize_activations' is .* in bytes"),
    # Eager execution keeps to no limit.
    ({"partition": "default", "activation_memory_budget": 0.5},
     "but 'activation_memory_budget' limits"),
    ({"partition": "default", "activation_memory_budget": 0},
     "but 'activation_memory_budget' limits"),
])
def test_contradictions(options, message):
    with pytest.raises(OptionsError, match=message):
        Options(**options)
    Options(partition="default", activation_memory_budget=1)


def test_schedules_are_told_what_users_say():
    settings = Options(
        memory_budget="80GiB", reserved_bytes="30GiB"
    ).pipeline_settings()
    assert settings["memory-budget"] == "80GiB"
    assert settings["reserved-bytes"] == "30GiB"
    assert "reserved-bytes" not in Options().pipeline_settings()
    assert Options().pipeline_settings()["memory-budget"] == "5%"


def test_what_the_pass_is_told():
    options = Options(
        memory_budget="80GiB",
        host_memory="512GiB",
        reserved_bytes="2GiB",
        collectives="recompute",
        quantize_activations="auto",
        strict=True,
    )
    assert options.partitions
    assert fit_settings(options, True) == {
        "host-memory": "512GiB",
        "collectives": "recompute",
        "quantize": "auto",
        "strict": True,
    }
    assert "host-memory" not in fit_settings(options, False)


def test_what_lives_beside_a_graph_is_reserved_of_bytes_alone():
    options = Options(memory_budget="10KiB", reserved_bytes="4KiB")
    assert beside(options, 0) is options
    assert beside(options, 100) == Options(memory_budget="10KiB", reserved_bytes=4196)
    # More than there is leaves nothing, which is no error.
    assert beside(options, 1 << 20).reserved_bytes == (10 << 10) - 1
    percentage = Options(memory_budget="5%")
    assert beside(percentage, 100) is percentage


def test_what_does_not_fit_is_said():
    options = Options(memory_budget="10GiB", reserved_bytes="4GiB")
    fits, not_fits = ({"peak_memory_bytes": n << 30} for n in (6, 7))
    assert excess(options, [fits]) is None
    assert excess(options, [fits, not_fits]) == (
        "the least is 7 GiB beside the 4 GiB of 'reserved_bytes', but "
        "'memory_budget' is 10GiB"
    )
    assert excess(Options(), [not_fits]) is None


@pytest.fixture
def train(opt_program):
    """Returns a function that trains a model within the memory of a device,
    or with PyTorch's partitioner."""

    def train(**options):
        model, inputs, dynamic = partitioned.case("deep")
        partitioner = default_partition
        if options:
            partitioner = Partitioner(Options(**options))
        return Trained(model, inputs, partitioner, dynamic)

    return train


def test_less_memory_saves_less(train):
    wanted = train()
    ample = train(memory_budget="1GiB", strict=True)
    with pytest.warns(CommSchedWarning, match=_NONE_FITS):
        least = train(memory_budget="1KiB")
    assert least.saved_bytes < ample.saved_bytes <= wanted.saved_bytes
    assert are_equal(ample.values, wanted.values)
    assert are_equal(least.values, wanted.values)


def test_activations_are_in_8_bits_only_where_that_is_needed(train):
    """Less memory than computing again takes, for a bias that is trained
    before all products."""
    torch.manual_seed(0)
    layers = ((torch.nn.Linear(1024, 1024), torch.nn.Tanh()) for _ in range(4))
    model = torch.nn.Sequential(*(layer for pair in layers for layer in pair))
    model.requires_grad_(False)[0].bias.requires_grad_(True)
    model, inputs = model.bfloat16(), [torch.randn(1024, 1024).bfloat16()]

    def trained(size):
        limits = {"memory_budget": size, "quantize_activations": "auto"}
        return Trained(model, inputs, Partitioner(Options(**limits)), False)

    wanted, found = trained("64MiB"), trained(22_100_000)

    def narrow(steps):
        types = [node.meta["val"].dtype for node in steps.saved]
        return types.count(torch.float8_e5m2)

    assert narrow(wanted) == 0 and narrow(found) > 0
    assert found.saved_bytes < wanted.saved_bytes
    (output, *gradients), (same, *others) = wanted.values[0], found.values[0]
    assert torch.equal(output, same)
    for exact, rounded in zip(gradients, others, strict=True):
        error = (rounded - exact).float().norm() / exact.float().norm()
        assert error < 0.05


def test_what_is_not_possible_is_an_error_if_strict(train):
    with pytest.raises(Exception, match="cannot be fitted") as error:
        train(memory_budget="1KiB", strict=True)
    assert ScheduleError.__name__ in repr(error.value)


class Sharded(torch.nn.Module):
    """Products whose weights, gathered, are saved if there is memory for that: the
    backward does not read the shards then."""

    def __init__(self, layers=4, width=128):
        super().__init__()
        made = (torch.nn.Linear(width, width, bias=False) for _ in range(layers))
        self.layers = torch.nn.ModuleList(made)

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x))
        return x.sum()


def measure_step(budget):
    """Returns the most bytes of tensors in a step, what lives before it included."""
    from train import peak_memory

    torch.manual_seed(0)
    model, x = shard(Sharded()), torch.randn(32, 128)
    options = {
        "inner": "eager", "memory_budget": budget, "target": "h100", "strict": True
    }
    step = torch.compile(model, backend="commsched", options=options)
    step(x).backward()
    model.zero_grad()
    own = x.nbytes + sum(p.to_local().nbytes for p in model.parameters())
    return own + peak_memory(lambda: step(x).backward(), torch.device("cpu"))


@pytest.mark.parametrize("budget", [265_000, 340_000])
def test_a_step_takes_no_more_than_the_budget(
    opt_program, fake_world, monkeypatch, budget
):
    """As the allocator counts it, with what the backward does not read."""
    monkeypatch.syspath_prepend(str(ROOT / "examples" / "pytorch"))
    fake_world(8)
    found = measure_step(budget)
    assert 0.8 * budget < found <= budget
    (backward,) = [r for r in records.records() if r.kind == "backward"]
    assert backward.after["peak_memory_bytes"] < found
