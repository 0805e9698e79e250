# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Device meshes of ranks that are not there."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.testing._internal.distributed.fake_pg import FakeStore


@contextlib.contextmanager
def fake_mesh(shards: int, replicas: int = 1) -> Iterator[DeviceMesh]:
    """A device mesh of ``shards * replicas`` ranks that are not there.

    The process group's collectives do nothing; this process is rank 0. The
    mesh has one dimension ``dp``, or with several replicas the two dimensions
    ``replicate`` and ``dp``, the ranks of one replica being consecutive. The
    process group is destroyed on exit.
    """
    if dist.is_initialized():
        raise RuntimeError("a process group is already initialized")
    dist.init_process_group(
        "fake", store=FakeStore(), rank=0, world_size=shards * replicas
    )
    try:
        if replicas == 1:
            mesh = init_device_mesh("cpu", (shards,), mesh_dim_names=("dp",))
        else:
            mesh = init_device_mesh(
                "cpu", (replicas, shards), mesh_dim_names=("replicate", "dp")
            )
        yield mesh
    finally:
        dist.destroy_process_group()
