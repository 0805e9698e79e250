# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A mixture of experts, one on each rank, with its gradients.

A token goes to the expert of its highest probability. Of each rank's tokens an
expert takes the first so many; the others pass it by.
"""

from layers import NEGATIVE
from mlir_values import Type


class Experts:
    def __init__(self, layers, ranks, capacity):
        self.layers = layers
        self.f = layers.f
        self.tape = layers.tape
        self.ranks = ranks
        self.capacity = capacity

    def route(self, shares):
        """1 for each token's expert and place there, by [s, e, c]."""
        f = self.f
        most = f.reduce("amax", "se->s", [shares],
                        lambda _, p, m: p.max(m), init=NEGATIVE)
        chosen = f.map("eq", "se,s->se", [shares, most], lambda _, p, m:
                       p.compare("eq", m).select(1.0, p * 0))
        # How many tokens up to this one go there.
        count = f.structured(
            "cumsum", "te->se", [chosen], f.full(0, chosen.type),
            lambda body, e, total: total + body.index(2).compare(
                "sle", body.index(0)).select(e, 0.0), reads_out=True)
        out = f.empty(Type((*chosen.type.shape, self.capacity), "f32"))

        def place(body, is_chosen, number):
            here = (number - 1).cast("i64").cast("index")
            return here.compare("eq", body.index(2)).select(is_chosen, 0.0)

        return chosen, f.structured("one_hot", "se,se->sec", [chosen, count],
                                    out, place)

    def dispatch(self, x, places):
        """[e * c, d]: what goes to each expert."""
        f = self.f
        parts = f.reduce("dispatch", "sec,sd->ecd", [places, x],
                         lambda _, p, e, total: total + p * e)
        experts, capacity, size = parts.type.shape
        y = f.reshape(parts, [[0, 1], [2]], (experts * capacity, size))

        def pull(g):
            return [f.reduce("dispatch_backward", "sec,ecd->sd",
                             [places, self.split(g)],
                             lambda _, p, e, total: total + p * e)]

        return self.tape.record(y, [x], pull)

    def split(self, x):
        """[e * c, d] to [e, c, d]."""
        rows, size = x.type.shape
        return self.f.reshape(x, [[0, 1], [2]],
                              (rows // self.capacity, self.capacity, size))

    def combine(self, x, shares, chosen, places):
        """What the experts made, times the shares of the tokens."""
        f, parts = self.f, self.split(x)
        gate = f.reduce("sum", "se,se->s", [shares, chosen],
                        lambda _, p, c, total: total + p * c)
        y = f.reduce("combine", "sec,ecd,s->sd", [places, parts, gate],
                     lambda _, p, e, k, total: total + p * e * k)

        def pull(g):
            made = f.reduce("combine_backward", "sec,sd,s->ecd",
                            [places, g, gate],
                            lambda _, p, e, k, total: total + p * e * k)
            slope = f.reduce("combine_backward", "sec,sd,ecd->s",
                             [places, g, parts],
                             lambda _, p, a, b, total: total + p * a * b)
            return [f.reshape(made, [[0, 1], [2]], x.type.shape),
                    f.map("mul", "se,s->se", [chosen, slope], lambda _, c, k: c * k)]

        return self.tape.record(y, [x, shares], pull)

    def exchange(self, x):
        """Every expert's rows to it, or back to where they come from."""

        def write(value):
            result, = self.f.wait(self.f.start(
                "all_to_all", [value], "ep", "split_dim(0) concat_dim(0)",
                [value.type]))
            return result

        return self.tape.record(write(x), [x], lambda g: [write(g)])

    def __call__(self, x, prefix):
        layers = self.layers
        shares = layers.softmax(layers.linear(x, f"{prefix}.router"))
        chosen, places = self.route(shares)
        sent = self.exchange(self.dispatch(x, places))
        made = layers.linear(
            layers.swiglu(layers.linear(sent, f"{prefix}.experts.w1"),
                          layers.linear(sent, f"{prefix}.experts.w3")),
            f"{prefix}.experts.w2")
        return self.combine(self.exchange(made), shares, chosen, places)
