# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads functions of a printed module, and writes one that runs partitions, or
two interleaved functions.

Modules are text as `--mlir-print-local-scope` prints it.
"""

import re
from dataclasses import dataclass, replace
from itertools import zip_longest

FUNCTION = re.compile(r"^( *)func\.func (?:private )?@(\w+)\(.*?^\1\}",
                      re.MULTILINE | re.DOTALL)
CARRIED = re.compile(r"commsched\.carried = (\d+) : i64")
ATTRIBUTES = re.compile(r" \{.*\}$")
# What may hold or separate something; `->` is no bracket.
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|->|[<>()\[\]{},]')


def walk(text, begin=0):
    """Each comma and bracket, and in how many brackets it is."""
    depth = 0
    for token in TOKEN.finditer(text, begin):
        depth += (token[0] in "<([{") - (token[0] in ">)]}")
        yield token, depth


def split(text):
    """The parts between the commas that are in no brackets."""
    commas = [token.start() for token, depth in walk(text)
              if token[0] == "," and depth == 0]
    places = [-1, *commas, len(text)]
    parts = [text[a + 1:b].strip() for a, b in zip(places, places[1:])]
    return parts if parts[-1] else parts[:-1]


def find_end(text, begin):
    """Behind the bracket that closes the one at `begin`."""
    return next(token.end() for token, depth in walk(text, begin)
                if token[0] in ">)]}" and depth == 0)


@dataclass
class Function:
    name: str
    text: str
    arguments: list  # Types.
    roles: list
    results: list  # Types.
    carried: tuple = ()  # Results that feed arguments, or None.


def parse_function(name, text):
    begin = text.index("(")
    end = find_end(text, begin)
    arguments = split(text[begin + 1:end - 1])
    rest, results = text[end:text.index("\n")], ()
    if rest.startswith(" -> ("):
        begin, end = len(" -> "), find_end(rest, len(" -> "))
        results = split(rest[begin + 1:end - 1])
    elif rest.startswith(" -> "):
        results = [re.split(r" attributes \{| \{$", rest[len(" -> "):])[0]]
    return Function(
        name, text,
        [ATTRIBUTES.sub("", a.partition(": ")[2]) for a in arguments],
        [re.search(r'role = "(\w+)"|$', a)[1] for a in arguments],
        [ATTRIBUTES.sub("", r) for r in results],
        [int(m[1]) if (m := CARRIED.search(a)) else None for a in arguments])


def parse_functions(module):
    """By name."""
    return {match[2]: parse_function(match[2], match[0])
            for match in FUNCTION.finditer(module)}


def call(text, results, function, arguments):
    """Results are called `%results#0`, ..."""
    count = len(function.results)
    names = [f"%{results}#{i}" if count > 1 else f"%{results}" for i in range(count)]
    left = f"%{results}{f':{count}' if count > 1 else ''} = " if count else ""
    text.append(f"{left}func.call @{function.name}({', '.join(arguments)}) : "
                f"({', '.join(function.arguments)}) -> "
                f"({', '.join(function.results)})")
    return names


def write_function(name, arguments, roles, lines, results, types, carried=()):
    """`arguments`, `roles` and `carried`, which are results of the function in
    the repetition before, by name of the argument."""
    ports = []
    for (value, type), role, result in zip_longest(arguments, roles, carried):
        marks = [f'commsched.role = "{role}"'] * bool(role)
        if result is not None:
            marks.append(f"commsched.carried = {result} : i64")
        ports.append(f"{value}: {type}" + f" {{{', '.join(marks)}}}" * bool(marks))
    ports = ", ".join(ports)
    types = ", ".join(types)
    body = "\n  ".join(lines)
    return (f"func.func @{name}({ports}) -> ({types}) {{\n  {body}\n"
            f"  return {', '.join(results)} : {types}\n}}\n")


def run_twice(module, step, together):
    """The module with a function in place of `step`, which runs it on two
    batches with the same parameters: by @both, its interleaving with itself, or
    by two calls. The results of each feed its own arguments."""
    values = [[f"%{name}{i}" if role != "parameter" else f"%a{i}"
               for i, role in enumerate(step.roles)] for name in "ab"]
    own = [i for i, role in enumerate(step.roles) if role != "parameter"]
    arguments = list(zip(values[0], step.arguments)) + [
        (values[1][i], step.arguments[i]) for i in own]
    roles = step.roles + [step.roles[i] for i in own]
    count = len(step.results)
    carried = step.carried + [
        None if step.carried[i] is None else step.carried[i] + count
        for i in own]
    lines = []
    if together:
        both = parse_functions(module)["both"]
        is_shared = len(both.arguments) < 2 * len(step.arguments)
        second = [values[1][i] for i in own] if is_shared else values[1]
        results = call(lines, "both", both, values[0] + second)
    else:
        alone = replace(step, name="step_alone")
        results = call(lines, "first", alone, values[0]) + call(
            lines, "second", alone, values[1])
    text = write_function(step.name, arguments, roles, lines, results,
                          2 * step.results, carried)
    module = module.replace(f"func.func @{step.name}(",
                            "func.func private @step_alone(")
    module = module.replace("func.func @both(", "func.func private @both(")
    end = module.rindex("}")
    return module[:end] + text + module[end:]


class Program:
    """`@step`, which runs joint functions or partitions of them. These share
    what the joint function gets."""

    def __init__(self):
        self.functions = []
        self.arguments = {}
        self.roles = {}
        self.lines = []
        self.results = {}
        self.types = {}

    def run(self, joint, name, numbers):
        """Calls `joint`, or its partition of this name, once."""
        values = [f"%{joint.name}_{i}" for i in range(len(joint.arguments))]
        self.arguments.update(zip(values, joint.arguments))
        self.roles.update(zip(values, joint.roles))
        results = call(self.lines, f"{joint.name}_v{min(numbers)}",
                       replace(joint, name=name), values)
        for number in numbers:
            self.results[joint.name, number] = results
            self.types[joint.name, number] = joint.results

    def add_joint(self, joint, numbers):
        self.run(joint, joint.name, numbers)

    def add_partition(self, number, joint, *functions):
        """`functions`: the joint function, which calls its halves, and they."""
        for function in functions:
            self.functions.append(re.sub(
                rf"@{joint.name}(?=[_(])", f"@v{number}_{joint.name}",
                function.text))
        self.run(joint, f"v{number}_{joint.name}", [number])

    def write(self, order):
        functions = [f.replace("func.func @", "func.func private @", 1)
                     for f in self.functions]
        arguments = sorted(self.arguments.items())
        return "\n".join(functions) + "\n" + write_function(
            "step", arguments, [self.roles[name] for name, _ in arguments],
            self.lines,
            [r for key in order for r in self.results[key]],
            [t for key in order for t in self.types[key]])
