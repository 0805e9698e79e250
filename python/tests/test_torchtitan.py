# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The pass pipeline of torchtitan's GraphTrainer, with torchtitan.

torchtitan is installed into a folder of the build, for this interpreter's
PyTorch. COMMSCHED_TORCHTITAN_TORCH is another version of PyTorch, to be
installed beside it; whole models then train in all ways, which takes hours
(scripts/torchtitan.sh).
"""

import json
import os
import subprocess
import sys

import pytest

import doc_blocks
import seeds
from installed import ROOT
from ranks import run_ranks

pytestmark = pytest.mark.usefixtures("opt_program")

FILE = ROOT / "docs" / "guide" / "pytorch.md"
#: torchtitan, and what of its requirements a debug model on processors needs
#: beside PyTorch.
PACKAGES = (
    "torchtitan==0.3.0",
    "docstring_parser==0.18.0",
    "einops==0.8.2",
    "safetensors==0.8.0",
    "spmd_types==0.2.3",
    "tokenizers==0.23.3",
    "torch_checkpointing==0.1.1",
    "torchdata==0.11.0",
    "typeguard==4.6.1",
    "tyro==1.0.17",
)
BUCKETING = "joint_transformer_block_bucketing_reordering_pass"


#: The version of PyTorch that all is tested with, if not this interpreter's.
TORCH = os.environ.get("COMMSCHED_TORCHTITAN_TORCH")


@pytest.fixture(scope="session")
def path():
    """PYTHONPATH of what imports torchtitan, from a folder of the build."""
    found = ROOT / "build" / (f"torchtitan-torch-{TORCH}" if TORCH else "torchtitan")
    if not found.exists():
        made = found.with_name(f"{found.name}.{os.getpid()}")
        if TORCH:
            install(made, f"torch=={TORCH}")
        install(made, "--no-deps", *PACKAGES)
        made.rename(found)
    own = (ROOT / "testsupport", ROOT / "python", ROOT / "python" / "tests")
    return os.pathsep.join(map(str, (found, *own)))


JOBS = ROOT / "python" / "tests" / "titan_jobs.py"


def run_job(path, name, given, timeout=120):
    """What a job prints last."""
    done = subprocess.run(
        [sys.executable, str(JOBS), name, json.dumps(given)],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def install(folder, *arguments):
    command = [sys.executable, "-m", "pip", "install", "--quiet"]
    command += ["--target", str(folder), *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def case(name="commsched", model="llama3", parallelism=None, **settings):
    """The settings of a case of `print_passes`."""
    settings = {"pass_pipeline": name, "disable_passes": [], **settings}
    return {"model": model, "compile": settings, "parallelism": parallelism or {}}


def overlap(**settings):
    """A case of experts whose chunks are computed in turn."""
    own = {"enabled": True, "strategy": "eager"}
    return case(model="deepseek_v3", ep_overlap=own, **settings)


STAGES = {"pipeline_parallel_degree": 2}
PIPELINES = {
    "torchtitan's": case("default"),
    "scheduled": case(),
    "two groups": case(enable_fsdp_ag_rs_overlap=True),
    "offloaded": case(memory_policy="sac_and_offload"),
    "experts": overlap(),
    "torchtitan's experts": overlap(pass_pipeline="default"),
    "torchtitan's Inductor": case("default", inductor_compilation="full"),
    "Inductor": case(inductor_compilation="full"),
    "artifact": case(precompile_artifact_dir="/artifacts"),
    "stages": case(enable=True, parallelism=STAGES),
    "torchtitan's stages": case("default", enable=True, parallelism=STAGES),
    "Inductor's stages": case(
        enable=True, inductor_compilation="full", parallelism=STAGES
    ),
    "page": ["--module", "my_configs", "--config", "llama3_8b"],
}
#: What cannot be, and what of the message says why.
CONFLICTS = {
    "dense regions": (
        case(enable_fsdp_dense_region_overlap=True),
        "--compile.enable_fsdp_dense_region_overlap and --compile.pass_pipeline",
    ),
    "fused": (
        case(enable_async_tensor_parallel=True),
        "--compile.enable_async_tensor_parallel and",
    ),
    "no passes": (
        case(enable_passes=False),
        "with --compile.enable_passes False torchtitan does not",
    ),
    "another mode": (case(mode="jit"), "with --compile.mode jit torchtitan"),
    "stages that are not compiled": (
        case(parallelism=STAGES), "with --compile.enable False torchtitan does not"
    ),
    "stages without graphs": (
        {**case(enable=True, parallelism=STAGES), "pipelining_fn": None},
        "with --parallelism.pipeline_parallel_degree 2 torchtitan does not",
    ),
}


@pytest.fixture(scope="module")
def lists(path, tmp_path_factory):
    """The passes of each case, or the text of the error."""
    working = tmp_path_factory.mktemp("torchtitan")
    (block,) = [
        text
        for text in doc_blocks.of_language(FILE, "python")
        if "torchtitan.experiments" in text
    ]
    (working / "my_configs.py").write_text(block)
    cases = {**PIPELINES, **{k: v[0] for k, v in CONFLICTS.items()}}
    path = f"{path}{os.pathsep}{working}"
    return run_job(path, "print_passes", cases)


def test_the_schedule_takes_the_place_of_torchtitans(lists):
    theirs, own = lists["torchtitan's"], lists["scheduled"]
    assert theirs.count(BUCKETING) == 1 and theirs[-1] == "cudagraph_pass"
    assert own == ["commsched" if n == BUCKETING else n for n in theirs]
    assert own == lists["page"] == lists["offloaded"]
    # Other passes of torchtitan are kept.
    groups = lists["two groups"]
    assert groups[groups.index("commsched") - 1] == "reassign_collective_pgs_pass"
    # An artifact has been scheduled.
    assert lists["artifact"] == ["cudagraph_pass"]


def test_inductor_schedules_what_it_compiles(lists):
    """Last before it, since nothing of the graph's order outlasts it."""
    own = lists["Inductor"]
    assert own[own.index("commsched") + 1] == "full_inductor_compilation_pass"
    own = [n for n in own if n != "commsched"]
    assert own == [n for n in lists["torchtitan's Inductor"] if n != BUCKETING]


