//===- Program.cpp - The program of the scenarios -------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Program.h"

using namespace commsched::faults;
using nlohmann::json;

static json makeSite(const char *name, int line, const char *kind,
                     int64_t inputs, int64_t outputs) {
  json site = {{"name", name},
               {"location", "step.mlir:" + std::to_string(line) + ":8"},
               {"kind", kind},
               {"group", 0},
               {"tensors", json::array()}};
  if (inputs || outputs)
    site["tensors"].push_back(
        {{"type", "f32"}, {"inputs", inputs}, {"outputs", outputs}});
  return site;
}

json commsched::faults::makeProgram(int32_t numRanks) {
  json sites = {
      makeSite("gather", 3, "all_gather", elements, elements * numRanks),
      makeSite("reduce", 5, "all_reduce", elements, elements),
      makeSite("meet", 7, "barrier", 0, 0),
      makeSite("give", 9, "send", elements, 0),
      makeSite("take", 11, "recv", 0, elements)};
  sites[reduce]["reduction"] = "sum";
  sites[give]["peer"] = 0;
  sites[give]["tag"] = 5;
  sites[take]["peer"] = culprit;
  sites[take]["tag"] = 5;
  return {{"version", 1},
          {"groups", {{{"name", "dp"}, {"size", numRanks}}}},
          {"sites", sites}};
}
