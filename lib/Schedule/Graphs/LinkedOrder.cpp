//===- LinkedOrder.cpp - An order that nodes are moved in -------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/LinkedOrder.h"

using namespace mlir::commsched::schedule;

/// Labels have so many bits, and are below `labelEnd`.
static constexpr int labelBits = 62;
static constexpr uint64_t labelEnd = uint64_t(1) << labelBits;

LinkedOrder::LinkedOrder(const Order &order)
    : sentinel(static_cast<NodeId>(order.size())), links(order.size() + 1),
      labels(order.size() + 1) {
  uint64_t gap = labelEnd / (order.size() + 1);
  NodeId last = sentinel;
  for (NodeId node : order) {
    labels[node] = (last == sentinel ? 0 : labels[last]) + gap;
    links[node].previous = last;
    links[last].next = node;
    last = node;
  }
  links[last].next = sentinel;
  links[sentinel].previous = last;
}

void LinkedOrder::erase(NodeId node) {
  auto [previous, next] = links[node];
  links[previous].next = next;
  links[next].previous = previous;
}

/// The label of what follows `place`.
uint64_t LinkedOrder::endOfGap(NodeId place) const {
  NodeId next = links[place].next;
  return next == sentinel ? labelEnd : labels[next];
}

void LinkedOrder::insertAfter(NodeId node, NodeId place) {
  if (endOfGap(place) - labels[place] < 2)
    makeRoomAfter(place);
  labels[node] = labels[place] + (endOfGap(place) - labels[place]) / 2;
  NodeId next = links[place].next;
  links[node] = {place, next};
  links[place].next = node;
  links[next].previous = node;
}

void LinkedOrder::insertBefore(NodeId node, NodeId place) {
  insertAfter(node, links[place].previous);
}

void LinkedOrder::makeRoomAfter(NodeId place) {
  // A range of 2^i labels may hold 1.5^i nodes, which are then (4/3)^i labels
  // apart: from i = 5 on that is room for one more, and for i = 62 it is more
  // nodes than there can be. As a range may be less dense than the ranges in
  // it, many insertions go by before one of those is too dense again, which
  // pays for the spreading.
  constexpr int firstBits = 5;
  constexpr int fractionBits = 20;
  uint64_t capacity = uint64_t(1) << fractionBits;
  // The range so far has the `count` nodes between these two.
  NodeId before = place;
  NodeId after = links[place].next;
  size_t count = 0;
  for (int bits = 1; bits <= labelBits; ++bits) {
    capacity += capacity / 2;
    if (bits < firstBits)
      continue;
    uint64_t size = uint64_t(1) << bits;
    uint64_t begin = labels[place] & ~(size - 1);
    for (; before != sentinel && labels[before] >= begin; ++count)
      before = links[before].previous;
    for (; after != sentinel && labels[after] < begin + size; ++count)
      after = links[after].next;
    if (count > capacity >> fractionBits)
      continue;
    uint64_t gap = size / (count + 1);
    uint64_t label = begin;
    for (NodeId node = links[before].next; node != after;
         node = links[node].next)
      labels[node] = label += gap;
    replaced += static_cast<int64_t>(count);
    return;
  }
}

Order LinkedOrder::nodes() const {
  Order order;
  for (NodeId node = links[sentinel].next; node != sentinel;
       node = links[node].next)
    order.push_back(node);
  return order;
}
