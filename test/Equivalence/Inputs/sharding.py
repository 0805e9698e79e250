# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fully sharded parameters: how they are gathered and gradients reduced.

A parameter is cut along dimension 0. A unit of parameters is gathered before
its forward and again before its backward, and its gradients are averaged and
scattered after that. Every wait follows on its start, as in a traced program.
"""

from contextlib import contextmanager

from mlir_values import Type


class Sharding:
    """Each parameter in a collective of its own, in f32."""

    def __init__(self, function, tape, ranks):
        self.f = function
        self.tape = tape
        self.ranks = ranks
        self.group = "dp"
        self.size = ranks
        self.stays_gathered = False  # From the forward to the backward.
        self.shards = {}
        self.types = {}  # Of whole parameters.
        self.gathered = {}
        self.reduced = {}

    def groups(self):
        return f"commsched.group @dp size({self.ranks})\n"

    @property
    def world(self):
        """The group of all ranks."""
        return "dp"

    def add(self, name, shape):
        self.types[name] = Type(shape, "f32")
        self.shards[name] = self.f.argument(
            name, Type((shape[0] // self.size, *shape[1:]), "f32"),
            role="parameter")

    def full(self, name):
        return self.gathered[name]

    @contextmanager
    def unit(self, module, names):
        with self.f.within(module=module, partition="forward"):
            self.gather(names)
            self.tape.mark(lambda: self.finish(module, names))
            yield
            if not self.stays_gathered:
                self.release(names)
                self.tape.mark(lambda: self.resume(module, names))

    def resume(self, module, names):
        with self.f.within(module=module, partition="backward"):
            self.gather(names)

    def finish(self, module, names):
        with self.f.within(module=module, partition="backward"):
            self.release(names)
            self.reduce(names)

    def release(self, names):
        for name in names:
            del self.gathered[name]

    # What the kinds of sharding differ in.

    def gather(self, names):
        for name in names:
            with self.f.within(module=name):
                shard = self.prepare(self.shards[name])
                type = self.types[name].cast(shard.type.element)
                whole, = self.f.wait(self.f.start(
                    "all_gather", [shard], self.group, "dim(0)", [type]))
                self.gathered[name] = self.restore(whole)

    def reduce(self, names):
        for name in reversed(names):
            with self.f.within(module=name):
                gradient = self.restore(self.prepare(self.tape.gradients.pop(name)))
                self.accumulate(name, self.replicate(self.scatter(
                    gradient, self.shards[name].type)))

    def accumulate(self, name, shard):
        """Of several microbatches, the sum."""
        known = self.reduced.get(name)
        self.reduced[name] = shard if known is None else self.f.sum(known, shard)

    def scatter(self, gradient, type):
        result, = self.f.wait(self.f.start(
            "reduce_scatter", [gradient], self.group, "reduction(avg) dim(0)",
            [type]))
        return result

    def prepare(self, value):
        """What travels."""
        return value

    def restore(self, value):
        """What is computed with."""
        return value

    def replicate(self, shard):
        return shard


class MixedSharding(Sharding):
    """Parameters and gradients in bf16, which are summed in f32."""

    def prepare(self, value):
        return self.f.cast("_to_copy", value, "bf16")

    def restore(self, value):
        return self.f.cast("_to_copy", value, "f32")


class HybridSharding(Sharding):
    """Sharded over half of the ranks, with two replicas of each shard."""

    def __init__(self, function, tape, ranks):
        super().__init__(function, tape, ranks)
        self.group = "shard"
        self.size = ranks // 2

    def groups(self):
        return (f"commsched.group @world size({self.ranks})\n"
                f"commsched.group @shard size({self.size})\n"
                f"commsched.group @replica size(2) stride({self.size})\n")

    @property
    def world(self):
        return "world"

    def replicate(self, shard):
        result, = self.f.wait(self.f.start(
            "all_reduce", [shard], "replica", "reduction(avg)", [shard.type]))
        return result


class PackedSharding(MixedSharding):
    """As FSDP2 writes it: a unit travels in one buffer, parameters in bf16
    and gradients in f32."""

    def gather(self, names):
        self.gathered.update(zip(names, map(self.restore, self.gather_packed(names))))

    def gather_packed(self, names):
        f = self.f
        part, buffer = f.copy_in([self.shards[name] for name in names],
                                 self.group, self.size, "bf16")
        whole, = f.wait(f.start("all_gather", [part], self.group, "dim(0)",
                                [buffer.type]))
        return f.copy_out(whole, self.group, [
            self.types[name].cast("bf16") for name in names])

    def reduce(self, names):
        f = self.f
        packed = f.chunk_cat(
            [self.prepare(self.tape.gradients.pop(name)) for name in names],
            self.group, self.size, "f32")
        shards = self.scatter(
            packed, packed.type.resized(0, packed.type.count // self.size))
        place = 0
        for name in names:
            type = self.shards[name].type
            part = f.slice(shards, [place], [type.count])
            if len(type.shape) > 1:
                part = f.reshape(part, [range(len(type.shape))], type.shape)
            self.accumulate(name, part)
            place += type.count


class StoredSharding(PackedSharding):
    """As it is traced: through the storage of unsharded parameters, which is
    grown before and freed after use."""

    def __init__(self, function, tape, ranks):
        super().__init__(function, tape, ranks)
        self.storages = {}

    def storage(self, name):
        """The memref of a parameter, and its type."""
        if name not in self.storages:
            type = str(self.types[name].cast("bf16")).replace("tensor", "memref", 1)
            text = f"%{name}.unsharded"
            self.storages[name] = text, type
            self.f.arguments.append(f'{text}: {type} {{commsched.role = '
                                    '"unsharded_param"}')
        return self.storages[name]

    def resize(self, name, bytes):
        text, type = self.storage(name)
        self.f.lines.append(f"commsched.resize_storage {text} bytes({bytes}) "
                            f": {type}")

    def gather(self, names):
        for name in names:
            self.resize(name, 2 * self.types[name].count)
        for name, value in zip(names, self.gather_packed(names)):
            text, type = self.storage(name)
            self.f.lines.append(f"commsched.fsdp_copy {value.text} into "
                                f"{text} : {value.type}, {type}")
            self.gathered[name] = self.restore(self.f.add(
                f"bufferization.to_tensor {text} : {type} to {value.type}",
                value.type))

    def release(self, names):
        super().release(names)
        for name in names:
            self.resize(name, 0)


SHARDINGS = {"plain": Sharding, "mixed": MixedSharding,
             "hybrid": HybridSharding, "packed": PackedSharding,
             "stored": StoredSharding}
