# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles and runs whole modules of StableHLO on devices of the processor,
each device with arguments of its own."""

import re

import jax
import numpy as np
from jax._src.lib import xla_client
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from jaxlib import _hlo

from commsched.jax import private


def counts(text):
    """The replicas and partitions that a module names."""

    def count(name):
        found = re.search(rf"mhlo\.{name} = (\d+) : i32", text)
        return int(found[1]) if found else 1

    return count("num_replicas"), count("num_partitions")


def compile_text(text, replicas, partitions):
    """Compiles a module. Raises what jaxlib does."""
    module = private.parse_module(text.encode(), private.make_context())
    devices = np.arange(replicas * partitions)
    options = xla_client.CompileOptions()
    options.num_replicas = replicas
    options.num_partitions = partitions
    build = options.executable_build_options
    build.num_replicas = replicas
    build.num_partitions = partitions
    build.use_spmd_partitioning = partitions > 1
    build.use_shardy_partitioner = partitions > 1
    build.device_assignment = xla_client.DeviceAssignment.create(
        devices.reshape(replicas, partitions)
    )
    used = tuple(jax.devices()[: devices.size])
    client = used[0].client
    return client.compile_and_load(
        module, xla_client.DeviceList(used), options
    )


def run(executable, count):
    """Returns the bytes of each result on each device. Sums of the arguments
    are exact."""
    mesh = Mesh(np.array(jax.devices()[:count]), ("d",))
    values = [
        _spread(shape, number, mesh)
        for number, shape in enumerate(_parameters(executable))
    ]
    results = executable.execute_sharded(values)
    return [
        [np.asarray(each).tobytes() for each in arrays]
        for arrays in results.disassemble_into_single_device_arrays()
    ]


def _parameters(executable):
    """The shapes of the arguments of one device."""
    (module,) = executable.hlo_modules()
    proto = module.as_serialized_hlo_module_proto()
    return _hlo.XlaComputation(proto).program_shape().parameter_shapes()


def _spread(shape, seed, mesh):
    """An argument, other numbers on each device."""
    sizes = tuple(shape.dimensions())
    generator = np.random.default_rng(seed)
    parts = [
        jax.device_put(
            generator.integers(0, 4, sizes).astype(shape.numpy_dtype()), device
        )
        for device in mesh.devices
    ]
    if sizes:
        sharding, sizes = P("d"), (sizes[0] * len(parts), *sizes[1:])
    else:
        sharding = P()
    return jax.make_array_from_single_device_arrays(
        sizes, NamedSharding(mesh, sharding), parts
    )
