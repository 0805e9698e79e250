# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Why collectives are exposed and why nothing is computed, by small traces."""

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest

from commsched.profile.__main__ import main, read_trace
from commsched.profile.exposure import measure_all, median_exposures
from commsched.profile.kineto import kind_of
from commsched.profile.report import exposure_report, exposure_text
from profile_traces import Rank


def exposures(*paths):
    return measure_all([s for path in paths for s in read_trace(path).steps])


def reasons(folder, *ranks, shifts=(0, 0)):
    """What each exposed collective says, for each rank."""
    paths = [rank.write(folder, shift) for rank, shift in zip(ranks, shifts)]
    return [{c.name: (c.reason.code, c.reason.text)
             for c in exposure.collectives if c.reason}
            for exposure in exposures(*paths)]


def idle(folder, rank):
    exposure, = exposures(rank.write(folder))
    return {cause: time // 1000
            for cause, time in exposure.idle_by_cause.items() if time}


#===--- Reasons ----------------------------------------------------------===


def begun():
    return Rank().kernel(0, 100, 0)


def late():
    """An all_reduce that is launched 60 us after the last computation."""
    return begun().collective("allreduce", 165, 300, 160).kernel(310, 400, 170)


def behind(begin, end, launch, *before, stream=20):
    """A gather behind a reduce_scatter."""
    rank = begun().collective("reduce_scatter", *before, stream=stream)
    rank.collective("_allgather_base", begin, end, launch)
    return rank.kernel(end + 1, 300, 30)


@pytest.mark.parametrize("rank, code, text", [
    (late(), "launched_late",
     "launched late by the host: 60.000 us after the last computation ended"),
    # The host waited meanwhile, for half of the time or shorter.
    (late().host("cudaStreamSynchronize", 20, 140), "launched_late",
     "...; it stood in cudaStreamSynchronize for 40.000 us"),
    (late().host("cudaStreamSynchronize", 130, 140), "launched_late",
     "...computation ended"),
    (Rank().copy(0, 10, 0).collective("allreduce", 60, 100, 50)
     .kernel(102, 200, 55), "launched_late",
     "launched late by the host: 50.000 us after the step began"),
    (begun().collective("allreduce", 105, 300, 50).kernel(302, 400, 60),
     "nothing_to_run",
     "nothing else to run for 195.000 us: the next computation began 2.000 us "
     "after its end, launched 240.000 us before"),
    (behind(92, 200, 20, 10, 90, 5), "stream_busy",
     "stream busy with another collective: launched in time, it begins 72.000 "
     "us later, behind the reduce_scatter before it on stream 20"),
    (behind(92, 200, 20, 10, 90, 5, stream=21), "nothing_to_run", "..."),
    # It begins long after the one before: it waited for something else.
    (behind(100, 200, 20, 10, 40, 5), "nothing_to_run", "..."),
    # Launched when the one before had ended, or just before that.
    (behind(100, 112, 92, 10, 90, 5), "nothing_to_run", "..."),
    (behind(92, 200, 85, 10, 90, 5), "nothing_to_run", "..."),
    (begun().collective("allreduce", 50, 300, 40).kernel(320, 400, 310),
     "nothing_launched",
     "nothing else launched: for 200.000 us the host had not launched the next "
     "computation"),
    (begun().collective("allreduce", 50, 300, 40), "nothing_to_run",
     "nothing else to run for 200.000 us: no computation of the step follows"),
])
def test_reason(tmp_path, rank, code, text):
    found, = reasons(tmp_path, rank)
    (name, (reason, said)), = found.items()
    assert name in ("all_reduce_0", "all_gather_0")
    assert reason == code
    part = text.removeprefix("...")
    assert said == text or part != text and said.endswith(part)


def two_ranks(end=1010):
    """An all_reduce for which rank 0 waits until rank 1 comes; before it, one
    that tells how far the clocks are apart."""
    ranks = []
    for number, begin, last in ((0, 210, 1010), (1, end - 100, end)):
        rank = Rank(number).kernel(0, 100, 0)
        rank.collective("allgather", 20, 90, 10)
        rank.kernel(110, begin - 10, 100)
        ranks.append(rank.collective("allreduce", begin, last, 120).kernel(
            last + 2, last + 90, 130))
    return ranks


def test_slower_rank(tmp_path):
    """Clocks need not agree."""
    first, second = reasons(tmp_path, *two_ranks(), shifts=(0, 123456))
    assert first["all_reduce_0"] == (
        "slower_rank", "waits for a slower rank: takes 800.000 us, and "
        "100.000 us on rank 1, which comes 700.000 us later")
    assert second["all_reduce_0"][0] == "nothing_to_run"


