//===- FrontierFile.cpp - Step time against memory ------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FrontierFile.h"
#include "../PassSupport.h"
#include "CommSched/Support/Unlimited.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace mlir::commsched;
namespace json = llvm::json;

void mlir::commsched::keepFrontier(std::vector<FrontierPoint> &points) {
  auto getKey = [](const FrontierPoint &point) {
    return std::make_tuple(point.peakBytes, point.stepNs,
                           point.budgetBytes.value_or(unlimited));
  };
  llvm::sort(points, [&](const FrontierPoint &a, const FrontierPoint &b) {
    return getKey(a) < getKey(b);
  });
  std::optional<int64_t> shortestNs;
  llvm::erase_if(points, [&](const FrontierPoint &point) {
    if (shortestNs && point.stepNs >= *shortestNs)
      return true;
    shortestNs = point.stepNs;
    return false;
  });
}

//===----------------------------------------------------------------------===//
// Output
//===----------------------------------------------------------------------===//

/// Calls `print` with the name and the value of each number of `point`; null
/// stands for none.
static void
forEachNumber(const FrontierPoint &point,
              function_ref<void(StringRef, std::optional<int64_t>)> print) {
  print("budget_bytes", point.budgetBytes);
  print("peak_bytes", point.peakBytes);
  print("step_time_ns", point.stepNs);
  print("lower_bound_ns", point.lowerBoundNs);
  print("exposed_comm_ns", point.exposedNs);
  print("num_collectives", point.numCollectives);
}

/// Prints an array of JSON with one object for each point.
static void printFrontiersAsJson(ArrayRef<FunctionFrontier> frontiers,
                                 raw_ostream &os) {
  json::OStream stream(os, /*IndentSize=*/1);
  stream.array([&] {
    for (const FunctionFrontier &frontier : frontiers)
      for (const FrontierPoint &point : frontier.points)
        stream.object([&] {
          stream.attribute("function", frontier.function);
          forEachNumber(point,
                        [&](StringRef name, std::optional<int64_t> number) {
                          stream.attribute(name, number);
                        });
        });
  });
  os << "\n";
}

/// A symbol may hold what separates fields.
static void printCsvName(StringRef name, raw_ostream &os) {
  if (name.find_first_of(",\"\r\n") == StringRef::npos) {
    os << name;
    return;
  }
  os << '"';
  for (char character : name)
    os << (character == '"' ? "\"\"" : StringRef(&character, 1));
  os << '"';
}

/// Prints a line with the names of the columns, and one for each point.
static void printFrontiersAsCsv(ArrayRef<FunctionFrontier> frontiers,
                                raw_ostream &os) {
  os << "function";
  forEachNumber(
      {}, [&](StringRef name, std::optional<int64_t>) { os << ',' << name; });
  os << '\n';
  for (const FunctionFrontier &frontier : frontiers)
    for (const FrontierPoint &point : frontier.points) {
      printCsvName(frontier.function, os);
      forEachNumber(point, [&](StringRef, std::optional<int64_t> number) {
        os << ',';
        if (number)
          os << *number;
      });
      os << '\n';
    }
}

LogicalResult
mlir::commsched::writeFrontiers(Location loc, StringRef path,
                                ArrayRef<FunctionFrontier> frontiers) {
  return writeOutputFile(loc, path, "the frontier", [&](raw_ostream &os) {
    path.ends_with(".json") ? printFrontiersAsJson(frontiers, os)
                            : printFrontiersAsCsv(frontiers, os);
  });
}
