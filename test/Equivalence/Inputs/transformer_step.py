# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes one training step of a small transformer in linalg.

Forward, backward and update of parameters that are sharded over the ranks,
and, with `--experts`, of experts that stay on theirs. A rank's arguments are
its shards, what the optimizer keeps, and sequences of tokens with the tokens to
predict (taken modulo the vocabulary); its results the mean loss of all ranks
(of several microbatches, the sum) and what the arguments become.
"""

import argparse
import sys

from experts import Experts
from layers import Layers
from linalg_text import Function
from mlir_values import Type
from sharding import SHARDINGS
from tape import Tape

HIDDEN, HEADS, TOKENS, FEED_FORWARD, VOCABULARY = 32, 4, 16, 64, 64
EXPERT_SIZE, CAPACITY = 32, 6
RATE, BETA1, BETA2, SMALL, DECAY = 0.1, 0.9, 0.95, 1e-8, 0.1


def attention_parameters(prefix):
    square = (HIDDEN, HIDDEN)
    return {f"{prefix}.attention_norm": (HIDDEN,),
            **{f"{prefix}.attention.{name}": square
               for name in ("wq", "wk", "wv", "wo")},
            f"{prefix}.ffn_norm": (HIDDEN,)}


def layer_parameters(index, has_experts, ranks):
    """The sharded ones and their shapes."""
    prefix = f"layers.{index}"
    parameters = attention_parameters(prefix)
    if has_experts:
        return {**parameters, f"{prefix}.moe.router": (ranks, HIDDEN)}
    return {**parameters,
            f"{prefix}.feed_forward.w1": (FEED_FORWARD, HIDDEN),
            f"{prefix}.feed_forward.w3": (FEED_FORWARD, HIDDEN),
            f"{prefix}.feed_forward.w2": (HIDDEN, FEED_FORWARD)}


def expert_parameters(index):
    """Those of one rank's expert."""
    prefix = f"layers.{index}.moe.experts"
    return {f"{prefix}.w1": (EXPERT_SIZE, HIDDEN),
            f"{prefix}.w3": (EXPERT_SIZE, HIDDEN),
            f"{prefix}.w2": (HIDDEN, EXPERT_SIZE)}


# Of a machine that has ways to communicate beside that of the group.
TARGET = '''module attributes {dlti.target_system_spec =
  #dlti.target_system_spec<"GPU" = #dlti.target_device_spec<
    "commsched.implementations" = {
      nccl = {tax = 0.5}, "second-communicator" = {method = "nccl", tax = 0.2},
      "nccl-4" = {method = "nccl", channels = 4 : i64},
      "nccl-8" = {method = "nccl", channels = 8 : i64},
      "copy-engine" = {latency_us = 5.0, bandwidth_gb_s = 100.0},
      symmetric = {latency_us = 2.0, bandwidth_gb_s = 50.0}}>>} {
'''


