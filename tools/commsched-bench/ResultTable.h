//===- ResultTable.h - What is printed --------------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Prints results as nccl-tests does, with its columns in its order; behind them
// the isolated times and, where there is a peer, the ratios to it.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TOOLS_BENCH_RESULTTABLE_H
#define COMMSCHED_TOOLS_BENCH_RESULTTABLE_H

#include "Environment.h"
#include "Measurement.h"

#include "llvm/Support/raw_ostream.h"

namespace commsched::bench {

class ResultTable {
public:
  ResultTable(const Settings &settings, const Plan &plan,
              const Environment &environment, llvm::raw_ostream &os)
      : settings(settings), plan(plan), environment(environment), os(os) {}

  /// `direct` says what the runtime is compared with; empty: nothing.
  void printHeader(llvm::StringRef direct);
  /// Points of one collective and group come one after the other.
  void printPoint(const Point &point, const PointResult &result);
  void printFooter();

  int64_t getWrong() const { return wrong; }

private:
  void printColumns(const Point &point);
  void printPlace(const Point &point, const PlaceResult &result);

  const Settings &settings;
  const Plan &plan;
  const Environment &environment;
  llvm::raw_ostream &os;
  const Point *previous = nullptr;
  bool compared = false;
  int64_t wrong = 0;
  double busBandwidthSum = 0;
  int64_t busBandwidthCount = 0;
};

} // namespace commsched::bench

#endif // COMMSCHED_TOOLS_BENCH_RESULTTABLE_H
