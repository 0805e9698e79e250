//===- FuzzRuntime.cpp - Fuzz target: program descriptions ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An input is a line that is left out and a program description, as
// commsched_load_program() takes it. The groups of one that is accepted are
// expanded for several numbers of ranks.
//===----------------------------------------------------------------------===//

#include "Core/Program.h"

#include <cstdint>

using namespace commsched::runtime;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string input(reinterpret_cast<const char *>(data), size);
  Program program;
  size_t begin = input.find('\n');
  if (begin == std::string::npos ||
      !parseProgram(input.substr(begin + 1), program))
    return 0;
  for (const Site &site : program.sites)
    (void)isUnevenAllToAll(site);
  for (int64_t numRanks : {1, 2, 4, 8, 96})
    for (const GroupDescription &group : program.groups) {
      Rows rows;
      (void)expandGroup(group, numRanks, rows);
    }
  return 0;
}
