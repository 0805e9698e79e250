#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compare CommSched's buckets with those of PyTorch's passes on FX graphs.

Gives the same random graphs to torch._inductor.fx_passes.fsdp and .bucketing and
to CommSched's passes, and prints how often they recognize the same collectives
as those of sharded parameters, and form the same buckets. Where buckets differ,
PyTorch's function runs again with the rules of CommSched that the documentation
names; a difference that they do not explain is printed, and the status is 1.
"""

import argparse
import contextlib
import copy
import functools
import graphlib
import sys
from collections import Counter
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from unittest import mock

import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

import random_fsdp  # noqa: E402
from commsched import opt  # noqa: E402
from commsched.torch.importer.graphs import GraphSpec, import_graphs  # noqa: E402
from commsched.torch.rewriting.decision import make_plan  # noqa: E402
from torch._inductor.fx_passes import bucketing, fsdp  # noqa: E402
from torch._inductor.pattern_matcher import stable_topological_sort  # noqa: E402

MODES = ("default", "custom_ops", "custom_ops_multidtype", "coalesced")
MULTIDTYPE = "custom_ops_multidtype"
#: Graphs that one run of commsched-opt gets.
CHUNK = 50


@dataclass(frozen=True)
class Way:
    """A pass of PyTorch, and ours.

    run:      PyTorch's pass.
    merge:    the function that it hands its buckets to, by its path.
    find:     the function that forms them.
    is_start: whether a node is a collective of its kind.
    role:     what collectives it is restricted to, if it is.
    flag:     the pass of CommSched, with options that end with a space.
    """

    name: str
    run: object
    merge: str
    find: object
    is_start: object
    role: str | None
    flag: str


def _bucket_fsdp_all_reduce(gm, cap, _mode):
    fsdp.bucket_fsdp_all_reduce(gm, cap, fsdp.identify_fsdp_groups(gm)[0])


def _way(kind, role):
    """A pass for one kind, of all collectives or those of one role."""
    module = fsdp if role else bucketing
    name = f"bucket_fsdp_{kind}" if role else f"bucket_{kind}"
    run = getattr(module, name)
    merge = f"{module.__name__}.merge_{kind}"
    if kind == "all_reduce":
        run = _bucket_fsdp_all_reduce if role else run
        merge += "_bucket"
    flag = f"--commsched-bucket-{kind.replace('_', '-')}="
    return Way(
        name, run, merge, getattr(bucketing, f"bucket_{kind}_by_mb"),
        STARTS[kind], role, flag + ("fsdp-only " if role else ""),
    )


STARTS = {
    "all_gather": bucketing.is_all_gather_into_tensor,
    "reduce_scatter": bucketing.is_reduce_scatter_tensor,
    "all_reduce": bucketing.is_all_reduce_tensor,
}
#: The roles of collectives on sharded parameters, and their kinds.
ROLES = {
    "parameter_gather": "all_gather",
    "gradient_scatter": "reduce_scatter",
    "gradient_reduce": "all_reduce",
}
WAYS = tuple(_way(kind, role) for role, kind in ROLES.items()) + tuple(
    _way(kind, None) for kind in STARTS
)


def modes_of(way):
    """The modes that a way is compared in. bucket_fsdp_all_gather forms buckets
    without looking at the mode."""
    if way.name == "bucket_all_gather":
        return MODES
    if "all_reduce" in way.name:
        return MODES[:1]
    return tuple(mode for mode in MODES if mode != MULTIDTYPE)


WAYS_AND_MODES = [(way, mode) for way in WAYS for mode in modes_of(way)]


class Graph:
    """One random graph, and what is asked of it."""

    def __init__(self, family, seed, gm=None):
        self.family = family
        self.name = f"{family.name.replace(' ', '_')}_{seed}"
        self.gm = gm or random_fsdp.make(family, seed)
        self.nodes = list(self.gm.graph.nodes)
        self.place = {node.name: i for i, node in enumerate(self.nodes)}
        self.waits = {
            node.args[0].name: node
            for node in self.nodes
            if bucketing.is_wait_tensor(node)
        }

    def spec(self):
        inputs = self.gm.graph.find_nodes(op="placeholder")
        return GraphSpec(
            self.name, self.gm, roles={node.name: "parameter" for node in inputs}
        )

    def starts(self, is_start):
        return [node for node in self.nodes if is_start(node)]

    def cap(self):
        """What PyTorch's passes take as cap; None for their default."""
        cap = self.family.cap
        return None if cap is None else lambda _: cap

    def group(self, name):
        """The group of a collective."""
        return self.nodes[self.place[name]].args[-1]

    def size_mb(self, start):
        sizes = [
            value.numel() * value.element_size()
            for value in (start.meta["val"], start.args[0].meta["val"])
        ]
        return max(sizes) / random_fsdp.MIB

    @functools.cache
    def recognized(self, role):
        """The collectives that PyTorch takes to have a role."""
        starts = self.starts(STARTS[ROLES[role]])
        if role == "gradient_reduce":
            groups, _ = fsdp.identify_fsdp_groups(self.gm)
            return {n.name for n in starts if n.args[-1] in groups}
        is_wait = getattr(fsdp, f"is_fsdp_{ROLES[role]}_wait")
        return {n.name for n in starts if is_wait(self.waits[n.name])}

    def buckets(self, way, mode, merges=False):
        """The buckets that PyTorch's pass forms, and makes if it `merges`."""
        gm = copy.deepcopy(self.gm) if merges else self.gm
        found = []
        path, _, name = way.merge.rpartition(".")
        original = getattr(sys.modules[path], name)

        def record(graph, buckets, *arguments, **keywords):
            many = buckets if name != "merge_all_reduce_bucket" else [buckets]
            found.extend([node.name for node in bucket] for bucket in many)
            if merges:
                return original(graph, buckets, *arguments, **keywords)

        with mock.patch(way.merge, record):
            way.run(gm, self.cap(), mode)
        if merges:
            # As Inductor does behind these passes.
            stable_topological_sort(gm.graph)
            gm.graph.lint()
        return found

    # -- rules of ours -------------------------------------------------------

    def repaired(self, way, mode, ours, rules):
        """The buckets that PyTorch's function forms by `rules` of ours (RULES),
        `ours` being the collectives of the way's role by CommSched."""
        accepted = {n.name for n in self.starts(way.is_start)}
        if way.role:
            accepted = ours if "roles" in rules else self.recognized(way.role)
        cap = self.family.cap or bucketing.bucket_cap_mb_by_bucket_idx_default(0)
        for start in self.starts(way.is_start):
            if "over the cap" in rules and self.size_mb(start) > cap:
                accepted = accepted - {start.name}
            if "one rank" in rules and self._ranks(start) == 1:
                accepted = accepted - {start.name}
        gm = self._in_order_of_starts() if "starts" in rules else self.gm
        buckets, left = [], set(accepted)
        while left:
            found = self._found(gm, way, mode, left, "keys" in rules)
            buckets += found
            if "left over" not in rules:
                break
            # What depends on one that stays alone may still be merged.
            left -= {name for bucket in found for name in bucket} or {
                min(left, key=self.place.get)}
        return buckets

    def _ranks(self, start):
        names = {name: size for size, name in random_fsdp.groups().items()}
        return names[start.args[-1]]

    @functools.cache
    def _in_order_of_starts(self):
        """The graph with each wait directly behind its start."""
        gm = copy.deepcopy(self.gm)
        for node in list(gm.graph.nodes):
            if bucketing.is_wait_tensor(node):
                node.args[0].append(node)
        return gm

    def _found(self, gm, way, mode, left, by_key):
        keys = [None]
        if by_key:
            keys = list(dict.fromkeys(
                bucketing.bucket_key(n, mode) for n in self.starts(way.is_start)))
        found = []
        keywords = {} if "all_reduce" in way.name else {"mode": mode}
        for key in keys:
            def is_wanted(wait, key=key):
                start = wait.args[0]
                return start.name in left and (
                    key is None or bucketing.bucket_key(start, mode) == key)

            buckets = way.find(
                gm, self.cap() or bucketing.bucket_cap_mb_by_bucket_idx_default,
                filter_wait_node=is_wanted, **keywords)
            found += [[node.name for node in bucket] for bucket in buckets]
        return found

    def is_cyclic(self, buckets):
        """Whether these merges, all together, make a cycle of dependences."""
        merged = {}
        for bucket in buckets:
            for name in bucket:
                merged[self.nodes[self.place[name]]] = bucket[0], "start"
                merged[self.waits[name]] = bucket[0], "wait"
        sorter = graphlib.TopologicalSorter()
        for node in self.nodes:
            inputs = (merged.get(other, other) for other in node.all_input_nodes)
            sorter.add(merged.get(node, node), *inputs)
        try:
            sorter.prepare()
        except graphlib.CycleError:
            return True
        return False

    def ordered(self, buckets):
        """Buckets whose members are in the order of their starts, the first
        bucket first: that of CommSched."""
        return sorted(
            (sorted(bucket, key=self.place.get) for bucket in buckets),
            key=lambda bucket: self.place[bucket[0]],
        )


