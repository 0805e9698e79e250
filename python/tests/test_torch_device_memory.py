# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The memory of a device as one limit for a step: options, errors, notes."""

import pytest

torch = pytest.importorskip("torch")

import partitioned  # noqa: E402
from partitioned import Trained, are_equal  # noqa: E402
from torch._functorch.partitioners import default_partition  # noqa: E402

from commsched.torch import (  # noqa: E402
    CommSchedWarning,
    Options,
    OptionsError,
    Partitioner,
    ScheduleError,
)
from commsched.torch.compiling.memory import (  # noqa: E402
    excess,
    fit_settings,
    size_of,
)

_NONE_FITS = "knows no step that fits: the least is"


@pytest.mark.parametrize(
    "given, size",
    [
        (7, 7),
        ("7", 7),
        ("80GiB", 80 << 30),
        ("80GB", 80 * 10**9),
        ("1TiB", 1 << 40),
        ("3KiB", 3072),
    ],
)
def test_sizes(given, size):
    assert size_of("device_memory", given) == size


@pytest.mark.parametrize(
    "given", ["80 GiB", "80G", "-1", "1.5GiB", "5%", 0.5, True, [], ""]
)
@pytest.mark.parametrize(
    "name", ["device_memory", "host_memory", "reserved_bytes"]
)
def test_what_is_no_size_is_an_error_that_names_the_option(name, given):
    options = {"device_memory": "80GiB", name: given}
    with pytest.raises(OptionsError, match=f"'{name}' is"):
        Options(**options)


@pytest.mark.parametrize(
    "options, message",
    [
        (
            {"activation_memory_budget": 0.5},
            "'device_memory' and 'activation_memory_budget' both limit",
        ),
        ({"partition": "default"}, "'partition' is 'default'"),
        ({"reserved_bytes": "80GiB"}, "leaves nothing of 'device_memory'"),
    ],
)
def test_contradictions(options, message):
    with pytest.raises(OptionsError, match=message):
        Options(device_memory="80GiB", **options)


@pytest.mark.parametrize(
    "options", [{"host_memory": "1GiB"}, {"reserved_bytes": 1}]
)
def test_what_belongs_to_a_device_memory(options):
    (name,) = options
    with pytest.raises(OptionsError, match=f"'{name}' is given, but"):
        Options(**options)


@pytest.mark.parametrize("budget", [0.5, 0, "1GiB"])
def test_eager_execution_keeps_to_no_limit(budget):
    Options(partition="default", activation_memory_budget=1)
    with pytest.raises(OptionsError, match="but 'activation_memory_budget' limits"):
        Options(partition="default", activation_memory_budget=budget)


def test_a_choice_of_8_bits_needs_a_limit():
    with pytest.raises(OptionsError, match="a choice within 'device_memory'"):
        Options(quantize_activations="auto")


def test_graphs_may_take_what_is_not_reserved():
    def budget(**options):
        return Options(**options).pipeline_settings()["memory-budget"]

    assert budget() == "5%"
    given = {"device_memory": "80GiB", "reserved_bytes": "30GiB"}
    assert budget(**given) == 50 << 30
    assert budget(**given, memory_budget="7%") == "7%"


def test_what_the_pass_is_told():
    options = Options(
        device_memory="80GiB",
        host_memory="512GiB",
        reserved_bytes="2GiB",
        collectives="recompute",
        quantize_activations="auto",
        strict=True,
    )
    assert options.partitions
    schedule = options.pipeline_settings()
    assert schedule.pop("memory-budget") == 78 << 30
    assert fit_settings(options, True) == {
        **schedule,
        "device-memory": 80 << 30,
        "host-memory": 512 << 30,
        "reserved-bytes": 2 << 30,
        "collectives": "recompute",
        "quantize": "auto",
        "strict": True,
    }
    assert "host-memory" not in fit_settings(options, False)


def test_what_does_not_fit_is_said():
    options = Options(device_memory="10GiB", reserved_bytes="4GiB")
    fits, not_fits = ({"peak_memory_bytes": n << 30} for n in (6, 7))
    assert excess(options, [fits]) is None
    assert excess(options, [fits, not_fits]) == (
        "the least is 7 GiB beside the 4 GiB of 'reserved_bytes', but "
        "'device_memory' is 10GiB"
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

    yield train
    torch._dynamo.reset()


def test_less_memory_saves_less(train):
    wanted = train()
    ample = train(device_memory="1GiB", strict=True)
    with pytest.warns(CommSchedWarning, match=_NONE_FITS):
        least = train(device_memory="1KiB")
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
        limits = {"device_memory": size, "quantize_activations": "auto"}
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
        train(device_memory="1KiB", strict=True)
    assert ScheduleError.__name__ in repr(error.value)
