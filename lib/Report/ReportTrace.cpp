//===- ReportTrace.cpp - Simulated steps as a Chrome trace ----------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Report/ReportFormats.h"

using namespace mlir;
using namespace mlir::commsched;

void mlir::commsched::addGroups(const StepReport &report,
                                StreamThreads &threads) {
  for (const CollectiveReport &collective : report.collectives)
    threads.add(collective.group);
}

void mlir::commsched::addStep(const StepReport &report,
                              const StreamThreads &threads, int64_t process,
                              ChromeTrace &trace) {
  constexpr int64_t compute = StreamThreads::computeThread;
  for (const ComputeReport &c : report.computations)
    trace.addSlice(process, compute, c.name, "compute", c.startNs, c.endNs);
  for (auto [index, collective] : llvm::enumerate(report.collectives)) {
    const CollectiveReport &c = collective;
    int64_t thread = threads.lookup(c.group);
    trace.addSlice(process, thread, c.name, c.kind, c.startNs, c.endNs,
                   [&](llvm::json::OStream &stream) {
                     stream.attribute("bytes", c.bytes);
                     stream.attribute("exposed_ns", c.exposedNs);
                   });
    if (c.exposedNs == 0)
      continue;
    int64_t waitEndNs = c.waitNs + c.exposedNs;
    trace.addSlice(process, compute, "wait for " + c.name, "wait", c.waitNs,
                   waitEndNs);
    trace.addWait(process << 32 | static_cast<int64_t>(index), process, thread,
                  c.startNs, compute, waitEndNs);
  }
  for (const MemorySample &sample : report.memory)
    trace.addCount(process, "live bytes", "bytes", sample.timeNs, sample.bytes);
}

void mlir::commsched::printTrace(ArrayRef<StepReport> reports,
                                 raw_ostream &os) {
  ChromeTrace trace(os);
  for (auto [index, report] : llvm::enumerate(reports)) {
    int64_t process = static_cast<int64_t>(index) + 1;
    StreamThreads threads;
    addGroups(report, threads);
    threads.nameIn(trace, process, "@" + report.function);
    addStep(report, threads, process, trace);
  }
}
