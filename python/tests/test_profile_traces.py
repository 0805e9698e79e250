# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""commsched.profile reads traces: formats, steps, errors."""

import gzip
import json
import sys

import pytest

from commsched.profile.__main__ import main, read_trace
from commsched.profile.activities import lower_median
from commsched.profile.kineto import operator_name
from profile_traces import complete


def gpu_events():
    """Two steps: a product beside an all_gather, on two streams."""
    events = []
    for step in range(2):
        at = 1000 * step
        events += [
            complete(f"ProfilerStep#{step}", "user_annotation", at, 100),
            complete("aten::linear", "cpu_op", at + 1, 20,
                     **{"External id": 10 * step, "Input Dims": [[8, 4]],
                        "Input type": ["float"]}),
            complete("aten::mm", "cpu_op", at + 2, 10,
                     **{"External id": 10 * step + 1,
                        "Input Dims": [[8, 4], [4, 8]],
                        "Input type": ["float", "float"]}),
            complete("cudaLaunchKernel", "cuda_runtime", at + 3, 1,
                     correlation=100 * step + 1),
            # Runs when the next step has begun on the host.
            complete("gemm", "kernel", at + 950, 40 + step, 7,
                     **{"External id": 10 * step + 1, "stream": 7,
                        "correlation": 100 * step + 1}),
            complete("record_param_comms", "cpu_op", at + 30, 5,
                     **{"External id": 10 * step + 2,
                        "Collective name": "_allgather_base",
                        "In msg nelems": 16, "dtype": "Float",
                        "Group size": 2, "Process Group Name": "0"}),
            complete("cudaLaunchKernelExC", "cuda_runtime", at + 31, 1,
                     correlation=100 * step + 2),
            complete("ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgs)",
                     "kernel", at + 960, 50, 20,
                     **{"External id": 10 * step + 2, "stream": 20,
                        "correlation": 100 * step + 2}),
        ]
    return events


def write(path, events, **header):
    path.write_text(json.dumps({**header, "traceEvents": events}))
    return str(path)


def test_gpu_trace(tmp_path):
    path = write(tmp_path / "t.json", gpu_events(), distributedInfo={"rank": 3})
    trace = read_trace(path, {"aten.mm"})
    assert [step.rank for step in trace.steps] == ["rank 3"] * 2
    product, gather = trace.steps[1].activities
    assert product.name == "aten.mm" and product.busy_ns == 41_000
    assert product.shapes == ((8, 4), (4, 8)) and product.element == "f32"
    assert gather.kind == "all_gather" and gather.busy_ns == 50_000
    assert gather.elements == 16 and gather.element == "f32"
    # The product is what counts where the program has all of `linear`.
    trace = read_trace(path, {"aten.linear", "aten.mm"})
    assert trace.steps[0].activities[0].name == "aten.linear"


def test_compressed_or_as_a_list(tmp_path):
    plain = read_trace(write(tmp_path / "t.json", gpu_events()))
    packed = tmp_path / "t.json.gz"
    packed.write_bytes(gzip.compress(json.dumps(gpu_events()).encode()))
    assert read_trace(str(packed)).steps == plain.steps


def test_names():
    assert operator_name("aten::add_") == operator_name("aten.add.Tensor")
    assert lower_median([4, 1, 3, 2]) == 2


def test_calls_in_a_timeline(tmp_path):
    path = write(tmp_path / "t.json", [
        {"ph": "M", "name": "process_name", "pid": 1, "tid": 0,
         "args": {"name": "rank 0 measured"}},
        complete("aten.mm", "compute", 0, 10), complete("sum", "all_reduce",
                                                        11, 20, thread=2),
        # The rank stands still until 31, and copies the result until 34.
        complete("wait for sum", "wait", 14, 20),
        complete("aten.mm", "compute", 36, 5)])
    step, = read_trace(path).steps
    assert [a.busy_ns for a in step.activities] == [19_000, 20_000, 5_000]
    assert step.activities[1].operation == "sum" and step.time_ns == 41_000


def bad_files():
    whole = json.dumps({"traceEvents": gpu_events()})
    yield "cut", whole[:-40], "cut off or damaged after event 1"
    yield "early", '{"schemaVersion"', "cut off or no JSON before"
    yield "other", '{"rows": []}', "has no 'traceEvents'"
    yield "empty", '{"traceEvents": []}', "has no events"
    yield "number", '{"traceEvents": [7]}', "event 0 is not an object"
    yield ("nothing", '{"traceEvents": [{"ph": "M", "name": "x"}]}',
           "neither operators")
    yield ("times", json.dumps({"traceEvents": [
        {"ph": "X", "cat": "cpu_op", "name": "a", "ts": "1"}]}),
           "the event 'a' has no numbers")
    yield ("predicted", json.dumps({"traceEvents": [
        {"ph": "M", "name": "process_name", "pid": 1,
         "args": {"name": "predicted"}}]}), "only a prediction")
    packed = gzip.compress(whole.encode())
    yield "packed", packed[: len(packed) // 2], "cut off"
    yield "missing", None, "cannot be read: No such file"
    yield "parser", whole, "pip install ijson"


@pytest.mark.parametrize(
    "text, error", [row[1:] for row in bad_files()],
    ids=[row[0] for row in bad_files()])
def test_bad_files(tmp_path, capsys, monkeypatch, text, error):
    path = tmp_path / "bad.json"
    if error == "pip install ijson":
        monkeypatch.setitem(sys.modules, "ijson", None)
    if text is not None:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    assert main([str(path), "--exposure"]) == 1
    message = capsys.readouterr().err
    assert error in message
    assert str(path) in message or "pip" in error
