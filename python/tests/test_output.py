# Part of the CommSched project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files are written whole or not at all."""

import os

import pytest

from commsched import output


def test_replaces_a_file_at_the_end(tmp_path):
    path = tmp_path / "step.mlir"
    path.write_text("before")
    with output.replacing(path) as temporary:
        with open(temporary, "w", encoding="utf-8") as file:
            file.write("after")
        assert path.read_text() == "before"
    assert path.read_text() == "after"
    assert os.listdir(tmp_path) == ["step.mlir"]


def test_keeps_the_file_and_its_ending(tmp_path):
    path = tmp_path / "step.svg"
    path.write_text("before")
    with pytest.raises(KeyboardInterrupt):
        with output.replacing(path) as temporary:
            assert temporary.endswith(".svg")
            with open(temporary, "w", encoding="utf-8") as file:
                file.write("a part")
            raise KeyboardInterrupt
    assert path.read_text() == "before"
    assert os.listdir(tmp_path) == ["step.svg"]


def test_writes_through_a_link(tmp_path):
    target, link = tmp_path / "target.mlir", tmp_path / "link.mlir"
    target.write_text("before")
    link.symlink_to(target)
    output.write_module("after", str(link))
    assert link.is_symlink()
    assert target.read_text() == "after"


def test_writes_to_a_device():
    output.write_module("module {}", os.devnull)
    assert not os.path.isfile(os.devnull)


def test_names_the_file_that_cannot_be_written(tmp_path):
    path = tmp_path / "no" / "step.mlir"
    with pytest.raises(FileNotFoundError) as raised:
        output.write_module("module {}", str(path))
    assert raised.value.filename == str(path)
