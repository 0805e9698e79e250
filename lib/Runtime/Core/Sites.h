//===- Sites.h - Checks and names of collectives ----------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks and descriptions of the collectives of a program. A site is one
// collective of the program, a launch is one execution of a site. The core
// checks the description of each site when a program is loaded and the buffers
// of each launch before a backend sees them. All error messages name sites and
// launches by the functions below. See also `describeTimeout` in Backend.h.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_CORE_SITES_H
#define COMMSCHED_RUNTIME_CORE_SITES_H

#include "CommSched/Runtime/Backend.h"

namespace commsched::runtime {

/// "dp", or "dp (nccl-4)" with an implementation.
COMMSCHED_RUNTIME_API std::string getFullName(const Group &group);

/// "'dp'", or "'dp' (nccl-4)" with an implementation.
COMMSCHED_RUNTIME_API std::string quoteGroup(const Group &group);

/// "all_gather 'ag' (step.mlir:7:8)".
COMMSCHED_RUNTIME_API std::string describeSite(const Site &site);

/// "all_gather 'ag' (step.mlir:7:8) on group 'dp', launch 3".
COMMSCHED_RUNTIME_API std::string describeLaunch(const Launch &launch);

/// "launch 3 on group 'dp', all_gather 'ag'": where a rank was last.
COMMSCHED_RUNTIME_API std::string describeLast(const Launch &launch);

/// "rank 2 has not come; rank 3 is gone".
COMMSCHED_RUNTIME_API std::string describeRanks(const RankStates &ranks);

/// "timed out after 5000 ms while all ranks meet: rank 2 has not come", where
/// `what` is "while all ranks meet".
COMMSCHED_RUNTIME_API std::string describeTimeout(const std::string &what,
                                                  int64_t deadlineMs,
                                                  const RankStates &missing);

/// The ranks that the end of the launch waits for besides this one: a peer, or
/// the other members of the group.
COMMSCHED_RUNTIME_API std::vector<int32_t> getPartners(const Launch &launch);

/// What `describe` returns for each of `ranks`, without those that it returns
/// nothing for.
template <class Describe>
RankStates describeEach(const std::vector<int32_t> &ranks,
                        Describe &&describe) {
  RankStates states;
  for (int32_t rank : ranks)
    if (std::string text = describe(rank); !text.empty())
      states.emplace_back(rank, std::move(text));
  return states;
}

/// " (its last: launch 3 on group 'dp', all_gather 'ag')" for a text of
/// `describeLast`; `nothing` if that is empty.
COMMSCHED_RUNTIME_API std::string quoteLast(const std::string &last,
                                            const char *nothing = "");
/// For a rank that has not done what it should have.
inline constexpr const char *nothingElse = " (nor anything else)";

/// Sends and receives concern two ranks only and are counted by themselves.
inline bool isPointToPoint(commsched_kind kind) {
  return kind == COMMSCHED_SEND || kind == COMMSCHED_RECV;
}

/// Checks `site` on a group of `size` ranks. `hasPairs`: the description has
/// pairs, be it an empty list.
Status checkSiteDescription(const Site &site, int64_t size, bool hasPairs);

/// Whether the rank of the launch's group sends the inputs: of a broadcast only
/// the root does, of a permute only sources.
COMMSCHED_RUNTIME_API bool sendsInputs(const Site &site, const Group &group);

// Splits that are values: the rows that an all_to_all sends to, and receives
// from, each rank, where the program computes these numbers.

/// The splits of one side of a launch.
struct RowSplits {
  /// Rows of the buffer.
  int64_t rows = 0;
  /// Rows for each rank of the group; null where they are no values.
  const int64_t *splits = nullptr;
};

/// Adds the rows of `splits` up, of `ranks` ranks; `side` is "input" or
/// "output". An error if one of them is
/// negative, or if there are more than fit a buffer. Errors do not name the
/// site.
Status addSplits(const char *side, const int64_t *splits, int64_t ranks,
                 int64_t &rows);

/// The tensors of a launch of `site`, on a group of `ranks` ranks, which has
/// splits that are values. An error, without the name of the site, unless the
/// splits of each side are there and add up to its rows.
Status resolveTensors(const Site &site, int64_t ranks, const RowSplits &input,
                      const RowSplits &output, std::vector<Tensor> &tensors);

/// Checks the pointers of the launch: buffers that are sent or received are not
/// null and do not overlap, except in place.
Status checkLaunch(const Launch &launch);

} // namespace commsched::runtime

#endif // COMMSCHED_RUNTIME_CORE_SITES_H
