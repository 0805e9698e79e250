# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The page of commsched-report=format=html in a browser: what it shows, what
keys and the pointer do, both themes, and names that look like markup."""

import io
import itertools
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from commsched import demo
from commsched.profile import page as pages
from commsched.profile.__main__ import main
from profile_traces import Rank
from test_demo import REPEATED

ROOT = Path(__file__).parents[2]

# The gather is exposed where it stands first, and hidden before the product;
# nothing hides the reduction.
GATHER = """
  %f = commsched.all_gather %s on @dp dim(0)
      {commsched.name = "gather", commsched.runtime_ns = 80}
      : tensor<256xf32> -> !commsched.future<tensor<1024xf32>>"""
PRODUCT = """
  %a = commsched.compute "mm"(%x)
      {commsched.name = "product", commsched.runtime_ns = 100}
      : (tensor<512xf32>) -> tensor<2048xf32>"""
STEP = """
commsched.group @dp size(4)
func.func @step(%s: tensor<256xf32>, %x: tensor<512xf32>)
    -> tensor<1024xf32> {BEGIN
  %w = commsched.wait %f : !commsched.future<tensor<1024xf32>>
  %y = commsched.compute "use"(%w, %a)
      {commsched.name = "use", commsched.runtime_ns = 50}
      : (tensor<1024xf32>, tensor<2048xf32>) -> tensor<1024xf32>
  %g = commsched.all_reduce %y on @dp reduction(sum)
      {commsched.name = "reduction", commsched.runtime_ns = 60}
      : tensor<1024xf32> -> !commsched.future<tensor<1024xf32>>
  %r = commsched.wait %g : !commsched.future<tensor<1024xf32>>
  return %r : tensor<1024xf32>
}
func.func @short(%x: tensor<512xf32>) -> tensor<512xf32> {
  %a = commsched.compute "cast"(%x)
      {commsched.name = "cast", commsched.runtime_ns = 7}
      : (tensor<512xf32>) -> tensor<512xf32>
  return %a : tensor<512xf32>
}
"""
BEFORE = STEP.replace("BEGIN", PRODUCT + GATHER)
AFTER = STEP.replace("BEGIN", GATHER + PRODUCT)
# Selects an item of the version after, on its stream, and says where it is.
PLACE = """
  const version = mainVersion();
  const {step} = version;
  const index = step.collectives.name.findIndex(
      (text) => step.texts[text] === arguments[0]);
  return timeline.placeOf({version, type: 'collective', index});