def test_chunks_of_experts_are_ordered_before(lists):
    """Behind the buckets of torchtitan, without which they cannot be."""
    own = [n for n in lists["experts"] if n != "commsched"]
    assert own == lists["torchtitan's experts"] and BUCKETING in own
    place = lists["experts"].index("commsched")
    assert lists["experts"][place - 2 : place] == [
        "ep_overlap_schedule_pass",
        "concretize_ep_chunk_symbolic_shapes_pass",
    ]


def test_graphs_of_stages_are_scheduled_one_by_one(lists):
    """Behind the passes over all of a stage, before those that compile."""
    theirs = [n for n in lists["torchtitan's stages"] if n != BUCKETING]
    own = lists["stages"]
    place = own.index("commsched")
    assert own[:place] + own[place + 1 :] == theirs
    assert own[place - 1] == "selective_activation_remat_pass"
    assert lists["Inductor's stages"][-2:] == [
        "commsched",
        "full_inductor_compilation_pass",
    ]


@pytest.mark.parametrize("name", CONFLICTS)
def test_what_would_not_be_scheduled_is_an_error(lists, name):
    assert lists[name].startswith("ScheduleError: ")
    assert CONFLICTS[name][1] in lists[name]


EXPERTS = {"expert_parallel_degree": 2}
TENSORS = {"tensor_parallel_degree": 2}
#: Models that train, with the number of ranks.
MODELS = {
    "llama3": (2, {"model": "llama3"}),
    "deepseek_v3": (2, {"model": "deepseek_v3", "parallelism": EXPERTS}),
}
if TORCH:
    MODELS["llama3 in two ways"] = (4, {"model": "llama3", "parallelism": TENSORS})
    MODELS["deepseek_v3 in two ways"] = (
        4, {"model": "deepseek_v3", "parallelism": EXPERTS}
    )
TRAINED = [*MODELS]
if not TORCH:
    # torchtitan's stages do not run with PyTorch 2.15.
    sharded = {**STAGES, "data_parallel_shard_degree": 2}
    MODELS["stages"] = 4, {"model": "llama3", "parallelism": sharded}
