# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The layers of a transformer in linalg, with their gradients.

Tensors are f32. `s` is a token, `d` a feature, `h` a head, `v` a word of the
vocabulary, `e` an expert and `c` one of its places.
"""

import math

from mlir_values import Type

EPSILON = 1e-5
NEGATIVE = -math.inf


def sigmoid(x):
    return x.body.constant(1, x.element) / (
        (x.body.constant(0, x.element) - x).math("exp") + 1)


class Layers:
    """`params.full(name)` is a parameter that is gathered now."""

    def __init__(self, function, tape, params):
        self.f = function
        self.tape = tape
        self.params = params

    def linear(self, x, name):
        """As in PyTorch, a weight is [outputs, inputs]."""
        f = self.f
        weight = f.transpose("t", self.params.full(name), [1, 0])
        y = f.matmul("mm", x, weight)

        def pull(g):
            self.tape.accumulate(name, f.matmul("mm", f.transpose("t", g, [1, 0]), x))
            return [f.matmul("mm", g, self.params.full(name))]

        return self.tape.record(y, [x], pull)

    def embedding(self, tokens, name):
        f, weight = self.f, self.params.full(name)
        like = f.empty(Type((tokens.type.count, weight.type.shape[1]), "f32"))
        y = f.structured(
            "embedding", "s->sd", [tokens], like,
            lambda body, token: body.extract(
                weight, token.cast("index"), body.index(1)))

        def pull(g):
            out = f.full(0, Type(weight.type.shape, "f32"))
            self.tape.accumulate(name, f.structured(
                "embedding_dense_backward", "s,sd->vd", [tokens, g], out,
                lambda body, token, part, total: total + token.cast("index")
                .compare("eq", body.index(0)).select(part, 0.0),
                reads_out=True))
            return [None]

        return self.tape.record(y, [tokens], pull)

    def add(self, a, b):
        y = self.tape.add(a, b)
        return self.tape.record(y, [a, b], lambda g: [g, g])

    def rms_norm(self, x, name):
        f, size = self.f, x.type.shape[1]
        weight = self.params.full(name)
        mean = f.reduce("mean", "sd->s", [x], lambda _, e, total: total + e * e / size)
        scale = f.map("rsqrt", "s->s", [mean], lambda _, e: (e + EPSILON).math("rsqrt"))
        y = f.map("mul", "sd,s,d->sd", [x, scale, weight], lambda _, e, r, w: e * r * w)

        def pull(g):
            weight = self.params.full(name)
            self.tape.accumulate(name, f.reduce(
                "sum", "sd,sd,s->d", [g, x, scale],
                lambda _, p, e, r, total: total + p * e * r))
            dot = f.reduce(
                "sum", "sd,d,sd->s", [g, weight, x],
                lambda _, p, w, e, total: total + p * w * e)
            return [f.map(
                "rms_norm_backward", "sd,d,sd,s,s->sd",
                [g, weight, x, scale, dot],
                lambda _, p, w, e, r, t: p * w * r
                - e * r * r * r * t / size)]

        return self.tape.record(y, [x], pull)

    def swiglu(self, a, b):
        f = self.f
        y = f.map("silu", "sd,sd->sd", [a, b], lambda _, u, v: u * sigmoid(u) * v)

        def slope(_, p, u, v):
            s = sigmoid(u)
            return p * v * s * (u * (s.body.constant(1, "f32") - s) + 1)

        def pull(g):
            return [f.map("silu_backward", "sd,sd,sd->sd", [g, a, b], slope),
                    f.map("mul", "sd,sd->sd", [g, a],
                          lambda _, p, u: p * u * sigmoid(u))]

        return self.tape.record(y, [a, b], pull)

    # Attention.

    def split_heads(self, x, heads):
        """[s, d] to [h, s, d / heads]."""
        f, (tokens, size) = self.f, x.type.shape
        parts = f.reshape(x, [[0], [1, 2]], (tokens, heads, size // heads))
        y = f.transpose("t", parts, [1, 0, 2])
        return self.tape.record(y, [x], lambda g: [self.join_heads(g)])

    def join_heads(self, x):
        heads, tokens, size = x.type.shape
        parts = self.f.transpose("t", x, [1, 0, 2])
        y = self.f.reshape(parts, [[0], [1, 2]], (tokens, heads * size))
        return self.tape.record(y, [x], lambda g: [self.split_heads(g, heads)])

    def batch_matmul(self, a, b, flip=False):
        """The product with b, or with its transpose if `flip`."""
        f = self.f

        def turn(x):
            return f.transpose("t", x, [0, 2, 1])

        def times(x, y):
            return f.matmul("bmm", x, y)

        y = times(a, turn(b) if flip else b)
        return self.tape.record(y, [a, b], lambda g: [
            times(g, b if flip else turn(b)),
            times(turn(g), a) if flip else times(turn(a), g)])

    def causal_softmax(self, x, scale):
        """Over the last dimension; no token sees a later one."""
        f = self.f

        def visible(body, e):
            return body.index(2).compare("sle", body.index(1)).select(
                e * scale, NEGATIVE)

        scores = f.map("where", "hst->hst", [x], visible)
        y = self.normalize(scores, "hst")
        return self.tape.record(y, [x], lambda g: [
            self.softmax_gradient(g, y, "hst", scale)])

    def softmax(self, x):
        y = self.normalize(x, "sd")
        return self.tape.record(
            y, [x], lambda g: [self.softmax_gradient(g, y, "sd", 1.0)])

    def normalize(self, x, letters):
        f, rest = self.f, letters[:-1]
        most = f.reduce("amax", f"{letters}->{rest}", [x],
                        lambda _, e, m: e.max(m), init=NEGATIVE)
        powers = f.map("exp", f"{letters},{rest}->{letters}", [x, most],
                       lambda _, e, m: (e - m).math("exp"))
        total = f.reduce("sum", f"{letters}->{rest}", [powers], lambda _, e, t: e + t)
        return f.map("div", f"{letters},{rest}->{letters}", [powers, total],
                     lambda _, e, t: e / t)

    def softmax_gradient(self, g, y, letters, scale):
        f, rest = self.f, letters[:-1]
        dot = f.reduce("sum", f"{letters},{letters}->{rest}", [g, y],
                       lambda _, p, e, t: p * e + t)
        return f.map("softmax_backward", f"{letters},{letters},{rest}->"
                     f"{letters}", [g, y, dot],
                     lambda _, p, e, t: e * (p - t) * scale)

    # The loss.

    def cross_entropy(self, logits, targets):
        """The mean over the tokens. A gradient that is the loss itself stands
        for one."""
        f, (tokens, _) = self.f, logits.type.shape
        most = f.reduce("amax", "sv->s", [logits],
                        lambda _, e, m: e.max(m), init=NEGATIVE)
        total = f.reduce("sum", "sv,s->s", [logits, most],
                         lambda _, e, m, t: t + (e - m).math("exp"))
        level = f.map("logsumexp", "s,s->s", [total, most],
                      lambda _, t, m: t.math("log") + m)

        def miss(body, target, height, loss):
            hit = body.extract(logits, body.index(0), target.cast("index"))
            return loss + (height - hit) / tokens

        loss = f.reduce("nll_loss", "s,s->", [targets, level], miss, element="f32")

        def slope(body, e, height, target):
            share = (e - height).math("exp")
            is_target = target.cast("index").compare("eq", body.index(1))
            return is_target.select(share - 1, share) / tokens

        def pull(g):
            part = f.map("nll_loss_backward", "sv,s,s->sv",
                         [logits, level, targets], slope)
            if g is not loss:
                part = f.map("mul", "sv,->sv", [part, g], lambda _, e, p: e * p)
            return [part]

        return self.tape.record(loss, [logits], pull)
