//===- ContractedGraph.cpp - Dependences among merged nodes -----*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/ContractedGraph.h"

#include <algorithm>

using namespace mlir::commsched::schedule;

Result<ContractedGraph> ContractedGraph::create(const Problem &problem,
                                                DirectDependences direct) {
  if (problem.check())
    return Error{*problem.check()};
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
