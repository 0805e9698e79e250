# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""scripts/gpu.sh and what it is made of, on a machine without a GPU: programs
stand for the driver's and for what it builds, measurements run on the processor,
and the results of which tables and the page are made are synthetic."""

import json
import os
import re
import subprocess
import sys

import pytest
import torch

from commsched import opt
from installed import ROOT

SCRIPT = ROOT / "scripts" / "gpu.sh"
MODULES = ("beside", "compiled", "measure", "report", "results")
STEPS = ("build", "conformance", "measure", "tax", "pytorch", "report")
SMI = """#!/bin/sh
case $1 in
  -L) echo "GPU 0: Synthetic (UUID: 0)" ;;
  *) echo "Synthetic, 1.2, 3 MiB" ;;
esac
"""


@pytest.fixture
def module(monkeypatch):
    """Imports a module of scripts/gpu by its name."""
    monkeypatch.syspath_prepend(str(ROOT / "scripts" / "gpu"))
    yield __import__
    for name in MODULES:
        sys.modules.pop(name, None)


def make_program(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


@pytest.fixture
def gpu_script(tmp_path):
    """Runs the script with another nvidia-smi and a folder of its own."""
    programs = tmp_path / "programs"

    def run(*arguments, smi="#!/bin/sh\necho 'no devices were found'; exit 6\n"):
        make_program(programs / "nvidia-smi", smi)
        return subprocess.run(
            [SCRIPT, *arguments],
            capture_output=True,
            text=True,
            env={
                **os.environ,
                "PATH": f"{programs}:{os.environ['PATH']}",
                "PYTHON": sys.executable,
                "COMMSCHED_GPU_FOLDER": str(tmp_path / "gpu"),
            },
        )

    return run


def test_steps_are_listed_and_their_commands_shown(gpu_script, tmp_path):
    listed = gpu_script("--list")
    names = [line.split()[0] for line in listed.stdout.splitlines()]
    assert (listed.returncode, names) == (0, ["pack", *STEPS])
    shown = gpu_script("--dry-run", "--output", tmp_path / "results.json")
    assert shown.returncode == 0, shown.stderr
    for step in STEPS:
        assert f"\n{step}, " in "\n" + shown.stdout
    for command in (
        "cmake --build ",
        "commsched-conformance --backend=nccl",
        "-m commsched.torch.measure --backend nccl",
    ):
        assert command in shown.stdout
    named = {w for w in shown.stdout.split()
             if w.startswith(("scripts/", "examples/", "test/"))}
    assert len(named) >= 6
    for name in named:
        assert (ROOT / name).exists(), name
    assert not any((tmp_path / name).exists() for name in ("results.json", "gpu"))
    only = gpu_script("--dry-run", "tax").stdout
    assert "tax, " in only and "build, " not in only


NO_GPU = "error: no NVIDIA GPU found (nvidia-smi -L: no devices were found)"


@pytest.mark.parametrize("arguments, message", [
    (["meassure"], "unknown step 'meassure'; the steps are pack build"),
    (["--outptu"], "unknown option '--outptu'"),
    (["--standins", "tax"], "--standins is for build and conformance only"),
    (["--output"], "--output needs a file"),
    ([], NO_GPU),
    (["build", "measure"], NO_GPU),
    (["pytorch"], NO_GPU),
])
def test_bad_commands_say_what_is_wrong(gpu_script, tmp_path, arguments, message):
    output = tmp_path / "results.json"
    where = ["--output", output] if message == NO_GPU else []
    done = gpu_script(*where, *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stdout == "" and not output.exists()


def test_a_failure_leaves_the_results_of_the_other_commands(gpu_script, tmp_path):
    runtime, output = tmp_path / "gpu" / "runtime", tmp_path / "results.json"
    # Without a GPU these tests are skipped, and their program succeeds.
    make_program(
        runtime / "nccl" / "CommSchedRuntimeGpuTests",
        "#!/bin/sh\necho '[  SKIPPED ] NcclGpuTest.ComputeLastsItsTime'\n",
    )
    conformance = runtime / "bin" / "commsched-conformance"
    make_program(
        conformance,
        "#!/bin/sh\n"
        "test $WORLD_SIZE || exit 0\n"
        "echo 'Duplicate GPU detected : rank 0 and rank 1'; exit 1\n",
    )
    done = gpu_script("--output", output, "conformance", smi=SMI)
    assert done.returncode == 1
    assert "error: failed: conformance, unit tests" in done.stderr
    entries = json.loads(output.read_text())["entries"]
    found = {e["part"]: (e["status"], e.get("reason")) for e in entries}
    found.pop("scheduled program shared", None)  # Of what is built.
    assert found == {
        "unit tests": ("failed", "printed 'SKIPPED'"),
        "1 rank": ("passed", None),
        "refusals": ("passed", None),
        "several ranks shared": ("unsupported", "Duplicate GPU detected"),
    }
    machine = entries[0]["machine"]
    assert (machine["device"], machine["driver"]) == ("Synthetic", "1.2")
    make_program(conformance, "#!/bin/sh\nexit 0\n")
    again = gpu_script("--output", output, "--standins", "conformance", smi=SMI)
    assert again.returncode == 0, again.stderr
    later = json.loads(output.read_text())["entries"]
    assert later[: len(entries)] == entries
    assert [e["part"] for e in later[len(entries) :]] == [
        "1 rank", "4 ranks", "refusals"
    ]
    assert "device" not in later[-1]["machine"]


def test_every_end_of_a_command_is_an_entry(module, tmp_path):
    results, output = module("results"), tmp_path / "results.json"

    def run(command, *options):
        return results.main([
            "--output", str(output), "--step", "s", "--part", "p", *options,
            "--", "sh", "-c", command])

    data = tmp_path / "new" / "data.json"
    assert run(f"echo '[1]' > {data}", "--json", str(data)) == 0
    assert run("echo error: no memory; echo bye; exit 3") == 1
    assert run("sleep 60", "--limit", "0.2") == 1
    # A command that writes nothing does not get the data of the one before.
    assert run("true", "--json", str(data)) == 0
    entries = results.read(output)["entries"]
    assert [e["status"] for e in entries] == ["passed", "failed", "timed out", "passed"]
    assert [e.get("data") for e in entries] == [[1], None, None, None]
    assert entries[1]["reason"] == "exit status 3; error: no memory"
    assert entries[1]["output"][-1] == "bye"
    assert entries[2]["seconds"] < 30
    output.write_text('{"rows": []}')
    assert run("true") == 2
    assert output.read_text() == '{"rows": []}'


def test_the_project_of_the_build_step_is_complete(tmp_path):
    done = subprocess.run(
        ["cmake", "-S", ROOT / "scripts" / "gpu", "-B", tmp_path,
         "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"],
        capture_output=True,
        text=True,
        env={**os.environ, "VIRTUAL_ENV": sys.prefix},
    )
    missing = ("the backend for GPUs needs nvcc", "nlohmann-json is missing")
    if any(text in done.stderr for text in missing):
        return
    assert done.returncode == 0, done.stderr
    commands = (tmp_path / "compile_commands.json").read_text()
    folders = set(re.findall(r"-I(\S+)", commands))
    assert len(folders) >= 4
    assert all(os.path.isdir(folder) for folder in folders), folders


def test_ranks_of_pytorch_that_share_a_gpu_meet(tmp_path):
    ranks = ROOT / "test" / "Runtime" / "Inputs" / "nccl_ranks.py"
    done = subprocess.run(
        [sys.executable, ranks, "--ranks=2", "--", sys.executable, "-m",
         "commsched.torch.measure", "--backend=gloo", "--kinds=all_reduce",
         "--max-size=1024", "-o", tmp_path / "measured.json"],
        capture_output=True,
        text=True,
        env={**os.environ, "LOCAL_WORLD_SIZE": "1"},
    )
    assert done.returncode == 0, done.stderr
    rows = json.loads((tmp_path / "measured.json").read_text())["rows"]
    assert {row["ranks"] for row in rows} == {2}


# -- Measurements, on the processor ---------------------------------------------


def test_measurements_run(module):
    measure = module("measure")
    cpu = torch.device("cpu")
    products = measure.measure_products(cpu, True)
    found = {(p["m"], p["n"], p["k"], p["type"]) for p in products["products"]}
    # A layer of 16 rows, the gradients of its input and of its weight.
    assert {(16, 48, 32, "bf16"), (16, 32, 48, "bf16"), (48, 32, 16, "bf16")} <= found
    assert {(64, 64, 64, kind) for kind in ("f64", "f32", "f16", "bf16")} <= found
    named = {e["operator"] for e in products["operators"]}
    assert "aten.mm.default(bf16[16,32], bf16[32,48]:(1,32))" in named

    attention = measure.measure_attention(cpu, True)["attention"]
    forward, backward = sorted(attention, key=lambda row: row["operator"])
    assert backward["flops"] == 2.5 * forward["flops"] == 5 * 2 * 32**2 * 128
    copies = measure.measure_copies(cpu, True)
    assert [c["bytes"] for c in copies["copies"]] == [1 << 16, 1 << 18]
    transfers = measure.measure_transfers(cpu, True)["rows"]
    assert {r["collective"] for r in transfers} == {"offload", "reload"}
    tax = measure.measure_tax(cpu, True)["tax"]
    assert {r["beside"] for r in tax} <= {"copy", "offload", "reload"}
    for row in (*products["products"], *attention, *copies["copies"], *transfers):
        assert row["time_ns"] > 0
    for row in tax:
        ratio = row["beside_ns"] / row["alone_ns"] - 1
        assert row["tax"] == pytest.approx(ratio, abs=1e-3)


def test_the_tax_is_what_the_product_takes_longer(module, monkeypatch):
    """With times that are made up: the product takes 100 alone, 130 beside,
    and the first of the other work is too short."""
    beside = module("beside")
    starts = []

    class Lane:
        def __init__(self, device):
            self.busy = False

        def start(self, other, count):
            self.busy, self.count = True, count
            starts.append(count)

        def time(self, run, count):
            each = 130 if self.busy else 100
            return each * count if run == "product" else 1000 * count

        def outlasted(self):
            self.busy = False
            return self.count > 3

    monkeypatch.setattr(beside, "_Lane", Lane)
    found = beside.tax_of("product", "other", torch.device("cpu"), 500, 2)
    assert found == {"alone_ns": 100, "beside_ns": 130, "tax": 0.3}
    assert starts == [3, 6, 6]
    monkeypatch.setattr(Lane, "outlasted", lambda self: False)
    assert beside.tax_of("product", "other", torch.device("cpu")) is None


CODE = """
def call(args):
    buf0 = torch.ops._c10d_functional.all_gather_into_tensor.default(arg, 8, '0')
    extern_kernels.bias_addmm(arg1, arg2)
    triton_poi_fused_add_0.run(arg1)
    torch.ops.aten.index_put_(arg1)
    buf1 = torch.ops._c10d_functional.wait_tensor.default(buf0)
    buf2 = torch.ops.aten._scaled_dot_product_flash_attention.default(arg1)
