//===- BucketedProblem.cpp - Problem with merged buckets ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Bucketing/BucketedProblem.h"

#include "../Model/TransportBuffers.h"
#include "CommSched/Schedule/Model/Verify.h"

#include <algorithm>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

//===----------------------------------------------------------------------===//
// Buffers of the merged program
//===----------------------------------------------------------------------===//

namespace {

/// Gives the merged program, whose nodes exist already, the buffers of the
/// original program and those of its buckets.
class BufferMerger {
public:
  /// Adds to `merged`, the program of `program`, which has its nodes but is not
  /// finalized. By node of the original problem: `bucketOfMember` is the bucket
  /// of a start or a wait, `absorberOf` the one that absorbs it, or -1.
  BufferMerger(const BucketedProblem &program,
               const std::vector<BucketCost> &costs,
               const std::vector<int32_t> &bucketOfMember,
               const std::vector<int32_t> &absorberOf, Problem &merged)
      : program(program), original(program.getOriginal()), costs(costs),
        bucketOfMember(bucketOfMember), absorberOf(absorberOf), merged(merged) {
  }

  /// Adds all buffers and uses. Error: an operation outside of a bucket needs
  /// what the bucket absorbs.
  Status merge();

private:
  using Layout = BucketMemory::Layout;

  Layout layoutOf(int32_t bucket) const { return costs[bucket].memory.layout; }
  int32_t findCopied(NodeId node) const;
  Status checkAbsorbed(BufferId id, int32_t bucket) const;
  void addViewed();
  void addPacked();
  void addTransport(BufferId id);
  BufferId add(BufferId id);
  NodeId findUser(NodeId user) const;

  const BucketedProblem &program;
  const Problem &original;
  const std::vector<BucketCost> &costs;
  const std::vector<int32_t> &bucketOfMember;
  const std::vector<int32_t> &absorberOf;
  Problem &merged;
  /// By bucket: what its members' results are views of; -1 if they are none.
  std::vector<BufferId> viewed;
};

} // namespace

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

/// Adds what a member's start, or one of no bucket, makes for itself.
void BufferMerger::addTransport(BufferId id) {
  const Buffer &buffer = original.buffer(id);
  NodeId start = program.nodeOf(buffer.producer);
  BufferId added = merged.addBuffer(buffer.bytes, start, buffer.freed);
  for (NodeId user : original.users(id))
    merged.addUse(added, program.nodeOf(user));
}

/// Returns the buffer of the merged problem that replaces a buffer of the
/// original one.
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