def test_rank_that_is_hardly_slower(tmp_path):
    ranks = [Rank(n).kernel(0, 100, 0).collective(
        "allreduce", 100 + 50 * n, 1010, 20).kernel(1012, 1100, 130)
        for n in range(2)]
    first, _ = reasons(tmp_path, *ranks)
    assert first["all_reduce_0"][0] == "nothing_to_run"
    # One that is hidden has no reason.
    rank = Rank().kernel(0, 400, 0).collective("allreduce", 50, 300, 40)
    assert reasons(tmp_path, rank) == [{}]


def test_ranks_that_end_apart_do_not_wait(tmp_path):
    """The one that takes shorter ends 600 us later on the same clock."""
    ranks = two_ranks(end=1610)
    for rank in ranks:
        for at in range(3):  # Most collectives say that the clocks agree.
            rank.collective("broadcast", 2000 + at, 2001 + at, 1990)
    first, _ = reasons(tmp_path, *ranks)
    assert first["all_reduce_0"][0] == "nothing_to_run"


def test_groups_are_not_compared(tmp_path):
    ranks = two_ranks()
    ranks[1].group["Process Group Ranks"] = "[2, 3]"
    for event in ranks[1].events:
        if "Process Group Ranks" in event["args"]:
            event["args"]["Process Group Ranks"] = "[2, 3]"
    first, _ = reasons(tmp_path, *ranks)
    assert first["all_reduce_0"][0] == "nothing_to_run"


def test_reason_of_most_of_the_time(tmp_path):
    """In one step it is launched late, in the other in time."""
    rank = Rank()
    for step, launch, end in ((0, 160, 900), (1000, 40, 345)):
        rank.host(f"ProfilerStep#{step}", step, step + 999, "user_annotation")
        rank.kernel(step, step + 100, step)
        rank.collective("allreduce", step + launch + 5, step + end, step + launch)
        rank.kernel(step + end + 2, step + end + 50, step + 170)
    collective, = median_exposures(exposures(rank.write(tmp_path))).collectives
    assert collective.exposed_ns == 245_000
    assert collective.reason.code == "launched_late"
    assert collective.reason.text.endswith(
        "computation ended (735.000 us exposed, 75 % of the exposed time)")


def test_reason_names_the_rank(tmp_path):
    paths = [rank.write(tmp_path) for rank in two_ranks()]
    _, collective = median_exposures(exposures(*paths)).collectives
    assert collective.reason.code == "slower_rank"
    assert collective.reason.text.endswith(
        "comes 700.000 us later (rank 0, 800.000 us exposed, 89 % of the "
        "exposed time)")


def test_reasons_of_a_program_win():
    collective = {"name": "sum", "kind": "all_reduce", "start_ns": 0,
                  "end_ns": 2, "exposed_ns": 2, "reason_text": "of the trace"}
    report = {"rank": "rank 0", "step_ns": 2, "compute_ns": 0, "comm_ns": 2,
              "exposed_ns": 2, "idle_ns": 0, "idle": {}, "not_in_all_steps": 0,
              "collectives": [collective]}
    assert "of the trace" in exposure_text(report)
    collective.update(limited_by="of the program", remedy="do this")
    text = exposure_text(report)
    assert "of the program; do this" in text and "of the trace" not in text


def test_made_up_names_are_no_operations(tmp_path):
    """Only what was matched has the reason of the operation of its name."""
    rank = Rank().kernel(0, 100, 0).collective("allreduce", 50, 300, 40)
    exposure, = exposures(rank.write(tmp_path))
    target = SimpleNamespace(kind="all_reduce", label="all_reduce_0", function="step")
    prediction = SimpleNamespace(
        step_ns=1, scheduled_ns=1, exposed_ns=1,
        collectives={("step", "all_reduce_0"): {"limited_by": "program"}})
    collective, = exposure_report(exposure, [target], prediction)["collectives"]
    assert "limited_by" not in collective and collective["reason"]
    named = replace(exposure.collectives[0], operation="all_reduce_0")
    collective, = exposure_report(replace(exposure, collectives=[named]),
                                  [target], prediction)["collectives"]
    assert collective["limited_by"] == "program"


#===--- Idle time --------------------------------------------------------===


def resumed(rank):
    """Launched at 160, and begun at 170."""
    return rank.kernel(170, 200, 160)


WAITS = ["cudaStreamSynchronize", "cudaDeviceSynchronize",
         "cudaEventSynchronize", "hipStreamSynchronize",
         "hipDeviceSynchronize", "cuCtxSynchronize"]


