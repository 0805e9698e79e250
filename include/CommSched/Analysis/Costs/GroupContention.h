//===- GroupContention.h - How groups hold each other up --------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which collectives of a program slow each other down, told by the ranks of
// their groups: groups that share more than one device, which must not be in
// flight together, and groups whose data travels over the same link. Also the
// options by which passes ask for it.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_ANALYSIS_COSTS_GROUPCONTENTION_H
#define COMMSCHED_ANALYSIS_COSTS_GROUPCONTENTION_H

#include "CommSched/Analysis/Problem/BlockProblem.h"
#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "CommSched/Schedule/Model/Simulator.h"

namespace mlir::commsched {

/// What the time model counts beyond streams that run freely beside each other;
/// by default nothing.
struct ContentionOptions {
  /// Groups that share more than one device are never in flight together.
  bool exclusiveGroups = false;
  /// Groups on the same link share its bandwidth.
  bool linkSharing = false;
  /// By which part of its own time a computation takes longer beside a
  /// collective in flight, such as 0.19; see check().
  double computeSlowdown = 0;
};

/// What is wrong with the slowdown, which alone can be: it has to be between 0
/// and the most that a simulation takes. As text behind the option's name.
OptionalError check(const ContentionOptions &options);

struct GroupContention {
  schedule::Contention contention;
  /// The keys of the groups of which it is not known what they share with
  /// others, in the order of their streams: those whose ranks are not known if
  /// groups are to be exclusive, and they are with all; those whose placement
  /// is not known if links are to be shared, and they cross nodes.
  SmallVector<Attribute> unknownGroups;
};

/// What passes say, in a remark, of one of the unknown groups.
std::string explainUnknownGroup(Attribute key);

/// The most streams between which exclusive ones are looked for: each may be
/// exclusive with each.
inline constexpr size_t maxExclusiveStreams = 4096;

/// How the streams hold each other up, of which `streams` lists one collective
/// each.
///
/// Exclusive are two groups if one rank and another are in one group together
/// in the rows of both. That is a formula for groups by stride, and takes
/// O(ranks * log ranks) for a pair of which one lists its ranks.
///
/// There are two links. The program is one rank's, which is in each group that
/// it uses, so that all groups inside a node travel over that rank's link to
/// the others of its node, and all groups that cross nodes over its link to the
/// network. A group of one rank shares nothing.
///
/// `options` have passed check(). Emits an error if groups are to be exclusive
/// and there are more than maxExclusiveStreams.
FailureOr<GroupContention>
computeContention(ArrayRef<CollectiveOpInterface> streams,
                  const ContentionOptions &options,
                  SymbolTableCollection &symbolTables);

/// The first collective of each stream.
SmallVector<CollectiveOpInterface>
getStreamCollectives(const BlockProblem &block);

/// The same for the streams of a block.
FailureOr<GroupContention>
computeContention(const BlockProblem &block, const ContentionOptions &options,
                  SymbolTableCollection &symbolTables);

} // namespace mlir::commsched

#endif // COMMSCHED_ANALYSIS_COSTS_GROUPCONTENTION_H
