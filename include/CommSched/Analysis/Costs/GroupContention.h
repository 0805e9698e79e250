//===- GroupContention.h - Contention between groups ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Determines from the ranks of groups which collectives of a program slow each
// other down: groups that share more than one device, which must not be in
// flight together, and groups whose data travels over the same link. Defines
// the options of passes that turn contention on.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_ANALYSIS_COSTS_GROUPCONTENTION_H
#define COMMSCHED_ANALYSIS_COSTS_GROUPCONTENTION_H

#include "CommSched/Analysis/Problem/BlockProblem.h"
#include "CommSched/CostModel/Target.h"
#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "CommSched/Schedule/Model/Simulator.h"

namespace mlir::commsched {

/// A stream: the group of a collective, and an implementation.
struct ContentionStream {
  /// That of the collective itself.
  ContentionStream(CollectiveOpInterface collective)
      : ContentionStream(collective, getImplementation(collective)) {}
  ContentionStream(CollectiveOpInterface collective, StringAttr implementation)
      : collective(collective), implementation(implementation) {}

  CollectiveOpInterface collective;
  /// Its name; null for NCCL as it decides.
  StringAttr implementation;
};

struct GroupContention {
  schedule::Contention contention;
  /// The keys of the groups for which a fact is missing, in the order of their
  /// streams. With exclusive groups, those whose ranks are not known: they
  /// count as exclusive with all others. With shared links, those whose
  /// placement is not known: they count as crossing nodes.
  SmallVector<Attribute> unknownGroups;
};

/// The text of a remark about one of the unknown groups.
std::string explainUnknownGroup(Attribute key);

/// The maximal number of streams for exclusive groups, as all pairs are
/// compared.
inline constexpr size_t maxExclusiveStreams = 4096;

/// Computes the contention between streams that `target` says that there is.
/// Where it lists implementations, those slow computation down by their taxes,
/// and groups share links.
///
/// Two groups are exclusive if some two ranks are in one row of the first and
/// also in one row of the second. For groups by stride that is a formula; a
/// pair of which one lists its ranks takes O(ranks * log ranks).
///
/// There are two links. The program is that of one rank, which is a member of
/// each group that it uses. So all groups inside a node share the rank's link
/// to the other ranks of its node, and all groups that cross nodes share its
/// link to the network. A group of one rank shares nothing. A transfer to or
/// from the host is on the link to the network if the target says so, and else
/// shares nothing.
///
/// Two implementations of one group are exclusive if they have one `stream`.
///
/// Emits an error if groups are to be exclusive and there are more than
/// maxExclusiveStreams.
FailureOr<GroupContention>
computeContention(ArrayRef<ContentionStream> streams,
                  const cost::Target &target,
                  SymbolTableCollection &symbolTables);

/// The first collective of each stream of `problem`, each of which has one;
/// `getOperation` gives the operation of a node. O(nodes).
SmallVector<ContentionStream>
getStreamCollectives(const schedule::Problem &problem,
                     function_ref<Operation *(schedule::NodeId)> getOperation);
SmallVector<ContentionStream> getStreamCollectives(const BlockProblem &block);

/// The same for the streams of a block.
FailureOr<GroupContention>
computeContention(const BlockProblem &block, const cost::Target &target,
                  SymbolTableCollection &symbolTables);

} // namespace mlir::commsched

#endif // COMMSCHED_ANALYSIS_COSTS_GROUPCONTENTION_H
