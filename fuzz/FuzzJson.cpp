//===- FuzzJson.cpp - Fuzz target: files in JSON --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The first line of an input says what reads the others: "profile" or
// "operations".
//===----------------------------------------------------------------------===//

#include "CommSched/CostModel/CollectiveCost.h"
#include "CommSched/CostModel/MeasuredTable.h"
#include "CommSched/OperationTables/OperationTable.h"

using namespace mlir::commsched;
using llvm::StringRef;

static void readProfile(StringRef text) {
  llvm::Expected<cost::MeasuredTable> table = cost::MeasuredTable::parse(text);
  if (!table)
    llvm::consumeError(table.takeError());
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  StringRef input(reinterpret_cast<const char *>(data), size);
  auto [kind, text] = input.split('\n');
  if (kind == "profile")
    readProfile(text);
  else if (kind == "operations")
    (void)OperationTable::parse(text, "table.json");
  else
    return -1;
  return 0;
}
