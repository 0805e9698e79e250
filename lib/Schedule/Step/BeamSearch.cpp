//===- BeamSearch.cpp - Orders grown from the beginning -------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/BeamSearch.h"

#include "PartialOrder.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

namespace {

/// A partial order of the beam with one more operation.
struct Candidate {
  PartialOrder partial;
  int64_t boundNs;
  /// Index in the beam.
  int32_t parent;
  NodeId node;

  /// What goes on first is least. Streams that are not ahead leave most open.
  auto key() const {
    int64_t streamsNs = std::accumulate(partial.streamsNs.begin(),
                                        partial.streamsNs.end(), int64_t(0));
    return std::make_tuple(boundNs, streamsNs, partial.clockNs,
                           partial.liveBytes, parent, node);
  }
};

class BeamSearch {
public:
  BeamSearch(const Problem &problem, const BeamSearchOptions &options)
      : problem(problem), partials(problem), limitBytes(options.limitBytes),
        belowNs(options.belowNs), effort(options.effort) {}

  /// Runs one beam. An order that is shorter than all before, or none.
  std::optional<Order> run(size_t width);
  int64_t getBestNs() const { return belowNs; }
  int64_t getEffort() const { return effort; }
  /// Whether the last beam had room for all.
  bool isExhausted() const { return !dropped; }

private:
  struct Step {
    int32_t parent;
    NodeId node;
  };

  bool grow(size_t width);
  Order traceBack() const;

  const Problem &problem;
  PartialOrders partials;
  int64_t limitBytes, belowNs, effort;
  std::vector<PartialOrder> beam;
  std::vector<std::vector<Step>> steps;
  bool dropped = false;
};

} // namespace

/// Appends an operation to every order of the beam. False if nothing is left.
bool BeamSearch::grow(size_t width) {
  std::vector<Candidate> candidates;
  for (size_t parent = 0; parent < beam.size(); ++parent)
    for (NodeId node : partials.listChoices(beam[parent])) {
      if ((effort -= problem.numNodes()) < 0)
        return false;
      PartialOrder next = beam[parent];
      if (partials.issue(next, node) > limitBytes)
        continue;
      int64_t bound = partials.findBoundNs(next);
      if (bound < belowNs)
        candidates.push_back(
            {std::move(next), bound, static_cast<int32_t>(parent), node});
    }
  std::vector<size_t> ranks(candidates.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  std::sort(ranks.begin(), ranks.end(), [&](size_t a, size_t b) {
    return candidates[a].key() < candidates[b].key();
  });
  beam.clear();
  steps.emplace_back();
  std::set<std::pair<uint64_t, int64_t>> seen;
  for (size_t i : ranks) {
    Candidate &candidate = candidates[i];
    const PartialOrder &partial = candidate.partial;
    bool isNew = seen.insert({partial.issuedHash, partial.clockNs}).second;
    if (!isNew || beam.size() == width) {
      dropped = true;
      continue;
    }
    steps.back().push_back({candidate.parent, candidate.node});
    beam.push_back(std::move(candidate.partial));
  }
  return !beam.empty();
}

Order BeamSearch::traceBack() const {
  Order order(steps.size());
  int32_t index = 0;
  for (size_t place = steps.size(); place-- > 0;) {
    const Step &step = steps[place][static_cast<size_t>(index)];
    order[place] = step.node;
    index = step.parent;
  }
  return order;
}

std::optional<Order> BeamSearch::run(size_t width) {
  steps.clear();
  dropped = false;
  beam = {partials.makeEmpty()};
  for (NodeId place = 0; place < problem.numNodes(); ++place)
    if (!grow(width))
      return std::nullopt;
  // Every collective has been waited for, so the other streams are idle.
  belowNs = beam.front().clockNs;
  return traceBack();
}

std::optional<Order> schedule::searchBeam(const Problem &problem,
                                          const BeamSearchOptions &options) {
  constexpr int64_t firstWidth = 8, growth = 4;
  int64_t size = problem.numNodes();
  // What the first beam takes if every order has one choice.
  int64_t neededEffort = firstWidth * size;
  std::optional<Order> best;
  if (size == 0 || options.effort / neededEffort < size)
    return best;
  BeamSearch search(problem, options);
  for (int64_t width = firstWidth; neededEffort <= search.getEffort();
       width *= growth) {
    int64_t before = search.getEffort();
    if (std::optional<Order> order = search.run(static_cast<size_t>(width)))
      best = std::move(order);
    if (search.getBestNs() <= options.goalNs || search.isExhausted())
      break;
    neededEffort = (before - search.getEffort()) * growth;
  }
  return best;
}