@pytest.mark.parametrize("rank, expected", [
    (resumed(begun()), {"host": 61, "rest": 9}),
    (begun().copy(100, 140, 5).kernel(150, 200, 10), {"copies": 40, "rest": 10}),
    # Beside a kernel.
    (begun().copy(20, 60, 5).kernel(100, 200, 10), {}),
    # The host waits until the device has nothing left, and then has nothing
    # queued until it launches.
    *((resumed(begun().host(call, 10, 105)), {"synchronization": 61, "rest": 9})
      for call in WAITS),
    # Calls that do not wait.
    (resumed(begun().host("cudaStreamWaitEvent", 10, 105)
             .host("cudaEventRecord", 10, 105)), {"host": 61, "rest": 9}),
    # A wait in which nothing runs counts alone: it has drained nothing.
    (resumed(begun().host("cudaDeviceSynchronize", 120, 130)),
     {"host": 51, "synchronization": 10, "rest": 9}),
    # The host waits for a copy, such as that of item().
    (resumed(begun().copy(100, 110, 5, call_end=112)),
     {"copies": 10, "synchronization": 51, "rest": 9}),
    # Launches that are not known.
    (Rank().kernel(0, 100).kernel(170, 200), {"rest": 70}),
])
def test_idle_time(tmp_path, rank, expected):
    assert idle(tmp_path, rank) == expected


def test_idle_time_before_a_collective(tmp_path):
    """It ends when the collective begins, and is due to its launch."""
    rank = Rank().kernel(0, 100, 0).collective("allreduce", 165, 300, 160)
    rank.kernel(301, 400, 170)
    exposure, = exposures(rank.write(tmp_path))
    assert exposure.idle_by_cause["host"] == 60_000
    assert exposure.collectives[0].exposed_ns == 135_000


def test_kernels_of_other_steps_compute(tmp_path):
    rank = Rank().host("ProfilerStep#1", 0, 50, "user_annotation")
    rank.host("ProfilerStep#2", 50, 100, "user_annotation")
    # Step 2 copies early, while the device is still busy with step 1.
    rank.kernel(10, 200, 5).copy(60, 80, 55).kernel(205, 300, 70)
    first, second = exposures(rank.write(tmp_path))
    assert (second.step_ns, second.compute_ns) == (240_000, 235_000)
    assert first.idle_ns == 0


def test_waits_in_operators_are_no_computation(tmp_path):
    """Without a GPU, an operator that waits for gloo in what it calls."""
    rank = Rank().host("autograd::Node", 0, 100, "cpu_op")
    rank.host("aten::mm", 10, 30, "cpu_op")
    rank.host("record_param_comms", 35, 40, "cpu_op")
    rank.host("gloo:all_reduce", 40, 90, "user_annotation", thread=2)
    exposure, = exposures(rank.write(tmp_path))
    assert exposure.compute_ns == 20_000
    assert exposure.collectives[0].exposed_ns == 50_000


