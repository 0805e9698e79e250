# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whole modules compile in jaxlib after scheduling if they did before, and the
results of eight devices are the same, bit for bit."""

import pathlib
import re
import sys

import pytest
sys.path.append(str(pathlib.Path(__file__).parents[2] / "test/Conversion/Forms/Inputs"))

import jax
import jax_models  # Makes eight devices of the processor.
import numpy as np
from check_forms import read_forms
from commsched import opt
from commsched.jax import convert, private
from jax._src.lib import xla_client
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
from jaxlib import _hlo

pytestmark = pytest.mark.usefixtures("opt_program")

SCHEDULE = (
    "--convert-stablehlo-to-commsched",
    "--commsched-set-costs=assume-fusion",
    # Small programs have no memory but that of what they transfer.
    "--commsched-pipeline=memory-budget=300%",
    "--convert-commsched-to-stablehlo",
    "--mlir-print-op-generic",
)

# Running them ends the process or takes no end; random numbers are others in
# each run.
NOT_RUN = {
    "ids-mixed-unknown",
    "infeed",
    "ragged-all-to-all",
    "random-numbers",
    "reducer-converts",
    "region-branch",
    "send-recv",
}

PAIR = """channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
      replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>,
      use_global_device_ids"""

GATHER_BESIDE_PRODUCT = f"""
module attributes {{mhlo.num_partitions = 2 : i32,
                    mhlo.num_replicas = 1 : i32}} {{
  func.func @main(%a: tensor<4x3xf32>, %b: tensor<64x64xf32>)
      -> (tensor<8x3xf32>, tensor<64x64xf32>) {{
    %0 = "stablehlo.all_gather"(%a) <{{all_gather_dim = 0 : i64, {PAIR}}}>
        : (tensor<4x3xf32>) -> tensor<8x3xf32>
    %1 = "stablehlo.dot_general"(%b, %b) <{{
        dot_dimension_numbers = #stablehlo.dot<
            lhs_contracting_dimensions = [1],
            rhs_contracting_dimensions = [0]>}}>
        : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    return %0, %1 : tensor<8x3xf32>, tensor<64x64xf32>
  }}
}}
"""


def results_of(text):
    replicas, partitions = counts(text)
    executable = compile_text(text, replicas, partitions)
    return run(executable, replicas * partitions)


def assert_same_results(text):
    """Returns the scheduled module."""
    before = convert.convert_text(text.encode())
    after = opt.run(before, *SCHEDULE)
    assert results_of(before) == results_of(after)
    return after


def test_asynchronous_gathers_of_partitions():
    """XLA compiles them with its partitioner Shardy."""
    assert "async_start" in assert_same_results(GATHER_BESIDE_PRODUCT)


def test_forms_of_collectives():
    """Each form that jaxlib runs as it is written gives the same results after
    scheduling."""
    equal = 0
    for name, content in sorted(read_forms().items()):
        # Without a count of devices XLA runs one, of which groups have more.
        is_run = "mhlo.num_" in content and not name.startswith("odd-")
        if name in NOT_RUN or not is_run:
            continue
        try:
            before = convert.convert_text(content.encode())
            expected = results_of(before)
        except Exception:  # jaxlib's errors have no common public name.
            continue
        after = opt.run(before, *SCHEDULE)
        assert results_of(after) == expected, name
        equal += 1
    assert equal >= 40


# -- Compiles and runs whole modules of StableHLO on devices of the processor,
# each device with arguments of its own.


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
    return client.compile_and_load(module, xla_client.DeviceList(used), options)


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
