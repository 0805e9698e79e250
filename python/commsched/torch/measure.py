# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measure this machine and write the profile that schedules are based on.

Run on every rank, as the training is run:

    torchrun --nproc-per-node 8 -m commsched.torch.measure -o profile.json

times the collectives of the job's process group. With `--step FILE:FUNCTION`
the operators of a training step are timed, too. FUNCTION takes a `compile`, to
be used in place of `torch.compile`, and returns a function that runs one step:

    def make_step(compile):
        model = compile(Model())
        return lambda: model(torch.ones(8, 64)).sum().backward()

The profile is the same for all ranks, and rank 0 writes it. Give its path as
the option `profile` of the backend or of a pass.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import platform
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Optional

import torch
import torch.distributed as dist
from torch import fx

from commsched.options import OptionsError, limit_bytes
from commsched.output import positive
from commsched.torch import private
from commsched.torch.measuring.collectives import (
    KINDS,
    MEASURE_COMMAND,
    SIZES,
    default_device,
    exchange_objects,
    measure_collectives,
    sizes_between,
)
from commsched.torch.measuring.machine import measure_target, slowest
from commsched.torch.measuring.operators import measure_operators
from commsched.torch.measuring.profile import (
    ProfileError,
    operator_runtimes,
    read_operators,
    write_profile,
)
from commsched.torch.private.names import aot_autograd, min_cut

__all__ = [
    "ProfileError",
    "measure",
    "measure_collectives",
    "measure_operators",
    "measure_target",
    "operator_runtimes",
    "read_operators",
    "record_graphs",
    "write_profile",
]


def record_graphs(
    make_step: Callable[[Callable[..., Any]], Callable[[], Any]],
) -> list[fx.GraphModule]:
    """Returns the graphs that a step compiles, forward and backward.

    `make_step` gets a function to be used in place of `torch.compile`, and
    returns a function that runs one step, which is run once.
    """
    graphs: list[fx.GraphModule] = []

    def keep(gm: fx.GraphModule, example_inputs: Sequence[Any]) -> Any:
        graphs.append(gm)
        return private.boxed(gm)

    backend = aot_autograd(
        fw_compiler=keep,
        bw_compiler=keep,
        partition_fn=min_cut,
    )

    def compile_step(model: Any = None, **options: Any) -> Any:
        options = {
            key: value
            for key, value in options.items()
            if key in ("dynamic", "fullgraph")
        }
        return torch.compile(model, backend=backend, **options)

    make_step(compile_step)()
    return graphs


