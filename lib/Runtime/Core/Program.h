//===- Program.h - Program descriptions -------------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
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
Status parseProgram(const std::string &json, Program &program);

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

/// An error that describes the first difference between texts of
/// `describeProgram`, one for each rank; success when all are equal.
Status findDifference(const std::vector<std::string> &texts);

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

} // namespace commsched::runtime

#endif // COMMSCHED_RUNTIME_CORE_PROGRAM_H