"""


@pytest.fixture(scope="module")
def browser():
    """A Chromium without a window, of 1200 by 900 pixels."""
    webdriver = pytest.importorskip("selenium.webdriver")
    service = pytest.importorskip("selenium.webdriver.chrome.service")
    program, driver = map(shutil.which, ("chromium", "chromedriver"))
    if not program or not driver:
        pytest.skip("no chromium with chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--hide-scrollbars",
        "--force-device-scale-factor=1",
        "--window-size=1200,900",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    chromium = webdriver.Chrome(options, service.Service(driver))
    yield chromium
    chromium.quit()


@pytest.fixture
def write_page(opt_program, tmp_path):
    """Writes the page on a module; returns its path."""

    def write(after, before=None, *options):
        path = tmp_path / "page.html"
        words = ["format=html", f"output={path}", *options]
        if before is not None:
            (tmp_path / "before.mlir").write_text(before, encoding="utf-8")
            words.append(f"before={tmp_path / 'before.mlir'}")
        run_opt(opt_program, after, f"--commsched-report={' '.join(words)}")
        return path

    return write


@pytest.fixture
def open_page(browser, write_page):
    """Opens the page on a module; returns the browser. What a page logs is an
    error."""

    def open_page(after, before=None, *options, show=""):
        path = write_page(after, before, *options)
        # Another page first, or only what is behind # would change.
        browser.get("about:blank")
        browser.get(f"{path.as_uri()}#{show}")
        return browser

    yield open_page
    assert browser.get_log("browser") == []


def run_opt(program, module, *arguments):
    result = subprocess.run(
        [program, "-", "-o", "/dev/null", *arguments],
        input=module.encode() if isinstance(module, str) else module,
        capture_output=True,
    )
    assert result.returncode == 0, result.stderr.decode()
    return result.stdout.decode()


def report_on(program, module):
    """The JSON report of each function."""
    lines = run_opt(program, module, "--commsched-report=format=json")
    reports = map(json.loads, lines.splitlines())
    return {report["function"]: report for report in reports}


def find(browser, selector):
    return browser.find_elements("css selector", selector)


def text_of(browser, selector):
    (element,) = find(browser, selector)
    return element.text


def facts_of(browser):
    """What the page says of the selection, by title."""
    return {
        fact.get_attribute("data-fact"): fact.text
        for fact in find(browser, "#details dd[data-fact]")
    }


def act(browser):
    from selenium.webdriver import ActionChains

    return ActionChains(browser, duration=0)


def move_to(browser, place):
    """The actions that move the pointer to a place of the canvas."""
    from selenium.webdriver.common.actions.action_builder import ActionBuilder

    (box,) = find(browser, "#canvas")
    corner = browser.execute_script(
        "const {x, y} = arguments[0].getBoundingClientRect(); return [x, y];",
        box,
    )
    actions = ActionBuilder(browser, duration=0)
    actions.pointer_action.move_to_location(
        round(corner[0] + place["x"]), round(corner[1] + place["y"])
    )
    return actions


def click(browser, place):
    actions = move_to(browser, place)
    actions.pointer_action.click()
    actions.perform()


def press(browser, *keys):
    act(browser).send_keys(*keys).perform()


def shown_times(browser):
    return browser.execute_script("return [timeline.view.from, timeline.view.to];")


def test_summary_is_that_of_the_json_report(open_page, opt_program):
    browser = open_page(AFTER, BEFORE)
    keys = {
        "step_time_ns", "tight_lower_bound_ns", "exposed_comm_ns", "compute_time_ns",
        "comm_time_ns", "peak_memory_bytes", "num_collectives",
    }
    bodies = find(browser, "#summary tbody")
    reports = [report_on(opt_program, text) for text in (BEFORE, AFTER)]
    for body, name in zip(bodies, ("step", "short"), strict=True):
        assert body.find_element("css selector", "button").text
        rows = body.find_elements("css selector", "tr")
        for row, report in zip(rows, reports, strict=True):
            cells = row.find_elements("css selector", "td")
            values = {
                cell.get_attribute("data-key"): int(cell.get_attribute("data-value"))
                for cell in cells
            }
            assert values == {key: report[name][key] for key in keys}
    before, after = find(browser, "td[data-key=step_time_ns]")[:2]
    assert (before.text, after.text) == ("290 ns", "210 ns−27.6 %")
    assert text_of(browser, "#exposed-title") == "Most exposed after: 1 of 1"
    # What the figures rest on.
    pinned = "simulated: costs pinned in the program (commsched.runtime_ns)"
    assert text_of(browser, "header #evidence") == pinned
    before = BEFORE.replace(", commsched.runtime_ns = 50", "")
    after = f"""module attributes {{dlti.target_system_spec =
  #dlti.target_system_spec<"GPU" = #dlti.target_device_spec<
    "commsched.preset" = "b200">>}} {{
{AFTER}
}}"""
    browser = open_page(after, before)
    partly = "simulated: target b200; costs: model (3 of 4 operations pinned)"
    assert text_of(browser, "header #evidence") == f"before {partly} · after {pinned}"
    live_values(open_page(AFTER, BEFORE), report_on(opt_program, AFTER)["step"])


def live_values(browser, report):
    """Checks what lives at the peak, and where the pointer is."""

    def live():
        rows = find(browser, "#live tr")
        return [row.text.rsplit(maxsplit=2)[0] for row in rows]

    peak = [value["name"] for value in report["peak_values"]]
    assert live() == peak
    assert "(peak)" in text_of(browser, "#live-title")
    x = browser.execute_script("return timeline.view.x(200);")
    y = browser.execute_script("return timeline.memoryTop + 20;")
    move_to(browser, {"x": x, "y": y}).perform()
    # The product and what was gathered are freed by then.
    assert live() == ["use", "reduction", "%arg1", "%arg0"]
    assert text_of(browser, "#live-title").startswith("Live after, at 200 ns")
    move_to(browser, {"x": x, "y": -20}).perform()
    assert live() == peak


def test_click_gives_reason_and_remedy(open_page, opt_program):
    browser = open_page(AFTER, BEFORE)
    click(browser, browser.execute_script(PLACE, "reduction"))
    (reduction,) = (
        collective
        for collective in report_on(opt_program, AFTER)["step"]["collectives"]
        if collective["name"] == "reduction"
    )
    assert text_of(browser, "#details h3") == "reduction"
    assert facts_of(browser) == {
        "version": "after",
        "kind": "all_reduce",
        "group": "dp",
        "bytes": "4.00 KiB",
        "runs": "150 ns to 210 ns",
        "takes": "60 ns",
        "waited for": "at 150 ns",
        "exposed": "60 ns",
        "reason": reduction["limited_by"],
        "remedy": reduction["remedy"],
    }
    # The same collective before.
    (other,) = find(browser, "#details dd .link")
    other.click()
    assert facts_of(browser)["version"] == "before"
    assert facts_of(browser)["runs"] == "230 ns to 290 ns"
    press(browser, "\ue00c")  # Escape
    assert facts_of(browser) == {}


def test_search(open_page):
    browser = open_page(AFTER, BEFORE)
    press(browser, "/")
    press(browser, "US")
    assert text_of(browser, "#found") == "2 found"
    press(browser, "\ue007")  # Enter
    assert text_of(browser, "#found") == "1 of 2"
    assert text_of(browser, "#details h3") == "use"
    assert facts_of(browser)["version"] == "after"
    # What is found is in view, with a margin around it.
    assert shown_times(browser) == [0, 250]
    press(browser, "\ue007")
    assert facts_of(browser)["version"] == "before"
    assert facts_of(browser)["runs"] == "180 ns to 230 ns"
    assert shown_times(browser) == [40, 290]
    press(browser, "nothing")
    assert text_of(browser, "#found") == "none found"


def test_zoom_and_move(open_page):
    browser = open_page(AFTER, BEFORE)
    assert shown_times(browser) == [0, 290]
    press(browser, "+")
    assert shown_times(browser) == [72.5, 217.5]
    press(browser, "\ue012")  # left
    assert shown_times(browser) == [43.5, 188.5]
    find(browser, "#zoom-out")[0].click()
    assert shown_times(browser) == [0, 290]

    place = browser.execute_script(PLACE, "reduction")
    at = browser.execute_script("return timeline.view.ns(arguments[0]);", place["x"])
    canvas = find(browser, "#canvas")[0]
    move_to(browser, place).perform()
    from selenium.webdriver.common.actions.wheel_input import ScrollOrigin

    offset = [
        int(place[axis] - canvas.size[side] / 2)
        for axis, side in (("x", "width"), ("y", "height"))
    ]
    origin = ScrollOrigin.from_element(canvas, *offset)
    act(browser).scroll_from_origin(origin, 0, -500).perform()
    begin, end = shown_times(browser)
    assert 0 < begin < at < end <= 290
    assert end - begin == pytest.approx(290 * 1.002**-500)

    actions = move_to(browser, place)
    actions.pointer_action.pointer_down()
    actions.perform()
    actions = move_to(browser, {**place, "x": place["x"] + 100})
    actions.pointer_action.pointer_up()
    actions.perform()
    moved = shown_times(browser)
    assert moved[0] < begin and moved[1] < end
    assert facts_of(browser) == {}, "a drag is no click"
    press(browser, "0")
    assert shown_times(browser) == [0, 290]
    press(browser, "n")
    assert text_of(browser, "#details h3") == "reduction"


def test_functions(open_page):
    browser = open_page(AFTER, BEFORE)
    assert text_of(browser, "#title") == "@step"
    find(browser, "#summary .link")[1].click()
    assert text_of(browser, "#title") == "@short"
    assert text_of(browser, "#exposed-title") == "Nothing is exposed after"
    browser = open_page(AFTER, None, show="function=short&find=cast&theme=dark")
    assert text_of(browser, "#title") == "@short"
    assert text_of(browser, "#details h3") == "cast"
    assert text_of(browser, "#found") == "1 of 1"
    browser = open_page("module {}")
    assert text_of(browser, "#notes") == "No function could be simulated."


def test_frontier(open_page, opt_program, tmp_path):
    peak = report_on(opt_program, AFTER)["step"]["peak_memory_bytes"]
    points = tmp_path / "frontier.json"
    same = {"function": "step", "lower_bound_ns": 180}
    rows = [{**same, "peak_bytes": size, "step_time_ns": time}
            for size, time in ((12000, 290), (peak, 210))]
    points.write_text(json.dumps(rows))
    browser = open_page(AFTER, BEFORE, f"frontier={points}")
    titles = find(browser, "#frontier title")
    assert [title.get_attribute("textContent") for title in titles] == [
        "11.72 KiB: 290 ns",
        "19.00 KiB: 210 ns",
        "before: 19.00 KiB, 290 ns",
        "after: 19.00 KiB, 210 ns",
    ]
    find(browser, "#summary .link")[1].click()
    assert not find(browser, "#frontier-section")[0].is_displayed()


def test_names_are_no_markup(open_page):
    hostile = "</script><img src=x onerror=alert(1)><!--{{data}}"
    quoted = f'"{hostile}"'
    text = AFTER.replace('"gather"', quoted).replace('"reduction"', quoted)
    text = text.replace("@step", f"@{quoted}").replace("@dp", f'@"{hostile}2"')
    text = text.replace(
        "%x: tensor<512xf32>)\n",
        f"%x: tensor<512xf32> {{commsched.name = {quoted}}})\n",
    )
    browser = open_page(text, text)
    press(browser, "n")
    assert text_of(browser, "#details h3") == hostile
    assert text_of(browser, "#title") == "@" + hostile
    assert facts_of(browser)["group"] == hostile + "2"
    assert hostile in text_of(browser, "#exposed")
    assert hostile in text_of(browser, "#live")
    move_to(browser, browser.execute_script(PLACE, hostile)).perform()
    assert hostile in text_of(browser, "#tip")
    assert find(browser, "img") == []
    assert len(find(browser, "script")) == 2


def colors_of(browser):
    """The number of pixels of each color, and the size of the picture."""
    image = pytest.importorskip("PIL.Image")
    picture = image.open(io.BytesIO(browser.get_screenshot_as_png()))
    counts = picture.convert("RGB").getcolors(maxcolors=1 << 24)
    return {color: count for count, color in counts}, picture.size


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_picture(open_page, theme):
    browser = open_page(AFTER, BEFORE, show=f"theme={theme}")
    colors, (width, height) = colors_of(browser)
    assert width == 1200 and 700 < height <= 900
    page, compute, stall = {
        "light": ((255, 255, 255), (31, 119, 180), (214, 39, 40)),
        "dark": ((20, 24, 28), (47, 134, 196), (229, 72, 77)),
    }[theme]
    gather, reduction = (255, 127, 14), (148, 103, 189)
    assert max(colors, key=colors.get) == page
    for color in (compute, stall, gather, reduction):
        assert colors[color] > 1000, color
    # Both versions have computation in 150 of 290 ns, on lanes 30 pixels high.
    lanes = browser.execute_script("return timeline.view.width;")
    expected = 2 * 30 * lanes * 150 / 290
    assert colors[compute] == pytest.approx(expected, rel=0.1)


def test_theme_follows_system_and_choice(open_page):
    from selenium.webdriver.support.select import Select

    browser = open_page(AFTER)

    def emulate(*features):
        command = "Emulation.setEmulatedMedia"
        browser.execute_cdp_cmd(command, {"features": list(features)})

    light, dark = "rgba(255, 255, 255, 1)", "rgba(20, 24, 28, 1)"
    for system, choice, seen in (
        ("dark", "auto", dark),
        ("light", "auto", light),
        ("light", "dark", dark),
        ("dark", "light", light),
    ):
        emulate({"name": "prefers-color-scheme", "value": system})
        Select(find(browser, "#theme")[0]).select_by_value(choice)
        (body,) = find(browser, "body")
        assert body.value_of_css_property("background-color") == seen
    emulate()


def test_steady_state(open_page, opt_program, tmp_path):
    steady = tmp_path / "steady.mlir"
    command = [opt_program, "-", "-o", steady]
    command += ["--commsched-pipeline=steady-state memory-budget=1GiB"]
    subprocess.run(command, input=REPEATED.encode(), check=True)
    text = steady.read_text()
    report = report_on(opt_program, text)["step_steady"]
    assert report["repetitions_in_progress"] == 2
    browser = open_page(text, show="function=step_steady")
    notes = text_of(browser, "#notes")
    assert report["period_ns"] == 110_000_000
    assert notes.startswith("after: period 110.000 ms, bound 110.000 ms ")
    assert f"({report['period_limited_by']}), repetitions in progress: 2" in notes
    assert text_of(browser, "#live") == "Values are not known."


def test_large_step(open_page):
    make = ROOT / "testsupport" / "steps" / "make_step.py"
    command = [sys.executable, make, "--model=70b", "--layers=160"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    browser = open_page(text)
    milliseconds = browser.execute_script(
        "return Number(document.documentElement.dataset.drawn);"
    )
    assert 0 < milliseconds < 3000
    # A frame does not grow with the step: pixels are drawn, not operations.
    rectangles = """
      let count = 0;
      const fill = timeline.context.fillRect;
      timeline.context.fillRect = function(...box) {
        ++count;
        fill.apply(this, box);
      };
      timeline.drawNow();
      delete timeline.context.fillRect;
      return [count, timeline.view.width, mainVersion().step.figures.num_ops];
    """
    count, width, operations = browser.execute_script(rectangles)
    assert operations > 20000
    assert width / 2 < count < 8 * width


def test_draw_page(write_page, tmp_path, capsys):
    missing, picture = tmp_path / "missing.html", tmp_path / "page.png"
    assert demo.main(["draw", str(missing), str(picture)]) == 1
    assert capsys.readouterr().err == f"error: {missing} is no file\n"
    if not shutil.which("chromium"):
        pytest.skip("no chromium")
    page = write_page(AFTER, BEFORE)
    size = ["--width=1000", "--height=700"]
    assert demo.main(["draw", str(page), str(picture), *size]) == 0
    image = pytest.importorskip("PIL.Image").open(picture)
    assert image.size == (1500, 1050)
    assert len(image.convert("RGB").getcolors(maxcolors=1 << 24)) > 50


# -- The page of a measured step: its data, and what it shows in a browser.


SOURCES = Path(__file__).parents[2] / "lib" / "Report" / "Page"


def rank_of(number, slower=0):
    """A collective that is exposed twice, and idle time of all causes."""
    rank = Rank(number).kernel(0, 100, 0).copy(100, 140, 5)
    rank.collective("allreduce", 150, 300 + slower, 144)
    rank.kernel(200, 250, 20, name="</script><b>")
    rank.host("cudaDeviceSynchronize", 380, 420)
    return rank.kernel(450 + slower, 500 + slower, 440 + slower)


def write_profile_page(folder, *ranks):
    path = folder / "page.html"
    assert main([*(rank.write(folder) for rank in ranks), "--exposure",
                 f"--page={path}"]) == 0
    return path


def data_of(path):
    text = path.read_text(encoding="utf-8")
    found, = re.findall(r'type="application/json">(.*?)</script>', text)
    return json.loads(found)


def test_data_of_a_measured_step(tmp_path):
    data = data_of(write_profile_page(tmp_path, rank_of(0), rank_of(1, slower=50)))
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
    data = data_of(write_profile_page(tmp_path, *ranks))
    # The slowest take 90, 60 and 30: step 1 is in the middle.
    assert [f["measured"]["figures"]["step_time_ns"]
            for f in data["functions"]] == [20_000, 60_000]
    notes = data["functions"][0]["measured"]["figures"]["notes"]
    assert notes == ["step 1, one of 3"]


def test_names_in_traces_are_no_markup(tmp_path):
    text = write_profile_page(tmp_path, rank_of(0)).read_text(encoding="utf-8")
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


def test_no_program_is_needed(tmp_path, run_python, monkeypatch):
    """Neither PyTorch nor what CMake builds."""
    monkeypatch.delenv("COMMSCHED_OPT", raising=False)
    script = ("import sys; sys.modules['torch'] = sys.modules['jax'] = None\n"
              "from commsched.profile.__main__ import main\n"
              f"sys.exit(main([{rank_of(0).write(tmp_path)!r}, '--exposure', "
              f"'--page={tmp_path / 'page.html'}']))")
    done = run_python(script, PATH=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert data_of(tmp_path / "page.html")["functions"]


def test_errors_of_pages(tmp_path, capsys, monkeypatch):
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


def test_measured_step_in_a_browser(tmp_path, browser):
    path = write_profile_page(tmp_path, rank_of(0), rank_of(1, slower=50))
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
