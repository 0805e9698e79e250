//===- Plans.cpp - The cases of the suite ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Cases.h"

#include <algorithm>
#include <iterator>
#include <numeric>

using namespace commsched::conformance;

namespace {

using Formats = std::vector<const ElementFormat *>;
using Pairs = std::vector<std::pair<int32_t, int32_t>>;

/// None, one, a few, and more; not divisible by anything.
constexpr int64_t oddCount = 37;
constexpr int64_t smallCounts[] = {0, 1, oddCount, 263};
/// Bytes of the large tensors, at most.
constexpr int64_t largeBytes = 1 << 20;

ProcessGroup makeStrided(std::string name, int32_t numRanks, int32_t size,
                         int32_t stride) {
  ProcessGroup group{std::move(name), stride, {}};
  for (int32_t block = 0; block < numRanks; block += size * stride)
    for (int32_t first = 0; first < stride; ++first) {
      std::vector<int32_t> &row = group.rows.emplace_back();
      for (int32_t i = 0; i < size; ++i)
        row.push_back(block + first + i * stride);
    }
  return group;
}

std::vector<ProcessGroup> makeGroups(int32_t numRanks) {
  std::vector<ProcessGroup> groups;
  groups.push_back(makeStrided("world", numRanks, numRanks, 1));
  groups.push_back(makeStrided("single", numRanks, 1, 1));
  if (numRanks % 2 == 0 && numRanks > 2) {
    groups.push_back(makeStrided("rows", numRanks, 2, 1));
    groups.push_back(makeStrided("columns", numRanks, numRanks / 2, 2));
  }
  if (numRanks < 2)
    return groups;
  // Listed: all in another order, and a pair that leaves the others out.
  std::vector<int32_t> reversed(numRanks);
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  groups.push_back({"reversed", 0, {reversed}});
  groups.push_back({"pair", 0, {{numRanks - 1, 0}}});
  if (numRanks >= 4)
    groups.push_back({"pairs", 0, {{0, 3}, {2, 1}}});
  return groups;
}

/// Collects a plan's cases: every kind asked for on every group in all sizes.
class PlanBuilder {
public:
  PlanBuilder(std::string name, std::vector<ProcessGroup> groups) {
    plan.name = std::move(name);
    plan.groups = std::move(groups);
  }

  Plan take() { return std::move(plan); }

  /// `prototype` in all sizes on the world, in two on other groups; and in
  /// place as well if it can be.
  void addSizes(Case prototype, const Formats &formats) {
    for (int64_t count : smallCounts) {
      if (prototype.group != 0 && count != oddCount &&
          count != smallCounts[numSites % std::size(smallCounts)])
        continue;
      prototype.tensors.clear();
      // Coalesced tensors differ in size as well.
      for (const ElementFormat *format : formats)
        prototype.tensors.push_back(
            {format,
             count + static_cast<int64_t>(prototype.tensors.size()) * 3});
      addBothWays(prototype);
    }
  }

  void addLarge(Case prototype, const ElementFormat &format) {
    bool parts = prototype.kind != COMMSCHED_ALL_REDUCE &&
                 prototype.kind != COMMSCHED_BROADCAST &&
                 prototype.kind != COMMSCHED_PERMUTE &&
                 prototype.kind != COMMSCHED_SEND;
    int64_t ranks = parts ? plan.groups[prototype.group].getSize() : 1;
    prototype.tensors = {{&format, largeBytes / format.bytes / ranks}};
    addBothWays(prototype);
  }

  void addBothWays(Case theCase) {
    add(theCase);
    theCase.inPlace = true;
    if (theCase.kind <= COMMSCHED_BROADCAST &&
        theCase.kind != COMMSCHED_ALL_TO_ALL)
      add(theCase);
  }

  void add(Case theCase) {
    theCase.site = numSites;
    numSites += theCase.getNumSites();
    plan.cases.push_back(std::move(theCase));
  }

