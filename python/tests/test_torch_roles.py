# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Under Dynamo parameters are inputs like others; the ways in say which are
parameters, so that sharded ones are recognized."""

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.distributed.device_mesh import init_device_mesh  # noqa: E402

from commsched import opt  # noqa: E402
from commsched import torch as cs  # noqa: E402
from commsched.torch.compiling import schedule  # noqa: E402
from commsched.torch.compiling.backend import commsched  # noqa: E402

pytestmark = pytest.mark.usefixtures("opt_program")

WIDTH, LAYERS = 64, 3
PARAMETERS = 2 * LAYERS


@pytest.fixture
def texts(monkeypatch):
    """The modules that were scheduled, by kind of graph."""
    found = {}
    original = schedule.schedule_text

    def listen(text, options):
        name = text[text.index("func.func @") + 11 :].partition("(")[0]
        found[name] = text
        return original(text, options)

    monkeypatch.setattr(schedule, "schedule_text", listen)
    yield found
    torch._dynamo.reset()


@pytest.fixture
def model(fake_world):
    fake_world(4)
    torch._dynamo.reset()
    mesh = init_device_mesh("cpu", (4,))
    layers = [nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS)]
    model = nn.Sequential(*layers)
    cs.shard_parameters(model, mesh)
    return model


def recognized(text):
    """How many collectives of each kind test-commsched-annotate-fsdp knows."""
    marked = opt.run(text, "--test-commsched-annotate-fsdp")
    return {
        kind: marked.count(f'commsched.fsdp = "{kind}"')
        for kind in ("parameter_gather", "gradient_scatter")
    }


def train(model, **options):
    options = {"inner": "eager", "strict": True, **options}
    step = torch.compile(model, backend=commsched, options=options)
    step(torch.randn(8, WIDTH, dtype=torch.bfloat16)).sum().backward()


def test_forward_and_backward(model, texts):
    train(model)
    assert recognized(texts["forward"]) == {
        "parameter_gather": PARAMETERS,
        "gradient_scatter": 0,
    }
    assert recognized(texts["backward"]) == {
        "parameter_gather": 0,
        "gradient_scatter": PARAMETERS,
    }


def test_inputs_are_no_parameters(model, texts):
    train(model)
    text = texts["forward"]
    header = text[text.index("func.func") :].splitlines()[0]
    assert header.count('"parameter"') == PARAMETERS
    assert header.count('"input"') == 1


def test_what_the_backward_takes_over(model, texts):
    """A shard that is gathered again in the backward is a parameter there."""
    train(model, reshard_after_forward=True)
    found = recognized(texts["backward"])
    # The first layer's weight is needed for the input's gradient only.
    assert found["parameter_gather"] == LAYERS - 1
    assert found["gradient_scatter"] == PARAMETERS


def test_inference_and_frozen_parameters(model, texts):
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    step = torch.compile(
        model, backend=commsched, options={"inner": "eager", "strict": True}
    )
    step(torch.randn(8, WIDTH, dtype=torch.bfloat16))
    assert recognized(texts["inference"])["parameter_gather"] == PARAMETERS
