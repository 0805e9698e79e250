# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a user may ask of the scheduler, checked."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import math
import os
import pathlib
from collections.abc import Mapping
from typing import Any, Optional, Union

import torch

import commsched
from commsched import opt
from commsched.options import (
    OptionsError,
    ScheduleOptions,
    check_choice,
    is_percentage,
)
from commsched.torch.compiling.memory import check_memory
from commsched.torch.compiling.prices import (
    DEFAULT,
    NEVER,
    ONCE,
    Prices,
    prices_at_hand,
)

#: Values of the options that are one of a few.
CHOICES = {
    "inner": ("inductor", "eager"),
    "partition": ("auto", "min-cut", "default"),
    "collectives": ("auto", "save", "recompute", "cost"),
}

#: Types of activations in 8 bits, and those that become one.
QUANT_TYPES = ("f8E5M2", "f8E4M3FN")
_QUANTIZED_TYPES = ("bf16", "f16", "f32", "f64")

# Settings of `quantize_activations`, and what each takes.
_QUANTIZATION = {
    "quant_type": str,
    "size_in_mb": (int, float),
    "allowed_dtypes": str,
    "use_scaling": bool,
    "exclude_primals": bool,
}

_FLAGS = ("strict", "agree")


@dataclasses.dataclass(frozen=True)
class Options(ScheduleOptions):
    """Options of the backend `commsched` and of the other ways in.

    The first six are those of :class:`commsched.options.ScheduleOptions`; the
    `target` may be "auto", which is the default: the device at hand. A
    `memory_budget` in bytes also decides what is saved, computed again,
    gathered again and sent to the host, such that the step fits and is as
    short as possible.

    inner:         what compiles the scheduled graph: "inductor" or "eager".
    strict:        raise where a graph cannot be scheduled. Otherwise that is
                   a warning, and the graph runs as it was.
    agree:         let all ranks follow the plan of the first; off only where
                   all ranks are known to compile equal graphs.
    timeout:       seconds that a rank waits for the others before a graph
                   first runs: by default as long as collectives of the default
                   process group, so that no job ends that would have gone on
                   without waiting; `math.inf` for no limit.
    measure:       where the times of a processor with gloo come from, without
                   a `target` and a `profile`: "once" measures the ranks before
                   the first graph is compiled, and each graph's operators with
                   it, unless that was done on this machine before; a path does
                   and keeps the times there;
                   "never" takes those of the default target. By default what
                   COMMSCHED_MEASURE says, else "once".
    verify_gain:   runs in which each graph and its schedule take turns, timed;
                   then the ranks keep the faster one. An even number.
    ranks_per_node: consecutive ranks that share a node; by default what
                   torchrun says (LOCAL_WORLD_SIZE), else 8.
    max_in_flight: collectives that may be in flight at a time, whatever their
                   groups; no limit by default. Of all-gathers by gloo, which
                   carries no more safely, it is one in any case.
    hints:         sizes of symbols without a hint, by name ("u0").
    partition:     what decides which activations a forward saves for its
                   backward: CommSched with "min-cut" (few bytes) or "default"
                   (what eager execution saves); with "auto" PyTorch, unless
                   memory has to fit or one of the next three options is given: then "min-cut".
    activation_memory_budget: PyTorch's option of that name: the fraction from
                   0 to 1 of what the minimum cut saves that may be saved; the
                   rest is computed again.
    quantize_activations: save large activations in 8 bits. True, "f8E5M2",
                   "f8E4M3FN", or a dictionary with any of `quant_type`,
                   `size_in_mb` (smallest size), `allowed_dtypes` ("bf16,f32"),
                   `use_scaling` and `exclude_primals`. With a
                   `memory_budget` in bytes also "auto": where that makes the step shorter than all
                   else that fits. This changes results.
    collectives:   "recompute" gathers all parameters again in the backward,
                   "save" keeps them, "cost" does what is worth it.
    reshard_after_forward: True gathers parameters again in the backward,
                   whoever partitions; False keeps them; None lets the
                   partitioner decide.
    host_memory:   pinned bytes of the host that saved activations may take;
                   none are sent there without it, nor from a CPU.
    reserved_bytes: of a `memory_budget` in bytes, what is not in the graphs,
                   such as the optimizer's state and the framework.
    """

    inner: str = "inductor"
    strict: bool = False
    agree: bool = True
    timeout: Optional[float] = None
    measure: Optional[str] = None
    verify_gain: int = 0
    ranks_per_node: Optional[int] = None
    max_in_flight: Optional[int] = None
    hints: Any = ()
    partition: str = "auto"
    activation_memory_budget: Optional[float] = None
    quantize_activations: Any = None
    collectives: str = "auto"
    reshard_after_forward: Optional[bool] = None
    host_memory: Union[None, int, str] = None
    reserved_bytes: Union[int, str] = 0

    def __post_init__(self) -> None:
        if self.target == "auto":
            object.__setattr__(self, "target", None)
        super().__post_init__()
        _check_measure(self)
        for name, choices in CHOICES.items():
            check_choice(name, getattr(self, name), choices)
        for name in _FLAGS:
            check_choice(name, getattr(self, name), (True, False))
        if self.reshard_after_forward is not None:
            check_choice(
                "reshard_after_forward",
                self.reshard_after_forward,
                (True, False, None),
            )
        _check_activation_budget(self.activation_memory_budget)
        object.__setattr__(
            self,
            "quantize_activations",
            _quantization(self.quantize_activations),
        )
        check_memory(self)
        timeout = self.timeout
        if timeout is not None and not (_is_number(timeout) and timeout > 0):
            raise OptionsError(
                f"option 'timeout' is {self.timeout!r}; it takes a positive "
                "number of seconds"
            )
        _check_verify_gain(self.verify_gain, self.agree)
        for name in ("ranks_per_node", "max_in_flight"):
            count = getattr(self, name)
            if count is not None and (type(count) is not int or count <= 0):
                raise OptionsError(
                    f"option '{name}' is {count!r}; it takes a positive number"
                )
        object.__setattr__(self, "hints", _hints(self.hints))

    def pipeline_settings(self) -> dict[str, Any]:
        """Returns the options of `commsched-pipeline`. PyTorch has operators
        for several tensors only where they are gathered or reduced."""
        settings = super().pipeline_settings()
        if self.buckets == "auto":
            settings["buckets"] = "gathers-and-reductions"
        if str(self.reserved_bytes) != "0":
            settings["reserved-bytes"] = self.reserved_bytes
        return settings

    def pipeline_flags(self) -> tuple[str, ...]:
        """Returns the flags of commsched-opt that schedule a module."""
        return (self.pipeline_flag(),)

    @property
    def prices(self) -> Prices:
        """Where times come from, the same on all ranks: what the options say,
        else the machine at hand, which may have to be measured."""
        if self.target is not None or self.profile is not None:
            return Prices(self.target, self.profile)
        measure = self.measure or os.environ.get(DEFAULT, ONCE)
        return prices_at_hand(
            measure, self.agree, self.node_size(), self.timeout
        )

    def cost_flags(self, **more: Any) -> tuple[str, ...]:
        """Returns the flags of :class:`ScheduleOptions`, for `prices`."""
        prices = self.prices
        known = ScheduleOptions(target=prices.target, profile=prices.profile)
        return known.cost_flags(**more)

    @property
    def partitions(self) -> bool:
        return (
            self.partition != "auto"
            or self.activation_memory_budget is not None
            or self.quantize_activations is not None
            or self.collectives != "auto"
            or self.fits_memory
        )

    @property
    def fits_memory(self) -> bool:
        """Whether a partition has to fit a budget in bytes."""
        return not is_percentage(self.memory_budget)

    def node_size(self) -> int:
        """Returns how many consecutive ranks share a node."""
        if self.ranks_per_node is not None:
            return self.ranks_per_node
        return int(os.environ.get("LOCAL_WORLD_SIZE", "8"))

    def settings(self) -> dict[str, str]:
        """Returns all that decides a schedule beside the graph and the
        program, by name: the versions, the options and the profile's bytes.

        It is equal on all ranks that have equal files, wherever these are.
        """
        settings = {
            field.name: repr(getattr(self, field.name))
            for field in dataclasses.fields(self)
            if field.name not in ("agree", "measure", "strict", "timeout")
        }
        prices = self.prices
        settings["target"] = repr(prices.target)
        if prices.profile is not None:
            settings["profile"] = _digest_of(prices.profile)
        settings["ranks_per_node"] = str(self.node_size())
        settings["commsched"] = commsched.__version__
        settings["torch"] = torch.__version__
        return settings

    def fingerprint(self) -> str:
        """Returns a digest of the settings and of the program."""
        settings = {**self.settings(), "program": program_digest()}
        text = json.dumps(settings, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


def check_runs_by_backend(options: Options, what: str) -> None:
    """Raises OptionsError for an option that only the backend can carry out,
    since it decides what runs."""
    if options.verify_gain:
        raise OptionsError(
            f"option 'verify_gain' is {options.verify_gain}, which {what} "
            "cannot do: use torch.compile(model, backend='commsched')"
        )


def program_digest() -> str:
    try:
        return opt.fingerprint()
    except OSError:
        return "none"


def _digest_of(path: str) -> str:
    try:
        status = os.stat(path)
        return _digest(path, status.st_mtime_ns, status.st_size)
    except OSError:
        return "unreadable"


@functools.lru_cache(maxsize=16)
def _digest(path: str, _mtime: int, _size: int) -> str:
    """Reads the file again only when its time or size changes."""
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


def _check_measure(options: Options) -> None:
    given = options.measure
    if given is not None and (not isinstance(given, str) or not given):
        raise OptionsError(
            f"option 'measure' is {given!r}; it takes {ONCE!r}, {NEVER!r} or "
            "the path of a file of measured times"
        )
    for name in ("target", "profile"):
        other = getattr(options, name)
        if given not in (None, NEVER) and other is not None:
            raise OptionsError(
                f"options 'measure' is {given!r} and '{name}' is {other!r}, but both "
                "say where times come from: leave out one of the two"
            )


def _check_verify_gain(runs: Any, agree: bool) -> None:
    if type(runs) is not int or runs < 0 or runs % 2:
        raise OptionsError(
            f"option 'verify_gain' is {runs!r}; it takes an even number of "
            "runs, or 0"
        )
    if runs and not agree:
        raise OptionsError(
            f"option 'verify_gain' is {runs!r}, and 'agree' is False: ranks "
            "have to agree on which graph they keep"
        )


def _check_activation_budget(budget: Any) -> None:
    if budget is not None and not (_is_number(budget) and 0 <= budget <= 1):
        raise OptionsError(
            f"option 'activation_memory_budget' is {budget!r}; it takes a "
            "fraction from 0 to 1; bytes are given as 'memory_budget'"
        )


def _hints(given: Any) -> tuple[tuple[str, int], ...]:
    """Returns what is given for `hints` as sorted pairs."""
    items = given.items() if isinstance(given, Mapping) else given
    try:
        pairs = [(name, size) for name, size in items]
    except (TypeError, ValueError):
        pairs = [(None, None)]
    if not all(
        isinstance(name, str) and type(size) is int and size >= 0
        for name, size in pairs
    ):
        raise OptionsError(
            f"option 'hints' is {given!r}; it takes sizes by the names of "
            'symbols, such as {"u0": 512}'
        )
    sizes: dict[str, int] = {}
    for name, size in pairs:
        if name in sizes:
            raise OptionsError(
                f"option 'hints' is {given!r}; it names {name!r} twice, with "
                f"{sizes[name]} and {size}"
            )
        sizes[name] = size
    return tuple(sorted(sizes.items()))


def _quantization(given: Any) -> Union[None, str, tuple]:
    """Returns what is given for `quantize_activations` as sorted pairs, or
    "auto"."""
    if given is None or given is False:
        return None
    if given == "auto":
        return "auto"
    if given is True:
        return ()
    if isinstance(given, str):
        given = {"quant_type": given}
    try:
        settings = dict(given)
    except (TypeError, ValueError):
        raise OptionsError(
            f"option 'quantize_activations' is {given!r}; it takes True, "
            "False, 'auto', a type of " + ", ".join(map(repr, QUANT_TYPES))
            + " or a dictionary of " + ", ".join(_QUANTIZATION)
        ) from None
    for key, value in settings.items():
        kinds = _QUANTIZATION.get(key)
        if kinds is None:
            raise OptionsError(
                f"unknown setting {key!r} of option 'quantize_activations'; "
                "settings are " + ", ".join(_QUANTIZATION)
            )
        if not isinstance(value, kinds) or (
            isinstance(value, bool) and kinds is not bool
        ):
            raise OptionsError(
                f"setting '{key}' of option 'quantize_activations' is "
                f"{value!r}, of another type than it takes"
            )
    chosen = settings.get("quant_type", QUANT_TYPES[0])
    check_choice("quantize_activations", chosen, QUANT_TYPES)
    size = settings.get("size_in_mb", 0)
    if not 0 <= size < math.inf:
        raise OptionsError(
            "setting 'size_in_mb' of option 'quantize_activations' is "
            f"{size!r}; it takes a finite number that is not negative"
        )
    types = settings.get("allowed_dtypes", _QUANTIZED_TYPES[0])
    if not set(types.split(",")) <= set(_QUANTIZED_TYPES):
        raise OptionsError(
            "setting 'allowed_dtypes' of option 'quantize_activations' is "
            f"{types!r}; it takes any of {', '.join(_QUANTIZED_TYPES)}, "
            "separated by commas"
        )
    return tuple(sorted(settings.items()))


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
