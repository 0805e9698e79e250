# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The pass pipeline of torchtitan's GraphTrainer, with torchtitan.

torchtitan is installed into a folder of the build, beside this interpreter's
PyTorch; COMMSCHED_TORCHTITAN names another folder, such as one with a newer
PyTorch, too.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import doc_blocks
from installed import ROOT

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


@pytest.fixture(scope="session")
def folder():
    """A folder with torchtitan, for PYTHONPATH."""
    given = os.environ.get("COMMSCHED_TORCHTITAN")
    if given:
        return Path(given)
    found = ROOT / "build" / "torchtitan-0.3.0"
    if not found.exists():
        made = found.with_name(f"{found.name}.{os.getpid()}")
        command = [sys.executable, "-m", "pip", "install", "--quiet"]
        command += ["--no-deps", "--target", str(made), *PACKAGES]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        made.rename(found)
    return found


@pytest.fixture(scope="session")
def path(folder):
    """PYTHONPATH of what imports torchtitan."""
    own = (ROOT / "testsupport", ROOT / "python", ROOT / "python" / "tests")
    return os.pathsep.join(map(str, (folder, *own)))


def case(name="commsched", model="llama3", parallelism=None, **settings):
    """The settings of a case of `titan_lists.py`."""
    settings = {"pass_pipeline": name, "disable_passes": [], **settings}
    return {
        "model": model,
        "compile": settings,
        "parallelism": parallelism or {},
    }


def overlap(**settings):
    """A case of experts whose chunks are computed in turn."""
    own = {"enabled": True, "strategy": "eager"}
    return case(model="deepseek_v3", ep_overlap=own, **settings)


PIPELINES = {
    "torchtitan's": case("default"),
    "scheduled": case(),
    "two groups": case(enable_fsdp_ag_rs_overlap=True),
    "offloaded": case(memory_policy="sac_and_offload"),
    "experts": overlap(),
    "torchtitan's experts": overlap(pass_pipeline="default"),
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
    "full Inductor": (
        case(inductor_compilation="full"),
        "--compile.inductor_compilation full and",
    ),
    "artifacts": (
        case(precompile_artifact_dir="/artifacts"),
        "with --compile.precompile_artifact_dir /artifacts torchtitan does not",
    ),
    "no passes": (
        case(enable_passes=False),
        "with --compile.enable_passes False torchtitan does not",
    ),
    "another mode": (case(mode="jit"), "with --compile.mode jit torchtitan"),
    "stages": (
        case(parallelism={"pipeline_parallel_degree": 2}),
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
    script = ROOT / "python" / "tests" / "titan_lists.py"
    done = subprocess.run(
        [sys.executable, str(script), json.dumps(cases)],
        env={**os.environ, "PYTHONPATH": path + os.pathsep + str(working)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_the_schedule_takes_the_place_of_torchtitans(lists):
    theirs, own = lists["torchtitan's"], lists["scheduled"]
    assert theirs.count(BUCKETING) == 1 and theirs[-1] == "cudagraph_pass"
    assert own == ["commsched" if n == BUCKETING else n for n in theirs]


def test_the_page_schedules(lists):
    assert lists["page"] == lists["scheduled"]


def test_other_passes_of_torchtitan_are_kept(lists):
    groups = lists["two groups"]
    assert groups[groups.index("commsched") - 1] == "reassign_collective_pgs_pass"
    assert lists["offloaded"] == lists["scheduled"]


def test_chunks_of_experts_are_ordered_before(lists):
    own = [n for n in lists["experts"] if n != "commsched"]
    assert own == [n for n in lists["torchtitan's experts"] if n != BUCKETING]
    place = lists["experts"].index("commsched")
    assert lists["experts"][place - 2 : place] == [
        "ep_overlap_schedule_pass",
        "concretize_ep_chunk_symbolic_shapes_pass",
    ]


@pytest.mark.parametrize("name", CONFLICTS)
def test_what_would_not_be_scheduled_is_an_error(lists, name):
    assert lists[name].startswith("ScheduleError: ")
    assert CONFLICTS[name][1] in lists[name]
