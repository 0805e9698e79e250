# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `convert-commsched-to-stablehlo` writes for merged collectives compiles
in jaxlib and computes, bit for bit, what the single collectives compute."""

import re

import pytest

pytest.importorskip("jax")

import jax_models_more  # noqa: E402, F401
from jax_models import DEVICES, MODELS  # noqa: E402  Makes devices.
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import ml_dtypes  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import AxisType  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

from commsched import opt  # noqa: E402
from commsched.jax import private  # noqa: E402

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
    mesh = jax.make_mesh((DEVICES,), ("d",), axis_types=(AxisType.Auto,))

    def body(*arguments):
        shapes = map(shape_of, results)
        return tuple(jnp.zeros(s, DTYPES[element]) for s, element in shapes)

    mapped = jax.shard_map(
        body, mesh=mesh, in_specs=P("d"), out_specs=P("d"), check_vma=False
    )
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
          -> ({tensors(results)}) attributes {{stablehlo.outlined}} {{
        {body}
      }}
    """
    start = text.index("({\n") + 3
    head = head[:start] + GROUPS + function + head[start:]
    return head + '"sdy.manual_computation"' + region


def computed(operands, results, body, *passes, out=OUT):
    """What the devices return, and the StableHLO that they run."""
    lowered, values = lowered_as(operands, results)
    text = module_text(lowered, operands, results, body)
    pipeline = ",".join([*passes, out])
    written = opt.run(
        text,
        f"--pass-pipeline=builtin.module({pipeline})",
        "--mlir-print-op-generic",
        timeout=60,
    )
    module = private.parse_like(private.module_of(lowered), written)
    outputs = private.with_module(lowered, module).compile()(*values)
    return [np.asarray(output) for output in outputs], written


def launches(kind, operands, results, *, merged, apart):
    """Starts and waits of `kind`, one for each operand or one for all, with an
    operation between start and wait or without."""
    name, group, *attributes = kind
    every = range(len(operands))
    lines = []
    for number, members in enumerate(
        [list(every)] if merged else [[index] for index in every]
    ):
        inputs = ", ".join(f"%{index}" for index in members)
        sent = tensors(operands[index] for index in members)
        future = "!commsched.future<" + (
            tensors(results[index] for index in members) + ">"
        )
        lines += [
            f"%f{number} = commsched.{name} {inputs} on @{group} "
            f"{' '.join(attributes)} : {sent} -> {future}"
        ]
        if apart:
            lines += [
                f'%between{number} = "stablehlo.negate"(%{members[0]}) : '
                f"({tensor(operands[members[0]])}) -> "
                f"{tensor(operands[members[0]])}"
            ]
        lines += [
            f"%w{number}:{len(members)} = commsched.wait %f{number} : {future}"
        ]
    values = (
        [f"%w0#{index}" for index in every]
        if merged
        else [f"%w{index}#0" for index in every]
    )
    return "\n".join(lines) + (
        f"\nreturn {', '.join(values)} : {tensors(results)}"
    )


KINDS = {
    "gather": (
        ("all_gather", "all", "dim(0)"),
        ["2x4xf32", "3x2x5xf32", "7xf32"],
        ["16x4xf32", "24x2x5xf32", "56xf32"],
    ),
    "gather-inner": (
        ("all_gather", "pairs", "dim(1)"),
        ["2x4xbf16", "3x2x5xbf16"],
        ["2x8xbf16", "3x4x5xbf16"],
    ),
    "scatter": (
        ("reduce_scatter", "all", "reduction(sum) dim(0)"),
        ["8x4xi32", "16xi32", "24x1x3xi32"],
        ["1x4xi32", "2xi32", "3x1x3xi32"],
    ),
    "scatter-inner": (
        ("reduce_scatter", "odd", "reduction(max) dim(1)"),
        ["3x4xf32", "5x2xf32"],
        ["3x2xf32", "5x1xf32"],
    ),
    "reduce": (
        ("all_reduce", "pairs", "reduction(prod)"),
        ["3x4xf32", "5xf32"],
        ["3x4xf32", "5xf32"],
    ),
    "average": (
        ("all_reduce", "all", "reduction(avg)"),
        ["3x4xcomplex<f32>", "5xcomplex<f32>"],
        ["3x4xcomplex<f32>", "5xcomplex<f32>"],
    ),
    "exchange": (
        ("all_to_all", "odd", "split_dim(0) concat_dim(1)"),
        ["4x3xf32", "2x5x2xf32"],
        ["2x6xf32", "1x10x2xf32"],
    ),
    "single exchange": (
        ("all_to_all", "odd", "split_dim(0) concat_dim(1)"),
        ["4x3xf32"],
        ["2x6xf32"],
    ),
    "exchange-first": (
        ("all_to_all", "all", "split_dim(1) concat_dim(0)"),
        ["3x8xi32", "1x16xi32"],
        ["24x1xi32", "8x2xi32"],
    ),
    "permute": (
        ("permute", "odd", "pairs(dense<[[0, 1]]> : tensor<1x2xi64>)"),
        ["3x4xf32", "5xf32"],
        ["3x4xf32", "5xf32"],
    ),
    "different types": (
        ("all_gather", "all", "dim(0)"),
        ["2x4xf32", "3xbf16"],
        ["16x4xf32", "24xbf16"],
    ),
}


@pytest.mark.parametrize("case", KINDS)
def test_several_tensors_in_one_launch(case):
    kind, operands, results = KINDS[case]
    expected, text = computed(
        operands,
        results,
        launches(kind, operands, results, merged=False, apart=False),
    )
    assert "async" not in text
    for apart in (False, True):
        merged, text = computed(
            operands,
            results,
            launches(kind, operands, results, merged=True, apart=apart),
            out=GROUPED if apart else OUT,
        )
        alone = 2 if case == "different types" else 1
        assert text.count('"stablehlo.async_start"') == alone * apart
        assert ("_scheduling_group_id" in text) == apart
        for one, other in zip(expected, merged, strict=True):
            np.testing.assert_array_equal(one, other)


