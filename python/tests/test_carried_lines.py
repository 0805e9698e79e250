# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Code of Inductor's begins with what its cache entry has to know."""

import pytest

torch = pytest.importorskip("torch")

from torch._inductor.codecache import PyCodeCache  # noqa: E402
from torch._inductor.custom_graph_pass import CustomGraphPass  # noqa: E402

from commsched.torch import private  # noqa: E402

#: What was carried, in the order in which code was loaded.
seen = []

library = torch.library.Library("commsched_test", "FRAGMENT")
library.define("note(str text) -> ()")
library.impl(
    "note",
    lambda text: seen.append(f"ran {text}"),
    "CompositeExplicitAutograd",
)
torch.library.register_fake(
    "commsched_test::note", lambda text: None, lib=library
)
note = torch.ops.commsched_test.note.default
torch.fx.node.has_side_effect(note)


class _Insert(CustomGraphPass):
    def __call__(self, graph):
        first = next(n for n in graph.nodes if n.op != "placeholder")
        with graph.inserting_before(first):
            graph.call_function(note, ("it",)).meta["val"] = None

    def uuid(self):
        return "carried lines"


def _line(text):
    return f"__import__({__name__!r}).seen.append({'carried ' + text!r})"


def _step():
    torch._dynamo.reset()
    options = {"post_grad_custom_post_pass": _Insert()}
    return torch.compile(lambda x: x @ x, options=options)


def _count(what):
    return torch._dynamo.utils.counters["inductor"][f"fxgraph_cache_{what}"]


def test_code_carries_its_line_into_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    private.carry_line(note, _line)
    torch._dynamo.utils.counters.clear()
    seen.clear()
    _step()(torch.ones(4, 4))
    assert seen == ["carried it", "ran it"]
    seen.clear()
    PyCodeCache.cache_clear()
    _step()(torch.ones(4, 4))
    assert _count("hit") == 1
    assert seen == ["carried it", "ran it"]


def test_a_line_that_raises_oserror_is_a_miss(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    private.carry_line(note, _line)
    torch._dynamo.utils.counters.clear()
    _step()(torch.ones(4, 4))
    PyCodeCache.cache_clear()
    seen.clear()

    # AOT autograd looks up, and then Inductor.
    class Twice(list):
        def append(self, text):
            list.append(self, text)
            if len(self) <= 2:
                raise OSError("outdated")

    monkeypatch.setattr("test_carried_lines.seen", Twice())
    _step()(torch.ones(4, 4))
    assert _count("hit") == 0
    assert _count("miss") == 3
