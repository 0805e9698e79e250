# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the corpora of the fuzz targets: OUTPUT/{opt,json,runtime}.

They are made of the project's tests, tables and examples, so that nothing is
kept twice, and of the inputs in fuzz/regressions, which once made a target
fail. An input for commsched-fuzz-opt is a part of a test's module with the
flags of one of its runs; and with those of every pass and option in
test/Equivalence/Inputs/pass_runs.py. Where flags read the file a.json, its content
follows the module.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
#: Longer inputs make each run slow.
MOST_BYTES = 6000
#: How many of the parts of a test, and of the flags of its runs, are taken.
MOST_PARTS, MOST_RUNS = 6, 3
FLAG = re.compile(
    r"--(?:commsched|convert|canonicalize|cse|symbol-dce|inline)"
    r"(?:[^\s\"']|\"[^\"]*\"|'[^']*')*")
RUNTIME = """\
{
"version": 1,
"groups": [
{"name": "dp", "size": 4, "stride": 2},
{"name": "odd", "size": 2, "ranks": [[0, 3], [1, 2]]},
{"name": "dp", "size": 4, "stride": 2,
"implementation": {"name": "nccl-4", "method": "nccl", "channels": 4}},
{"name": "dp", "size": 4, "stride": 2,
"implementation": {"name": "ce", "method": "copy-engine"}}],
"sites": [
{"name": "ag", "location": "step.mlir:7:8", "kind": "all_gather", "group": 0,
"runtime_ns": 52000,
"tensors": [{"type": "bf16", "inputs": 512, "outputs": 2048},
{"type": "bytes<3>", "inputs": 0, "outputs": 0}]},
{"name": "s", "kind": "send", "group": 1, "peer": 1, "tag": 7,
"tensors": [{"type": "i32", "inputs": 5}]},
{"name": "x", "kind": "all_to_all", "group": 1,
"tensors": [{"type": "i8", "inputs": 4, "outputs": 5}],
"output_splits": [[2, 3]]},
{"name": "v", "kind": "all_to_all", "group": 1, "input_splits": "values",
"output_splits": "values", "tensors": [{"type": "f32", "row": 16}]},
{"name": "p", "kind": "permute", "group": 0, "pairs": [[0, 3], [3, 0]],
"tensors": [{"type": "f32", "inputs": 1, "outputs": 1}]},
{"name": "r", "kind": "all_reduce", "group": 0, "reduction": "avg",
"tensors": [{"type": "f32", "inputs": 1, "outputs": 1}]},
{"name": "o", "kind": "offload",
"tensors": [{"type": "f32", "inputs": 8, "outputs": 8}]},
{"name": "c", "kind": "all_gather", "group": 3,
"tensors": [{"type": "f32", "inputs": 2, "outputs": 8}]},
{"name": "b", "kind": "barrier", "group": 0}],
"operators": [
{"name": "aten.mm", "location": "step.mlir:9:8",
"inputs": [{"type": "bf16", "elements": 2048}],
"outputs": [{"type": "bf16", "elements": 512}]}],
"host_code": "linalg.matmul at step.mlir:11:8"
}
"""

#: A profile with every kind of row.
PROFILE = {
    "name": "all", "source": "none", "device": "none",
    "target": {"memory_gb_s": 12.5, "kernel_launch_ns": 4000},
    "products": [{"m": 8, "n": 4, "k": 2, "batch": 1, "type": "bf16",
                  "time_ns": 171000},
                 {"m": 16, "n": 4, "k": 2, "type": "bf16", "time_ns": 271000}],
    "operators": [{"operator": "aten.neg.default(f32[64,8])", "time_ns": 8100}],
    "operations": [
        {"operator": "aten.mm", "name": "mm_3", "function": "step", "time_ns": 8100},
        {"operator": "aten.mm", "types": "(tensor<8x4xf32>) -> tensor<8xf32>",
         "time_ns": 8000}],
    "slack_percent": 12,
    "implementations": {
        "nccl": {"tax": 0.19},
        "few": {"method": "nccl", "channels": 4, "stream": "nccl"},
        "copy-engine": {"latency_us": 30, "bandwidth_gb_s": 300.5,
                        "collectives": ["all_gather"], "min_bytes": 1,
                        "max_bytes": 1048576, "max_nodes": 2}},
    "rows": [{"collective": "all_reduce", "ranks": 8, "nodes": 1,
              "bytes": 65536, "time_ns": 39700},
             {"collective": "all_gather", "ranks": 8, "nodes": 1,
              "bytes": 65536, "time_ns": 29700,
              "implementation": "copy-engine"}],
}


def read_flags(text):
    """The flags of commsched-opt in each of the RUN lines of a test."""
    lines = re.sub(r"\\\n\s*//\s*RUN:", " ", text)
    for line in re.findall(r"RUN:(.*)", lines):
        command = line.split("|")[0]
        if "commsched-opt" not in command:
            continue
        flags = [flag.replace('"', "").replace("'", "").replace("%%", "%")
                 for flag in FLAG.findall(command)]
        if flags:
            yield " ".join(flags)


