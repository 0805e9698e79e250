# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every block of README.md runs as it stands, in a process of its own.

A comment `<!-- excerpt: REASON -->` on the line before a fence says that a block
does not, and why; what such a block names has to exist.
"""

import re
import tomllib

import pytest

import doc_blocks
from installed import ROOT

PAGE = ROOT / "README.md"


def record_fsdp2(rank, folder):
    """Writes the trace of a rank that trains with FSDP2, of which nothing was
    changed."""
    import torch
    from profiled import record_steps
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh("cpu", (2,))
    model = torch.nn.Sequential(*(torch.nn.Linear(64, 64) for _ in range(3)))
    for module in (*model, model):
        fully_shard(module, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters())

    def step():
        model(torch.ones(16, 64)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()

    record_steps(step, f"{folder}/rank{rank}.json.gz")


@pytest.fixture
def folder(tmp_path, metadata):
    """What a reader has at the root of the repository, with the package
    installed."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    return tmp_path


@pytest.fixture
def shell(folder, opt_program):
    environment = doc_blocks.environment(
        opt_program,
        GLOO_SOCKET_IFNAME="lo",
        PYTHONPATH=f"{folder / 'metadata'}:{ROOT / 'python'}",
        TORCHINDUCTOR_CACHE_DIR=str(folder / "inductor"),
    )
    environment.pop("LOCAL_WORLD_SIZE", None)
    return environment


def block_with(words, language="sh"):
    """The only block in a language that has these words."""
    (block,) = [block for block in doc_blocks.blocks(PAGE)
                if block.language == language and words in block.text]
    assert not block.marker
    return block


def test_exposure_of_an_unchanged_run(folder, shell):
    pytest.importorskip("torch")
    pytest.importorskip("ijson")
    from ranks import run_ranks

    run_ranks(record_fsdp2, 2, args=(str(folder),))
    printed = doc_blocks.run_shell(block_with("--exposure"), folder, shell)
    assert "median of the steps of 2 ranks" in printed
    # One gather for each module and step at least, each with its kind.
    assert len(re.findall(r"^ *\S+ +all_gather ", printed, re.M)) >= 3
    assert "<html" in (folder / "exposed.html").read_text(encoding="utf-8")


def test_pytorch(folder, shell):
    pytest.importorskip("torch")
    program = block_with("import commsched.torch", "python").text
    file = (ROOT / "examples" / "pytorch" / "hello.py").read_text(encoding="utf-8")
    # The page has no room for blank lines.
    lines = [line for line in file.splitlines()[1:] if line]
    assert program.splitlines() == lines
    (folder / "hello.py").write_text(program, encoding="utf-8")
    printed = doc_blocks.run_shell(block_with("torchrun"), folder, shell)
    losses = [float(loss) for loss in re.findall(r"loss (\d\.\d+)", printed)]
    assert len(losses) == 3 and losses[0] > losses[1] > losses[2] > 0
    for graph in ("forward", "backward"):
        (report,) = re.findall(rf"^{graph} graph .*?(?=^\w|\Z)", printed, re.M | re.S)
        assert "simulated: target h100" in report
        assert re.search(r"^  collectives +8 ", report, re.M)


def test_jax(folder, shell):
    pytest.importorskip("jax")
    printed = doc_blocks.run_shell(block_with("examples/jax/hello.py"), folder, shell)
    assert "simulated: target h100" in printed
    assert re.search(r"^  collectives +8 ", printed, re.M)
    assert re.search(r"^sum of the parameters: -?\d+\.\d+$", printed, re.M)


def test_a_file(folder, shell):
    printed = doc_blocks.run_shell(block_with("commsched-opt examples"), folder, shell)
    assert "function @forward" in printed and "function @backward" in printed
    assert "simulated: target h100" in printed
    assert "commsched.wait" in (folder / "scheduled.mlir").read_text()


def test_there_are_no_other_blocks():
    """Five blocks run above, and one is an excerpt that says why."""
    blocks = doc_blocks.blocks(PAGE)
    assert [block.language for block in blocks if not block.marker] == [
        "sh", "python", "sh", "sh", "sh"]
    (excerpt,) = [block for block in blocks if block.marker]
    assert excerpt.excerpt
    for script in re.findall(r"scripts/\w+\.sh", excerpt.text):
        assert (ROOT / script).exists(), script
    project = tomllib.loads((ROOT / "python" / "pyproject.toml").read_text())
    extras = re.findall(r"\[(\w+)\]", excerpt.text)
    assert "profile" in extras
    assert set(extras) <= set(project["project"]["optional-dependencies"])


def test_the_page_is_short_and_says_what_was_seen():
    text = PAGE.read_text(encoding="utf-8")
    assert text.count("\n") <= 150
    first_screen = text[: text.index("\n## ")]
    assert "simulated" in first_screen and "an H200 ran" in first_screen
    row = re.compile(r"^\| `?[A-Za-z].*\| (\w[^|]*) \|$", re.M)
    assert row.findall(first_screen) == [
        "two ranks on one", "one rank of eight, two on one", "no", "no", "no"]
