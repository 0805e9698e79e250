# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Run traced graphs as several ranks at once, collectives included.

Every node is computed for every rank before the next node: what a rank's
program would get from a collective is at hand in the others' values.
"""

import torch
from torch import fx
from torch._functorch._aot_autograd.descriptors import (
    BufferAOTInput,
    PlainAOTInput,
    SubclassGetAttrAOTInput,
)

aten = torch.ops.aten
c10d = torch.ops._c10d_functional


def _laid_out_as(operand, result):
    """The GPU's kernel gives results the strides of its operands."""
    return torch.empty_like(operand).copy_(result)


def _flash(query, key, value, dropout, is_causal):
    out, logsumexp = aten._scaled_dot_product_flash_attention_for_cpu(
        query, key, value, dropout, is_causal
    )
    return (_laid_out_as(query, out), logsumexp) + (None,) * 7


def _flash_backward(grad, q, k, v, out, logsumexp, *rest):
    dropout, is_causal = rest[4:6]
    gradients = aten._scaled_dot_product_flash_attention_for_cpu_backward(
        grad, q, k, v, out, logsumexp, dropout, is_causal
    )
    return tuple(map(_laid_out_as, (q, k, v), gradients))


def _cudnn(query, key, value, bias, with_logsumexp, dropout, is_causal):
    out = torch.nn.functional.scaled_dot_product_attention(
        query, key, value, is_causal=is_causal
    )
    out = out.transpose(1, 2).contiguous().transpose(1, 2)
    return (out,) + (None,) * 8


def _cudnn_backward(grad, q, k, v, *rest):
    operands = [x.detach().requires_grad_() for x in (q, k, v)]
    with torch.enable_grad():
        out = torch.nn.functional.scaled_dot_product_attention(
            *operands, is_causal=rest[10]
        )
    gradients = torch.autograd.grad(out, operands, grad)
    return tuple(map(_laid_out_as, operands, gradients))


#: What a CPU runs in place of a GPU's kernels.
_CPU_KERNELS = {
    aten._scaled_dot_product_flash_attention.default: _flash,
    aten._scaled_dot_product_flash_attention_backward.default: _flash_backward,
    aten._scaled_dot_product_cudnn_attention.default: _cudnn,
    aten._scaled_dot_product_cudnn_attention_backward.default: _cudnn_backward,
}


_REDUCTIONS = {
    "avg": lambda values: values.mean(0),
    "max": lambda values: values.amax(0),
    "sum": lambda values: values.sum(0),
}


def _reduced(values, operation):
    return _REDUCTIONS[operation](torch.stack(values))


def _collective(target, rows, inputs, args):
    """The results of one collective; `rows` are the ranks of each group."""
    if target is c10d.all_to_all_single.default:
        return _all_to_all(rows, inputs, args)
    args = args[0]
    results = [None] * len(inputs)
    for ranks in rows:
        values = [inputs[rank] for rank in ranks]
        for position, rank in enumerate(ranks):
            if target is c10d.all_gather_into_tensor.default:
                result = torch.cat(values)
            elif target is c10d.reduce_scatter_tensor.default:
                reduced = _reduced(values, args[1])
                result = reduced.chunk(len(ranks))[position]
            elif target is c10d.all_reduce.default:
                result = _reduced(values, args[1])
            else:
                raise NotImplementedError(str(target))
            results[rank] = result
    return results


def _all_to_all(rows, inputs, args):
    results = [None] * len(inputs)
    for ranks in rows:
        sent = [inputs[rank].split(args[rank][2]) for rank in ranks]
        for position, rank in enumerate(ranks):
            parts = [own[position] for own in sent]
            assert [len(part) for part in parts] == list(args[rank][1])
            results[rank] = torch.cat(parts)
    return results


def run(graph_module, inputs, groups):
    """Run the graph on `inputs[rank]`, a list of values by placeholder name.

    Returns each rank's list of outputs.
    """
    return run_each([graph_module] * len(inputs), inputs, groups)


def run_each(graph_modules, inputs, groups):
    """Run each rank's own graph; the graphs differ in constants only."""
    ranks = range(len(inputs))
    values = {}
    for nodes in zip(*(gm.graph.nodes for gm in graph_modules), strict=True):
        node = nodes[0]
        assert all(n.op == node.op for n in nodes)

        def of_rank(rank, nodes=nodes):
            node = nodes[rank]
            arguments = (node.args, node.kwargs)
            return fx.map_arg(arguments, lambda n: values[n, rank])

        if node.op == "placeholder":
            own = [inputs[rank][node.target] for rank in ranks]
        elif node.op == "output":
            return [list(of_rank(rank)[0][0]) for rank in ranks]
        elif node.op == "get_attr":
            own = [getattr(gm, node.target) for gm in graph_modules]
        elif node.target is c10d.wait_tensor.default:
            own = [of_rank(rank)[0][0] for rank in ranks]
        elif getattr(node.target, "namespace", "") == "_c10d_functional":
            own = _collective(
                node.target,
                groups[node.args[-1]],
                [of_rank(rank)[0][0] for rank in ranks],
                [of_rank(rank)[0] for rank in ranks],
            )
        else:
            kernel = _CPU_KERNELS.get(node.target, node.target)
            own = []
            for rank in ranks:
                args, kwargs = of_rank(rank)
                own.append(kernel(*args, **kwargs))
        values.update(zip(zip(nodes, ranks), own, strict=True))
    raise ValueError("a graph without an output")


def inputs_of_rank(graph_module, model, batch, get_part):
    """The inputs of one rank, by placeholder: of the parameter called `name`
    it has `get_part(name, parameter)`."""
    values = {}
    for node in graph_module.graph.find_nodes(op="placeholder"):
        source = node.meta["desc"]
        if isinstance(source, SubclassGetAttrAOTInput):
            name = source.base.target.removeprefix("_orig.")
            value = get_part(name, model.get_parameter(name).detach())
        elif isinstance(source, BufferAOTInput):
            value = model.get_buffer(source.target)
        elif isinstance(source, PlainAOTInput):
            value = batch[source.idx]
        else:  # The seed of the backward.
            value = torch.tensor(1.0)
        values[node.target] = value
    return values


def train_alone(model, batches):
    """What one device computes of each batch, with parameters in bfloat16:
    the losses, and by name the gradients."""
    for parameter in model.parameters():
        parameter.data = parameter.data.bfloat16()
    names, parameters = zip(*model.named_parameters())
    losses = [model(tokens, labels) for tokens, labels in batches]
    gradients = {name: [] for name in names}
    for loss in losses:
        of_loss = torch.autograd.grad(loss, parameters)
        for name, gradient in zip(names, of_loss, strict=True):
            gradients[name].append(gradient.float())
    return losses, gradients
