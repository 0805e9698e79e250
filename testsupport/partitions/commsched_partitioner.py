# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs commsched-partition-joint on imported joint graphs."""

from commsched import opt
from commsched.program import from_json
from commsched.torch import GraphSpec, ImportOptions, import_graphs
from commsched.torch.rewriting.partition import num_saved


class Refusal(Exception):
    """The pass does not partition the graph."""


def imported(case):
    """The module of a case, with one function @joint."""
    spec = GraphSpec(
        "joint", case.graph, "joint", num_fwd_outputs=case.num_forward
    )
    module = import_graphs([spec], ImportOptions(groups=case.groups))
    # What is no parameter takes memory while it is saved, as in the reference:
    # it could be freed otherwise.
    for _, attributes in module.functions[0].arguments:
        if attributes["commsched.role"] == "input":
            attributes["commsched.freeable"] = True
    return module


def get_flag(strategy, budget, **options):
    options = {"strategy": strategy, **options}
    if strategy == "min-cut":
        options["activation-memory-budget"] = budget
        options["runtime-estimator"] = "flops"
    text = " ".join(f"{key}={value}" for key, value in options.items())
    return f"--commsched-partition-joint={text}"


def run(module, folder, strategy, budget=1.0):
    """Partitions: what is saved, and the names of the nodes of both halves.
    Writes into `folder`."""
    path = folder / "halves.json"
    try:
        opt.run(
            module,
            get_flag(strategy, budget),
            opt.flag("commsched-export-json", {"file": path}),
        )
    except opt.OptError as error:
        raise Refusal(f"CommSched: {str(error).splitlines()[0]}") from error
    halves = from_json(path.read_bytes())
    forward = halves.function("joint_forward")
    backward = halves.function("joint_backward")
    # The pass counts arguments.
    arguments = {
        f"arg{index}": value.ref
        for index, (value, _) in enumerate(module.functions[0].arguments)
    }
    saved = [
        arguments.get(argument.name) or _value_of(argument.name, forward)
        for argument in backward.arguments[: num_saved(backward)]
    ]
    return saved, *(
        {operation.name for operation in half.operations}
        for half in (forward, backward)
    )


def _value_of(name, forward):
    """The name of the value, where the importer gave the states of an operator
    to an operation of their own, behind its other results."""
    stem, is_state, number = name.partition(".state")
    if not is_state:
        return name
    own = len(forward.by_name()[stem].results)
    return f"{stem}#{own + int(number.lstrip('#') or 0)}"
