//===- ProgramComparison.h - Comparison of the ranks' programs --*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ranks with different collectives would wait for each other forever, so the
// ranks compare their programs when they load them: first a digest of a text
// that has one line for each group and each collective, then the texts
// themselves if the digests differ. Names count, locations, predicted times and
// transfers to the host do not.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_CORE_PROGRAMCOMPARISON_H
#define COMMSCHED_RUNTIME_CORE_PROGRAMCOMPARISON_H

#include "Core/Program.h"

#include <functional>

namespace commsched::runtime {

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

#endif // COMMSCHED_RUNTIME_CORE_PROGRAMCOMPARISON_H
