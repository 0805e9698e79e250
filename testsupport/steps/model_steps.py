# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random training steps of make_step.py on random machines.

A seed decides about how the model is sharded (over ranks, with replicas, with
tensor parallelism, with experts), its sizes, from those of a test to those of a
large model, and about the device and its network, so that there are steps in which
latency rules, in which bandwidth does, and in which computation does.
"""

import io
import random
from typing import NamedTuple

import make_step

KINDS = ("fsdp", "hsdp", "tp", "experts")
PRESETS = ("a100", "h100", "h200", "gh200", "b200")


class RandomStep(NamedTuple):
    label: str
    text: str


def power(rng: random.Random, low: int, high: int) -> int:
    """A power of two, with these exponents."""
    return 1 << rng.randint(low, max(low, high))


def draw_model(rng: random.Random, kind: str) -> make_step.Model:
    width = power(rng, 6, 13)
    return make_step.Model(
        layers=rng.randint(1, 5),
        hidden=width,
        key_value=max(16, width >> rng.randint(0, 3)),
        feed_forward=width * rng.choice((2, 3, 4)),
        vocabulary=power(rng, 10, 17),
        experts=8 if kind == "experts" else 0,
    )


def draw_options(rng: random.Random, kind: str, model: make_step.Model):
    """Options of make_step.py. The ranks divide every parameter."""
    exponent = model.hidden.bit_length() - 1
    tp = power(rng, 1, 3) if kind == "tp" else 1
    dp = power(rng, 1, min(9, exponent - 3))
    options = [f"--dp={dp}", f"--tp={tp}", f"--ep={power(rng, 1, 3)}"]
    options.append(f"--replicas={power(rng, 1, 4) if kind == 'hsdp' else 1}")
    options.append(f"--ranks-per-node={power(rng, 1, 3)}")
    options += [f"--batch={power(rng, 0, 3)}", f"--seq={power(rng, 5, 13)}"]
    if rng.random() < 0.5:
        options.append("--tp-whole-rows")
    return make_step.make_parser(kind).parse_args(options)


def draw_device(rng: random.Random) -> dict:
    """Fields of the device; docs/guide/cost-model.md describes them."""
    return {
        "preset": f'"{rng.choice(PRESETS)}"',
        "nic_gb_s": f"{rng.choice((12, 25, 48, 100, 400))}.0",
        "net_latency_us": f"{rng.choice((0, 0, 5, 30, 100))}.0",
    }


def make_random_step(seed: int) -> RandomStep:
    rng = random.Random(seed)
    kind = rng.choice(KINDS)
    model = draw_model(rng, kind)
    options = draw_options(rng, kind, model)
    device = draw_device(rng)
    out = io.StringIO()
    operations = make_step.write_step(model, model.layers, options, out)
    fields = ", ".join(f'"commsched.{key}" = {value}' for key, value in device.items())
    text = (
        "module attributes {dlti.target_system_spec = #dlti.target_system_spec<"
        f'"GPU" = #dlti.target_device_spec<{fields}>>}} {{\n{out.getvalue()}}}\n'
    )
    label = (
        f"{kind}: {model.layers} layers of {model.hidden}, {options.dp} ranks"
        f" x {options.replicas} x {options.tp}, {options.batch * options.seq} tokens,"
        f" {operations} operations"
    )
    return RandomStep(label, text)
