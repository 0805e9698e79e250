# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random computation on tensors, also in place of what others still use."""

from exact_values import exact, fits, letters_of
from mlir_values import Type


class Computation:
    """The part of a random program that computes. Each of these methods makes
    one more value, unless nothing fits."""

    def combine(self):
        """Two tensors of one shape, or one that is broadcast."""
        a = self.small(self.pick())
        letters = part = letters_of(a)
        if letters and self.rng.random() < 0.3:
            dim = self.rng.randrange(len(letters))
            part = letters[:dim] + letters[dim + 1:]
        shape = tuple(n for n, letter in zip(a.type.shape, letters) if letter in part)
        b = self.obtain(Type(shape, a.element))
        name = self.rng.choice(["add", "sub", "mul", "max", "min"])
        bodies = {"add": lambda _, x, y: x + y, "sub": lambda _, x, y: x - y,
                  "mul": lambda _, x, y: x * y,
                  "max": lambda _, x, y: x.max(y),
                  "min": lambda _, x, y: x.min(y)}
        most = a.most * b.most if name == "mul" else a.most + b.most
        self.keep(self.f.map(name, f"{letters},{part}->{letters}", [a, b],
                             bodies[name]), most)

    def product(self):
        """Of matrices, or of batches of them."""
        element, rng = self.element(), self.rng
        batch = (2,) if rng.random() < 0.3 else ()
        rows, inner, columns = (rng.randint(1, 4) for _ in range(3))
        a = self.obtain(Type((*batch, rows, inner), element))
        b = self.obtain(Type((*batch, inner, columns), element))
        most = a.most * b.most * inner
        out = None
        if rng.random() < 0.3:  # Onto something.
            out = self.obtain(Type((*batch, rows, columns), element))
            most += out.most
        self.keep(self.f.matmul("mm", a, b, out), most)

    def sum_up(self):
        a = self.small(self.pick())
        letters = letters_of(a)
        if not letters:
            return
        rest = "".join(letter for letter in letters
                       if self.rng.random() < 0.4 and letter != letters[0])
        count = a.type.count
        if not fits(a.element, a.most * count):
            return
        self.keep(self.f.reduce("sum", f"{letters}->{rest}", [a],
                                lambda _, x, total: total + x),
                  a.most * count)

    def turn(self):
        a = self.pick()
        order = list(range(len(a.type.shape)))
        self.rng.shuffle(order)
        if order:
            self.keep(self.f.transpose("t", a, order), a.most, a.grain)

    def cut(self):
        """A view: a slice, or another shape."""
        a, f = self.pick(), self.f
        if not a.type.shape:
            return
        if self.rng.random() < 0.5:
            offsets, sizes = [], []
            for size in a.type.shape:
                offsets.append(self.rng.randrange(size))
                sizes.append(self.rng.randint(1, size - offsets[-1]))
            self.keep(f.slice(a, offsets, sizes), a.most, a.grain)
        elif len(a.type.shape) > 1:
            self.keep(f.reshape(a, [range(len(a.type.shape))],
                                (a.type.count,)), a.most, a.grain)
        else:
            self.keep(f.reshape(a, [[0, 1]], (1, a.type.count)), a.most, a.grain)

    def join(self):
        a = self.small(self.pick())
        if not a.type.shape:
            return
        dim = self.rng.randrange(len(a.type.shape))
        b = self.obtain(a.type)
        self.keep(self.f.concat([a, b], dim), max(a.most, b.most))

    def write_part(self):
        """Into a tensor that others may still use."""
        target = self.small(self.pick())
        if not target.type.shape:
            return
        sizes = tuple(self.rng.randint(1, n) for n in target.type.shape)
        offsets = [self.rng.randint(0, n - size)
                   for n, size in zip(target.type.shape, sizes)]
        part = self.obtain(Type(sizes, target.element))
        self.keep(self.f.insert(part, target, offsets), max(part.most, target.most))

    def accumulate(self):
        """A destination that others may still use."""
        target = self.small(self.pick())
        value = self.obtain(target.type)
        letters = letters_of(target)
        if self.rng.random() < 0.5:
            self.keep(self.f.structured(
                "accumulate", f"{letters}->{letters}", [value], target,
                lambda _, x, total: total * 2 + x, reads_out=True),
                2 * target.most + value.most)
        else:  # What is there is of no interest.
            self.keep(self.f.structured(
                "double", f"{letters}->{letters}", [value], target,
                lambda _, x: x + x), 2 * value.most)

    def change_width(self, value):
        """A cast between floats, as before and after collectives."""
        if not value.is_float:
            return value
        value = self.small(value)
        widths = [e for e in ("f64", "f32", "bf16", "f16")
                  if (e == "f64", e == "f32") != (
                      value.element == "f64", value.element == "f32")]
        element = self.rng.choice(widths)
        if not fits(element, value.most):
            return value
        return exact(self.f.cast("_to_copy", value, element), value.most)

    def convert(self):
        value = self.pick()
        if value.is_float:
            self.values.append(self.change_width(value))
        else:
            self.values.append(self.resample(
                value, Type(value.type.shape, self.element())))

    def choose(self):
        """By elements of a tensor of truth values."""
        a = self.small(self.pick())
        letters = letters_of(a)
        same = f"{letters}->{letters}"
        if self.rng.random() < 0.5:
            b = self.obtain(a.type)
            self.keep(self.f.map(
                "where", f"{letters},{same}", [a, b], lambda _, x, y:
                x.compare("slt", y).select(x, y + y)), 2 * b.most + a.most)
            return
        truth = self.f.map("gt", same, [a], lambda _, x: x.compare("sgt", 1),
                           element="i1")
        group, size = self.collectives.group()
        if not truth.type.shape:
            return
        whole, = self.f.wait(self.f.start(
            "all_gather", [truth], group, "dim(0)",
            [truth.type.resized(0, truth.type.shape[0] * size)]))
        self.keep(self.f.map("_to_copy", same, [whole], lambda body, x:
                             x.select(body.constant(1, "i32"), 0),
                             element="i32"))
