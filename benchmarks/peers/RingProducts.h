//===- RingProducts.h - Products that share a ring with moves ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How XLA and PyTorch divide a matrix product and the collective beside it,
// each by a pattern and without a price. Both divide into as many chunks as the
// group has ranks, and move one shard at a time between two ranks.
//
// XLA's windowed einsum (xla/service/spmd/dot_handler.cc at commit 0df7454d,
// with the options of gpu_spmd_pipeline.cc at commit 108a84ab): a gathered
// operand goes around a ring, and each product of it, along its rows or over
// the gathered dimension, computes with the shard that is there while the next
// one is on its way. A scattered product passes a partial sum around the ring,
// to which each rank adds its product. Its threshold is taken to be 0; by
// default, XLA for GPUs does this from 100000 MiB on only.
//
// PyTorch's micro-pipelined tensor parallelism
// (torch/_inductor/fx_passes/micro_pipeline_tp.py and
// torch/distributed/_symmetric_memory of PyTorch 2.13): a gather and the
// products whose left operand it is become one operation that copies the shards
// of the other ranks one after the other and multiplies each; a product and the
// scatter behind it become one that sends each rank its part and sums what
// arrives. PyTorch finds these patterns by name and fails for some reshapes;
// here all reshapes are looked through.
//
// The moves that replace a collective are priced at its rate: together, they
// take as long as it. The model's price of sends of this size is twice that.
//
// Neither does so with what is gathered of parameters, or over a group that
// gathers parameters: those collectives have other computation to hide behind.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_BENCHMARKS_PEERS_RINGPRODUCTS_H
#define COMMSCHED_BENCHMARKS_PEERS_RINGPRODUCTS_H

#include "Peers.h"

namespace mlir::commsched {

/// Divides by XLA's rule, then runs `pipeline` to order the result.
FailureOr<PeerRun> windowEinsums(LoneFunction &function, StringRef pipeline);

/// Divides by PyTorch's two patterns, then runs `pipeline`.
FailureOr<PeerRun> pipelineProducts(LoneFunction &function, StringRef pipeline);

} // namespace mlir::commsched

#endif // COMMSCHED_BENCHMARKS_PEERS_RINGPRODUCTS_H
