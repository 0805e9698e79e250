# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds and loads the extension module `commsched._native`.

It is the first of these that there is:

* the one in this package, which a wheel has;
* the one that CMake built together with the `commsched-opt` that is first on
  PATH;
* the one in the folder `build` of the source checkout that this package is in.

An extension of another version than this package counts as none.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import pathlib
import sys
from types import ModuleType
from typing import Iterator, Optional

from . import __version__
from ._programs import on_path

_NAME = "commsched._native"
_PACKAGE = pathlib.Path(__file__).resolve().parent

_failure: Optional[str] = None


def _folders() -> Iterator[pathlib.Path]:
    yield _PACKAGE
    program = on_path("commsched-opt")
    if program is not None:
        folder = pathlib.Path(program).resolve().parent
        yield folder.parent / "python" / "commsched"
        return
    checkout = _PACKAGE.parent.parent
    if (checkout / "CMakeLists.txt").exists():
        yield checkout / "build" / "python" / "commsched"


def _find_file() -> Optional[pathlib.Path]:
    for folder in _folders():
        for suffix in importlib.machinery.EXTENSION_SUFFIXES:
            path = folder / f"_native{suffix}"
            if path.exists():
                return path
    return None


def load() -> ModuleType:
    """Returns the extension, which stays loaded. Raises ImportError, which
    says why, if there is none."""
    global _failure
    if _NAME in sys.modules:
        return sys.modules[_NAME]
    if _failure is None:
        try:
            return _load()
        except ImportError as error:
            _failure = str(error)
    raise ImportError(_failure)


def _load() -> ModuleType:
    path = _find_file()
    if path is None:
        raise ImportError(
            "the extension commsched._native is not there: install a wheel of "
            "commsched, or build the CMake target commsched_native"
        )
    spec = importlib.util.spec_from_file_location(_NAME, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if module.version != __version__:
        raise ImportError(
            f"{path} is of version {module.version}, but the Python package "
            f"commsched is of version {__version__}"
        )
    sys.modules[_NAME] = module
    return module


def find() -> Optional[ModuleType]:
    """Returns the extension, or None if there is none."""
    try:
        return load()
    except ImportError:
        return None
