# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Run one traced graph as several ranks at once, collectives included.

Every node is computed for every rank before the next node: what a rank's
program would get from a collective is at hand in the others' values.
"""

import torch
from torch import fx

aten = torch.ops.aten
c10d = torch.ops._c10d_functional


def _flash(query, key, value, dropout, is_causal):
    out, logsumexp = aten._scaled_dot_product_flash_attention_for_cpu(
        query, key, value, dropout, is_causal
    )
    return (out, logsumexp) + (None,) * 7


def _flash_backward(grad, q, k, v, out, logsumexp, *rest):
    dropout, is_causal = rest[4:6]
    return aten._scaled_dot_product_flash_attention_for_cpu_backward(
        grad, q, k, v, out, logsumexp, dropout, is_causal
    )


#: What a CPU runs in place of a GPU's kernels.
_CPU_KERNELS = {
    aten._scaled_dot_product_flash_attention.default: _flash,
    aten._scaled_dot_product_flash_attention_backward.default: _flash_backward,
}


def _mean(values, operation):
    assert operation == "avg"
    return torch.stack(values).mean(0)


def _collective(target, rows, inputs, args):
    """The results of one collective; `rows` are the ranks of each group."""
    results = [None] * len(inputs)
    for ranks in rows:
        values = [inputs[rank] for rank in ranks]
        for position, rank in enumerate(ranks):
            if target is c10d.all_gather_into_tensor.default:
                result = torch.cat(values)
            elif target is c10d.reduce_scatter_tensor.default:
                reduced = _mean(values, args[1])
                result = reduced.chunk(len(ranks))[position]
            elif target is c10d.all_reduce.default:
                result = _mean(values, args[1])
            else:
                raise NotImplementedError(str(target))
            results[rank] = result
    return results


def run(graph_module, inputs, groups):
    """Run the graph on `inputs[rank]`, a list of values by placeholder name.

    Returns each rank's list of outputs.
    """
    ranks = range(len(inputs))
    values = {}
    for node in graph_module.graph.nodes:

        def of_rank(argument, rank):
            return fx.map_arg(argument, lambda n: values[n][rank])

        if node.op == "placeholder":
            values[node] = [inputs[rank][node.target] for rank in ranks]
        elif node.op == "output":
            return [list(of_rank(node.args[0], rank)) for rank in ranks]
        elif node.target is c10d.wait_tensor.default:
            values[node] = values[node.args[0]]
        elif getattr(node.target, "namespace", "") == "_c10d_functional":
            values[node] = _collective(
                node.target,
                groups[node.args[-1]],
                values[node.args[0]],
                node.args,
            )
        else:
            kernel = _CPU_KERNELS.get(node.target, node.target)
            values[node] = [
                kernel(*of_rank(node.args, rank), **of_rank(node.kwargs, rank))
                for rank in ranks
            ]
    raise ValueError("a graph without an output")
