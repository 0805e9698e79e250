//===- MergedOrder.cpp - Merge of the orders of two programs --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "../Model/RunState.h"
#include "CommSched/Schedule/Interleave/Interleaving.h"

#include <algorithm>
#include <cmath>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

namespace {

/// One of two programs while their orders are merged.
struct MergedProgram {
  const Order *order = nullptr;
  /// By position: by how much the operation there raises what is live while it
  /// allocates, and afterwards. What both programs use counts as never freed.
  std::vector<int64_t> allocatedBytes;
  std::vector<int64_t> deltaBytes;
  /// By position, and one behind the last: by how much all from there on raises
  /// what is live at its highest, and at the end.
  std::vector<int64_t> highestBytes;
  std::vector<int64_t> restBytes;
  /// By position: how many operations of the other program have to come before.
  std::vector<size_t> needed;
  int64_t totalNs = 0;
  size_t position = 0;
  int64_t doneNs = 0;

  bool isOver() const { return position == order->size(); }
  NodeId next() const { return (*order)[position]; }
  double progress() const {
    return totalNs == 0 ? 1 : static_cast<double>(doneNs) / totalNs;
  }
};

class OrderMerger {
public:
  OrderMerger(const Problem &problem, const std::array<Order, 2> &orders,
              int64_t limitBytes, double weight);

  Order run();

private:
  void readBytes(MergedProgram &program, const std::vector<char> &isShared);
  void readNeeded();
  bool canGoOn(size_t index) const;
  bool isWithinLimit(size_t index) const;
  int64_t getStallNs(const MergedProgram &program) const;
  bool isImmediate(const MergedProgram &program) const;
  size_t choose() const;
  void issue(size_t index);

  const Problem &problem;
  int64_t limitBytes;
  double weight;
  std::array<MergedProgram, 2> programs;
  Clocks clocks;
  LiveBytes memory;
  Order merged;
};

} // namespace

OrderMerger::OrderMerger(const Problem &problem,
                         const std::array<Order, 2> &orders, int64_t limitBytes,
                         double weight)
    : problem(problem), limitBytes(limitBytes), weight(weight), clocks(problem),
      memory(problem) {
  std::vector<char> owner(problem.numNodes(), 0);
  for (size_t index : {0, 1}) {
    programs[index].order = &orders[index];
    for (NodeId node : orders[index]) {
      owner[node] = static_cast<char>(index);
      if (problem.kind(node) == NodeKind::Compute)
        programs[index].totalNs += problem.costNs(node);
    }
  }
  std::vector<char> isShared(problem.numBuffers(), 0);
  for (BufferId id = 0; id < problem.numBuffers(); ++id) {
    ArrayView<NodeId> users = problem.users(id);
    NodeId producer = problem.buffer(id).producer;
    NodeId any = producer != noNode ? producer
                 : users.size() > 0 ? *users.begin()
                                    : noNode;
    isShared[id] = std::any_of(users.begin(), users.end(), [&](NodeId user) {
      return owner[user] != owner[any];
    });
  }
  for (MergedProgram &program : programs)
    readBytes(program, isShared);
  readNeeded();
}

void OrderMerger::readBytes(MergedProgram &program,
                            const std::vector<char> &isShared) {
  LiveBytes live(problem, [&](BufferId id) { return isShared[id]; });
  size_t size = program.order->size();
  program.allocatedBytes.reserve(size);
  program.deltaBytes.reserve(size);
  for (NodeId node : *program.order) {
    int64_t before = live.bytes();
    program.allocatedBytes.push_back(live.issue(node) - before);
    program.deltaBytes.push_back(live.bytes() - before);
  }
  program.highestBytes.assign(size + 1, 0);
  program.restBytes.assign(size + 1, 0);
  for (size_t i = size; i-- > 0;) {
    int64_t delta = program.deltaBytes[i];
    program.restBytes[i] = delta + program.restBytes[i + 1];
    program.highestBytes[i] = std::max(program.allocatedBytes[i],
                                       delta + program.highestBytes[i + 1]);
  }
}

