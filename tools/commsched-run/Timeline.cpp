//===- Timeline.cpp - Measured steps as a Chrome trace --------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Timeline.h"
#include "CommSched/Report/ReportFormats.h"

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::run;

/// Adds the records of a rank as the slices of `process`.
static void addRank(const ProgramSites &program,
                    ArrayRef<commsched_record> records,
                    const StreamThreads &threads, int64_t process,
                    ChromeTrace &trace) {
  constexpr int64_t compute = StreamThreads::computeThread;
  // The arrow to a wait begins at the last start of its site.
  std::vector<int64_t> startNs(program.sites.size());
  for (auto [index, record] : llvm::enumerate(records)) {
    if (record.kind == COMMSCHED_RECORD_COMPUTE) {
      trace.addSlice(process, compute, program.operators[record.index].name,
                     "compute", record.begin_ns, record.end_ns);
      continue;
    }
    const Site &site = program.sites[record.index];
    int64_t thread = threads.lookup(site.group);
    if (record.kind == COMMSCHED_RECORD_COLLECTIVE) {
      startNs[record.index] = record.begin_ns;
      trace.addSlice(process, thread, site.name, site.kind, record.begin_ns,
                     record.end_ns);
      continue;
    }
    trace.addSlice(process, compute, "wait for " + site.name, "wait",
                   record.begin_ns, record.end_ns);
    trace.addWait(process << 32 | static_cast<int64_t>(index), process, thread,
                  startNs[record.index], compute, record.end_ns);
  }
}

void mlir::commsched::run::printTimeline(
    const Program &program, ArrayRef<std::vector<commsched_record>> ranks,
    raw_ostream &os) {
  const ProgramSites &sites = program.getSites();
  const std::optional<StepReport> &report = program.getPrediction();
  StreamThreads threads;
  if (report)
    addGroups(*report, threads);
  for (const Site &site : sites.sites)
    threads.add(site.group);

  ChromeTrace trace(os);
  int64_t process = 1;
  if (report) {
    threads.nameIn(trace, process, "predicted");
    addStep(*report, threads, process, trace);
  }
  for (auto [rank, records] : llvm::enumerate(ranks)) {
    ++process;
    threads.nameIn(trace, process,
                   "rank " + std::to_string(rank) + " measured");
    addRank(sites, records, threads, process, trace);
  }
}
