//===- OperationTimes.cpp - Measured times for other ranks ----------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OperationTimes.h"
#include "CommSched/Report/RankTimes.h"
#include "Files.h"

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::run;

llvm::Error mlir::commsched::run::writeOperationTimes(StringRef path,
                                                      const Program &program,
                                                      ArrayRef<Run> runs) {
  const ProgramSites &sites = program.getSites();
  const SiteMap &map = program.getSiteMap();
  auto siteTimes =
      getMedianTimes(runs, COMMSCHED_RECORD_COLLECTIVE, sites.sites.size());
  auto operatorTimes =
      getMedianTimes(runs, COMMSCHED_RECORD_COMPUTE, sites.operators.size());
  auto getTimeNs = [&](Operation *op) -> std::optional<int64_t> {
    if (int32_t site = SiteMap::lookup(map.sites, op); site >= 0)
      return siteTimes[site];
    if (int32_t index = SiteMap::lookup(map.operators, op); index >= 0)
      return operatorTimes[index];
    return std::nullopt;
  };
  RankTimes times;
  for (const TimedFunction &timed : getTimedFunctions(program.getModule()))
    times[toFileText(timed.name)] = makeFunctionTimes(timed, getTimeNs);
  return writeFile(path, [&](raw_ostream &os) { printRankTimes(times, os); });
}