#: What CommSched does otherwise: its own view of what belongs to sharded
#: parameters; groups of one rank are left alone; collectives of other keys in
#: between do not close a bucket; collectives are looked at in the order of their
#: starts, not of their waits; those that a bucket leaves over, since they depend
#: on it or it is full, go into another; and those larger than the cap leave the
#: bucket open.
RULES = ("roles", "one rank", "keys", "starts", "left over", "over the cap")
#: Not all buckets that these rules give can be had together, and CommSched leaves
#: one out. PyTorch's function looks at one run of neighbours at a time.
CYCLE = "no cycle"


def explain(graph, way, mode, roles, ours):
    """The fewest rules of RULES by which PyTorch's function gives our buckets, or
    gives buckets that are a cycle; None if no rules do."""
    chosen = [
        rules for count in range(len(RULES) + 1)
        for rules in combinations(RULES, count)
    ]
    formed = {}
    for rules in chosen:
        formed[rules] = graph.repaired(way, mode, roles, rules)
        if graph.ordered(formed[rules]) == ours:
            return rules
    for rules in chosen:
        if graph.is_cyclic(formed[rules]) and not graph.is_cyclic(ours):
            return *rules, CYCLE
    return None


def import_text(graphs):
    """The graphs as one program."""
    return str(import_graphs([graph.spec() for graph in graphs]))