MULTI = "commsched-bucket-all-gather{mode=copy multi-dtype=true}"
COPY = "{mode=copy}"
BUCKETS = {
    "bytes": (
        MULTI,
        ("all_gather", "all", "dim(0)"),
        ["2x4xf32", "3xbf16", "5xi1", "3x2xcomplex<f32>", "4xui8", "3xi32"],
        [
            "16x4xf32",
            "24xbf16",
            "40xi1",
            "24x2xcomplex<f32>",
            "32xui8",
            "24xi32",
        ],
    ),
    "small floats": (
        MULTI,
        ("all_gather", "pairs", "dim(1)"),
        ["2x4xf8E4M3FN", "3x2xf32"],
        ["2x8xf8E4M3FN", "3x4xf32"],
    ),
    "gathers": (
        "commsched-bucket-all-gather" + COPY,
        ("all_gather", "odd", "dim(1)"),
        ["2x4xf32", "1x5xf32", "3x2x2xf32"],
        ["2x8xf32", "1x10xf32", "3x4x2xf32"],
    ),
    "scatters": (
        "commsched-bucket-reduce-scatter" + COPY,
        ("reduce_scatter", "all", "reduction(sum) dim(0)"),
        ["8x4xbf16", "16xbf16"],
        ["1x4xbf16", "2xbf16"],
    ),
    "permutes": (
        "commsched-bucket{kinds=permute mode=copy}",
        ("permute", "all", "pairs(dense<[[0, 1], [2, 7]]> : tensor<2x2xi64>)"),
        ["3x4xf32", "5xf32", "2x2x2xf32"],
        ["3x4xf32", "5xf32", "2x2x2xf32"],
    ),
    "exchanges": (
        "commsched-bucket{kinds=all-to-all}",
        ("all_to_all", "pairs", "split_dim(0) concat_dim(0)"),
        ["2x4xf32", "4xf32"],
        ["2x4xf32", "4xf32"],
    ),
    "reductions": (
        "commsched-bucket-all-reduce" + COPY,
        ("all_reduce", "all", "reduction(sum)"),
        ["3x4xf32", "5xf32", "2x2x2xf32"],
        ["3x4xf32", "5xf32", "2x2x2xf32"],
    ),
}


NAMES = {"permute": "collective_permute"}


@pytest.mark.parametrize("case", BUCKETS)
def test_buckets(case):
    bucketing, kind, operands, results = BUCKETS[case]
    body = launches(kind, operands, results, merged=False, apart=False)
    expected, text = computed(operands, results, body)
    name = f'"stablehlo.{NAMES.get(kind[0], kind[0])}"'
    assert text.count(name) == len(operands)
    merged, text = computed(operands, results, body, f"func.func({bucketing})")
    assert text.count(name) == 1
    for one, other in zip(expected, merged, strict=True):
        np.testing.assert_array_equal(one, other)


SPREAD = "func.func(commsched-raise-comms,commsched-sink-waits)"


@pytest.mark.parametrize("version", ["1.16", "1.17"])
@pytest.mark.parametrize("model", MODELS.values(), ids=lambda m: m.name)
def test_jaxlib_reads_spread_models(model, version):
    """Starts are as early, and waits as late, as they can be."""
    module = model.lower()
    text = module.operation.get_asm(print_generic_op_form=True)
    passes = ["convert-stablehlo-to-commsched", SPREAD]
    written = opt.run(
        text,
        "--pass-pipeline=builtin.module("
        f"{','.join(passes)},{OUT}{{version={version}}})",
        "--mlir-print-op-generic",
        timeout=60,
    )
    private.parse_like(module, written)
    for name in ("all_gather", "all_reduce", "reduce_scatter"):
        operation = f'"stablehlo.{name}"('
        assert written.count(operation) == text.count(operation)
    pairs = [
        text.count(f'"stablehlo.async_{end}"') for end in ("start", "done")
    ]
    written_pairs = [
        written.count(f'"stablehlo.async_{end}"') for end in ("start", "done")
    ]
    assert written_pairs[0] == written_pairs[1]
    if version == "1.16":
        assert written_pairs == [0, 0]
    else:
        assert written_pairs >= pairs


def random_like(seed, abstract):
    values = np.random.default_rng(seed).integers(0, 5, abstract.shape)
    return values.astype(abstract.dtype)


@pytest.mark.parametrize(
    "name, alone",
    [("fsdp_transformer", 17), ("mixture_of_experts", 3), ("several_axes", 5)],
)
def test_scheduled_models_compute_the_same(name, alone):
    function, *arguments = MODELS[name].build()
    if not hasattr(function, "trace"):
        function = jax.jit(function)
    lowered = function.trace(*arguments).lower()
    leaves, tree = jax.tree.flatten(arguments)
    values = tree.unflatten(random_like(*leaf) for leaf in enumerate(leaves))
    module = private.module_of(lowered)
    written = opt.run(
        module.operation.get_asm(print_generic_op_form=True),
        "--pass-pipeline=builtin.module(convert-stablehlo-to-commsched,"
        f"commsched-pipeline,{OUT})",
        "--mlir-print-op-generic",
        timeout=60,
    )
    starts = written.count('"stablehlo.async_start"')
    assert 0 < starts <= alone
    scheduled = private.with_module(
        lowered, private.parse_like(module, written)
    )
    results = scheduled.compile()(*values)
    for one, other in zip(
        jax.tree.leaves(lowered.compile()(*values)),
        jax.tree.leaves(results),
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)
