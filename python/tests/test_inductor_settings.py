# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inductor's settings beside a schedule, and what its caches know it by."""

import warnings

import pytest
import torch
from torch._inductor import config
from torch._inductor.custom_graph_pass import CustomGraphPass, CustomSchedulerPass

import commsched.torch as cs
from commsched.torch import private
from commsched.torch.compiling import inductor
from commsched.torch.compiling.inductor_settings import check_effective

SIMPLE_OVERLAP = "aten_distributed_optimizations.enable_simple_overlap"


class Theirs(CustomGraphPass):
    def __call__(self, graph):
        pass

    def uuid(self):
        return "theirs"


class TheirOrder(CustomSchedulerPass):
    def __init__(self):
        self.seen = None

    def __call__(self, nodes):
        self.seen = list(nodes)
        return nodes[::-1]

    def uuid(self):
        return "their order"


def uuids(settings):
    passes = [
        settings["post_grad_custom_post_pass"],
        settings["_pre_fusion_custom_pass"],
        settings["_post_fusion_custom_pass"],
    ]
    return [each.uuid() for each in passes]


def test_what_reorders_is_off():
    settings = cs.inductor_options()
    assert settings["reorder_for_peak_memory"] is False
    assert settings["reorder_for_compute_comm_overlap"] is False
    assert settings["bucket_all_gathers_fx"] == "none"
    # Inductor's simple overlap came with 2.14 and is on by default.
    has_simple_overlap = private.has_inductor_setting(SIMPLE_OVERLAP)
    assert settings.get(SIMPLE_OVERLAP, True) is not has_simple_overlap
    # torch.compile knows all of them.
    torch.compile(lambda x: x, options=settings)


@pytest.mark.parametrize("name, value", [
    ("reorder_for_peak_memory", True),
    ("reorder_for_compute_comm_overlap", True),
    ("bucket_reduce_scatters_fx", "all"),
    ("aten_distributed_optimizations.enable_overlap_scheduling", True),
    ("reorder_for_compute_comm_overlap_passes", ["sink_waits"]),
    ("reorder_for_compute_comm_overlap_passes", ["no_such_pass"]),
    ("reorder_for_compute_comm_overlap_passes", [5]),
])
def test_an_option_that_undoes_the_schedule_is_an_error(name, value):
    with pytest.raises(cs.OptionsError) as raised:
        cs.inductor_options({name: value})
    assert f"'{name}' is {value!r}" in str(raised.value)
    assert "CommSched" in str(raised.value)


@pytest.mark.parametrize("options, error", [
    (5, "options of Inductor are 5"),
    *(({name: 5}, f"'{name}' is 5") for name in (
        "_pre_fusion_custom_pass",
        "_post_fusion_custom_pass",
        "post_grad_custom_post_pass",
    )),
])
def test_a_pass_that_cannot_be_called_is_an_error(options, error):
    with pytest.raises(cs.OptionsError, match=error):
        cs.inductor_options(options)
    settings = cs.inductor_options({"max_autotune": True}, buckets="off")
    assert settings["max_autotune"] is True


def test_a_setting_that_undoes_the_schedule_is_warned_of_once():
    with config.patch(bucket_all_gathers_fx="all"):
        with pytest.warns(cs.CommSchedWarning, match="bucket_all_gathers_fx"):
            settings = cs.inductor_options()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            cs.inductor_options()
    assert settings["bucket_all_gathers_fx"] == "none"


@pytest.mark.parametrize("where", ["options", "config"])
def test_passes_of_the_user_run_first(where):
    theirs = {
        "post_grad_custom_post_pass": Theirs(),
        "_pre_fusion_custom_pass": TheirOrder(),
        "_post_fusion_custom_pass": TheirOrder(),
    }
    if where == "options":
        settings = cs.inductor_options(theirs)
    else:
        with config.patch(theirs):
            settings = cs.inductor_options()
    passes = settings["post_grad_custom_post_pass"]
    assert passes[0] is theirs["post_grad_custom_post_pass"]
    assert isinstance(passes[1], inductor.SchedulePass)
    for name in ("_pre_fusion_custom_pass", "_post_fusion_custom_pass"):
        assert settings[name]._first is theirs[name]
        assert "their order" in settings[name].uuid()


def test_a_pass_over_nodes_gets_what_the_users_returns(monkeypatch):
    scheduler = inductor.private_scheduler
    monkeypatch.setattr(scheduler, "is_scheduled", lambda: True)
    monkeypatch.setattr(scheduler, "write_end", lambda: None)
    monkeypatch.setattr(scheduler, "chain", lambda nodes: ["chained", *nodes])
    theirs = TheirOrder()
    settings = cs.inductor_options({"_pre_fusion_custom_pass": theirs})
    found = settings["_pre_fusion_custom_pass"]([1, 2])
    assert theirs.seen == [1, 2]
    assert found == ["chained", 2, 1]


def test_settings_that_came_later_are_noticed():
    settings = cs.inductor_options()
    options = cs.Options(strict=True)
    with config.patch(settings):
        check_effective(options)
    with config.patch({**settings, "reorder_for_peak_memory": True}):
        with pytest.raises(cs.OptionsError, match="reorder_for_peak_memory"):
            check_effective(options)
    with config.patch({**settings, "_pre_fusion_custom_pass": None}):
        with pytest.raises(cs.OptionsError, match="_pre_fusion_custom_pass"):
            check_effective(options)


def test_keys_name_what_decides_a_schedule(tmp_path):
    profile = tmp_path / "profile.json"
    profile.write_text("{}")

    def key(**options):
        return uuids(cs.inductor_options(profile=str(profile), **options))[0]

    first = key()
    assert first == key() is not None
    other = key(memory_budget="7%")
    profile.write_text("{ }")
    assert len({first, other, key()}) == 3
    # A user's pass without a key is not cached.
    settings = {"_pre_fusion_custom_pass": lambda nodes: nodes}
    assert set(uuids(cs.inductor_options(settings))) == {None}


def test_code_that_ranks_agreed_on_is_kept_apart(monkeypatch):
    def keys(job, agree):
        monkeypatch.setattr(inductor, "current_job", lambda: job)
        return uuids(cs.inductor_options(agree=agree))

    assert keys(object(), True) != keys(None, True)
    assert keys(object(), False) == keys(None, False)
