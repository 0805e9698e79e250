//===- Program.h - The program of the scenarios -----------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All scenarios start from this program. On the group "dp" of all ranks it has
// the sites below, named like these constants; 'give' sends from the culprit to
// rank 0, where 'take' receives.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_UNITTESTS_FAULTS_PROGRAM_H
#define COMMSCHED_UNITTESTS_FAULTS_PROGRAM_H

#include <nlohmann/json.hpp>

namespace commsched::faults {

/// The rank that does something wrong.
inline constexpr int32_t culprit = 1;

enum Site : int32_t { gather, reduce, meet, give, take };

/// Elements of every tensor on one rank.
inline constexpr int64_t elements = 256;

nlohmann::json makeProgram(int32_t numRanks);

} // namespace commsched::faults

#endif // COMMSCHED_UNITTESTS_FAULTS_PROGRAM_H
