//===- BufferReads.cpp - Uses that matter to memory -----------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BufferReads.h"

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

std::vector<int64_t> schedule::getMadeBytes(const Problem &problem) {
  std::vector<int64_t> made(problem.numNodes());
  for (BufferId id = 0; id < problem.numBuffers(); ++id)
    if (NodeId producer = problem.buffer(id).producer; producer != noNode)
      made[producer] += problem.buffer(id).bytes;
  return made;
}

BufferReads::BufferReads(const Problem &problem) {
  struct Read {
    BufferId buffer;
    NodeId node;
  };
  std::vector<Read> reads;
  // By node: the last buffer that was seen to be read by it.
  std::vector<BufferId> lastRead(problem.numNodes(), -1);
  for (BufferId id = 0; id < problem.numBuffers(); ++id) {
    const Buffer &buffer = problem.buffer(id);
    if (buffer.producer == noNode && !buffer.freed)
      continue;
    for (NodeId user : problem.users(id)) {
      if (user == buffer.producer || lastRead[user] == id)
        continue;
      lastRead[user] = id;
      reads.push_back({id, user});
    }
  }
  readers.build(
      problem.numBuffers(), reads.size(),
      [&](size_t i) { return reads[i].buffer; },
      [&](size_t i) { return reads[i].node; });
  buffers.build(
      problem.numNodes(), reads.size(), [&](size_t i) { return reads[i].node; },
      [&](size_t i) { return reads[i].buffer; });
}
