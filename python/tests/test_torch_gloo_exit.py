# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gloo's threads are at rest before the interpreter ends."""

import atexit
import ctypes
import hashlib
import threading
import time

import pytest

pytest.importorskip("torch")

from commsched.torch.private import gloo  # noqa: E402

_SET_NAME = 15


def _work(name, seconds, began, ended):
    """Computes under the name of one of gloo's threads, mostly without the
    interpreter."""
    ctypes.CDLL(None).prctl(_SET_NAME, name, 0, 0, 0)
    began.set()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        hashlib.sha256(bytes(10_000_000))
    ended.set()


@pytest.mark.parametrize(
    "name, waited", [(b"pt_gloo_runloop", True), (b"another", False)]
)
def test_a_thread_that_works_is_waited_for(name, waited, monkeypatch):
    monkeypatch.setattr(gloo, "_REST", 60.0)
    began, ended = threading.Event(), threading.Event()
    seconds = 0.5 if waited else 5.0
    thread = threading.Thread(
        target=_work, args=(name, seconds, began, ended), daemon=True
    )
    thread.start()
    began.wait()
    gloo._rest()
    assert ended.is_set() == waited


def test_a_thread_that_does_not_rest_is_not_waited_for_long(monkeypatch):
    monkeypatch.setattr(gloo, "_REST", 0.1)
    monkeypatch.setattr(gloo, "_is_any_awake", lambda: True)
    started = time.monotonic()
    gloo._rest()
    assert time.monotonic() - started >= 0.1


def test_it_happens_once_at_the_end(monkeypatch):
    registered = []
    monkeypatch.setattr(atexit, "register", registered.append)
    gloo.rest_at_exit.cache_clear()
    gloo.rest_at_exit()
    gloo.rest_at_exit()
    assert registered == [gloo._rest]
    gloo.rest_at_exit.cache_clear()
