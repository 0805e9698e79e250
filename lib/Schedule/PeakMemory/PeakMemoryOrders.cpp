//===- PeakMemoryOrders.cpp - The choice of an order ------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/PeakMemoryOrders.h"

#include "CommSched/Schedule/MemoryTimeline.h"
#include "CommSched/Schedule/Verify.h"

#include <numeric>
#include <utility>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

const char *schedule::toString(PeakMemoryMethod method) {
  switch (method) {
  case PeakMemoryMethod::Incoming:
    return "incoming";
  case PeakMemoryMethod::LeastPeakMemoryFirst:
    return "lpmf";
  case PeakMemoryMethod::BreadthFirst:
    return "bfs";
  case PeakMemoryMethod::DepthFirst:
    return "dfs";
  }
  return "unknown";
}

static Result<Order> keepProgram(const Problem &problem) {
  Order order(problem.numNodes());
  std::iota(order.begin(), order.end(), 0);
  if (OptionalError error = verify(problem, order))
    return Error{*error};
  return order;
}

static Result<Order> makeOrder(const Problem &problem,
                               PeakMemoryMethod method) {
  switch (method) {
  case PeakMemoryMethod::LeastPeakMemoryFirst:
    return sortLeastPeakMemoryFirst(problem);
  case PeakMemoryMethod::BreadthFirst:
    return sortBreadthFirst(problem);
  case PeakMemoryMethod::DepthFirst:
    return sortDepthFirst(problem);
  case PeakMemoryMethod::Incoming:
    break;
  }
  return keepProgram(problem);
}

Result<PeakMemoryChoice>
schedule::choosePeakMemoryOrder(const Problem &problem,
                                const std::vector<PeakMemoryMethod> &methods) {
  std::vector<PeakMemoryMethod> tried = {PeakMemoryMethod::Incoming};
  tried.insert(tried.end(), methods.begin(), methods.end());
  PeakMemoryChoice choice;
  for (PeakMemoryMethod method : tried) {
    Result<Order> order = makeOrder(problem, method);
    if (!order)
      return Error{order.error()};
    Result<MemoryTimeline> memory = simulateMemory(problem, *order);
    if (!memory)
      return Error{memory.error()};
    PeakMemoryCandidate candidate = {method, memory->peakBytes};
    if (choice.candidates.empty() ||
        candidate.peakBytes < choice.best.peakBytes) {
      choice.order = std::move(*order);
      choice.best = candidate;
    }
    choice.candidates.push_back(candidate);
  }
  return choice;
}
