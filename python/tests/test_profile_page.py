# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The page of a measured step: its data, and what it shows in a browser."""

import itertools
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("ijson")

from commsched.profile import page as pages  # noqa: E402
from commsched.profile.__main__ import main  # noqa: E402
from profile_traces import Rank  # noqa: E402
from test_timeline_page import browser, facts_of, text_of  # noqa: E402, F401

SOURCES = Path(__file__).parents[2] / "lib" / "Report" / "Page"


def rank_of(number, slower=0):
    """A collective that is exposed twice, and idle time of all causes."""
    rank = Rank(number).kernel(0, 100, 0).copy(100, 140, 5)
    rank.collective("allreduce", 150, 300 + slower, 144)
    rank.kernel(200, 250, 20, name="</script><b>")
    rank.host("cudaDeviceSynchronize", 380, 420)
    return rank.kernel(450 + slower, 500 + slower, 440 + slower)


def write_page(folder, *ranks):
    path = folder / "page.html"
    assert main([*(rank.write(folder) for rank in ranks), "--exposure",
                 f"--page={path}"]) == 0
    return path


def data_of(path):
    text = path.read_text(encoding="utf-8")
    found, = re.findall(r'type="application/json">(.*?)</script>', text)
    return json.loads(found)


def test_data(tmp_path):
    data = data_of(write_page(tmp_path, rank_of(0), rank_of(1, slower=50)))
    texts = data["texts"]
    assert [f["function"] for f in data["functions"]] == ["rank 0", "rank 1"]
    step = data["functions"][0]["measured"]
    figures, gaps = step["figures"], step["gaps"]
    assert figures["step_time_ns"] == 500_000
    assert figures["compute_time_ns"] == 200_000
    assert sum(gaps["time"]) == figures["exposed_comm_ns"] == 300_000
    begins = list(itertools.accumulate(gaps["begin"]))
    assert [(begin // 1000, time // 1000, index, texts[cause])
            for begin, time, index, cause in zip(
                begins, gaps["time"], gaps["collective"], gaps["cause"])] == [
        (100, 40, -1, "copies"), (140, 4, -1, "host"), (144, 6, -1, "rest"),
        (150, 50, 0, ""), (250, 50, 0, ""), (300, 80, -1, "host"),
        (380, 40, -1, "synchronization"), (420, 21, -1, "host"),
        (441, 9, -1, "rest")]
    collectives = step["collectives"]
    assert collectives["exposed"] == [100_000]
    assert collectives["wait"] == [150_000] and collectives["bytes"] == [1024]
    assert texts[collectives["limit"][0]].startswith("launched late")


def test_middle_step_of_all_ranks(tmp_path):
    """The step that takes the median time on its slowest rank."""
    ranks = []
    for number, times in enumerate(((90, 20, 30), (10, 60, 20))):
        rank = Rank(number)
        for step, time in enumerate(times):
            at = 100 * step
            rank.host(f"ProfilerStep#{step}", at, at + 99, "user_annotation")
            rank.kernel(at, at + time, at)
        ranks.append(rank)
    data = data_of(write_page(tmp_path, *ranks))
    # The slowest take 90, 60 and 30: step 1 is in the middle.
    assert [f["measured"]["figures"]["step_time_ns"]
            for f in data["functions"]] == [20_000, 60_000]
    notes = data["functions"][0]["measured"]["figures"]["notes"]
    assert notes == ["step 1, one of 3"]


def test_names_are_no_markup(tmp_path):
    text = write_page(tmp_path, rank_of(0)).read_text(encoding="utf-8")
    assert "</script><b>" not in text and "\\u003c/script>" in text
    assert "{{" not in text


def test_template_is_that_of_the_report():
    """One source of both, also where the package was installed."""
    for part in SOURCES.iterdir():
        if part.suffix in (".html", ".js", ".css"):
            assert (Path(pages.__file__).parent / "page" / part.name
                    ).read_bytes() == part.read_bytes()
    page = (SOURCES / "page.html").read_text()
    named = re.findall(r"{{([a-z]+\.\w+)}}", page)
    assert sorted(named) == sorted(
        p.name for p in SOURCES.iterdir() if p.suffix in (".js", ".css"))


def test_no_program_is_needed(tmp_path):
    """Neither PyTorch nor what CMake builds."""
    folder = tmp_path / "bin"
    folder.mkdir()
    script = ("import sys; sys.modules['torch'] = sys.modules['jax'] = None\n"
              "from commsched.profile.__main__ import main\n"
              f"sys.exit(main([{rank_of(0).write(tmp_path)!r}, '--exposure', "
              f"'--page={tmp_path / 'page.html'}']))")
    environment = {k: v for k, v in os.environ.items() if k != "COMMSCHED_OPT"}
    subprocess.run([sys.executable, "-c", script], check=True,
                   env={**environment, "PATH": str(folder)},
                   stdout=subprocess.DEVNULL)
    assert data_of(tmp_path / "page.html")["functions"]


def test_errors(tmp_path, capsys, monkeypatch):
    trace = rank_of(0).write(tmp_path)
    missing = str(tmp_path / "none" / "page.html")
    assert main([trace, "--exposure", "--page", missing]) == 1
    assert f"'{missing}': No such file" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main([trace, "--program", "step.mlir", "--page", missing])
    assert "needs --exposure" in capsys.readouterr().err
    monkeypatch.setattr(pages, "_FOLDER", tmp_path)
    page = tmp_path / "page.html.txt"
    assert main([trace, "--exposure", "--page", str(page)]) == 1
    assert "template of the page cannot be read" in capsys.readouterr().err
    assert not page.exists()


def test_in_a_browser(tmp_path, browser):  # noqa: F811
    path = write_page(tmp_path, rank_of(0), rank_of(1, slower=50))
    browser.get(f"{path.as_uri()}#find=all_reduce")
    assert text_of(browser, "#title") == "rank 1"
    keys = [cell.get_attribute("data-key") for cell in browser.find_elements(
        "css selector", "#summary tbody:first-of-type td")]
    assert keys == ["step_time_ns", "exposed_comm_ns", "idle_ns",
                    "compute_time_ns", "comm_time_ns", "num_collectives"]
    facts = facts_of(browser)
    assert facts["stream"] == "group 0" and facts["bytes"] == "1.00 KiB"
    assert facts["exposed"] == "150.000 µs" and "remedy" not in facts
    assert facts["reason"].startswith("nothing else launched: for 100.000 us")
    assert text_of(browser, "#exposed-title") == \
        "Most exposed in the measured step: 1 of 1"
    legend = text_of(browser, "#legend")
    assert "idle: synchronization" in legend and "idle: host" in legend
    # Nothing is known of memory.
    assert not browser.find_element("id", "live-section").is_displayed()
    gap = browser.execute_script("""
      const {lane} = timeline.rows.find(
          (row) => row.lane?.kind === 'compute');
      select(lane.find(460e3, 0));
      return timeline.selection.type;""")
    assert gap == "gap"
    assert text_of(browser, "#details h3") == "host"
    assert "not launched" in facts_of(browser)["reason"]
    assert browser.get_log("browser") == []