def test_report(tmp_path, capsys):
    rank = Rank().kernel(0, 100, 0).copy(100, 140, 5)
    rank.collective("allreduce", 140, 300, 50).kernel(370, 400, 359)
    path = rank.write(tmp_path)
    assert main([path, "--exposure", "--format=json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["idle"] == {"host_ns": 60_000, "copies_ns": 40_000,
                              "synchronization_ns": 0, "rest_ns": 10_000}
    assert report["idle_ns"] == sum(report["idle"].values())
    collective, = report["collectives"]
    assert collective["name"] == "all_reduce_0"
    assert collective["reason"] == "nothing_launched"
    assert main([path, "--exposure"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["collectives", "160.000", "us", "40.0", "%"] in lines
    assert ["host", "60.000", "us", "15.0", "%"] in lines
    assert not any(line[:1] == ["synchronization"] for line in lines)
    # Collectives of some steps alone are counted.
    rank = Rank().host("ProfilerStep#1", 0, 50, "user_annotation")
    rank.host("ProfilerStep#2", 50, 100, "user_annotation")
    rank.collective("broadcast", 5, 10, 1).collective("allreduce", 20, 30, 2)
    rank.collective("allreduce", 120, 130, 60)
    assert main([rank.write(tmp_path), "--exposure"]) == 0
    text = capsys.readouterr().out
    assert "1 collectives are not listed" in text
    assert "all_reduce_0" in text and "broadcast_0" not in text


#===--- Kinds ------------------------------------------------------------===


@pytest.mark.parametrize("name, kind", [
    # NCCL until 2.7, until 2.18, from 2.19 on, with symmetric memory.
    ("ncclAllReduceRingLLKernel_sum_f32(ncclColl)", "all_reduce"),
    ("ncclReduceScatterTreeLLKernel_sum_f16(ncclColl)", "reduce_scatter"),
    ("ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", "all_reduce"),
    ("ncclKernel_AllGather_RING_SIMPLE_Sum_int8_t(x)", "all_gather"),
    ("ncclKernel_Broadcast_RING_LL_Sum_int8_t(ncclDevComm*)", "broadcast"),
    ("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWork*)", "send_recv"),
    ("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(x)", "reduce_scatter"),
    ("ncclDevKernel_Reduce_Sum_f32_RING_LL(x)", "reduce"),
    ("ncclSymkDevKernel_AllGather_LL(x)", "all_gather"),
    # RCCL.
    ("ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)", "collective"),
    ("ncclDevKernelDebug_Generic(x)", "collective"),
    ("_Z42ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_tP8ncclWork", "send_recv"),
    # What PyTorch records.
    ("gloo:all_reduce", "all_reduce"),
    ("gloo:reduce_scatter", "reduce_scatter"),
    ("nccl:_all_gather_base", "all_gather"), ("nccl:all_to_all", "all_to_all"),
    ("nccl:send 0->1", "send"), ("nccl:recv 0<-1", "recv"),
    ("nccl:coalesced", "collective"), ("c10d::_allgather_base_", "all_gather"),
    ("c10d::alltoall_base_", "all_to_all"),
    ("c10d::recv_any_source_", "recv"),
    ("_c10d_functional::reduce_scatter_tensor", "reduce_scatter"),
    # The argument "Collective name".
    ("all_to_allv", "all_to_all"), ("_reduce_scatter_base", "reduce_scatter"),
    ("allgather_into_tensor_coalesced", "all_gather"),
    ("barrier", "barrier"),
    # None of these is a collective.
    ("gemm", ""), ("reduce_kernel", ""), ("gather_topk", ""), ("", "")])
def test_kinds_by_name(name, kind):
    assert kind_of(name) == kind


def kind_in(folder, rank):
    step, = read_trace(rank.write(folder)).steps
    activity, = [a for a in step.activities if a.kind]
    return activity


SEND_RECV = "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)"


def test_kind_that_the_kernel_does_not_say(tmp_path):
    """Older PyTorch says it only where the kernel was launched."""
    rank = Rank().kernel(10, 20, 5, SEND_RECV, 20)
    # Of other launches.
    rank.host("nccl:all_to_all", 1, 3, "user_annotation")
    rank.host("nccl:all_gather", 4, 8, "user_annotation", thread=2)
    activity = kind_in(tmp_path, rank)
    assert activity.kind == "send_recv" and activity.stream == "stream 20"
    rank.host("nccl:all_to_all", 4, 8, "user_annotation",
              **{"Input Dims": [[4, 8]], "Input type": ["float"]})
    activity = kind_in(tmp_path, rank)
    assert activity.kind == "all_to_all" and activity.elements == 32
    # The argument is more precise than the name.
    rank = Rank().kernel(10, 20, 5, SEND_RECV, 20, **{"Collective name": "all_to_allv"})
    assert kind_in(tmp_path, rank).kind == "all_to_all"


def test_kind_of_record_param_comms(tmp_path):
    """Kernels of RCCL are all called Generic."""
    rank = Rank().kernel(10, 20, 5, "ncclDevKernel_Generic(x)", 20)
    rank.host("record_param_comms", 4, 8, "cpu_op", **{
        "Collective name": "_allgather_base", "In msg nelems": 12,
        "dtype": "BFloat16", "Process Group Name": "7",
        "Process Group Description": "mesh_shard"})
    activity = kind_in(tmp_path, rank)
    assert (activity.kind, activity.elements, activity.element) == (
        "all_gather", 12, "bf16")
    assert activity.stream == "group mesh_shard"


#===--- Damaged traces ---------------------------------------------------===


@pytest.mark.parametrize("change", [
    {"Input Dims": "x"}, {"Input Dims": [None, 3, [["a"]]]},
    {"External id": {}}, {"correlation": []}, {"stream": None},
    {"Process Group Ranks": [0, 1]}, {"Collective name": 7},
    {"dtype": {}}, {"In msg nelems": "many"}])
def test_odd_arguments_are_read(tmp_path, change):
    rank = Rank().kernel(0, 100, 0).collective("allreduce", 50, 300, 40)
    rank.host("aten::mm", 0, 5, "cpu_op", **{"Input Dims": [[2]],
                                             "Input type": ["float"]})
    for event in rank.events:
        event["args"].update(change)
    assert main([rank.write(tmp_path), "--exposure",
                 f"--page={tmp_path / 'page.html'}"]) == 0


def test_arguments_that_are_none(tmp_path, capsys):
    rank = Rank().kernel(0, 100, 0)
    rank.events[1]["args"] = [1]
    path = rank.write(tmp_path)
    assert main([path, "--exposure"]) == 1
    assert f"{path}: the arguments ('args') of the event 'gemm' are no " \
        "object" in capsys.readouterr().err
