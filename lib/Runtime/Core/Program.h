//===- Program.h - The description of a program -----------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What `commsched_load_program` is given, read and checked as far as that is
// possible without knowing the ranks: every key, index and number of elements.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_CORE_PROGRAM_H
#define COMMSCHED_RUNTIME_CORE_PROGRAM_H

#include "CommSched/Runtime/Backend.h"

namespace commsched::runtime {

/// The groups of one axis, as described.
struct GroupDescription {
  std::string name;
  int64_t size = 0;
  int64_t stride = 1;
  /// One row a group if they are listed; otherwise empty.
  std::vector<std::vector<int32_t>> ranks;
};

struct Program {
  std::vector<GroupDescription> groups;
  std::vector<Site> sites;
  std::vector<Operator> operators;
  /// What of it runs on the processor; empty: nothing.
  std::string hostCode;
};

/// Reads the JSON. Errors name the key and the place, such as
/// "program description: sites[2] 'ag': 'outputs' of tensor 0 is 7, but 4 ranks
/// gather 8".
Error parseProgram(const std::string &json, Program &program);

/// Whether the ranks send each other parts of different sizes.
bool isUnevenAllToAll(const Site &site);

} // namespace commsched::runtime

#endif // COMMSCHED_RUNTIME_CORE_PROGRAM_H