/// Returns the node of the merged program that uses the operands of `user`;
/// noNode if there is none.
NodeId BufferMerger::findUser(NodeId user) const {
  if (int32_t bucket = absorberOf[user]; bucket >= 0)
    return program.bucket(bucket).copyIn;
  int32_t bucket = findCopied(user);
  if (bucket < 0)
    return program.nodeOf(user);
  // Inputs in flight belong to the bucket.
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
    if (isForTransport(original, id)) {
      addTransport(id);
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

//===----------------------------------------------------------------------===//
// Nodes and dependences of the merged program
//===----------------------------------------------------------------------===//

namespace mlir::commsched::schedule {

/// Builds a BucketedProblem.
class BucketMerger {
public:
  BucketMerger(const Problem &problem, const std::vector<Bucket> &buckets,
               const std::vector<BucketCost> &costs, BucketBuffers buffers)
      : problem(problem), buckets(buckets), costs(costs), buffers(buffers),
        costNs(problem.numNodes()), bucketOfMember(problem.numNodes(), -1),
        absorberOf(problem.numNodes(), -1) {}

  Result<BucketedProblem> merge();

private:
  Status checkBuckets();
  Status checkSizes() const;
  Status absorb();
  void sortMembers();
  NodeId record(NodeId node, NodeId original, int32_t bucket);
  NodeId addCopy(int64_t copyNs, bool allocates, int32_t bucket);
  void addMergedStart(int32_t index);
  void addMergedWait(int32_t index);
  void addNodes();
  NodeId findFirst(NodeId node) const;
  Status addDependences();
  void keepAbsorbedInputs();

  const Problem &problem;
  const std::vector<Bucket> &buckets;
  const std::vector<BucketCost> &costs;
  BucketBuffers buffers;
  /// By node of the problem: its cost once casts are absorbed.
  std::vector<int64_t> costNs;
  /// By node of the problem: the bucket that it is a start or a wait of, or -1.
  std::vector<int32_t> bucketOfMember;
  /// By node of the problem: the bucket that absorbs it, or -1.
  std::vector<int32_t> absorberOf;
  BucketedProblem result;
};

} // namespace mlir::commsched::schedule

static std::string describeBucket(int32_t bucket) {
  return "bucket " + std::to_string(bucket);
}

Status BucketMerger::checkBuckets() {
  for (size_t i = 0; i < buckets.size(); ++i) {
    int32_t bucket = static_cast<int32_t>(i);
    if (buckets[i].starts.empty())
      return Error{describeBucket(bucket) + " is empty"};
    NodeId first = buckets[i].starts.front();
    for (NodeId start : buckets[i].starts) {
      if (start < 0 || start >= problem.numNodes())
        return Error{describeBucket(bucket) + " has node " +
                     std::to_string(start) + "; the problem has " +
                     std::to_string(problem.numNodes()) + " nodes"};
      if (problem.kind(start) != NodeKind::Start)
        return Error{describeBucket(bucket) + " has " +
                     problem.describe(start) + ", which is not a start"};
      if (problem.stream(start) != problem.stream(first))
        return Error{describeBucket(bucket) + " has " +
                     problem.describe(first) + " on stream " +
                     std::to_string(problem.stream(first)) + " and " +
                     problem.describe(start) + " on stream " +
                     std::to_string(problem.stream(start))};
      if (bucketOfMember[start] >= 0)
        return Error{problem.describe(start) + " is in " +
                     describeBucket(bucketOfMember[start]) + " and again in " +
                     describeBucket(bucket)};
      bucketOfMember[start] = bucket;
      bucketOfMember[problem.waitOf(start)] = bucket;
    }
  }
  return Status::success();
}

/// Checks what the costs say about memory.
Status BucketMerger::checkSizes() const {
  for (size_t i = 0; i < costs.size(); ++i) {
    const BucketMemory &memory = costs[i].memory;
    std::string name = describeBucket(static_cast<int32_t>(i));
    for (int64_t bytes : {memory.packedBytes, memory.deliveredBytes})
      if (bytes < 0)
        return Error{name + " has a negative size of " + std::to_string(bytes) +
                     " bytes"};
    if (memory.layout == BucketMemory::Layout::Separate &&
        !costs[i].absorbed.empty())
      return Error{name + " absorbs " +
                   problem.describe(costs[i].absorbed.front()) +
                   ", but copies nothing"};
  }
  return Status::success();
}

/// Checks the costs, and sets those of absorbed nodes to 0.
Status BucketMerger::absorb() {
  if (costs.size() != buckets.size())
    return Error{"there are " + std::to_string(costs.size()) + " costs for " +
                 std::to_string(buckets.size()) + " buckets"};
  for (NodeId node = 0; node < problem.numNodes(); ++node)
    costNs[node] = problem.costNs(node);
  for (size_t i = 0; i < costs.size(); ++i) {
    const BucketCost &cost = costs[i];
    int32_t bucket = static_cast<int32_t>(i);
    std::string name = describeBucket(bucket);
    for (int64_t part : {cost.copyInNs, cost.collectiveNs, cost.copyOutNs})
      if (part < 0)
        return Error{name + " has a negative cost of " + std::to_string(part) +
                     " ns"};
    for (NodeId node : cost.absorbed) {
      if (node < 0 || node >= problem.numNodes() ||
          problem.kind(node) != NodeKind::Compute)
        return Error{name + " absorbs " + problem.describe(node) +
                     ", which is not a compute operation"};
      if (absorberOf[node] >= 0)
        return Error{name + " absorbs " + problem.describe(node) +
                     ", which is absorbed already"};
      absorberOf[node] = bucket;
      costNs[node] = 0;
    }
  }
  return Status::success();
}

/// Puts members into an order that all dependences among them allow.
void BucketMerger::sortMembers() {
  Positions places = positionsOf(problem.topologicalOrder());
  auto isBefore = [&](NodeId a, NodeId b) { return places[a] < places[b]; };
  result.buckets.resize(buckets.size());
  for (size_t i = 0; i < buckets.size(); ++i) {
    BucketedProblem::MergedBucket &bucket = result.buckets[i];
    bucket.starts = buckets[i].starts;
    for (NodeId start : bucket.starts)
      bucket.waits.push_back(problem.waitOf(start));
    std::sort(bucket.starts.begin(), bucket.starts.end(), isBefore);
    std::sort(bucket.waits.begin(), bucket.waits.end(), isBefore);
  }
}

/// Remembers what a node of the merged problem, the last one, stands for.
NodeId BucketMerger::record(NodeId node, NodeId original, int32_t bucket) {
  result.originals.push_back(original);
  result.bucketOfNode.push_back(bucket);
  return node;
}

NodeId BucketMerger::addCopy(int64_t copyNs, bool allocates, int32_t bucket) {
  if (copyNs == 0 && !(allocates && buffers == BucketBuffers::Kept))
    return noNode;
  return record(result.merged.addNode(NodeKind::Compute, copyNs), noNode,
                bucket);
}

void BucketMerger::addMergedStart(int32_t index) {
  BucketedProblem::MergedBucket &bucket = result.buckets[index];
  bool isPacked = costs[index].memory.layout != BucketMemory::Layout::Separate;
  bucket.copyIn = addCopy(costs[index].copyInNs, isPacked, index);
  bucket.start =
      record(result.merged.addNode(NodeKind::Start, costs[index].collectiveNs,
                                   problem.stream(bucket.starts.front())),
             noNode, index);
  if (bucket.copyIn != noNode)
    result.merged.addDependence(bucket.copyIn, bucket.start,
                                DependenceKind::Data);
}

void BucketMerger::addMergedWait(int32_t index) {
  BucketedProblem::MergedBucket &bucket = result.buckets[index];
  bucket.wait = record(result.merged.addWait(bucket.start), noNode, index);
  bool isCopied = costs[index].memory.layout == BucketMemory::Layout::CopiedOut;
  bucket.copyOut = addCopy(costs[index].copyOutNs, isCopied, index);
  if (bucket.copyOut != noNode)
    result.merged.addDependence(bucket.wait, bucket.copyOut,
                                DependenceKind::Data);
}

void BucketMerger::addNodes() {
  size_t numParts = 4 * buckets.size();
  result.merged.reserve(problem.numNodes() + numParts,
                        problem.numDependences() + numParts);
  result.nodes.resize(problem.numNodes());
  for (NodeId node = 0; node < problem.numNodes(); ++node) {
    bool isWait = problem.kind(node) == NodeKind::Wait;
    if (int32_t index = bucketOfMember[node]; index >= 0) {
      const BucketedProblem::MergedBucket &bucket = result.buckets[index];
      if (!isWait && bucket.start == noNode)
        addMergedStart(index);
      if (isWait && bucket.wait == noNode)
        addMergedWait(index);
      result.nodes[node] = isWait ? bucket.wait : bucket.start;
      continue;
    }
    NodeId added =
        isWait ? result.merged.addWait(result.nodes[problem.startOf(node)])
               : result.merged.addNode(problem.kind(node), costNs[node],
                                       problem.stream(node));
    if (problem.isExpensive(node))
      result.merged.setExpensive(added);
    result.nodes[node] = record(added, node, -1);
  }
}

/// Returns the merged node that inherits the predecessors of `node`.
NodeId BucketMerger::findFirst(NodeId node) const {
  int32_t bucket = bucketOfMember[node];
  if (bucket >= 0 && problem.kind(node) == NodeKind::Start &&
      result.buckets[bucket].copyIn != noNode)
    return result.buckets[bucket].copyIn;
  return result.nodes[node];
}

Status BucketMerger::addDependences() {
  for (NodeId from = 0; from < problem.numNodes(); ++from) {
    // Successors of a wait of a bucket depend on the copy-out.
    NodeId mergedFrom = result.nodes[from];
    int32_t bucket = bucketOfMember[from];
    if (bucket >= 0 && problem.kind(from) == NodeKind::Wait &&
        result.buckets[bucket].copyOut != noNode)
      mergedFrom = result.buckets[bucket].copyOut;
    for (DependenceEnd successor : problem.successors(from)) {
      NodeId to = successor.node;
      // addWait() has said it already.
      if (problem.startOf(to) == from)
        continue;
      if (bucket >= 0 && bucketOfMember[to] == bucket &&
          problem.kind(to) == problem.kind(from)) {
        if (successor.kind == DependenceKind::Order)
          continue;
        return Error{describeBucket(bucket) + " merges " +
                     problem.describe(to) + " with " + problem.describe(from) +
                     ", on which it depends (" + toString(successor.kind) +
                     ")"};
      }
      result.merged.addDependence(mergedFrom, findFirst(to), successor.kind);
    }
  }
  return Status::success();
}

/// Operations that overwrite the input of an absorbed node come after the
/// copy-in, which now reads it, and so after the start that directly follows.
void BucketMerger::keepAbsorbedInputs() {
  for (size_t i = 0; i < costs.size(); ++i)
    for (NodeId node : costs[i].absorbed)
      for (DependenceEnd successor : problem.successors(node))
        if (successor.kind == DependenceKind::Memory &&
            bucketOfMember[successor.node] != static_cast<int32_t>(i))
          result.merged.addDependence(result.buckets[i].start,
                                      findFirst(successor.node),
                                      DependenceKind::Memory);
}

Result<BucketedProblem> BucketMerger::merge() {
  if (!problem.check())
    return problem.check();
  if (Status status = checkBuckets(); !status)
    return status;
  if (Status status = absorb(); !status)
    return status;
  if (buffers == BucketBuffers::Kept)
    if (Status status = checkSizes(); !status)
      return status;
  result.original = &problem;
  sortMembers();
  addNodes();
  if (Status status = addDependences(); !status)
    return status;
  if (buffers == BucketBuffers::Kept) {
    keepAbsorbedInputs();
    BufferMerger merger(result, costs, bucketOfMember, absorberOf,
                        result.merged);
    if (Status status = merger.merge(); !status)
      return status;
  }
  if (Status status = result.merged.finalize(); !status)
    return Error{"the buckets make a program that is not valid: " +
                 status.error()};
  return std::move(result);
}

Result<BucketedProblem> BucketedProblem::create(
    const Problem &problem, const std::vector<Bucket> &buckets,
    const std::vector<BucketCost> &costs, BucketBuffers buffers) {
  return BucketMerger(problem, buckets, costs, buffers).merge();
}

Result<Order> BucketedProblem::expand(const Order &order) const {
  if (Status status = verify(merged, order); !status)
    return status;
  Order expanded;
  expanded.reserve(original->numNodes());
  for (NodeId node : order) {
    int32_t index = bucketOfNode[node];
    if (index < 0)
      expanded.push_back(originals[node]);
    else if (node == startOf(index))
      expanded.insert(expanded.end(), buckets[index].starts.begin(),
                      buckets[index].starts.end());
    else if (node == waitOf(index))
      expanded.insert(expanded.end(), buckets[index].waits.begin(),
                      buckets[index].waits.end());
  }
  if (Status status = verify(*original, expanded); !status)
    return Error{"expanding the buckets made an invalid order: " +
                 status.error()};
  return expanded;
}
