# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stand-ins for PyTorch's transfers on a machine without an accelerator.

The operators of PyTorch need a device with streams. Here they copy within the
memory of the CPU, each wait checks that it ends a transfer, and what a wait
frees is filled with a number that no test expects.
"""

import contextlib
from unittest import mock

import torch

from commsched.torch.private import transfers

_ao = torch.ops.ao

#: The transfers that were started, in order, and those under way.
started: list = []
_pending: set = set()

_library = None

#: What really counts as an accelerator.
is_on_accelerator = transfers.is_on_accelerator


def _offload(tensor):
    return _start("offload", tensor.clone().contiguous())


def _reload(tensor, device, original_size=None, original_stride=None):
    size, stride = original_size, original_stride
    result = torch.empty_strided(
        tensor.shape if size is None else size,
        tensor.stride() if stride is None else stride,
        dtype=tensor.dtype,
    )
    return _start("reload", result.copy_(tensor))


def _start(kind, result):
    started.append(kind)
    _pending.add(result.data_ptr())
    return result


def _wait(tensor, keepalive=None, last_use_of_storage=None):
    _pending.remove(tensor.data_ptr())
    if keepalive is not None:
        keepalive.fill_(-12345.0)
    return tensor


def _install() -> None:
    """Gives the operators kernels for a CPU, for the life of the process."""
    global _library
    if _library is None:
        assert transfers.operators() is not None
        _library = torch.library.Library("ao", "IMPL", "CPU")
        for name, kernel in (
            ("offload", _offload),
            ("reload", _reload),
            ("wait_tensor", _wait),
        ):
            _library.impl(name, kernel)


@contextlib.contextmanager
def installed():
    """Lets a CPU count as an accelerator."""
    _install()
    started.clear()

    def is_tensor(value):
        return isinstance(value, torch.Tensor)

    with mock.patch.object(transfers, "is_on_accelerator", is_tensor):
        yield
    assert not _pending