#: Compiled without passes, and with CommSched's.
PLAIN, OWN = {"enable_passes": False}, {"pass_pipeline": "commsched"}
#: Of how many layers, and the seconds that this may take.
LAYERS, SECONDS = (None, 3600) if TORCH else (2, 200)


def train(path, tmp_path, name, *compiled, layers=LAYERS):
    """Trains a case of MODELS, compiled in these ways one after the other: torchtitan
    takes long to import. Returns for each what the ranks say of it."""
    size, given = MODELS[name]
    cases = [
        {"layers": layers, "steps": 5, "compile": settings, **given}
        for settings in compiled
    ]
    run_ranks(
        JOBS,
        size,
        timeout=SECONDS * len(cases),
        env={"PYTHONPATH": path},
        args=["train_all", json.dumps(cases), str(tmp_path / "out")],
        forked=TORCH is None,
    )
    texts = [(tmp_path / f"out.{rank}").read_text() for rank in range(size)]
    return [list(by_rank) for by_rank in zip(*map(json.loads, texts))]


def check_equal(own, theirs):
    """Losses, norms of gradients and parameters have the same bits."""
    for key in ("figures", "parameters"):
        assert [o[key] for o in own] == [t[key] for t in theirs]
    assert len(own[0]["figures"]) == 5


def check_order(own, plain):
    """The code that ran launched, waited and multiplied in the schedule's
    order, which is not that of the graph as it was."""
    for result in own:
        assert result["explained"].startswith("step graph\n  scheduled by ")
        assert result["ran"] == result["planned"][-1] == own[0]["ran"]
        assert result["ran"] != plain[0]["ran"]


@pytest.mark.parametrize("name", TRAINED if TORCH else seeds.turns(TRAINED, 1))
def test_training_keeps_bits_and_order(path, tmp_path, name):
    ways = [PLAIN, OWN, {}] if TORCH else [PLAIN, OWN]
    plain, own, *theirs = train(path, tmp_path, name, *ways)
    check_equal(own, plain)
    check_order(own, plain)
    for results in theirs:
        check_equal(results, plain)


@pytest.mark.skipif(TORCH is not None, reason="stages need an older PyTorch")
def test_stages_keep_bits_and_the_order_of_their_graphs(path, tmp_path):
    """Gathers and reductions of a stage have graphs of their own."""
    plain, own = train(
        path, tmp_path, "stages", {**PLAIN, "enable": True}, {**OWN, "enable": True}
    )
    check_equal(own, plain)
    for result, before in zip(own, plain):
        ran, plans = result["ran"], result["planned"]
        assert ran != before["ran"] and len(plans) >= 4
        for plan in plans:
            assert plan in (ran[i : i + len(plan)] for i in range(len(ran)))


def test_an_artifact_trains_in_the_order_of_its_schedule(path, tmp_path):
    """It is made by one process, without the others."""
    compile = {**OWN, "precompile_artifact_dir": str(tmp_path / "artifacts")}
    settings = {
        "model": "llama3", "layers": LAYERS, "steps": 5, "compile": compile,
        "parallelism": {"data_parallel_shard_degree": 2},
    }
    said = run_job(path, "print_artifact", settings, timeout=SECONDS)
    plain, own = train(path, tmp_path, "llama3", PLAIN, compile)
    check_equal(own, plain)
    assert own[0]["planned"] == [] and own[0]["ran"] == said["planned"]
    assert own[0]["ran"] != plain[0]["ran"]
    # torchtitan refuses an artifact of another name.
    assert len(set(said["names"])) == 3


if TORCH:

    @pytest.mark.parametrize("name", TRAINED)
    def test_training_with_inductor_keeps_the_order(path, tmp_path, name):
        """Its kernels are not torchtitan's, so that bits differ."""
        whole = {"inductor_compilation": "full"}
        theirs, own = train(path, tmp_path, name, whole, {**OWN, **whole}, layers=1)
        check_order(own, theirs)
        for figures, expected in zip(own[0]["figures"], theirs[0]["figures"]):
            assert figures == pytest.approx(expected, rel=1e-3)
