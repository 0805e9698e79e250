# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Everything that JAX lowers the models to goes into the dialect and comes out
again letter for letter."""

import collections
import re

import pytest
from jax_models import MODELS

from commsched import opt
from seeds import turns

IN = "--convert-stablehlo-to-commsched"
OUT = "--convert-commsched-to-stablehlo"
GENERIC = "--mlir-print-op-generic"
LOCATIONS = "--mlir-print-debuginfo"
COLLECTIVES = (
    "all_gather",
    "all_reduce",
    "reduce_scatter",
    "all_to_all",
    "collective_permute",
    "collective_broadcast",
    "ragged_all_to_all",
)
pytestmark = pytest.mark.usefixtures("opt_program")


def run(text, *flags):
    return opt.run(text, *flags, timeout=60)


def text_of(module, locations=False):
    text = module.operation.get_asm(
        print_generic_op_form=True, enable_debug_info=locations
    )
    return text.strip() + "\n"


def counted(text):
    """The collectives of a module of StableHLO in the generic form."""
    found = collections.Counter(re.findall(r'"stablehlo\.(\w+)"\(', text))
    custom_call = r'"stablehlo\.custom_call".*call_target_name = "(\w+)"'
    found.update(re.findall(custom_call, text))
    kinds = (*COLLECTIVES, "async_start", "async_done")
    return {kind: found[kind] for kind in kinds if found[kind]}


@pytest.mark.parametrize("model, platform", [
    pytest.param(model, platform, id=f"{model.name}-{platform}")
    for model in MODELS.values()
    for platform in turns(model.platforms, 1)
])
def test_letter_for_letter(model, platform):
    """Locations, too; and all collectives are converted."""
    module = model.lower(platform)

    def reparsed(text):
        """As jaxlib reads it, in the context of the module."""
        return type(module).parse(text, context=module.context)

    text = text_of(module, locations=True)
    assert counted(text) == model.collectives
    back = run(text, IN, OUT, GENERIC, LOCATIONS)
    assert back.strip() + "\n" == text
    assert text_of(reparsed(back), locations=True) == text

    text = text_of(module)
    back = run(text, IN, OUT)
    assert back == run(text)
    assert str(reparsed(back)) == str(module)

    converted = run(text, IN, GENERIC)
    assert counted(converted) == {}
    kinds = collections.Counter(re.findall(r'"commsched\.(\w+)"\(', converted))
    expected = sum(model.collectives.get(kind, 0) for kind in COLLECTIVES)
    assert kinds["wait"] == expected
    # Starts are what is left but for groups, waits and what frees memory.
    starts = set(kinds) - {"wait", "group", "free"}
    assert sum(kinds[kind] for kind in starts) == expected