  int32_t getNumGroups() const {
    return static_cast<int32_t>(plan.groups.size());
  }
  const ProcessGroup &getGroup(int32_t group) const {
    return plan.groups[group];
  }
  int32_t getSize(int32_t group) const { return plan.groups[group].getSize(); }

private:
  Plan plan;
  int32_t numSites = 0;
};

Case makeCase(commsched_kind kind, int32_t group) {
  Case theCase;
  theCase.kind = kind;
  theCase.group = group;
  return theCase;
}

/// Everything that only moves elements, on `group`.
std::vector<Case> makeMoves(int32_t group, int32_t size) {
  std::vector<Case> cases = {makeCase(COMMSCHED_ALL_GATHER, group),
                             makeCase(COMMSCHED_ALL_TO_ALL, group)};
  // Splits that the program states, and those that are values on either side or
  // both.
  for (int sides = 0; sides < 4; ++sides) {
    cases.push_back(makeCase(COMMSCHED_ALL_TO_ALL, group));
    cases.back().uneven = true;
    cases.back().inputValues = sides & 1;
    cases.back().outputValues = sides & 2;
  }
  for (int32_t root = 0; root < size; ++root) {
    cases.push_back(makeCase(COMMSCHED_BROADCAST, group));
    cases.back().peer = root;
  }
  Pairs ring;
  for (int32_t rank = 0; rank < size; ++rank)
    ring.push_back({rank, (rank + 1) % size});
  std::vector<Pairs> permutations = {ring, {}};
  if (size > 1) {
    permutations.push_back({{0, size - 1}, {size - 1, 0}});
    permutations.push_back({{0, size - 1}});
  }
  for (Pairs &pairs : permutations) {
    cases.push_back(makeCase(COMMSCHED_PERMUTE, group));
    cases.back().pairs = std::move(pairs);
  }
  // Several messages between the same two ranks, distinguished by their tags.
  for (int32_t tag : {7, 3, 0}) {
    cases.push_back(makeCase(COMMSCHED_SEND, group));
    cases.back().source = tag ? 0 : size - 1;
    cases.back().peer = tag ? 1 % size : 0;
    cases.back().tag = tag;
  }
  return cases;
}

/// All formats, singly and in threes.
std::vector<Formats> makeMovedFormats() {
  const std::vector<ElementFormat> &all = getElementFormats();
  std::vector<Formats> lists;
  for (size_t i = 0; i < all.size(); ++i) {
    lists.push_back({&all[i]});
    lists.push_back(
        {&all[i], &all[(i + 5) % all.size()], &all[(i + 11) % all.size()]});
  }
  return lists;
}

/// All formats that `backend` can reduce so, singly, and neighbours.
std::vector<Formats> makeReducedFormats(const std::string &backend,
                                        commsched_reduction reduction) {
  Formats able;
  for (const ElementFormat &format : getElementFormats())
    if (canReduce(backend, format, reduction))
      able.push_back(&format);
  std::vector<Formats> lists;
  for (size_t i = 0; i < able.size(); ++i) {
    lists.push_back({able[i]});
    lists.push_back({able[i], able[(i + 1) % able.size()]});
  }
  return lists;
}

Plan makeMovePlan(int32_t numRanks) {
  PlanBuilder builder("moves", makeGroups(numRanks));
  std::vector<Formats> lists = makeMovedFormats();
  for (const Formats &formats : lists)
    for (int32_t group = 0; group < builder.getNumGroups(); ++group)
      for (const Case &move : makeMoves(group, builder.getSize(group)))
        builder.addSizes(move, formats);
  // Another type for each way to move: they are only bytes.
  size_t next = 0;
  for (const Case &move : makeMoves(0, numRanks))
    builder.addLarge(move, *lists[2 * next++ % lists.size()][0]);
  for (int32_t group = 0; group < builder.getNumGroups(); ++group)
    builder.add(makeCase(COMMSCHED_BARRIER, group));
  return builder.take();
}

Plan makeReductionPlan(const std::string &backend, int32_t numRanks) {
  PlanBuilder builder("reductions", makeGroups(numRanks));
  for (int index = 0; index < numReductions; ++index) {
    auto reduction = static_cast<commsched_reduction>(index);
    for (commsched_kind kind : {COMMSCHED_REDUCE_SCATTER, COMMSCHED_ALL_REDUCE})
      for (const Formats &formats : makeReducedFormats(backend, reduction)) {
        for (int32_t group = 0; group < builder.getNumGroups(); ++group) {
          Case theCase = makeCase(kind, group);
          theCase.reduction = reduction;
          builder.addSizes(theCase, formats);
        }
        Case theCase = makeCase(kind, 0);
        theCase.reduction = reduction;
        if (formats.size() == 1 &&
            (reduction == COMMSCHED_SUM || reduction == COMMSCHED_BXOR))
          builder.addLarge(theCase, *formats[0]);
      }
  }
  return builder.take();
}

/// Copy engines and kernels on symmetric memory take the ranks of one node.
const std::vector<Implementation> &getImplementations() {
  static const std::vector<Implementation> all = {
      {"nccl-2", "nccl", 2, {}},
      {"second", "nccl", 0, {}},
      {"ce", "copy-engine", 0, {COMMSCHED_ALL_GATHER, COMMSCHED_ALL_TO_ALL}},
      {"sym",
       "symmetric",
       0,
       {COMMSCHED_ALL_GATHER, COMMSCHED_REDUCE_SCATTER, COMMSCHED_ALL_REDUCE}}};
  return all;
}

/// All ranks, and a pair that leaves the others out: the plain groups, and each
/// implementation of them.
std::vector<ProcessGroup> makeImplementedGroups(int32_t numRanks,
                                                bool oneNode) {
  std::vector<ProcessGroup> groups = {
      makeStrided("world", numRanks, numRanks, 1)};
  if (numRanks >= 2)
    groups.push_back({"pair", 0, {{numRanks - 1, 0}}});
  size_t numPlain = groups.size();
  for (const Implementation &implementation : getImplementations()) {
    if (!oneNode && !implementation.kinds.empty())
      continue;
    for (size_t i = 0; i < numPlain; ++i) {
      groups.push_back(groups[i]);
      groups.back().implementation = &implementation;
    }
  }
  return groups;
}

const ElementFormat *findFormat(const std::string &name) {
  const std::vector<ElementFormat> &all = getElementFormats();
  return &*std::find_if(
      all.begin(), all.end(),
      [&](const ElementFormat &format) { return format.name == name; });
}

Plan makeImplementationPlan(int32_t numRanks, bool oneNode) {
  PlanBuilder builder("implementations",
                      makeImplementedGroups(numRanks, oneNode));
  const ElementFormat *f32 = findFormat("f32");
  const Formats several = {findFormat("bf16"), f32, findFormat("i8")};
  for (int32_t index = 0; index < builder.getNumGroups(); ++index) {
    // Even all_to_alls only, where kinds are listed.
    const Implementation *implementation =
        builder.getGroup(index).implementation;
    auto canRun = [&](const Case &theCase) {
      if (!implementation || implementation->kinds.empty())
        return true;
      const std::vector<commsched_kind> &kinds = implementation->kinds;
      return !theCase.uneven &&
             std::find(kinds.begin(), kinds.end(), theCase.kind) != kinds.end();
    };
    std::vector<Case> cases = makeMoves(index, builder.getSize(index));
    for (commsched_kind kind :
         {COMMSCHED_REDUCE_SCATTER, COMMSCHED_ALL_REDUCE}) {
      cases.push_back(makeCase(kind, index));
      cases.back().reduction = COMMSCHED_SUM;
    }
    for (const Case &theCase : cases) {
      if (!canRun(theCase))
        continue;
      builder.addSizes(theCase, {f32});
      builder.addSizes(theCase, several);
      builder.addLarge(theCase, *f32);
    }
  }
  return builder.take();
}

} // namespace

std::vector<Plan> commsched::conformance::makePlans(const std::string &backend,
                                                    int32_t numRanks,
                                                    bool oneNode) {
  return {makeMovePlan(numRanks), makeReductionPlan(backend, numRanks),
          makeImplementationPlan(numRanks, oneNode)};
}
