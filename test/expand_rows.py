# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes a module for each row of a test of many small modules.

    expand_rows.py FILE | commsched-opt -split-input-file -verify-diagnostics

A section of FILE, between `// -----`, with a line `ROW` is the frame of the rows
in the section behind it: each becomes a section, the frame with the row instead
of that line. A row begins behind an empty line, or with comments that are not
indented and stand behind code; `$error(TEXT)` is the comment that expects an error.

A line `LET $NAME TEXT`, with the indented lines below it, says what `$NAME` is, and
`LET $NAME(A -> B) TEXT` what `$NAME(x -> y)` is, of any parameters in capitals: in
the first section for all sections, in another one and in a row for that one, before
what the first says. A section of nothing else is left out. COMMON has what all
files know.
"""

import re
import sys

#: A collective with its wait, a computation that is called as its result is, one
#: with its time, roles of arguments, and a joint function whose first result is the
#: forward's.
COMMON = """
LET $in {commsched.role = "input"}
LET $parameter {commsched.role = "parameter"}
LET $saved {commsched.role = "saved_activation"}
LET $tangent {commsched.role = "tangent"}
LET $joint attributes {commsched.num_forward_outputs = 1 : i64}
LET $run(W = OP -> T) W.start = commsched.OP -> !commsched.future<T>
  W = commsched.wait W.start : !commsched.future<T>
LET $take(R = F X in TIME ns : T) R = commsched.compute "F"(X) {commsched.runtime_ns = TIME} : T
LET $op(N = F X : T) %N = commsched.compute "F"(X) {commsched.name = "N"} : T
"""
FRAME = re.compile(r"^ *ROW\n", re.M)
LET = re.compile(r"^ *LET \$(\w+)(?:\((.*?)\))?(?: (.*\n)|\n)((?:  .*\n)*)", re.M)
NAME = re.compile(r"\$(\w+)")
ERROR = re.compile(r"\$error\((.*)\)$", re.M)
PARAMETER = re.compile(r"\b[A-Z]\w*\b")


def list_rows(text):
    rows, is_new, is_code = [], True, False
    for line in text.splitlines(True):
        is_comment = line.startswith("//") and "expected-note" not in line
        if not line.strip():
            is_new = True
            continue
        if is_new or is_comment and is_code:
            rows.append("")
            is_new = is_code = False
        rows[-1] += line
        is_code |= not is_comment
    return rows


def take_names(text):
    """The text without its names, and these: parameters and text by name."""
    names = {name: (parameters, (first + rest).rstrip("\n"))
             for name, parameters, first, rest in LET.findall(text)}
    return LET.sub("", text), names


def find_end(text, begin):
    """Behind the parenthesis that closes the one at `begin`."""
    depth = 0
    for place in range(begin, len(text)):
        depth += {"(": 1, ")": -1}.get(text[place], 0)
        if depth == 0:
            return place + 1
    raise ValueError(f"no end: {text[begin:begin + 80]}")


def replace_parameters(parameters, given, body):
    pattern = PARAMETER.sub("(.*?)", re.escape(parameters).replace("\\ ", " "))
    values = dict(zip(PARAMETER.findall(parameters),
                      re.fullmatch(pattern, given, re.S).groups()))
    return PARAMETER.sub(lambda match: values.get(match[0], match[0]), body)


def replace_names(text, names):
    result = ""
    while match := NAME.search(text):
        end, body = match.end(), match[0]
        if match[1] in names:
            parameters, body = names[match[1]]
            if parameters:
                end = find_end(text, match.end())
                body = replace_parameters(
                    parameters, text[match.end() + 1:end - 1], body)
            body = replace_names(body, names)
        result += text[:match.start()] + body
        text = text[end:]
    return result + text


def expand(text):
    text = ERROR.sub(r"// expected-error@below {{\1}}", text)
    sections = iter(re.split(r"^// -----\n", text, flags=re.M))
    common = take_names(COMMON)[1] | take_names(text.partition("// -----\n")[0])[1]
    for section in sections:
        frame, names = take_names(section)
        rows = [""]
        if FRAME.search(frame):
            rows = list_rows(next(sections))
        for row in rows:
            row, own = take_names(row)
            module = FRAME.sub(lambda _: row, frame)
            if module.strip():
                yield replace_names(module, common | names | own)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        sys.stdout.write("// -----\n".join(expand(file.read())))


if __name__ == "__main__":
    main()
