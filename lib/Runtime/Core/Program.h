//===- Program.h - Programs and their collectives ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The program description that `commsched_load_program` reads. Parsing checks
// every key, index and number of elements as far as that is possible without
// the number of ranks; `expandGroup` checks the groups against it.
//
// Ranks with different collectives would wait for each other forever, so the
// ranks compare their programs when they load them: first a digest of a text
// that has one line for each group and each collective, then the texts
// themselves if the digests differ. Names count, locations, predicted times and
// transfers to the host do not.
//
// A site is one collective of the program, a launch is one execution of a site.
// The core checks the description of each site when a program is loaded and the
// buffers of each launch before a backend sees them. All error messages name
// sites and launches by the functions below. See also `describeTimeout` in
// Backend.h.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_CORE_PROGRAM_H
#define COMMSCHED_RUNTIME_CORE_PROGRAM_H

#include "CommSched/Runtime/Backend.h"

#include <functional>

namespace commsched::runtime {

/// The most elements of a buffer: keeps bytes of buffers, and sums of a few of
/// them, within an int64_t.
inline constexpr int64_t maxElements = int64_t(1) << 48;

/// The groups of one axis, as described. Those of the same ranks that are
/// carried out in different ways have one name.
struct GroupDescription {
  std::string name;
  int64_t size = 0;
  int64_t stride = 1;
  /// One row a group if they are listed; otherwise empty.
  std::vector<std::vector<int32_t>> ranks;
  /// None: the backend's usual one.
  std::optional<Implementation> implementation;
};

struct Program {
  std::vector<GroupDescription> groups;
  std::vector<Site> sites;
  std::vector<Operator> operators;
  /// The code that runs on the processor; empty if there is none.
  std::string hostCode;
};

/// Reads the JSON. Errors name the key and the place, such as
/// "program description: sites[2] 'ag': 'outputs' of tensor 0 is 7, but 4 ranks
/// gather 8".
COMMSCHED_RUNTIME_API Status parseProgram(const std::string &json,
                                          Program &program);

/// Whether the ranks send each other parts of different sizes, which the
/// program states.
bool isUnevenAllToAll(const Site &site);

using Rows = std::vector<std::vector<int32_t>>;

/// The rows of the group when `numRanks` ranks run, each of `size` ranks.
/// Without a list they cover all ranks. An error when ranks are named that do
/// not run, or the rows do not cover those that do.
Status expandGroup(const GroupDescription &group, int64_t numRanks, Rows &rows);

/// One line for each group, then one for each collective. The splits of an
/// uneven all_to_all may differ between ranks and are left out; see
/// `describeSplits`.
std::string describeProgram(const Program &program);

/// 16 hexadecimal digits.
std::string digest(const std::string &text);

/// The splits of the program's uneven all_to_alls; empty if there is none.
std::string describeSplits(const Program &program);

/// Whether every rank sends what the other expects, from the texts of
/// `describeSplits` of all ranks and the rows of the groups.
Status checkSplits(const Program &program, const std::vector<Rows> &rows,
                   const std::vector<std::string> &texts);

/// Gathers texts of all ranks, as Backend::exchange does.
using Exchange =
    std::function<Status(const std::string &mine, std::vector<std::string> &)>;

/// Everything above, in the order that all ranks must follow.
Status comparePrograms(const Program &program, const std::vector<Rows> &rows,
                       const Exchange &exchange);

//===----------------------------------------------------------------------===//
// Sites and launches
//===----------------------------------------------------------------------===//

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
/// "output". An error if one of them is negative, or if there are more than fit
/// a buffer. Errors do not name the site.
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

#endif // COMMSCHED_RUNTIME_CORE_PROGRAM_H