"""


def test_the_order_is_that_of_a_gpus_code(module):
    assert module("compiled").events_in(CODE) == [
        "all_gather_into_tensor 0",
        "call addmm",
        "wait 0",
        "call _scaled_dot_product_flash_attention",
    ]


# -- Tables and the page, of synthetic results -----------------------------------

DEVICE = {"type": "cuda", "multiprocessors": 7, "compute_capability": 90}
MACHINE = {
    "standins": False, "device": "NVIDIA Synthetic 9", "gpus": 1,
    "driver": "1.2", "memory": "3 MiB", "nvcc": "13.0", "torch": "2.13.0",
    "python": "3.12.3", "cores": 16,
}


def entry(step, part, data=None, status="passed", **more):
    found = {
        "step": step, "part": part, "status": status, "command": "synthetic",
        "date": "2000-01-02T03:04:05+00:00", "seconds": 1.0,
        "commit": "0123456789abcdef", "machine": MACHINE, **more,
    }
    if data is not None:
        found["data"] = {"device": DEVICE, **data}
    return found


def product(m, time_ns, kind="bf16"):
    return {"m": m, "n": 1000, "k": 1000, "batch": 1, "type": kind, "time_ns": time_ns}


def collective(kind, ranks, time_ns):
    return {"collective": kind, "ranks": ranks, "nodes": 1, "bytes": 1 << 20,
            "time_ns": time_ns}


def taxed(kind, tax):
    return {"beside": kind, "bytes": 1 << 28, "ranks": 1, "m": 8, "n": 8,
            "k": 8, "type": "bf16", "alone_ns": 1000,
            "beside_ns": round(1000 * (1 + tax)), "tax": tax}


def synthetic():
    mode = {"mode": "inductor, f32", "step_ms": 2.0, "peak_bytes": 3 << 20,
            "predicted_ms": 1.5, "predicted_peak_bytes": 2 << 20,
            "collectives": 4}
    scheduled = {**mode, "mode": "inductor, CommSched, f32",
                 "unscheduled": "inductor, f32", "peak_bytes": 13 << 18}
    direct = {**collective("all_gather", 2, 600), "isolated_median_ns": 600,
              "direct_isolated_median_ns": 500}
    order = {"graph": "forward, f32, buckets off", "collectives": 4,
             "events": 12, "collectives_in_order": True, "all_in_order": True}
    return [
        entry("measure", "products", {"operators": [], "products": [
            product(1000, 9_000_000)]}),
        # The last one counts, and of equal products the slowest.
        entry("measure", "products", {
            "operators": [{"operator": "aten.mm.default(bf16[8,8])",
                           "time_ns": 5, "count": 1}],
            "products": [product(1000, 4_000_000), product(1000, 5_000_000),
                         product(2000, 7_000_000),
                         product(1000, 40_000_000, "f32")]}),
        entry("measure", "attention", {"operators": [], "attention": [
            {"operator": "aten.attention", "heads": 2, "tokens": 4, "head": 8,
             "type": "bf16", "time_ns": 1000, "flops": 8_000_000}]}),
        entry("measure", "copies", {
            "copies": [{"bytes": 1 << 30, "time_ns": 1_000_000}],
            "smallest_operator_ns": 2500}),
        entry("measure", "transfers", {
            "rows": [collective("offload", 1, 20_000), collective("reload", 1, 25_000)],
            "both_ways": [{"bytes": 1 << 20, "time_ns": 30_000}]}),
        entry("measure", "collectives shared",
              {"rows": [collective("all_gather", 2, 777_000)]}),
        entry("measure", "runtime shared", {
            "device": "NVIDIA Synthetic 9", "rows": [direct]}),
        entry("tax", "copies", {"tax": [taxed("copy", 0.25)]}),
        entry("tax", "collectives shared", {"tax": [taxed("all_reduce", 9.0)]}),
        entry("pytorch", "compiled", {
            "order": [order, {**order, "graph": "backward, f32",
                              "all_in_order": False}], "modes": [mode, scheduled],
              "memory_budget": "5%", "ranks": 8}),
        entry("pytorch", "training shared", status="failed",
              reason="exit status 1; a | b; ", note="mended"),
        entry("conformance", "1 rank",
              machine={"standins": True, "cores": 2, "python": "3.12"}),
        entry("measure", "copies", {"device": {"type": "cpu"}, "copies": [
            {"bytes": 1 << 30, "time_ns": 1}], "smallest_operator_ns": 1}),
    ]


def make_report(module, folder, entries):
    results = {"format": "commsched-gpu-results", "version": 1, "entries": entries}
    (folder / "results.json").write_text(json.dumps(results))
    page = folder / "gpu.md"
    assert module("report").main([
        str(folder / "results.json"), "--tables", str(folder / "tables"),
        "--page", str(page)]) == 0
    tables = {path.name: path for path in folder.glob("tables/*.json")}
    return page.read_text(), tables


STEP = """
!t = tensor<1000x1000xbf16>
func.func @f(%a: !t, %b: !t) -> !t {
  %c = commsched.compute "aten.mm"(%a, %b) {split = "m k, k n -> m n"} : (!t, !t) -> !t
  return %c : !t
}
func.func @g(%a: tensor<1x1xf32>) -> tensor<1x1xf32> {
  %b = commsched.compute "aten.neg"(%a) : (tensor<1x1xf32>) -> tensor<1x1xf32>
  return %b : tensor<1x1xf32>
}"""


def test_results_become_a_cost_table(module, tmp_path, opt_program):
    _, tables = make_report(module, tmp_path, synthetic())
    (name, path), = tables.items()
    assert name == "synthetic-9-1gpu.json"
    table = json.loads(path.read_text())
    assert [(p["m"], p["type"], p["time_ns"]) for p in table["products"]] == [
        (1000, "bf16", 5_000_000), (2000, "bf16", 7_000_000),
        (1000, "f32", 40_000_000)]
    # Ranks that share a GPU are no machine to schedule for.
    assert {row["collective"] for row in table["rows"]} == {"offload", "reload"}
    assert "implementations" not in table
    target = table["target"]
    assert target["peak_tflops_bf16"] == 0.5714  # 4e9 flops in 7 ms.
    assert target["peak_tflops_f32"] == 0.05
    assert target["memory_gb_s"] == 2147.0  # 1 GiB is read and written in 1 ms.
    assert target["host_gb_s"] == pytest.approx((1 << 20) / 25e3, rel=1e-3)
    assert (target["multiprocessors"], target["kernel_launch_ns"]) == (7, 2500)
    costs = opt.flag("commsched-set-costs", {"profile": path})
    before = opt.run_programs(STEP, first=[costs], reports=True).reports.before
    assert before["f"]["step_time_ns"] == 5_000_000
    assert before["g"]["step_time_ns"] == 2500


def test_gpus_that_are_not_shared_give_collectives_and_a_tax(module, tmp_path):
    two = {**MACHINE, "gpus": 2}
    entries = [
        entry("measure", "collectives",
              {"device": "NVIDIA Synthetic 9",
               "rows": [collective("all_gather", 2, 9_000)]}, machine=two),
        entry("tax", "collectives", {"tax": [
            taxed("all_gather", 0.1), taxed("all_reduce", 0.2),
            taxed("reduce_scatter", 0.6)]}, machine=two),
    ]
    _, tables = make_report(module, tmp_path, entries + synthetic())
    assert sorted(tables) == ["synthetic-9-1gpu.json", "synthetic-9-2gpu.json"]
    table = json.loads(tables["synthetic-9-2gpu.json"].read_text())
    assert table["rows"] == [collective("all_gather", 2, 9_000)]
    assert table["implementations"] == {"nccl": {"tax": 0.2}}


def test_results_become_a_page(module, tmp_path):
    page, _ = make_report(module, tmp_path, synthetic())
    assert "Nothing has been measured" not in page
    for line in (
        "### 1 x NVIDIA Synthetic 9",
        "[synthetic-9-1gpu.json](tables/synthetic-9-1gpu.json)",
        "| products of bf16, TFLOP/s, median (most) | 0.5 (0.6) |",
        "| `aten.attention`, TFLOP/s | 8.0 |",
        "Passed, the last on 2000-01-02: measure, products; ",
        "| 1 GiB within the device, GB/s | 2147.5 |",
        "| 1 MiB both ways at once, GB/s | 69.9 |",
        "| 8 x 8 x 8 beside copy of 256 MiB | 1.0, 1.2 (0.250) |",
        "1 of 2 graphs, 24 starts, waits and external calls",
        "; not in backward, f32.",
        "| inductor, f32 | 2.00 | 1.50 | 3 MiB | 2 MiB | - | 4 |",
        "| inductor, CommSched, f32 | 2.00 | 1.50 | 3.25 MiB | 2 MiB | +8.3 % "
        "| 4 |",
        r"| pytorch, training shared | failed: exit status 1; a \| b: mended |",
    ):
        assert line in page
    # Stand-ins and processors give no results.
    (tmp_path / "none").mkdir()
    page, tables = make_report(module, tmp_path / "none", synthetic()[-2:])
    assert "**Nothing has been measured on a GPU yet.**" in page
    assert tables == {}


def test_the_page_has_the_current_introduction(module):
    page = (ROOT / "docs" / "results" / "gpu.md").read_text()
    assert page.startswith(module("report").PAGE.read_text())
