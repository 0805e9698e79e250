//===- GroupContention.cpp - How groups hold each other up ----------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Analysis/Costs/GroupContention.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "GroupMembers.h"
#include <cmath>

using namespace mlir;
using namespace mlir::commsched;
using schedule::Contention;
using schedule::NodeId;
using schedule::StreamId;

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

static constexpr double millionths = 1e6;

OptionalError mlir::commsched::check(const ContentionOptions &options) {
  constexpr int64_t most = Contention::maxComputeSlowdownPpm / 1'000'000;
  // Written so that what is no number fails, too.
  if (options.computeSlowdown >= 0 && options.computeSlowdown <= most)
    return std::nullopt;
  return "must be from 0 to " + std::to_string(most) + ", but is " +
         std::to_string(options.computeSlowdown);
}

std::string mlir::commsched::explainUnknownGroup(Attribute key) {
  std::string text;
  llvm::raw_string_ostream(text)
      << "the ranks of group " << key
      << " are not known: it is taken to share devices with every other group "
         "and to cross nodes";
  return text;
}

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

namespace {

/// What is known of the group of one stream.
struct StreamGroup {
  /// None if the ranks are not known.
  std::optional<GroupMembers> members;
  /// None if it is not known how they are placed.
  std::optional<ProcessGroup> placement;

  /// Whether it has one rank, which meets no other.
  bool isAlone() const { return placement && placement->size == 1; }
};

} // namespace

static StreamGroup getGroup(CollectiveOpInterface collective,
                            SymbolTableCollection &symbolTables) {
  StreamGroup group;
  if (FailureOr<ProcessGroup> placement =
          collective.getProcessGroup(symbolTables);
      succeeded(placement))
    group.placement = *placement;
  if (auto symbol = dyn_cast<SymbolRefAttr>(collective.getGroupKey()))
    if (auto op =
            symbolTables.lookupNearestSymbolFrom<GroupOp>(collective, symbol))
      group.members.emplace(op);
  return group;
}

/// Finds the pairs of groups that share more than one device. Says which groups
/// may share it with all.
static void addExclusive(MutableArrayRef<StreamGroup> groups,
                         Contention &contention, std::vector<bool> &isUnknown) {
  for (size_t second = 0; second < groups.size(); ++second) {
    if (groups[second].isAlone())
      continue;
    isUnknown[second] = isUnknown[second] || !groups[second].members;
    for (size_t first = 0; first < second; ++first) {
      if (groups[first].isAlone())
        continue;
      if (!groups[first].members || !groups[second].members ||
          shareTwoRanks(*groups[first].members, *groups[second].members))
        contention.exclusive.push_back(
            {static_cast<StreamId>(first), static_cast<StreamId>(second)});
    }
  }
}

/// Puts each group on the link of its node or that of the network. Says which
/// groups may be on either.
static void addLinks(ArrayRef<StreamGroup> groups, Contention &contention,
                     std::vector<bool> &isUnknown) {
  constexpr int32_t ofItsOwn = -1, insideNode = 0, betweenNodes = 1;
  for (auto [stream, group] : llvm::enumerate(groups)) {
    int32_t link = betweenNodes;
    if (!group.placement)
      isUnknown[stream] = true;
    else if (group.isAlone())
      link = ofItsOwn;
    else if (group.placement->size <= group.placement->ranksPerNode)
      link = insideNode;
    contention.links.push_back(link);
  }
}

FailureOr<GroupContention>
mlir::commsched::computeContention(ArrayRef<CollectiveOpInterface> streams,
                                   const ContentionOptions &options,
                                   SymbolTableCollection &symbolTables) {
  if (options.exclusiveGroups && streams.size() > maxExclusiveStreams) {
    CollectiveOpInterface first = streams[maxExclusiveStreams];
    return first.emitOpError("is on group ")
           << first.getGroupKey() << ", one of " << streams.size()
           << ": groups can be exclusive if there are no more than "
           << maxExclusiveStreams;
  }
  GroupContention result;
  result.contention.computeSlowdownPpm =
      std::llround(options.computeSlowdown * millionths);
  if (!options.exclusiveGroups && !options.linkSharing)
    return result;
  SmallVector<StreamGroup> groups;
  for (CollectiveOpInterface collective : streams)
    groups.push_back(getGroup(collective, symbolTables));
  std::vector<bool> isUnknown(streams.size());
  if (options.exclusiveGroups)
    addExclusive(groups, result.contention, isUnknown);
  if (options.linkSharing)
    addLinks(groups, result.contention, isUnknown);
  for (auto [stream, collective] : llvm::enumerate(streams))
    if (isUnknown[stream])
      result.unknownGroups.push_back(
          CollectiveOpInterface(collective).getGroupKey());
  return result;
}

FailureOr<GroupContention>
mlir::commsched::computeContention(const BlockProblem &block,
                                   const ContentionOptions &options,
                                   SymbolTableCollection &symbolTables) {
  return computeContention(getStreamCollectives(block), options, symbolTables);
}

SmallVector<CollectiveOpInterface>
mlir::commsched::getStreamCollectives(const BlockProblem &block) {
  const schedule::Problem &problem = block.getProblem();
  SmallVector<CollectiveOpInterface> streams(block.getStreams().size());
  for (NodeId node = problem.numNodes() - 1; node >= 0; --node)
    if (problem.isCollective(node))
      streams[problem.stream(node)] =
          cast<CollectiveOpInterface>(block.getOperation(node));
  return streams;
}
