//===- Comparison.h - Whether ranks run the same program --------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ranks whose collectives differ would wait for each other for ever, so they
// compare their programs when they load them: a digest of a text with a line
// for each group and site, and the texts if the digests differ. Names,
// locations aside, count; predicted times do not.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_CORE_COMPARISON_H
#define COMMSCHED_RUNTIME_CORE_COMPARISON_H

#include "Core/Groups.h"

#include <functional>

namespace commsched::runtime {

/// One line for each group, then one for each site. What an uneven all_to_all
/// sends may differ between ranks and is not in it; see `describeSplits`.
std::string describeProgram(const Program &program);

/// 16 hexadecimal digits.
std::string digest(const std::string &text);

/// The first difference between texts of `describeProgram`, one for each rank;
/// nothing when all are equal.
Error findDifference(const std::vector<std::string> &texts);

/// The splits of the program's uneven all_to_alls; empty if there is none.
std::string describeSplits(const Program &program);

/// Whether every rank sends what the other expects, from the texts of
/// `describeSplits` of all ranks and the rows of the groups.
Error checkSplits(const Program &program, const std::vector<Rows> &rows,
                  const std::vector<std::string> &texts);

/// Gathers texts of all ranks, as Backend::exchange does.
using Exchange =
    std::function<Error(const std::string &mine, std::vector<std::string> &)>;

/// Everything above, in the order that all ranks must follow.
Error comparePrograms(const Program &program, const std::vector<Rows> &rows,
                      const Exchange &exchange);

} // namespace commsched::runtime

#endif // COMMSCHED_RUNTIME_CORE_COMPARISON_H
