//===- GroupContention.cpp - Contention between groups --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Analysis/Costs/GroupContention.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "llvm/ADT/SetVector.h"
#include <cmath>
#include <numeric>

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

std::string mlir::commsched::explainUnknownGroup(Attribute key) {
  std::string text;
  llvm::raw_string_ostream(text)
      << "the ranks of group " << key
      << " are not known: it is taken to share devices with every other group "
         "and to cross nodes";
  return text;
}

//===----------------------------------------------------------------------===//
// Ranks of groups
//===----------------------------------------------------------------------===//

namespace {

/// The ranks of each group that a declaration makes: a row of ranks for each
/// group of its axis, either listed or every stride-th rank of a block of
/// consecutive ranks.
class GroupMembers {
public:
  explicit GroupMembers(GroupOp op);

  /// Identifies a row of one declaration.
  using Row = std::pair<int64_t, int64_t>;

  /// The row that has `rank`; none if no row has. O(1) for a stride; for listed
  /// ranks O(log ranks), and O(ranks * log ranks) the first time.
  std::optional<Row> getRow(int64_t rank);

  bool isListed() const { return ranks.has_value(); }
  /// Row by row, for groups whose ranks are listed.
  DenseIntElementsAttr getRanks() const { return *ranks; }

  int64_t getSize() const { return size; }
  int64_t getStride() const { return stride; }
  /// The distance between the first ranks of consecutive blocks.
  int64_t getBlock() const { return block; }

private:
  int64_t size;
  int64_t stride;
  int64_t block;
  std::optional<DenseIntElementsAttr> ranks;
  /// The listed ranks with their rows, ascending; computed on first use.
  std::vector<std::pair<int64_t, int64_t>> rowOf;
};

} // namespace

GroupMembers::GroupMembers(GroupOp op)
    : size(op.getSize()), stride(op.getStride().value_or(1)),
      block(saturatingMultiply(size, stride)) {
  if (std::optional<DenseIntElementsAttr> listed = op.getRanks())
    ranks = *listed;
}

std::optional<GroupMembers::Row> GroupMembers::getRow(int64_t rank) {
  if (!ranks)
    return Row{rank / block, rank % stride};
  if (rowOf.empty()) {
    for (auto [index, listed] : llvm::enumerate(ranks->getValues<int64_t>()))
      rowOf.emplace_back(listed, static_cast<int64_t>(index) / size);
    llvm::sort(rowOf);
  }
  auto it = llvm::lower_bound(rowOf, std::pair(rank, int64_t(0)));
  if (it == rowOf.end() || it->first != rank)
    return std::nullopt;
  return Row{it->second, /*stride=*/0};
}

/// Whether a row of `listed` has two ranks of one row of `other`.
static bool hasRowWithTwoRanksOf(GroupMembers &other,
                                 const GroupMembers &listed) {
  SmallVector<GroupMembers::Row> rows;
  for (auto [index, rank] :
       llvm::enumerate(listed.getRanks().getValues<int64_t>())) {
    if (index % static_cast<size_t>(listed.getSize()) == 0)
      rows.clear();
    if (std::optional<GroupMembers::Row> row = other.getRow(rank))
      rows.push_back(*row);
    if ((index + 1) % static_cast<size_t>(listed.getSize()) != 0)
      continue;
    llvm::sort(rows);
    if (std::adjacent_find(rows.begin(), rows.end()) != rows.end())
      return true;
  }
  return false;
}

/// Whether some two ranks are in one row of `a` and also in one row of `b`.
/// O(1) if both have strides, else O(ranks * log ranks).
static bool shareTwoRanks(GroupMembers &a, GroupMembers &b) {
  if (a.isListed())
    return hasRowWithTwoRanksOf(b, a);
  if (b.isListed())
    return hasRowWithTwoRanksOf(a, b);
  // Two ranks of one row are a multiple of the stride apart, and in one block.
  // If there are two in one row of both, then also rank 0 and the first that is
  // a multiple of both strides.
  int64_t apart = saturatingMultiply(
      a.getStride() / std::gcd(a.getStride(), b.getStride()), b.getStride());
  return apart < a.getBlock() && apart < b.getBlock();
}

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

namespace {

/// The known facts about the group of one stream.
struct StreamGroup {
  /// Null for a process group, else the stream of transfers.
  StreamAttr transfers;
  /// None if the ranks are not known.
  std::optional<GroupMembers> members;
  /// None if it is not known how they are placed.
  std::optional<ProcessGroup> placement;

  /// Whether it has only one rank, so that it contends with no other.
  bool isAlone() const { return placement && placement->size == 1; }
};

} // namespace

