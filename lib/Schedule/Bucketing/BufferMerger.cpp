//===- BufferMerger.cpp - What merged operations allocate -------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BufferMerger.h"

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

/// The bucket with copies that `node` of the original problem is a member of,
/// or -1.
int32_t BufferMerger::findCopied(NodeId node) const {
  int32_t bucket = node == noNode ? -1 : bucketOfMember[node];
  return bucket >= 0 && layoutOf(bucket) != Layout::Separate ? bucket : -1;
}

/// Checks that what `bucket` absorbs, which makes the buffer, is there for the
/// bucket alone.
Status BufferMerger::checkAbsorbed(BufferId id, int32_t bucket) const {
  const Buffer &buffer = original.buffer(id);
  std::string name = "bucket " + std::to_string(bucket) + " absorbs " +
                     original.describe(buffer.producer) + ", whose buffer " +
                     std::to_string(id);
  if (!buffer.freed)
    return Error{name + " stays to the end"};
  for (NodeId user : original.users(id))
    if (bucketOfMember[user] != bucket && user != buffer.producer)
      return Error{name + " " + original.describe(user) + " uses"};
  return Status::success();
}

/// Adds what the members' results are views of. It goes if all of them may.
void BufferMerger::addViewed() {
  std::vector<bool> stays(costs.size());
  for (BufferId id = 0; id < original.numBuffers(); ++id) {
    const Buffer &buffer = original.buffer(id);
    if (int32_t bucket = findCopied(buffer.producer); bucket >= 0)
      stays[bucket] = stays[bucket] || !buffer.freed;
  }
  viewed.assign(costs.size(), -1);
  for (size_t i = 0; i < costs.size(); ++i) {
    if (costs[i].memory.layout != Layout::Viewed)
      continue;
    const auto &bucket = program.bucket(static_cast<int32_t>(i));
    viewed[i] = merged.addBuffer(costs[i].memory.deliveredBytes, bucket.start,
                                 !stays[i]);
    merged.addUse(viewed[i], bucket.wait);
  }
}

/// Adds what the copies pack into.
void BufferMerger::addPacked() {
  for (size_t i = 0; i < costs.size(); ++i) {
    const BucketMemory &memory = costs[i].memory;
    if (memory.layout == Layout::Separate)
      continue;
    const auto &bucket = program.bucket(static_cast<int32_t>(i));
    BufferId packed =
        merged.addBuffer(memory.packedBytes, bucket.copyIn, /*freed=*/true);
    merged.addUse(packed, bucket.start);
    merged.addUse(packed, bucket.wait);
    if (memory.layout == Layout::CopiedOut)
      merged.addUse(packed, bucket.copyOut);
  }
}

/// What stands for a buffer of the original problem.
BufferId BufferMerger::add(BufferId id) {
  Buffer buffer = original.buffer(id);
  int32_t bucket = findCopied(buffer.producer);
  if (bucket >= 0 && layoutOf(bucket) == Layout::Viewed)
    return viewed[bucket];
  if (bucket >= 0)
    buffer.producer = program.bucket(bucket).copyOut;
  else if (buffer.producer != noNode)
    buffer.producer = program.nodeOf(buffer.producer);
  return merged.addBuffer(buffer.bytes, buffer.producer, buffer.freed);
}

/// Who needs in the merged program what `user` needs in the original one;
/// noNode: nobody.
NodeId BufferMerger::findUser(NodeId user) const {
  if (int32_t bucket = absorberOf[user]; bucket >= 0)
    return program.bucket(bucket).copyIn;
  int32_t bucket = findCopied(user);
  if (bucket < 0)
    return program.nodeOf(user);
  // What is in flight is the bucket's own.
  return original.kind(user) == NodeKind::Start ? program.bucket(bucket).copyIn
                                                : noNode;
}

Status BufferMerger::merge() {
  addViewed();
  for (BufferId id = 0; id < original.numBuffers(); ++id) {
    NodeId producer = original.buffer(id).producer;
    if (producer != noNode && absorberOf[producer] >= 0) {
      if (Status status = checkAbsorbed(id, absorberOf[producer]); !status)
        return status;
      continue;
    }
    BufferId added = add(id);
    for (NodeId user : original.users(id))
      if (NodeId mergedUser = findUser(user); mergedUser != noNode)
        merged.addUse(added, mergedUser);
  }
  addPacked();
  return Status::success();
}