class Step:
    def __init__(self, sharding="plain", ranks=4, layers=2,
                 has_experts=False, optimizer="sgd", microbatches=1,
                 has_regions=False, is_joint=False, repeats=False,
                 has_implementations=False):
        self.f = Function("step")
        self.tape = Tape(self.f)
        self.params = SHARDINGS[sharding](self.f, self.tape, ranks)
        self.layers = Layers(self.f, self.tape, self.params)
        self.ranks = ranks
        self.optimizer = optimizer
        self.microbatches = microbatches
        self.has_regions = has_regions
        self.is_joint = is_joint
        self.repeats = repeats
        self.has_implementations = has_implementations
        self.params.stays_gathered = is_joint
        self.units = {
            "embedding": {"embedding": (VOCABULARY, HIDDEN)},
            **{f"layers.{index}": layer_parameters(index, has_experts, ranks)
               for index in range(layers)},
            "output": {"norm": (HIDDEN,), "output": (VOCABULARY, HIDDEN)}}
        self.local = {}
        if has_experts:
            self.experts = Experts(self.layers, ranks, CAPACITY)
            for index in range(layers):
                self.local.update(expert_parameters(index))
        self.declare()

    def declare(self):
        f = self.f
        for unit in self.units.values():
            for name, shape in unit.items():
                self.params.add(name, shape)
        for name, shape in self.local.items():
            value = f.argument(name, Type(shape, "f32"), role="parameter")
            self.params.gathered[name] = value
        self.updated = {**self.params.shards,
                        **{name: self.params.full(name) for name in self.local}}
        self.moments = {}
        if self.optimizer == "adamw":
            for name, value in self.updated.items():
                self.moments[name] = [
                    f.argument(f"{name}.exp_avg{suffix}", value.type, "input")
                    for suffix in ("", "_sq")]
        words = Type((TOKENS,), "i64")
        self.words = [[f.argument(f"{name}{index}", words, "input")
                       for name in ("tokens", "targets")]
                      for index in range(self.microbatches)]

    def write(self):
        loss = None
        for words in self.words:
            part = self.run(*(
                self.f.map("remainder", "s->s", [value],
                           lambda _, word: word.bit_and(VOCABULARY - 1))
                for value in words))
            with self.region("backward", "func.func(commsched-sink-waits)"):
                self.tape.backward(part, self.f.argument(
                    "gradient", part.type, "tangent")
                    if self.is_joint else part)
            loss = part if loss is None else self.f.sum(loss, part)
        mean, = self.f.wait(self.f.start(
            "all_reduce", [loss], self.params.world, "reduction(avg)",
            [loss.type]))
        results = [mean]
        for name, value in self.updated.items():
            with self.f.within(module=name):
                new = self.update(name, value)
            if self.repeats:
                self.feed([value, *self.moments.get(name, ())], len(results))
            results += new
        text = self.groups() + "\n" + self.f.finish(
            results, forward=1 if self.is_joint else None)
        return TARGET + text + "}\n" if self.has_implementations else text

    def feed(self, values, result):
        """Has the results from `result` on replace arguments in the next
        repetition."""
        names = [text.partition(":")[0] for text in self.f.arguments]
        for number, value in enumerate(values, result):
            self.f.carry(names.index(value.text), number)

    def run(self, tokens, targets):
        """The forward pass, with the loss as its result."""
        layers, params = self.layers, self.params
        for unit, names in self.units.items():
            with params.unit(unit, list(names)):
                if unit == "embedding":
                    x = layers.embedding(tokens, unit)
                elif unit == "output":
                    x = layers.linear(layers.rms_norm(x, "norm"), unit)
                    loss = layers.cross_entropy(x, targets)
                else:
                    x = self.block(x, unit)
        return loss

    def region(self, name, pipeline):
        """Has what is written meanwhile compiled by itself, if at all."""
        mark = {"pipeline": pipeline, "region": name}
        return self.f.within(**{"compile_with": mark} if self.has_regions else {})

    def groups(self):
        experts = f"commsched.group @ep size({self.ranks})\n"
        return self.params.groups() + (experts if self.local else "")

    def block(self, x, prefix):
        layers = self.layers
        normed = layers.rms_norm(x, f"{prefix}.attention_norm")
        query, key, value = (
            layers.split_heads(
                layers.linear(normed, f"{prefix}.attention.{name}"), HEADS)
            for name in ("wq", "wk", "wv"))
        with self.region(f"{prefix}.attention", "canonicalize,cse"):
            weights = layers.causal_softmax(
                layers.batch_matmul(query, key, flip=True),
                (HIDDEN // HEADS) ** -0.5)
            heads = layers.batch_matmul(weights, value)
        x = layers.add(x, layers.linear(layers.join_heads(heads),
                                        f"{prefix}.attention.wo"))
        normed = layers.rms_norm(x, f"{prefix}.ffn_norm")
        if self.local:
            return layers.add(x, self.experts(normed, f"{prefix}.moe"))
        path = f"{prefix}.feed_forward"
        return layers.add(x, layers.linear(
            layers.swiglu(layers.linear(normed, f"{path}.w1"),
                          layers.linear(normed, f"{path}.w3")), f"{path}.w2"))

    def update(self, name, value):
        """The new parameter, and what the optimizer keeps of it."""
        f = self.f
        if name in self.local:  # The sum over the tokens of all ranks.
            gradient = self.tape.gradients[name]
            share = 1 / self.ranks / self.microbatches
        else:
            gradient = self.params.reduced[name]
            share = 1 / self.microbatches
        if self.optimizer == "none":
            return [gradient]
        letters = "ab"[:len(value.type.shape)]
        two = f"{letters},{letters}->{letters}"
        if self.optimizer == "sgd":
            return [f.map("sgd", two, [value, gradient],
                          lambda _, p, g: p - g * (RATE * share))]
        first, second = self.moments[name]
        first = f.map("lerp", two, [first, gradient], lambda _, m, g:
                      m * BETA1 + g * (share * (1 - BETA1)))
        second = f.map("addcmul", two, [second, gradient], lambda _, v, g:
                       v * BETA2 + g * g * (share * share * (1 - BETA2)))
        new = f.map(
            "adamw", f"{letters},{two}", [value, first, second],
            lambda _, p, m, v: p * (1 - RATE * DECAY)
            - m * RATE / (v.math("absf").math("sqrt") + SMALL))
        return [new, first, second]


def parse_step(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sharding", choices=SHARDINGS, default="plain")
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--experts", action="store_true")
    parser.add_argument("--optimizer", default="sgd",
                        choices=["none", "sgd", "adamw"],
                        help="none: the gradients are the results")
    parser.add_argument("--microbatches", type=int, default=1)
    parser.add_argument("--regions", action="store_true",
                        help="mark attention and the backward as regions")
    parser.add_argument("--joint", action="store_true",
                        help="for partitioning: parameters stay gathered, and "
                        "the gradient of the loss is an argument")
    parser.add_argument("--repeats", action="store_true",
                        help="what the optimizer returns feeds the arguments "
                        "of the next repetition")
    parser.add_argument("--implementations", action="store_true",
                        help="the target lists several implementations")
    options = parser.parse_args(arguments)
    return Step(options.sharding, options.ranks, options.layers,
                options.experts, options.optimizer, options.microbatches,
                options.regions, options.joint, options.repeats,
                options.implementations)


def main():
    sys.stdout.write(parse_step().write())


if __name__ == "__main__":
    main()