def measure(
    path: str,
    graphs: Iterable[fx.GraphModule] = (),
    groups: Optional[Sequence[dist.ProcessGroup]] = None,
    *,
    sizes: Sequence[int] = tuple(sizes_between(1024, SIZES[-1])),
    kinds: Sequence[str] = KINDS,
    repeats: int = 20,
    report: Callable[[str], None] = lambda message: None,
) -> None:
    """Times the collectives of `groups`, the operators of `graphs` and, where
    they run on the processor, its rates, and writes the profile from rank 0.

    All ranks must call this with the same arguments, apart from groups, of
    which each gives its own (by default the one of all ranks). The slowest
    rank counts. Raises RuntimeError without a process group
    and for one that moves no data (:func:`measure_collectives`), unless `kinds`
    is empty, and OSError on all ranks if the file cannot be written.
    """
    rows = measure_collectives(
        groups, sizes, kinds, repeats=repeats, report=report
    )
    device = default_device()
    operators = measure_operators(
        graphs, device, max(3, repeats // 2), report
    )
    operators = _largest(operators)
    other = dist.GroupMember.NON_GROUP_MEMBER
    own = [dist.group.WORLD] if groups is None else groups
    group = next((g for g in own if kinds and g != other), None)
    targets = exchange_objects(measure_target(device, group=group))
    ranks = dist.get_world_size()
    failure: list[Any] = [None]
    if dist.get_rank() == 0:
        try:
            write_profile(
                path,
                rows,
                operators,
                slowest(target for target in targets if target),
                name=f"{dist.get_backend()}, {ranks} ranks",
                source=f"commsched.torch.measure; PyTorch {torch.__version__}; "
                f"{repeats} calls of each between computation",
                device=_describe_device(device),
            )
        except OSError as error:
            failure = [(error.errno, error.strerror)]
    dist.broadcast_object_list(failure, 0)
    if failure[0] is not None:
        raise OSError(*failure[0], path)


def _largest(operators: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The operators of all ranks; of equal ones the slowest."""
    merged: dict[str, dict[str, Any]] = {}
    for entries in exchange_objects(operators):
        for entry in entries or ():
            known = merged.setdefault(entry["operator"], entry)
            if entry["time_ns"] > known["time_ns"]:
                merged[entry["operator"]] = entry
    return [merged[key] for key in sorted(merged)]


def _describe_device(device: torch.device) -> str:
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"{platform.machine()}, {os.cpu_count()} cores"


def _size(text: str) -> int:
    """Bytes, with an optional unit: 4096, 4KiB, 16MiB, 1GiB."""
    try:
        size = limit_bytes("sizes", text)
    except OptionsError:
        size = 0
    if size is None:  # There is no extension that reads units.
        if not text.isdigit():
            raise argparse.ArgumentTypeError(
                f"'{text}' cannot be read without the extension "
                "commsched._native; give a number of bytes"
            )
        size = int(text)
    if not size:
        raise argparse.ArgumentTypeError(
            f"'{text}' is not a size such as 4096, 4KiB or 16MiB"
        )
    return size


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m commsched.torch.measure",
        description="Time the collectives of the job's process groups, and "
        "the operators of a step, and write the profile that schedules are "
        "based on. Run it on every rank, with torchrun.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("-o", "--output", required=True, help="profile to write, JSON")
    add("--backend", help="process group, such as gloo or nccl (default: nccl "
        "if there is a GPU for each local rank, else gloo)")
    add("--group-sizes", type=positive, nargs="*", default=[], metavar="N",
        help="measure groups of N consecutive ranks as well")
    add("--kinds", nargs="*", choices=KINDS, default=list(KINDS),
        metavar="KIND", help="collectives")
    add("--min-size", type=_size, default=1 << 10, help="smallest full buffer")
    add("--max-size", type=_size, default=SIZES[-1], help="largest full buffer")
    add("--repeats", type=positive, default=20, help="calls of each size")
    add("--step", metavar="FILE:FUNCTION", help="time the operators of the "
        "step that FUNCTION(compile) of the Python file FILE returns")
    return parser


def _load(step: str) -> Callable[..., Any]:
    """Returns the function that FILE:FUNCTION names."""
    path, _, name = step.rpartition(":")
    if not path or not os.path.isfile(path):
        raise ValueError(f"--step: '{step}' is not FILE:FUNCTION, or there is "
                         f"no file '{path}'")
    spec = importlib.util.spec_from_file_location("commsched_step", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    spec.loader.exec_module(module)
    function = getattr(module, name, None)
    if not callable(function):
        raise ValueError(f"--step: '{path}' has no function '{name}'")
    return function


def _start(backend: Optional[str]) -> None:
    """Initializes the process group that torchrun describes."""
    if "WORLD_SIZE" not in os.environ:
        raise RuntimeError(
            "no process group: run under torchrun, as in "
            f"'{MEASURE_COMMAND.format(2)}'"
        )
    if backend is None:
        local = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
        backend = "nccl" if torch.cuda.device_count() >= local else "gloo"
    if backend == "nccl":
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    dist.init_process_group(backend)


def _groups(sizes: Sequence[int]) -> list[dist.ProcessGroup]:
    """The group of all ranks, and this rank's of each further size."""
    world = dist.get_world_size()
    groups = [dist.group.WORLD]
    for size in sizes:
        if world % size:
            raise ValueError(
                f"--group-sizes: {size} does not divide {world} ranks"
            )
        if 1 < size < world:
            groups.append(dist.new_subgroups(size)[0])
    return groups


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """The command; returns its exit status."""
    options = _parser().parse_args(arguments)
    rank = int(os.environ.get("RANK", "0"))

    def report(message: str) -> None:
        if rank == 0:
            print(f"commsched.torch.measure: {message}", file=sys.stderr)

    own = not dist.is_initialized()
    try:
        if own:
            _start(options.backend)
        graphs = record_graphs(_load(options.step)) if options.step else ()
        measure(
            options.output,
            graphs,
            _groups(options.group_sizes),
            sizes=sizes_between(options.min_size, options.max_size),
            kinds=options.kinds,
            repeats=options.repeats,
            report=report,
        )
        report(f"wrote {options.output}")
    except (OSError, RuntimeError, ValueError) as error:
        report(f"error: {error}")
        return 1
    finally:
        if own and dist.is_initialized():
            dist.destroy_process_group()
    return 0


if __name__ == "__main__":
    sys.exit(main())
