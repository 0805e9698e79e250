# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads the events of Chrome traces, one at a time, compressed or not."""

from __future__ import annotations

import gzip
import io
import os
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

from commsched.profile.activities import TraceError

_EXPECTED = (
    "expected a Chrome trace: a JSON object with the list 'traceEvents', or "
    "the list itself"
)


def _ijson():
    try:
        import ijson
    except ImportError:
        raise TraceError(
            "reading traces needs the Python package 'ijson': "
            "pip install ijson"
        ) from None
    return ijson


class _Progress(io.RawIOBase):
    """A file that shows on a terminal how much of it has been read."""

    _STEP = 16 << 20

    def __init__(self, file: BinaryIO, path: str) -> None:
        self._file, self._path = file, path
        self._size = os.fstat(file.fileno()).st_size
        self._shows = sys.stderr.isatty() and self._size > self._STEP
        self._next = self._STEP

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = self._file.readinto(buffer)
        if self._shows and (self._file.tell() >= self._next or not count):
            self._next += self._STEP
            percent = 100 * self._file.tell() // self._size
            end = "" if count else "\n"
            sys.stderr.write(f"\r{self._path}: {percent} %{end}")
            sys.stderr.flush()
        return count


@contextmanager
def _opened(path: str, shows_progress: bool) -> Iterator[BinaryIO]:
    try:
        with open(path, "rb") as raw:
            is_compressed = raw.read(2) == b"\x1f\x8b"
            raw.seek(0)
            file = io.BufferedReader(_Progress(raw, path)) \
                if shows_progress else raw
            if is_compressed:
                file = gzip.GzipFile(fileobj=file)
            yield file
    except OSError as error:
        # gzip.BadGzipFile is one that has no text of its own.
        reason = error.strerror or str(error)
        raise TraceError(f"{path}: cannot be read: {reason}") from error


def read_header(path: str) -> dict[str, Any]:
    """What a trace says before its events, by path, such as
    'distributedInfo.rank'. The key '' is the prefix of the events."""
    ijson = _ijson()
    header: dict[str, Any] = {}
    try:
        with _opened(path, False) as file:
            for prefix, event, value in ijson.parse(file, use_float=True):
                if event == "start_array" and prefix in ("", "traceEvents"):
                    header[""] = f"{prefix}.item" if prefix else "item"
                    return header
                if event in ("number", "string"):
                    header[prefix] = value
    except (ijson.JSONError, EOFError, zlib.error) as error:
        raise TraceError(
            f"{path}: is cut off or no JSON before its events "
            f"({_line(error)}); {_EXPECTED}"
        ) from None
    raise TraceError(f"{path}: has no 'traceEvents'; {_EXPECTED}")


def read_events(path: str, prefix: str) -> Iterator[dict[str, Any]]:
    """The events of a trace, of which read_header() gave the prefix."""
    ijson = _ijson()
    count = 0
    try:
        with _opened(path, True) as file:
            for event in ijson.items(file, prefix, use_float=True):
                if not isinstance(event, dict):
                    raise TraceError(
                        f"{path}: event {count} is not an object; {_EXPECTED}"
                    )
                yield event
                count += 1
    except (ijson.JSONError, EOFError, zlib.error) as error:
        raise TraceError(
            f"{path}: is cut off or damaged after event {count} "
            f"({_line(error)}); the rest of the trace was expected"
        ) from None


def _line(error: Exception) -> str:
    # The parser may give bytes as the text.
    text = error.args[0] if error.args else ""
    text = text.decode(errors="replace") if isinstance(text, bytes) else \
        str(error)
    return (text.strip() or type(error).__name__).splitlines()[0]


def span_ns(path: str, event: dict[str, Any]) -> tuple[int, int]:
    """Begin and end of a complete event."""
    try:
        begin = round(event["ts"] * 1000)
        length = round(event.get("dur", 0) * 1000)
    except (KeyError, TypeError, ValueError, OverflowError):
        raise TraceError(
            f"{path}: the event '{event.get('name')}' has no numbers 'ts' and "
            "'dur', which are microseconds"
        ) from None
    if length < 0:
        raise TraceError(
            f"{path}: the event '{event.get('name')}' ends before it begins"
        )
    return begin, begin + length