def our_roles(graphs, text):
    """By graph: the collectives of each role, by test-commsched-annotate-fsdp."""
    run = opt.run_programs(text, "--test-commsched-annotate-fsdp")
    found = []
    for graph in graphs:
        roles = {role: set() for role in ROLES}
        for op in run.after.function(graph.name).operations:
            if role := op.attributes.get("commsched.fsdp"):
                roles[role].add(op.name)
        # As PyTorch does, the pass counts all on a group that gathers parameters.
        groups = {graph.group(name) for name in roles["parameter_gather"]}
        roles["gradient_reduce"] |= {
            n.name for n in graph.starts(STARTS["all_reduce"]) if n.args[-1] in groups}
        found.append(roles)
    return found


def flag_of(way, mode, cap):
    """CommSched's pass for a way, with its default cap or the one given."""
    flag = way.flag + ("" if cap is None else f"cap-mb={cap} ")
    if mode == MULTIDTYPE:
        flag += "multi-dtype "
    elif mode == "coalesced":
        flag += "mode=coalesced "
    return flag.rstrip()


def our_buckets(graphs, text, flag):
    """By graph: the buckets of CommSched's pass."""
    run = opt.run_programs(text, flag)
    return [
        graph.ordered(
            bucket.starts
            for bucket in make_plan(run.before, run.after, graph.name).buckets)
        for graph in graphs
    ]


class Account:
    """What a family showed."""

    def __init__(self, family):
        self.family = family
        self.graphs = 0
        self.buckets = Counter()
        self.members = Counter()
        self.differences: Counter = Counter()
        self.recognized = Counter()
        self.roles = Counter()
        self.unexplained: list[str] = []


def compare_roles(graph, ours, account):
    for role, mine in ours.items():
        theirs = graph.recognized(role)
        account.recognized[role] += len(theirs)
        for name in sorted(mine ^ theirs):
            side = "ours" if name in mine else "theirs"
            account.roles[role, side, why_not(graph, role, name)] += 1


def why_not(graph, role, name):
    """What the graph has that only one side takes for sharded parameters."""
    if role == "gradient_reduce":
        gathers = graph.recognized("parameter_gather")
        if graph.group(name) in map(graph.group, gathers):
            return "on a group that gathers no parameters by the other rules"
        return "reduces a scattered gradient on a group without gathers"
    start = graph.nodes[graph.place[name]]
    seen, stack = set(), [start if role == "parameter_gather" else graph.waits[name]]
    while stack:
        node = stack.pop()
        near = (node.all_input_nodes if role == "parameter_gather"
                else [u for u in node.users if u.op != "output"])
        for other in near:
            if other not in seen:
                seen.add(other)
                stack.append(other)
    targets = {node.target for node in seen if node.op == "call_function"}
    aten = torch.ops.aten
    if role == "parameter_gather":
        if torch.ops._c10d_functional.wait_tensor.default in targets:
            return "gathers what another collective delivers"
        if aten.mm.default in targets:
            return "a product before the gather"
    else:
        if torch.ops._c10d_functional.all_gather_into_tensor.default in targets:
            return "an all-gather behind the scatter"
        if aten.mm.default in targets:
            return "a product behind the scatter"
    return "unexplained"


