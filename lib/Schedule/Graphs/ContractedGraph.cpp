//===- ContractedGraph.cpp - Dependences among merged nodes -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Graphs/ContractedGraph.h"

#include <algorithm>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

Result<ContractedGraph> ContractedGraph::create(const Problem &problem,
                                                DirectDependences direct) {
  if (!problem.check())
    return problem.check();
  return ContractedGraph(problem, direct);
}

ContractedGraph::ContractedGraph(const Problem &problem,
                                 DirectDependences direct)
    : problem(&problem), direct(direct), order(problem.topologicalOrder()),
      classes(problem.programOrder()), nextMember(classes),
      forward{Direction::Forward, {}}, backward{Direction::Backward, {}},
      foundBy(classes.size(), Direction::None),
      origins(classes.size(), noNode) {}

void ContractedGraph::begin(Search &search, NodeId node) {
  search.found.assign(1, node);
  search.nextClass = 0;
  search.member = node;
  search.nextDependence = 0;
  foundBy[node] = search.direction;
}

/// Follows one dependence of one member, or goes on to the next member. Returns
/// the path if that meets the other search.
std::optional<JoiningPath> ContractedGraph::advance(Search &search) {
  bool isForward = search.direction == Direction::Forward;
  const Search &other = isForward ? backward : forward;
  NodeId from = search.found[search.nextClass];
  NodeId member = search.member;
  ArrayView<DependenceEnd> ends =
      isForward ? problem->successors(member) : problem->predecessors(member);
  if (search.nextDependence == ends.size()) {
    search.nextDependence = 0;
    search.member = nextMember[member];
    if (search.member == from && ++search.nextClass < search.found.size())
      search.member = search.found[search.nextClass];
    return std::nullopt;
  }
  ++steps;
  DependenceEnd end = ends[search.nextDependence++];
  NodeId to = classes[end.node];
  NodeId root = search.found.front();
  NodeId otherRoot = other.found.front();
  if (foundBy[to] == search.direction)
    return std::nullopt;
  if (foundBy[to] == Direction::None) {
    // Beyond the other class there is no way back to it.
    if (isForward ? order.isBefore(otherRoot, to)
                  : order.isBefore(to, otherRoot))
      return std::nullopt;
    foundBy[to] = search.direction;
    origins[to] = from == root ? member : origins[from];
    search.found.push_back(to);
    return std::nullopt;
  }
  if (from == root && to == otherRoot &&
      (end.kind == DependenceKind::Order || direct == DirectDependences::Allow))
    return std::nullopt;
  NodeId here = from == root ? member : origins[from];
  NodeId there = to == otherRoot ? end.node : origins[to];
  return isForward ? JoiningPath{here, there} : JoiningPath{there, here};
}

/// Lets the searches take turns until they meet, or one has found all there is.
std::optional<JoiningPath> ContractedGraph::search(NodeId earlier,
                                                   NodeId later) {
  begin(forward, earlier);
  begin(backward, later);
  std::optional<JoiningPath> path;
  while (!path && !forward.isDone() && !backward.isDone()) {
    path = advance(backward);
    if (!path && !backward.isDone())
      path = advance(forward);
  }
  for (const Search *search : {&forward, &backward})
    for (NodeId node : search->found)
      foundBy[node] = Direction::None;
  return path;
}

std::optional<JoiningPath> ContractedGraph::findPath(NodeId a, NodeId b) {
  a = classes[a];
  b = classes[b];
  if (a == b)
    return std::nullopt;
  return order.isBefore(a, b) ? search(a, b) : search(b, a);
}

std::optional<JoiningPath> ContractedGraph::merge(NodeId a, NodeId b) {
  a = classes[a];
  b = classes[b];
  if (a == b)
    return std::nullopt;
  if (order.isBefore(b, a))
    std::swap(a, b);
  if (std::optional<JoiningPath> path = search(a, b))
    return path;
  if (backward.isDone()) {
    moveFound(backward, a);
    unite(a, b);
  } else {
    moveFound(forward, b);
    unite(b, a);
  }
  return std::nullopt;
}

/// Moves what `search` has found, but for the class that it began with, to the
/// far side of `place`, the class that the other search began with. A search
/// that is done has found everything between the two that has to stay on one
/// side of its class, so nothing else minds.
void ContractedGraph::moveFound(Search &search, NodeId place) {
  auto first = search.found.begin() + 1;
  std::sort(first, search.found.end(), [&](NodeId a, NodeId b) {
    return search.direction == Direction::Forward ? order.isBefore(b, a)
                                                  : order.isBefore(a, b);
  });
  for (auto it = first; it != search.found.end(); ++it) {
    order.erase(*it);
    if (search.direction == Direction::Forward)
      order.insertAfter(*it, place);
    else
      order.insertBefore(*it, place);
  }
}

/// Makes one class of two, at the place of the first in the order. To rename
/// the members of the other costs no more than the search from there has cost.
void ContractedGraph::unite(NodeId placed, NodeId other) {
  order.erase(other);
  NodeId member = other;
  do {
    classes[member] = placed;
    member = nextMember[member];
  } while (member != other);
  std::swap(nextMember[placed], nextMember[other]);
}

std::optional<JoiningPath> ContractedGraph::mergeCollectives(NodeId startA,
                                                             NodeId startB) {
  // Each check may look at the graph as it is, without the other merge. Suppose
  // that both merges together made a cycle that neither makes alone. Then it
  // leads from a wait to a start and back: W_x ~> S_y, where x and y are in the
  // classes to be merged, or one of them twice. But S_x -> W_x ~> S_y is then a
  // path that joins the starts' classes, by way of a wait, so that it is no
  // Order dependence either; and from a class to itself there is no path.
  if (std::optional<JoiningPath> path = findPath(startA, startB))
    return path;
  if (std::optional<JoiningPath> path =
          merge(problem->waitOf(startA), problem->waitOf(startB)))
    return path;
  return merge(startA, startB);
}

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
