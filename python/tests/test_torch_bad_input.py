# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the ways into torch.compile do where something is missing or wrong:
one warning for each cause, and the graph as it was; `strict` raises."""

import copy

import pytest

torch = pytest.importorskip("torch")

from commsched.torch import CommSchedWarning, ScheduleError  # noqa: E402
from commsched.torch.compiling import records, runs  # noqa: E402
from commsched.torch.compiling.options import Options  # noqa: E402
from commsched.torch.compiling.schedule import optimize_graph  # noqa: E402
from graphs import fake_trace  # noqa: E402

c10d = torch.ops._c10d_functional
WIDTH = 64


@pytest.fixture(autouse=True)
def forgotten():
    """Nothing was scheduled before."""
    runs.reset()
    yield
    runs.reset()


@pytest.fixture
def gathers(fake_world):
    """A graph that can be improved: the second gather can start early."""
    group = fake_world(8)

    def forward(x, first, second):
        for shard in (first, second):
            whole = c10d.all_gather_into_tensor(shard, 8, group)
            x = torch.mm(x, c10d.wait_tensor(whole))
        return x

    shard = torch.randn(WIDTH // 8, WIDTH)
    return fake_trace(forward, torch.randn(WIDTH, WIDTH), shard, shard.clone())


def names(gm):
    return [node.name for node in gm.graph.nodes]


def left_alone(gm, match, **options):
    """Asserts that the graph stays as it is, with one warning although two
    graphs have the same trouble, and that `strict` raises."""
    before = names(gm)
    with pytest.warns(CommSchedWarning, match=match) as warned:
        assert not optimize_graph(gm, "forward", Options(**options))
        assert not optimize_graph(gm, "backward", Options(**options))
    assert len(warned) == 1, [str(w.message) for w in warned]
    assert names(gm) == before
    assert {r.status for r in records.records()} == {"failed"}
    with pytest.raises(ScheduleError, match=match):
        optimize_graph(gm, "forward", Options(strict=True, **options))
    assert names(gm) == before


def test_no_program_by_the_variable(gathers, monkeypatch):
    monkeypatch.setenv("COMMSCHED_OPT", "/nowhere/commsched-opt")
    left_alone(gathers, "'/nowhere/commsched-opt', which is no program")


def test_no_program_on_the_path(gathers, monkeypatch):
    monkeypatch.delenv("COMMSCHED_OPT", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    left_alone(gathers, "no commsched-opt on PATH.*COMMSCHED_OPT")


def version(script):
    from commsched import __version__

    return (
        f'if [ "$1" = --version ]; then echo "CommSched version {__version__}"'
        f"\nexit; fi\n{script}"
    )


@pytest.mark.parametrize("body, match", [
    ("echo 'CommSched version 0.0.7'",
     "{path} is of version 0.0.7, but the Python package"),
    ("echo hello", "of no known version"),
    (version("echo '<stdin>:3:1: error: too much' >&2; exit 1"),
     "failed: error: too much"),
    (version("kill -ABRT $$"), "ended by signal 6"),
    (version("cat > /dev/null"), "commsched-opt"),  # It writes nothing.
])
def test_a_program_that_fails(gathers, script, body, match):
    left_alone(gathers, match.format(path=script(body)))


@pytest.mark.parametrize("text, match", [
    (None, "profile '{path}' cannot be read"),
    ("{times: 3}", "profile '{path}' is not JSON"),
    ('[{"collectives": 3}]', "profile"),
])
def test_a_profile_that_cannot_be_read(
    gathers, opt_program, tmp_path, text, match
):
    path = tmp_path / "profile.json"
    if text is not None:
        path.write_text(text)
    left_alone(gathers, match.format(path=path), profile=path)


def test_a_graph_that_cannot_be_imported(fake_world, opt_program):
    """The warning names the node."""
    group = fake_world(8)
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    start = graph.call_function(
        c10d.all_gather_into_tensor.default, (x, 8, group)
    )
    graph.output(graph.call_function(c10d.wait_tensor.default, (start,)))
    gm = torch.fx.GraphModule(torch.nn.Module(), graph)
    left_alone(gm, "node '.*'")


@pytest.mark.parametrize("version", ["2.12.1", "2.16.0a0+git1234", "3.0.0"])
def test_an_untested_pytorch(gathers, opt_program, monkeypatch, version):
    """It may work: only a warning."""
    monkeypatch.setattr(torch, "__version__", version)
    with pytest.warns(CommSchedWarning, match="PyTorch is") as warned:
        assert optimize_graph(gathers, "forward", Options())
        optimize_graph(gathers, "forward", Options())
    assert len(warned) == 1


def test_a_patch_release_of_a_tested_pytorch(
    gathers, opt_program, monkeypatch, recwarn
):
    monkeypatch.setattr(torch, "__version__", "2.13.7+cu130")
    assert optimize_graph(gathers, "forward", Options())
    assert not recwarn.list


def test_two_causes_are_two_warnings(gathers, monkeypatch):
    with pytest.warns(CommSchedWarning) as warned:
        for name in ("/nowhere/a", "/nowhere/b"):
            monkeypatch.setenv("COMMSCHED_OPT", name)
            optimize_graph(gathers, "forward", Options())
    assert len(warned) == 2


def test_a_graph_without_collectives_needs_no_program(monkeypatch):
    monkeypatch.setenv("COMMSCHED_OPT", "/nowhere/commsched-opt")
    gm = fake_trace(lambda x: x + 1, torch.randn(3))
    assert not optimize_graph(gm, "forward", Options(strict=True))
    (record,) = records.records()
    assert (record.status, record.reason) == ("unchanged", "no collectives")


def test_equal_graphs_are_scheduled_once(gathers, opt_program, monkeypatch):
    from commsched import opt

    calls = []
    original = opt.run_programs

    def listen(*arguments, **settings):
        calls.append(arguments)
        return original(*arguments, **settings)

    monkeypatch.setattr(opt, "run_programs", listen)
    for gm in (copy.deepcopy(gathers), copy.deepcopy(gathers)):
        before = names(gm)
        assert optimize_graph(gm, "forward", Options())
        assert names(gm) != before
    assert len(calls) == 1
    optimize_graph(gathers, "forward", Options(target="b200"))
    assert len(calls) == 2
