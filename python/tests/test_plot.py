# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""``python -m commsched.plot``: what it draws, and its errors."""

import json

import pytest

pytest.importorskip("matplotlib")

from commsched import plot  # noqa: E402


HEADER = (
    "function,budget_bytes,peak_bytes,step_time_ns,lower_bound_ns,"
    "exposed_comm_ns,num_collectives\n"
)
TWO = HEADER + (
    "forward,2147483648,2147483648,5000000,3000000,2000000,7\n"
    "forward,,4294967296,4000000,3000000,1000000,7\n"
    '"back,ward",1073741824,1073741824,9000000,9000000,0,3\n'
)


@pytest.fixture
def write(tmp_path):
    def write(text, name="frontier.csv"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write


def data(line):
    return [list(line.get_xdata()), list(line.get_ydata())]


def test_a_line_and_a_bound_for_each_function(write):
    (axes,) = plot.draw(plot.read_frontiers(write(TWO))).axes
    assert list(map(data, axes.lines)) == [
        [[2.0, 4.0], [5.0, 4.0]],
        [[2.0, 4.0], [3.0, 3.0]],
        [[1.0], [9.0]],
        [[1.0], [9.0]],
    ]
    assert axes.get_xlabel() == "peak memory [GiB]"
    assert axes.get_ylabel() == "step time [ms]"
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [
        "forward", "forward: lower bound", "back,ward", "back,ward: lower bound",
    ]
    # Small steps have small units.
    path = write(HEADER + "f,,1001,450,250,200,2\n")
    (axes,) = plot.draw(plot.read_frontiers(path)).axes
    assert axes.get_xlabel() == "peak memory [bytes]"
    assert axes.get_ylabel() == "step time [ns]"
    assert data(axes.lines[0]) == [[1001.0], [450.0]]


def test_other_schedulers_have_no_bound_and_points_beside_the_curve(write):
    path = write(
        "function,setting,peak_bytes,step_time_ns\n"
        "a,1.0,4,10\na,0.5,3,20\na,0.2,5,15\nb,,2,30\n"
    )
    (axes,) = plot.draw(plot.read_frontiers(path)).axes
    best, beaten, other = axes.lines
    assert data(best) == [[3.0, 4.0], [20.0, 10.0]]
    assert data(beaten) == [[5.0], [15.0]]
    assert data(other) == [[2.0], [30.0]]


def test_each_file_has_axes_and_each_function_a_color(write, tmp_path):
    header = "function,peak_bytes,step_time_ns\n"
    first = write(header + "ours,1,9\ntheirs,1,10\n", "first.csv")
    second = write(header + "theirs,2,20\n", "second.csv")
    figure = plot.draw_all(plot.read_files([first, second]))
    left, right = figure.axes
    assert [axes.get_title() for axes in (left, right)] == ["first", "second"]
    assert right.lines[0].get_color() == left.lines[1].get_color()
    output = tmp_path / "both.png"
    assert plot.main([first, second, "-o", str(output)]) == 0
    assert output.exists()


def test_several_files_share_a_legend_and_long_steps_are_left_out(write):
    header = "function,peak_bytes,step_time_ns\n"
    files = plot.read_files(
        [
            write(header + "ours,1,100\nours,2,90\n", "a.csv"),
            write(header + "theirs,1,100\ntheirs,2,10\n", "b.csv"),
        ]
    )
    left, right = plot.draw_all(files, longest=1.5).axes
    labels = [text.get_text() for text in left.get_legend().get_texts()]
    assert labels == ["ours", "theirs"] and right.get_legend() is None
    assert left.get_ylim()[1] < 101
    low, high = right.get_ylim()
    assert low < 10 and high == 15

    # Five leave a sixth place for the legend, without axes.
    five = {f"{number}": files["a"] for number in range(5)}
    *drawn, last = plot.draw_all(five).axes
    assert last.get_legend() is not None and not last.axison
    assert all(axes.get_legend() is None for axes in drawn)


def test_the_picture_can_be_read_on_dark_pages(write, tmp_path):
    output = tmp_path / "out.svg"
    assert plot.main([write(TWO), "--longest", "1.2", "-o", str(output)]) == 0
    text = output.read_text(encoding="utf-8")
    background = text[text.index('id="patch_1"') :]
    assert "fill: #ffffff" in background[: background.index("</g>")]
    assert ">peak memory [GiB]</text>" in text


def test_json_holds_the_same(write):
    names = HEADER.strip().split(",")
    rows = [
        ["forward", 2147483648, 2147483648, 5000000, 3000000, 2000000, 7],
        ["forward", None, 4294967296, 4000000, 3000000, 1000000, 7],
        ["back,ward", 1073741824, 1073741824, 9000000, 9000000, 0, 3],
    ]
    text = json.dumps([dict(zip(names, row, strict=True)) for row in rows])
    path = write(text, "frontier.json")
    assert plot.read_frontiers(path) == plot.read_frontiers(write(TWO))


@pytest.mark.parametrize("magic", [b"\x89PNG", b"<?xml"], ids=["png", "svg"])
def test_writes_the_same_picture_twice(write, tmp_path, run_python, magic):
    path = write(TWO)
    output = tmp_path / ("frontier.png" if magic[1:4] == b"PNG" else "out.svg")
    # By default, beside the input.
    where = ["-o", output] if output.suffix == ".svg" else []
    done = run_python("-m", "commsched.plot", path, *where)
    assert (done.returncode, done.stdout) == (0, f"{output}\n"), done.stderr
    first = output.read_bytes()
    assert first.startswith(magic)
    assert plot.main([path, "-o", str(output)]) == 0
    assert output.read_bytes() == first


ENTRY = '{"function": "f", "peak_bytes": 1.5, "step_time_ns": 1, "lower_bound_ns": 1}'


@pytest.mark.parametrize("text, name, message", [
    ("", "a.csv", "a.csv has no points"),
    (HEADER, "a.csv", "a.csv has no points"),
    ("a,b\n1,2\n", "a.csv", "a.csv:2 has no 'function'"),
    (HEADER + "f,1\n", "a.csv", "a.csv:2 has no 'peak_bytes'"),
    (HEADER + "f,1,x,1,1,1,1\n", "a.csv",
     "a.csv:2: 'peak_bytes' is not a number of at least 0, but 'x'"),
    (HEADER + "f,1,1,1,1,1,1\nf,1,1,-2,1,1,1\n", "a.csv",
     "a.csv:3: 'step_time_ns' is not a number of at least 0, but '-2'"),
    (HEADER + '"f,1', "a.csv", "a.csv is no frontier: unexpected end"),
    ("[", "a.json", "a.json is no frontier: "),
    ("{}", "a.json", "a.json is no frontier: not an array"),
    ("[1]", "a.json", "a.json: entry 0 is not an object"),
    ("[]", "a.json", "a.json has no points"),
    ('[{"function": "f", "peak_bytes": null}]', "a.json",
     "a.json: entry 0 has no 'peak_bytes'"),
    (f"[{ENTRY}]", "a.json",
     "a.json: entry 0: 'peak_bytes' is not a number of at least 0, but '1.5'"),
    ("\udcff\udcfe", "a.csv", "a.csv is no frontier"),
    (None, "missing.csv", "missing.csv"),
])
def test_bad_files(tmp_path, capsys, text, name, message):
    path, output = tmp_path / name, tmp_path / "x.png"
    if text is not None:
        path.write_text(text, encoding="utf-8", errors="surrogateescape")
    assert plot.main([str(path), "-o", str(output)]) == 1
    error = capsys.readouterr().err
    assert error.startswith("error: ") and message in error
    assert not output.exists()


@pytest.mark.parametrize("output", ["no/x.png", "x.doc"])
def test_pictures_that_cannot_be_written(write, tmp_path, capsys, output):
    assert plot.main([write(TWO), "-o", str(tmp_path / output)]) == 1
    assert output.split(".")[-1] in capsys.readouterr().err
