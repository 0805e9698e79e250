# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `convert-commsched-to-stablehlo` writes for merged collectives compiles
in jaxlib and computes, bit for bit, what the single collectives compute."""

import re

import pytest
from jax_models import DEVICES, MODELS, mesh_of, per_device
import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax.sharding import PartitionSpec as P

from commsched import opt
from commsched.jax import private

pytestmark = pytest.mark.usefixtures("opt_program")

OUT = "convert-commsched-to-stablehlo"
GROUPED = OUT + "{scheduling-groups=true}"
GROUPS = """
commsched.group @all size(8)
commsched.group @pairs size(2) stride(4)
commsched.group @odd size(2) ranks(
    dense<[[0, 3], [1, 2], [5, 4], [7, 6]]> : tensor<4x2xi64>)
"""
DTYPES = {
    "f32": np.dtype(np.float32),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f8E4M3FN": np.dtype(ml_dtypes.float8_e4m3fn),
    "i32": np.dtype(np.int32),
    "ui8": np.dtype(np.uint8),
    "i1": np.dtype(np.bool_),
    "complex<f32>": np.dtype(np.complex64),
}


def shape_of(type_text):
    """The shape and the element type of `8x4xf32`."""
    match = re.fullmatch(r"((?:\d+x)*)(.+)", type_text)
    return tuple(int(size) for size in match[1].split("x")[:-1]), match[2]


def tensor(type_text):
    return f"tensor<{type_text}>"


def tensors(types):
    return ", ".join(map(tensor, types))


#: How many devices each group has.
SIZES = {"all": 8, "pairs": 2, "odd": 2}


def result_of(kind, operand):
    """The type of what a collective delivers of a tensor."""
    name, group, *attributes = kind
    shape, element = shape_of(operand)
    shape, size = list(shape), SIZES[group]
    dims = dict(re.findall(r"(\w*dim)\((\d)\)", " ".join(attributes)))
    dims = {key: int(dim) for key, dim in dims.items()}
    for key, grows in (
        ("dim", name == "all_gather"), ("split_dim", False), ("concat_dim", True)
    ):
        if key in dims:
            length = shape[dims[key]]
            shape[dims[key]] = length * size if grows else length // size
    return "".join(f"{length}x" for length in shape) + element


def value_of(type_text, seed):
    """Values of all devices, along dimension 0. Sums of them are exact."""
    shape, element = shape_of(type_text)
    values = np.random.default_rng(seed).integers(
        0, 8, (DEVICES * shape[0], *shape[1:])
    )
    if element.startswith("complex"):
        values = values + 1j * values[::-1]
    if element == "i1":
        values = values > 3
    return values.astype(DTYPES[element])


def lowered_as(operands, results):
    """A lowered function with operands and results of these types on each
    device."""

    def body(*arguments):
        shapes = map(shape_of, results)
        return tuple(jnp.zeros(s, DTYPES[element]) for s, element in shapes)

    mapped = per_device(body, mesh_of(d=DEVICES), P("d"), P("d"))
    values = [value_of(text, seed) for seed, text in enumerate(operands)]
    return jax.jit(mapped, keep_unused=True).lower(*values), values


def module_text(lowered, operands, results, body):
    """The module of `lowered` with `body` as what a device runs."""
    module = private.module_of(lowered)
    text = module.operation.get_asm(print_generic_op_form=True)
    head, region = text.split('"sdy.manual_computation"')
    names = re.findall(r"(%arg\d+): ", re.search(r"\^bb0\((.*)\)", region)[1])
    count = len(results)
    returned = ", ".join(f"%r#{index}" for index in range(count))
    call = (
        f'%r:{count} = "func.call"({", ".join(names)}) <{{callee = @body}}> '
        f": ({tensors(operands)}) -> ({tensors(results)})\n"
        f'"sdy.return"({returned}) : ({tensors(results)}) -> ()\n'
    )
    region = re.sub(
        r'(\^bb0\(.*\):\n)(?s:.*)"sdy.return".*\n',
        lambda match: match[1] + call,
        region,
    )
    arguments = ", ".join(
        f"%{index}: {tensor(operand)}"
        for index, operand in enumerate(operands)
    )
    function = f"""
      func.func private @body({arguments})
          -> ({tensors(results)}) attributes {{commsched.per_device}} {{
        {body}
      }}
    """
    start = text.index("({\n") + 3
    head = head[:start] + GROUPS + function + head[start:]
    return head + '"sdy.manual_computation"' + region


def rewritten(lowered, text, *passes):
    """`text` after passes, and the compiled module of it in place of that of
    `lowered`."""
    written = opt.run(
        text,
        f"--pass-pipeline=builtin.module({','.join(passes)})",
        "--mlir-print-op-generic",
        timeout=60,
    )
    module = private.parse_like(private.module_of(lowered), written)
    return written, private.with_module(lowered, module).compile()


def computed(operands, results, body, *passes, out=OUT):
    """What the devices return, and the StableHLO that they run."""
    lowered, values = lowered_as(operands, results)
    text = module_text(lowered, operands, results, body)
    written, compiled = rewritten(lowered, text, *passes, out)
    return [np.asarray(output) for output in compiled(*values)], written


def assert_equal(some, others):
    for one, other in zip(jax.tree.leaves(some), jax.tree.leaves(others), strict=True):
        np.testing.assert_array_equal(np.asarray(one), np.asarray(other))


def launches(kind, operands, results, *, merged, apart):
    """Starts and waits of `kind`, one for each operand or one for all, with an
    operation between start and wait or without."""
    name, group, *attributes = kind
    every = list(range(len(operands)))
    lines, values = [], []
    for number, members in enumerate([every] if merged else [[i] for i in every]):
        inputs = ", ".join(f"%{index}" for index in members)
        sent = tensors(operands[index] for index in members)
        future = f"!commsched.future<{tensors(results[index] for index in members)}>"
        lines.append(
            f"%f{number} = commsched.{name} {inputs} on @{group} "
            f"{' '.join(attributes)} : {sent} -> {future}"
        )
        if apart:
            type_ = tensor(operands[members[0]])
            lines.append(
                f'%between{number} = "stablehlo.negate"(%{members[0]}) : '
                f"({type_}) -> {type_}"
            )
        lines.append(
            f"%w{number}:{len(members)} = commsched.wait %f{number} : {future}"
        )
        values += [f"%w{number}#{place}" for place in range(len(members))]
    lines.append(f"return {', '.join(values)} : {tensors(results)}")
    return "\n".join(lines)


KINDS = {
    "gather": (("all_gather", "all", "dim(0)"), "2x4xf32 3x2x5xf32 7xf32"),
    "gather-inner": (("all_gather", "pairs", "dim(1)"), "2x4xbf16 3x2x5xbf16"),
    "scatter": (
        ("reduce_scatter", "all", "reduction(sum) dim(0)"), "8x4xi32 16xi32 24x1x3xi32"
    ),
    "scatter-inner": (
        ("reduce_scatter", "odd", "reduction(max) dim(1)"), "3x4xf32 5x2xf32"
    ),
    "reduce": (("all_reduce", "pairs", "reduction(prod)"), "3x4xf32 5xf32"),
    "average": (
        ("all_reduce", "all", "reduction(avg)"), "3x4xcomplex<f32> 5xcomplex<f32>"
    ),
    "exchange": (
        ("all_to_all", "odd", "split_dim(0) concat_dim(1)"), "4x3xf32 2x5x2xf32"
    ),
    "single exchange": (("all_to_all", "odd", "split_dim(0) concat_dim(1)"), "4x3xf32"),
    "exchange-first": (
        ("all_to_all", "all", "split_dim(1) concat_dim(0)"), "3x8xi32 1x16xi32"
    ),
    "permute": (
        ("permute", "odd", "pairs(dense<[[0, 1]]> : tensor<1x2xi64>)"), "3x4xf32 5xf32"
    ),
    "different types": (("all_gather", "all", "dim(0)"), "2x4xf32 3xbf16"),
}


@pytest.mark.parametrize("case", KINDS)
def test_several_tensors_in_one_launch(case):
    kind, operands = KINDS[case]
    operands = operands.split()
    results = [result_of(kind, operand) for operand in operands]

    def compute(merged, apart, out):
        body = launches(kind, operands, results, merged=merged, apart=apart)
        return computed(operands, results, body, out=out)

    expected, text = compute(False, False, OUT)
    assert "async" not in text
    for apart in (False, True):
        merged, text = compute(True, apart, GROUPED if apart else OUT)
        alone = 2 if case == "different types" else 1
        assert text.count('"stablehlo.async_start"') == alone * apart
        assert ("_scheduling_group_id" in text) == apart
        assert_equal(expected, merged)


MULTI = "commsched-bucket-all-gather{mode=copy multi-dtype=true}"
COPY = "{mode=copy}"

BUCKETS = {
    "bytes": (
        MULTI, ("all_gather", "all", "dim(0)"),
        "2x4xf32 3xbf16 5xi1 3x2xcomplex<f32> 4xui8 3xi32",
    ),
    "small floats": (MULTI, ("all_gather", "pairs", "dim(1)"), "2x4xf8E4M3FN 3x2xf32"),
    "gathers": (
        "commsched-bucket-all-gather" + COPY, ("all_gather", "odd", "dim(1)"),
        "2x4xf32 1x5xf32 3x2x2xf32",
    ),
    "scatters": (
        "commsched-bucket-reduce-scatter" + COPY,
        ("reduce_scatter", "all", "reduction(sum) dim(0)"), "8x4xbf16 16xbf16",
    ),
    "permutes": (
        "commsched-bucket{kinds=permute mode=copy}",
        ("permute", "all", "pairs(dense<[[0, 1], [2, 7]]> : tensor<2x2xi64>)"),
        "3x4xf32 5xf32 2x2x2xf32",
    ),
    "exchanges": (
        "commsched-bucket{kinds=all-to-all}",
        ("all_to_all", "pairs", "split_dim(0) concat_dim(0)"), "2x4xf32 4xf32",
    ),
    "reductions": (
        "commsched-bucket-all-reduce" + COPY,
        ("all_reduce", "all", "reduction(sum)"), "3x4xf32 5xf32 2x2x2xf32",
    ),
}


NAMES = {"permute": "collective_permute"}


@pytest.mark.parametrize("case", BUCKETS)
def test_buckets(case):
    bucketing, kind, operands = BUCKETS[case]
    operands = operands.split()
    results = [result_of(kind, operand) for operand in operands]
    body = launches(kind, operands, results, merged=False, apart=False)
    expected, text = computed(operands, results, body)
    name = f'"stablehlo.{NAMES.get(kind[0], kind[0])}"'
    assert text.count(name) == len(operands)
    merged, text = computed(operands, results, body, f"func.func({bucketing})")
    assert text.count(name) == 1
    assert_equal(expected, merged)


SPREAD = "func.func(commsched-raise-comms,commsched-sink-waits)"


@pytest.mark.parametrize("model", MODELS.values(), ids=lambda m: m.name)
def test_jaxlib_reads_spread_models(model):
    """Starts are as early, and waits as late, as they can be."""
    module = model.lower()
    text = module.operation.get_asm(print_generic_op_form=True)

    def count(text, *names):
        return [text.count(f'"stablehlo.{name}"(') for name in names]

    for version in ("1.16", "1.17"):
        written = opt.run(
            text,
            "--pass-pipeline=builtin.module(convert-stablehlo-to-commsched,"
            f"{SPREAD},{OUT}{{version={version}}})",
            "--mlir-print-op-generic",
            timeout=60,
        )
        private.parse_like(module, written)
        kinds = ("all_gather", "all_reduce", "reduce_scatter")
        assert count(written, *kinds) == count(text, *kinds)
        before, after = (count(t, "async_start", "async_done") for t in (text, written))
        assert after[0] == after[1]
        assert after == [0, 0] if version == "1.16" else after >= before


def random_like(seed, abstract):
    values = np.random.default_rng(seed).integers(0, 5, abstract.shape)
    return values.astype(abstract.dtype)


@pytest.mark.parametrize(
    "name, alone",
    [("fsdp_transformer", 17), ("mixture_of_experts", 3), ("several_axes", 5)],
)
def test_scheduled_models_compute_the_same(name, alone):
    function, *arguments = MODELS[name].build()
    lowered = jax.jit(function).trace(*arguments).lower()
    leaves, tree = jax.tree.flatten(arguments)
    values = tree.unflatten(random_like(*leaf) for leaf in enumerate(leaves))
    text = private.module_of(lowered).operation.get_asm(print_generic_op_form=True)
    written, scheduled = rewritten(
        lowered, text, "convert-stablehlo-to-commsched", "commsched-pipeline", OUT
    )
    assert 0 < written.count('"stablehlo.async_start"') <= alone
    assert_equal(lowered.compile()(*values), scheduled(*values))


def lower_scan(layers):
    """The loss and the gradients of a scan over layers with sharded
    parameters: the forward pass gathers them in a loop, the backward pass
    scatters their gradients in another."""

    def loss(stacked, x):
        def layer(x, shard):
            full = jax.lax.all_gather(shard, "dp", tiled=True)
            return jnp.tanh(x @ full), None

        y, _ = jax.lax.scan(layer, x, stacked)
        return jnp.sum(y**2)

    def step(stacked, x):
        value, gradients = jax.value_and_grad(loss)(stacked, x)
        return jax.lax.psum(value, "dp"), gradients

    sharded = P(None, "dp")
    step = per_device(step, mesh_of(dp=8), (sharded, P("dp")), (P(), sharded))
    stacked = jax.random.normal(jax.random.key(0), (layers, 64, 64)) / 8
    arguments = stacked, jax.random.normal(jax.random.key(1), (32, 64))
    return jax.jit(step).lower(*arguments), arguments


@pytest.mark.parametrize(
    "layers, flags, loops",
    [(1, "", 2), (2, "", 2), (7, " max-depth=2", 2), (7, " unroll=8 max-depth=1", 0)],
)
def test_scans_compute_alike(layers, flags, loops):
    """Their iterations overlap, or they are unrolled."""
    lowered, arguments = lower_scan(layers)
    text, scheduled = rewritten(
        lowered,
        private.module_of(lowered).operation.get_asm(print_generic_op_form=True),
        "convert-stablehlo-to-commsched",
        "test-commsched-merge-step{keep-parts=true}",
        f"func.func(commsched-pipeline-loops{{memory-budget=400%{flags}}})",
        OUT + "{version=1.16}",
    )
    assert text.count("stablehlo.while") == loops
    if layers == 7 and loops:
        # One gather in front of its loop, and one in it.
        assert text.count('"stablehlo.all_gather"') == 2
    assert_equal(lowered.compile()(*arguments), scheduled(*arguments))
