//===- AdaptedOrder.cpp - Orders of merged programs for other buckets -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Bucketing/BucketedProblem.h"
#include "CommSched/Schedule/Model/ProblemTransforms.h"

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

namespace {

/// adaptOrder() for two programs.
class OrderAdapter {
public:
  OrderAdapter(const BucketedProblem &from, const BucketedProblem &to)
      : from(from), to(to), isPlaced(to.getProblem().numNodes()),
        numPacked(to.numBuckets()), numStarted(to.numBuckets()) {}

  Order adapt(const Order &order) {
    for (NodeId node : order)
      placeLike(node);
    return completeOrder(to.getProblem(), placed);
  }

private:
  void place(NodeId node);
  void pack(const std::vector<NodeId> &starts);
  void start(const std::vector<NodeId> &starts);
  void placeLike(NodeId node);

  const BucketedProblem &from, &to;
  Order placed;
  std::vector<bool> isPlaced;
  /// By bucket: how many of its members were packed and started so far.
  std::vector<size_t> numPacked, numStarted;
};

} // namespace

void OrderAdapter::place(NodeId node) {
  if (node == noNode || isPlaced[node])
    return;
  isPlaced[node] = true;
  placed.push_back(node);
}

void OrderAdapter::pack(const std::vector<NodeId> &starts) {
  for (NodeId original : starts)
    if (int32_t index = to.bucketOf(to.nodeOf(original));
        index >= 0 && ++numPacked[index] == to.bucket(index).starts.size())
      place(to.bucket(index).copyIn);
}

void OrderAdapter::start(const std::vector<NodeId> &starts) {
  for (NodeId original : starts) {
    NodeId node = to.nodeOf(original);
    int32_t index = to.bucketOf(node);
    if (index < 0 || ++numStarted[index] == to.bucket(index).starts.size())
      place(node);
  }
}

/// Places what stands for a node of the program that the order is of.
void OrderAdapter::placeLike(NodeId node) {
  int32_t index = from.bucketOf(node);
  if (index < 0) {
    NodeId original = from.originalOf(node);
    if (from.getOriginal().kind(original) != NodeKind::Start)
      return place(to.nodeOf(original));
    pack({original});
    return start({original});
  }
  const BucketedProblem::MergedBucket &bucket = from.bucket(index);
  bool isPacked = bucket.copyIn != noNode;
  if (node == (isPacked ? bucket.copyIn : bucket.start))
    pack(bucket.starts);
  if (node == bucket.start)
    start(bucket.starts);
  for (NodeId original : bucket.waits) {
    NodeId wait = to.nodeOf(original);
    if (node == bucket.wait)
      place(wait);
    else if (int32_t other = to.bucketOf(wait);
             node == bucket.copyOut && other >= 0)
      place(to.bucket(other).copyOut);
  }
}

Order schedule::adaptOrder(const Order &order, const BucketedProblem &from,
                           const BucketedProblem &to) {
  return OrderAdapter(from, to).adapt(order);
}
