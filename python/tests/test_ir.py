# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The text builder and the runner, without PyTorch."""

import subprocess
import sys

import pytest

from commsched import ir, opt


def example():
    module = ir.Module()
    module.add_group(ir.Group("dp", 8))
    module.add_group(ir.Group("odd", 2, ranks=((0, 3), (1, 2))))
    module.add_group(ir.Group("gloo", 2, backend="gloo"))
    function = module.add_function("main")
    shard = ir.TensorType((512, 4), "bf16")
    full = ir.TensorType((4096, 4), "bf16")
    x = function.argument("x", shard, {"commsched.role": "parameter"})
    future = function.start(
        "all_gather", [x], "dp", [full], hint="f", clauses="dim(0)",
        attrs={"commsched.runtime_ns": 100, "commsched.name": "gather"},
    )
    (y,) = function.wait(future, hints=["y"])
    z = function.compute(
        "aten.split", [y], [shard, full], hint="y",
        attrs={"flops": 1e22, "random": True, "alias": None, "mutates": []},
    )
    function.return_([z[1]])
    return module


def test_text():
    assert str(example()) == (
        "commsched.group @dp size(8)\n"
        "commsched.group @odd size(2) "
        "ranks(dense<[[0, 3], [1, 2]]> : tensor<2x2xi64>)\n"
        'commsched.group @gloo size(2) {commsched.backend = "gloo"}\n'
        "\n"
        "func.func @main(%x: tensor<512x4xbf16> "
        '{commsched.role = "parameter"}) -> tensor<4096x4xbf16> {\n'
        "  %f = commsched.all_gather %x on @dp dim(0) "
        '{commsched.name = "gather", commsched.runtime_ns = 100 : i64} : '
        "tensor<512x4xbf16> -> !commsched.future<tensor<4096x4xbf16>>\n"
        "  %y = commsched.wait %f : !commsched.future<tensor<4096x4xbf16>>\n"
        '  %y_1:2 = commsched.compute "aten.split"(%y) '
        "{flops = 1.0e+22 : f64, mutates = array<i64>, random} : "
        "(tensor<4096x4xbf16>) -> (tensor<512x4xbf16>, tensor<4096x4xbf16>)\n"
        "  return %y_1#1 : tensor<4096x4xbf16>\n"
        "}\n"
    )


def test_attributes_of_a_module(opt_program):
    module = example()
    body = str(module)
    module.attributes["commsched.separate_copies"] = True
    attributed = "module attributes {commsched.separate_copies} {\n"
    assert str(module) == f"{attributed}{body}}}\n"
    assert opt.run(module).startswith(attributed)


def test_text_is_accepted(opt_program):
    assert opt.run(example()).count("commsched.") >= 6


@pytest.mark.parametrize("value", [0.1, 1e-7, 5.4e8, 1e22, 2.0**60, 1e300])
def test_numbers_are_read_back_exactly(opt_program, value):
    module = ir.Module()
    function = module.add_function("f")
    function.compute("x", [], [], hint="x", attrs={"flops": value})
    function.return_([])
    text = opt.run(module)
    printed = text[text.index("flops = ") :].split()[2]
    assert float(printed) == pytest.approx(value, rel=1e-6)


def test_strings_are_escaped(opt_program):
    module = ir.Module()
    function = module.add_function('a "b"')
    odd = 'quote " backslash \\ newline \n accent \u00e9'
    function.compute(odd, [], [], hint="x", attrs={"commsched.name": odd})
    function.return_([])
    once = opt.run(module)
    assert once.count('quote \\22 backslash \\\\ newline \\0A accent') == 2
    assert opt.run(once) == once


def test_infinite_number_is_refused():
    with pytest.raises(ValueError, match="not a finite number"):
        ir.attribute(float("inf"))


def test_names_are_unique():
    function = ir.Function("f")
    type_ = ir.TensorType((), "f32")
    made = [function.argument(n, type_).ref for n in ("a", "a", "a_1", "1 b")]
    assert made == ["a", "a_1", "a_1_1", "_1_b"]


def test_error_of_the_program_is_raised(opt_program):
    with pytest.raises(opt.OptError, match="unknown") as caught:
        opt.run("unknown.operation")
    assert caught.value.returncode == 1


def test_no_program(monkeypatch):
    monkeypatch.setenv("COMMSCHED_OPT", "/no/such/program")
    assert opt.find() is None
    with pytest.raises(FileNotFoundError, match="/no/such/program"):
        opt.run("")


def test_missing_torch_says_what_to_install():
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "import commsched, commsched.ir, commsched.opt\n"
        "import commsched.torch"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "pip install commsched[torch]" in done.stderr
