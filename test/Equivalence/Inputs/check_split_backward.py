# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Splits functions by test-commsched-split-backward and compares what both halves
compute, one after the other, with what the function does.

`--random` is a range of seeds of random functions; `--steps` says whether to
split the backward of a transformer's training step, too. Any result may count
as a gradient of an input. All results have to be the same, bit for bit, on
every rank.
"""

import re

from check_equivalence import STEPS, Checker, make_parser
from joint_halves import (CARRIED, call, find_end, parse_functions, split,
                          write_function)
from repeated_programs import write_step
from seeds import parse_seeds
from transformer_step import parse_step

NAME = re.compile(r'commsched\.name = "a(\d+)"')


def split_header(text):
    """What is in front of the arguments of a function, these, and the rest."""
    begin = text.index("(")
    end = find_end(text, begin)
    return text[:begin + 1], split(text[begin + 1:end - 1]), text[end - 1:]


def name_arguments(text):
    """The function, with names of its arguments and without links."""
    head, arguments, rest = split_header(text)
    named = []
    for index, argument in enumerate(arguments):
        argument = re.sub(rf"{CARRIED.pattern}(, )?", "", argument)
        value, _, attributes = argument.rstrip("}").partition(" {")
        attributes = [a for a in split(attributes) if "commsched.name" not in a]
        attributes.append(f'commsched.name = "a{index}"')
        named.append(f"{value} {{{', '.join(a for a in attributes if a)}}}")
    return head + ", ".join(named) + rest


def run_half(lines, half, values, handed):
    """Appends a call of one half, which takes what is handed first; returns its
    results."""
    own = split_header(half.text)[1][len(handed):]
    arguments = handed + [values[int(NAME.search(text)[1])] for text in own]
    return call(lines, half.name, half, arguments)


def join(module, whole, chosen):
    """The module with `@step` again, which runs both halves; `chosen` are the
    results that the first computes."""
    functions = parse_functions(module)
    values = [f"%a{i}" for i in range(len(whole.arguments))]
    lines = []
    first = run_half(lines, functions["step_input"], values, [])
    second = iter(run_half(lines, functions["step_weight"], values,
                           first[len(chosen):]))
    results = []
    for index in range(len(whole.results)):
        results.append(first[sorted(chosen).index(index)] if index in chosen
                       else next(second))
    text = write_function("step", list(zip(values, whole.arguments)),
                          whole.roles, lines, results, whole.results)
    for half in ("input", "weight"):
        module = module.replace(f"func.func @step_{half}(",
                                f"func.func private @step_{half}(")
    end = module.rindex("}")
    return module[:end] + text + module[end:]


class SplitChecker(Checker):
    def __init__(self, options):
        super().__init__(options)
        self.kept = 0

    def check(self, name, before, chosen):
        whole = parse_functions(before)["step"]
        before = before.replace(whole.text, name_arguments(whole.text))
        indices = ",".join(map(str, chosen))
        after = self.transform(
            before, "test-commsched-split-backward{function=@step "
            f"input-gradients={indices}}}")
        if "@step_weight" not in after:
            self.kept += 1
            return
        after = self.call([*self.opt, "-", "--inline", "--symbol-dce"],
                          join(after, whole, chosen))
        self.compare(name, before, after)

    def check_random(self, seed):
        before = self.transform(write_step(seed), "")
        count = len(parse_functions(before)["step"].results)
        self.check(f"random.{seed}", before, [seed % count])

    def check_step(self):
        halves = self.transform(parse_step(STEPS["joint"]).write(),
                                "commsched-partition-joint")
        functions = parse_functions(halves)
        backward = functions["step_backward"]
        before = halves
        for other in ("step", "step_forward"):
            before = before.replace(functions[other].text, "")
        before = before.replace("private @step_backward(", "@step(")
        count = len(backward.results)
        for chosen in ([0], [count - 1], range(0, count, 2)):
            self.check(f"step.{len(chosen)}.{chosen[0]}", before, list(chosen))


def main():
    parser = make_parser(__doc__)
    parser.add_argument("--random", type=parse_seeds, default=())
    parser.add_argument("--steps", action="store_true")
    options = parser.parse_args()
    checker = SplitChecker(options)
    for seed in options.random:
        checker.check_random(seed)
    if options.steps:
        checker.check_step()
    print(f"{checker.compared} splits compute the same, {checker.kept} "
          "functions are not split")


if __name__ == "__main__":
    main()
