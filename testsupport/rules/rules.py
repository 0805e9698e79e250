# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Simple rules by which others merge the collectives of a step, as passes.

- By block, as torchtitan's GraphTrainer: the gathers of a transformer block are
  one bucket, its reduce-scatters another, and each block is prefetched by one.
- By unit, as FSDP2: what a module that is a unit holds itself, and not in a unit
  below it, is gathered at once. The blocks are units, or their halves, or pairs of
  blocks; the rest belongs to the root.
- By a cap in units of 2^20 bytes: gathers are packed, reductions travel side by
  side.
- PyTorch's pre-bucketing: up to what saturates the group.
- PyTorch Inductor's buckets: of all collectives, or of those of sharded parameters.
- `plan=auto`: the plan that simulation finds best.
"""

import re

CAPS = (4, 8, 16, 25, 64, 256)
KINDS = ("all-gather", "reduce-scatter", "all-reduce")


def buckets(options: str, reductions: str = "") -> str:
    """The bucketing passes, where those of reductions may have other options."""
    gather, *others = KINDS
    passes = [f"commsched-bucket-{gather}{{{options}}}"]
    passes += [
        f"commsched-bucket-{kind}{{{reductions or options}}}" for kind in others
    ]
    return f"func.func({','.join(passes)})"


def find_modules(program: str) -> list[str]:
    """The modules of a program, in the order in which they occur."""
    return list(dict.fromkeys(re.findall(r'commsched\.module = "([^"]*)"', program)))


def find_block(module: str) -> str | None:
    """The transformer block that a module is in."""
    block = re.match(r"(.*?\blayers\.\d+)(\.|$)", module)
    return block and block.group(1)


def make_plan(units: list[list[str]]) -> str:
    """The option `plan` with an entry for each unit, a list of modules."""
    return ";".join(",".join(dict.fromkeys(unit)) for unit in units if unit)


def plan_blocks(modules: list[str]) -> str:
    """Each block is an entry, and each module outside of them."""
    entries = dict.fromkeys(find_block(module) or module for module in modules)
    return make_plan([[entry] for entry in entries])


def plan_units(modules: list[str], blocks_per_unit: float) -> str:
    """The root is an entry, and each unit: so many blocks, or with 0.5 each module
    of a block."""
    root = [module for module in modules if not find_block(module)]
    inner = [module for module in modules if find_block(module)]
    if blocks_per_unit < 1:
        return make_plan([root, *([module] for module in inner)])
    blocks = list(dict.fromkeys(map(find_block, inner)))
    size = int(blocks_per_unit)
    return make_plan(
        [root, *(blocks[i : i + size] for i in range(0, len(blocks), size))]
    )


def make_rules(program: str) -> dict[str, str]:
    """By name of a rule, the passes that merge by it. `none` merges nothing."""
    modules = find_modules(program)
    inductor = "commsched-inductor-pipeline{order-collectives=false "
    plans = {
        "block": plan_blocks(modules),
        "FSDP2 by half block": plan_units(modules, 0.5),
        "FSDP2 by block": plan_units(modules, 1),
        "FSDP2 by two blocks": plan_units(modules, 2),
    }
    rules = {"none": ""}
    for name, plan in plans.items():
        rules[name] = buckets(f"mode=copy plan={plan}")
        rules[f"{name}, coalesced"] = buckets(f"mode=coalesced plan={plan}")
    for cap in CAPS:
        rules[f"{cap} MB"] = buckets(
            f"mode=copy cap-mb={cap}", f"mode=coalesced cap-mb={cap}"
        )
        rules[f"{cap} MB of parameters"] = buckets(
            f"fsdp-only mode=copy cap-mb={cap}",
            f"fsdp-only mode=coalesced cap-mb={cap}",
        )
    rules["pre-bucketing"] = buckets("fsdp-only saturation")
    for which in ("all", "only_fsdp"):
        rules[f"Inductor, {which}"] = inductor + " ".join(
            f"bucket_{kind}_fx={which}"
            for kind in ("all_gathers", "reduce_scatters", "all_reduces")
        ) + "}"
    rules["plan=auto"] = buckets("mode=auto plan=auto")
    return rules