void OrderMerger::readNeeded() {
  const Order &first = *programs[0].order;
  std::vector<size_t> behind(problem.numNodes(), 0);
  for (size_t i = 0; i < first.size(); ++i)
    behind[first[i]] = i + 1;
  programs[0].needed.assign(first.size(), 0);
  for (NodeId node : *programs[1].order) {
    size_t needed = 0;
    for (DependenceEnd end : problem.predecessors(node))
      needed = std::max(needed, behind[end.node]);
    for (BufferId id : problem.buffersUsedBy(node))
      if (NodeId producer = problem.buffer(id).producer; producer != noNode)
        needed = std::max(needed, behind[producer]);
    programs[1].needed.push_back(needed);
  }
}

bool OrderMerger::canGoOn(size_t index) const {
  const MergedProgram &program = programs[index];
  return !program.isOver() &&
         program.needed[program.position] <= programs[1 - index].position;
}

/// Whether, with the next operation of a program issued, the rest of one
/// program and then that of the other stay within the limit.
bool OrderMerger::isWithinLimit(size_t index) const {
  const MergedProgram &program = programs[index], &other = programs[1 - index];
  size_t position = program.position;
  int64_t live = memory.bytes();
  if (live > limitBytes - program.allocatedBytes[position])
    return false;
  int64_t leftBytes = limitBytes - live - program.deltaBytes[position];
  int64_t rest = program.highestBytes[position + 1];
  int64_t otherRest = other.highestBytes[other.position];
  return (otherRest <= leftBytes &&
          other.restBytes[other.position] + rest <= leftBytes) ||
         (rest <= leftBytes &&
          program.restBytes[position + 1] + otherRest <= leftBytes);
}

/// How long the next operation would stall the compute stream.
int64_t OrderMerger::getStallNs(const MergedProgram &program) const {
  NodeId node = program.next();
  int64_t readyNs = 0;
  if (problem.kind(node) == NodeKind::Wait)
    readyNs = clocks.endNs(problem.startOf(node));
  else if (problem.kind(node) == NodeKind::Blocking)
    readyNs = clocks.streamEndsNs()[problem.stream(node)];
  return std::max<int64_t>(readyNs - clocks.nowNs(), 0);
}

/// Whether the next operation takes no time on the compute stream.
bool OrderMerger::isImmediate(const MergedProgram &program) const {
  NodeId node = program.next();
  switch (problem.kind(node)) {
  case NodeKind::Start:
    return true;
  case NodeKind::Wait:
    return getStallNs(program) == 0;
  case NodeKind::Compute:
    return problem.costNs(node) == 0;
  case NodeKind::Blocking:
    return false;
  }
  return false;
}

/// Returns the program that goes on.
size_t OrderMerger::choose() const {
  std::array<bool, 2> isReady = {canGoOn(0), canGoOn(1)};
  if (isReady[0] != isReady[1])
    return isReady[1];
  std::array<bool, 2> fits = {isWithinLimit(0), isWithinLimit(1)};
  if (fits[0] != fits[1])
    return fits[1];
  for (size_t index : {0, 1})
    if (isImmediate(programs[index]))
      return index;
  int64_t firstStallNs = getStallNs(programs[0]);
  int64_t secondStallNs = getStallNs(programs[1]);
  if (firstStallNs != secondStallNs)
    return secondStallNs < firstStallNs;
  if (std::isinf(weight))
    return 0;
  return programs[0].progress() >= weight * programs[1].progress();
}

void OrderMerger::issue(size_t index) {
  MergedProgram &program = programs[index];
  NodeId node = program.next();
  ++program.position;
  if (problem.kind(node) == NodeKind::Compute)
    program.doneNs += problem.costNs(node);
  clocks.issue(node);
  memory.issue(node);
  merged.push_back(node);
}

Order OrderMerger::run() {
  merged.reserve(problem.numNodes());
  while (!programs[0].isOver() || !programs[1].isOver())
    issue(choose());
  return std::move(merged);
}

Order schedule::mergeOrders(const Problem &problem,
                            const std::array<Order, 2> &orders,
                            int64_t limitBytes, double weight) {
  return OrderMerger(problem, orders, limitBytes, weight).run();
}