static StreamGroup getGroup(CollectiveOpInterface collective,
                            SymbolTableCollection &symbolTables) {
  StreamGroup group;
  group.transfers = dyn_cast<StreamAttr>(collective.getGroupKey());
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

/// Finds the pairs of groups that share more than one device. Marks the groups
/// whose ranks are unknown.
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

/// Assigns each group to the link of its node or that of the network, and each
/// direction of transfers that shares links to the latter. Marks the groups
/// whose placement is unknown.
static void addLinks(ArrayRef<StreamGroup> groups, const cost::Target &target,
                     Contention &contention, std::vector<bool> &isUnknown) {
  constexpr int32_t ofItsOwn = -1, insideNode = 0, betweenNodes = 1;
  for (auto [stream, group] : llvm::enumerate(groups)) {
    int32_t link = betweenNodes;
    if (StreamAttr transfers = group.transfers) {
      bool isOffload = transfers.getName() == OffloadOp::getStreamName();
      if ((isOffload ? target.linkSharingD2h : target.linkSharingH2d) == 0)
        link = ofItsOwn;
    } else if (!group.placement)
      isUnknown[stream] = true;
    else if (group.isAlone())
      link = ofItsOwn;
    else if (group.placement->size <= group.placement->ranksPerNode)
      link = insideNode;
    contention.links.push_back(link);
  }
}

/// The implementation of a stream. One that is not known is an error of all
/// passes that estimate costs.
static const cost::Implementation &
getImplementationOf(const ContentionStream &stream,
                    const cost::Implementations &implementations) {
  if (!stream.implementation)
    return implementations.get(0);
  return implementations.get(
      implementations.find(stream.implementation.getValue()).value_or(0));
}

/// By stream the larger of the target's slowdown and the implementation's tax;
/// nothing if all are 0.
static void addSlowdowns(ArrayRef<ContentionStream> streams,
                         const cost::Target &target, Contention &contention) {
  const cost::Implementations &implementations = target.implementations;
  if (target.computeSlowdown == 0 && !implementations.isListed())
    return;
  constexpr double millionths = 1e6;
  static_assert(Contention::maxSlowdownPpm == 999'000'000,
                "the range of the target's field");
  for (const ContentionStream &stream : streams) {
    double slowdown = target.computeSlowdown;
    if (implementations.isListed())
      slowdown =
          std::max(slowdown, getImplementationOf(stream, implementations).tax);
    CollectiveOpInterface collective = stream.collective;
    bool isTransfer = isa<StreamAttr>(collective.getGroupKey());
    contention.slowdownPpm.push_back(
        isTransfer ? 0 : std::llround(slowdown * millionths));
  }
}

/// Finds the pairs of implementations of one group that have one `stream`.
static void addExclusiveImplementations(ArrayRef<ContentionStream> streams,
                                        const cost::Target &target,
                                        Contention &contention) {
  DenseMap<std::pair<Attribute, StringRef>, SmallVector<StreamId, 2>> together;
  for (auto [index, stream] : llvm::enumerate(streams)) {
    CollectiveOpInterface collective = stream.collective;
    SmallVector<StreamId, 2> &others =
        together[{collective.getGroupKey(),
                  getImplementationOf(stream, target.implementations).stream}];
    for (StreamId other : others)
      contention.exclusive.push_back({other, static_cast<StreamId>(index)});
    others.push_back(static_cast<StreamId>(index));
  }
}

FailureOr<GroupContention>
mlir::commsched::computeContention(ArrayRef<ContentionStream> streams,
                                   const cost::Target &target,
                                   SymbolTableCollection &symbolTables) {
  if (target.exclusiveGroups != 0 && streams.size() > maxExclusiveStreams) {
    CollectiveOpInterface first = streams[maxExclusiveStreams].collective;
    return first.emitOpError("is on group ")
           << first.getGroupKey() << ", one of " << streams.size()
           << ": groups can be exclusive if there are no more than "
           << maxExclusiveStreams;
  }
  GroupContention result;
  addSlowdowns(streams, target, result.contention);
  if (target.exclusiveGroups == 0 && !target.sharesLinks())
    return result;
  SmallVector<StreamGroup> groups;
  for (const ContentionStream &stream : streams)
    groups.push_back(getGroup(stream.collective, symbolTables));
  std::vector<bool> isUnknown(streams.size());
  if (target.exclusiveGroups != 0)
    addExclusive(groups, result.contention, isUnknown);
  else if (target.implementations.isListed())
    addExclusiveImplementations(streams, target, result.contention);
  if (target.sharesLinks())
    addLinks(groups, target, result.contention, isUnknown);
  llvm::SetVector<Attribute> unknownGroups;
  for (auto [stream, unknown] : llvm::zip_equal(streams, isUnknown))
    if (unknown)
      unknownGroups.insert(
          CollectiveOpInterface(stream.collective).getGroupKey());
  result.unknownGroups = unknownGroups.takeVector();
  return result;
}

FailureOr<GroupContention>
mlir::commsched::computeContention(const BlockProblem &block,
                                   const cost::Target &target,
                                   SymbolTableCollection &symbolTables) {
  return computeContention(getStreamCollectives(block), target, symbolTables);
}

SmallVector<ContentionStream> mlir::commsched::getStreamCollectives(
    const schedule::Problem &problem,
    function_ref<Operation *(NodeId)> getOperation) {
  SmallVector<CollectiveOpInterface> first(problem.numStreams());
  for (NodeId node = problem.numNodes() - 1; node >= 0; --node)
    if (problem.isCollective(node))
      first[problem.stream(node)] =
          cast<CollectiveOpInterface>(getOperation(node));
  return SmallVector<ContentionStream>(first.begin(), first.end());
}

SmallVector<ContentionStream>
mlir::commsched::getStreamCollectives(const BlockProblem &block) {
  return getStreamCollectives(block.getProblem(), [&](NodeId node) {
    return block.getOperation(node);
  });
}