def compare_buckets(graph, way, mode, roles, ours, account, merges):
    theirs = graph.buckets(way, mode, merges)
    key = way.name, mode
    account.buckets[key] += len(theirs)
    account.members[key] += sum(map(len, theirs))
    if graph.ordered(theirs) == ours:
        return
    rules = explain(graph, way, mode, roles.get(way.role), ours)
    account.differences[key, rules] += 1
    if rules is None:
        account.unexplained.append(
            f"{graph.name}: {way.name}, mode {mode}: PyTorch forms "
            f"{graph.ordered(theirs)}, CommSched {ours}")


def compare(family, seeds, merge_every=10):
    """Compares graphs of a family. Of every so many graphs, PyTorch's passes
    also merge the buckets that they form."""
    account = Account(family)
    seeds = list(seeds)
    for first in range(0, len(seeds), CHUNK):
        graphs = [Graph(family, seed) for seed in seeds[first : first + CHUNK]]
        account.graphs += len(graphs)
        text = import_text(graphs)
        roles = our_roles(graphs, text)
        for graph, mine in zip(graphs, roles):
            compare_roles(graph, mine, account)
        by_flag = {}
        for way, mode in WAYS_AND_MODES:
            flag = flag_of(way, mode, family.cap)
            if flag not in by_flag:
                by_flag[flag] = our_buckets(graphs, text, flag)
            for i, ours in enumerate(by_flag[flag]):
                compare_buckets(graphs[i], way, mode, roles[i], ours, account,
                                merges=i % merge_every == 0)
    for (role, side, reason), count in account.roles.items():
        if reason == "unexplained":
            account.unexplained.append(
                f"{family.name}: {count} are {role} only for {side}")
    return account


def report(account):
    """Prints a row: what both recognize, and the answers of all ways and modes
    that are not the same, by the rules that explain them."""
    recognized = sum(account.recognized.values())
    roles = Counter()
    for (role, side, reason), count in account.roles.items():
        roles[f"only {side}: {reason}"] += count
    rules = Counter()
    for (_, chosen), count in account.differences.items():
        rules[" and ".join(chosen or ("no rule",))] += count
    answers = account.graphs * len(WAYS_AND_MODES)
    print_row(
        [account.family.name, account.graphs, recognized, join(roles),
         sum(account.buckets.values()), answers, answers - sum(rules.values()),
         join(rules)]
    )


def join(counts):
    texts = (f"{count} {text}" for text, count in sorted(counts.items()))
    return "; ".join(texts) or "-"


def print_row(cells):
    print("| " + " | ".join(map(str, cells)) + " |")


def get_skip_reason():
    """Why nothing can be compared; None if it can."""
    if not torch.__version__.startswith("2.13"):
        return f"PyTorch is {torch.__version__}, not 2.13"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = [family.name for family in random_fsdp.FAMILIES]
    parser.add_argument("--graphs", type=int, default=500, help="of each family")
    parser.add_argument("--seed", type=int, default=1, help="of the first graph")
    parser.add_argument("--only", nargs="+", choices=names, help="families")
    options = parser.parse_args()
    if reason := get_skip_reason():
        print(f"skipped: {reason}")
        return 0
    last = options.seed + options.graphs - 1
    print_row(["family", "graphs", "recognized by PyTorch", "of other roles",
               "buckets of PyTorch", "answers", "same", "explained by"])
    print_row(["---", "---:", "---:", "---", "---:", "---:", "---:", "---"])
    unexplained = []
    for family in random_fsdp.FAMILIES:
        if options.only and family.name not in options.only:
            continue
        account = compare(family, range(options.seed, last + 1))
        report(account)
        unexplained += account.unexplained
    for line in unexplained:
        print(f"unexplained: {line}", file=sys.stderr)
    return 1 if unexplained else 0


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        sys.exit(main())