def read_parts(text):
    """The modules of a test, without comments."""
    for part in re.split(r"^// -----.*$", text, flags=re.MULTILINE):
        module = "\n".join(line for line in part.splitlines()
                           if line.strip() and
                           not line.lstrip().startswith("//"))
        if module and len(module) <= MOST_BYTES:
            yield module + "\n"


def list_modules():
    """Pairs of flags and modules."""
    sys.path[:0] = [str(ROOT / "test"), str(ROOT / "test/Equivalence/Inputs")]
    import expand_rows
    import pass_runs
    spare = ["--" + run.name + (f"={run.options}" if run.options else "")
             for run in pass_runs.RUNS]
    for path in sorted((ROOT / "test").rglob("*.mlir")):
        text = path.read_text()
        runs = list(dict.fromkeys(read_flags(text)))[:MOST_RUNS]
        parts = "// -----\n".join(expand_rows.expand(text))
        for index, module in enumerate(read_parts(parts)):
            if index == MOST_PARTS:
                break
            # Every pass in turn, beside those that the test runs.
            spare.append(spare.pop(0))
            for flags in [*runs, spare[-1]]:
                yield flags, module


def spread(text):
    """JSON with a line for each member, for mutations of lines."""
    return json.dumps(json.loads(text), indent=0)


def list_json():
    """Inputs of commsched-fuzz-json."""
    yield "profile\n" + json.dumps(PROFILE, indent=0)
    for path in sorted((ROOT / "data/cost-tables").glob("*.json")):
        text = json.loads(path.read_text())
        if isinstance(text, dict) and "rows" in text:
            text["rows"] = text["rows"][:20]
        yield "profile\n" + json.dumps(text, indent=0)
    for path in sorted((ROOT / "data/operations").glob("*.json")):
        yield "operations\n" + spread(path.read_text())[:4 * MOST_BYTES]
    for path in sorted((ROOT / "test/OperationTables/Inputs").glob("*.json")):
        yield "operations\n" + spread(path.read_text())


#: Separates a module from the content of the file a.json.
FILE = "// ----- file\n"
#: The options that read a file, and the flags that write such a one.
WRITTEN = [
    ("--commsched-align-runtimes=ranks=a.json", "--commsched-align-runtimes=output={}"),
    ("--commsched-report=format=html output=a.html frontier=a.json",
     "--commsched-schedule=frontier={}"),
    ("--commsched-partition-joint=proposals=a.json",
     "--commsched-partition-joint=propose={}"),
]
#: Flags that only write files.
WRITING = [
    "--commsched-schedule=frontier=a.csv", "--commsched-export-json=file=a.json",
    "--commsched-pipeline=frontier=a.json", "--commsched-export-chakra=output=a",
    "--commsched-dump-problem=file=a.json",
    "--commsched-report=format=json output=a.json",
]


def list_modules_with_files(opt):
    """Inputs whose flags name files."""
    profile = json.dumps(PROFILE, indent=0)
    table = min(map(pathlib.Path.read_text,
                    (ROOT / "data/operations").glob("*.json")), key=len)
    for name in ("examples/collectives.mlir", "examples/timeline.mlir",
                 "examples/offload.mlir", "examples/halo.mlir",
                 "test/Transforms/Joint/partition-joint-module.mlir"):
        path = ROOT / name
        module = next(read_parts(path.read_text()), "")
        for flag, writer in WRITTEN:
            with tempfile.TemporaryDirectory() as folder:
                written = pathlib.Path(folder) / "written.json"
                subprocess.run([opt, path, writer.format(written), "-o",
                                "/dev/null"], capture_output=True, check=False)
                if written.exists():
                    yield f"// {flag}\n{module}{FILE}{written.read_text()}"
        for flag in ("--commsched-estimate-runtime=profile=a.json",
                     "--commsched-pipeline=profile=a.json frontier=a.csv"):
            yield f"// {flag}\n{module}{FILE}{profile}"
        yield (f"// --operations=a.json --commsched-pipeline\n{module}{FILE}"
               f"{spread(table)[:4 * MOST_BYTES]}")
        for flag in WRITING:
            yield f"// {flag}\n{module}"


def write(folder, inputs, regressions):
    folder.mkdir(parents=True, exist_ok=True)
    for index, text in enumerate(inputs):
        (folder / f"{index:04}").write_text(text)
    for path in sorted(regressions.glob("*")):
        (folder / path.name).write_bytes(path.read_bytes())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("--opt", default="commsched-opt")
    arguments = parser.parse_args()
    kept = ROOT / "fuzz/regressions"
    modules = dict.fromkeys(
        [*(f"// {flags}\n{module}" for flags, module in list_modules()),
         *list_modules_with_files(arguments.opt)])
    write(arguments.output / "opt", modules, kept / "opt")
    write(arguments.output / "json", list_json(), kept / "json")
    write(arguments.output / "runtime", ["-\n" + RUNTIME], kept / "runtime")


if __name__ == "__main__":
    main()
