//===- ReportTrace.cpp - Simulated steps as a Chrome trace ----------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReportFormats.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace mlir::commsched;
namespace json = llvm::json;

/// Writes a time in the microseconds of the format without rounding.
static void printMicroseconds(json::OStream &stream, StringRef key,
                              int64_t ns) {
  stream.attributeBegin(key);
  stream.rawValue([&](raw_ostream &os) {
    os << llvm::format("%lld.%03lld", static_cast<long long>(ns / 1000),
                       static_cast<long long>(ns % 1000));
  });
  stream.attributeEnd();
}

namespace {

/// The trace of one function: process `pid`, whose thread 1 is the compute
/// stream and whose following threads are the groups' streams.
class TracePrinter {
public:
  TracePrinter(json::OStream &stream, int64_t pid) : stream(stream), pid(pid) {}

  void print(const StepReport &report);

private:
  static constexpr int64_t computeThread = 1;

  void printMetadata(StringRef what, int64_t thread, StringRef name);
  void printSlice(StringRef name, StringRef category, int64_t thread,
                  int64_t beginNs, int64_t endNs,
                  function_ref<void()> printArguments);
  void printFlow(StringRef phase, size_t id, int64_t thread, int64_t timeNs);

  json::OStream &stream;
  int64_t pid;
};

} // namespace

void TracePrinter::printMetadata(StringRef what, int64_t thread,
                                 StringRef name) {
  stream.object([&] {
    stream.attribute("name", what);
    stream.attribute("ph", "M");
    stream.attribute("pid", pid);
    stream.attribute("tid", thread);
    stream.attributeObject("args", [&] { stream.attribute("name", name); });
  });
}

void TracePrinter::printSlice(StringRef name, StringRef category,
                              int64_t thread, int64_t beginNs, int64_t endNs,
                              function_ref<void()> printArguments) {
  stream.object([&] {
    stream.attribute("name", name);
    stream.attribute("cat", category);
    stream.attribute("ph", "X");
    stream.attribute("pid", pid);
    stream.attribute("tid", thread);
    printMicroseconds(stream, "ts", beginNs);
    printMicroseconds(stream, "dur", endNs - beginNs);
    if (printArguments)
      stream.attributeObject("args", printArguments);
  });
}

void TracePrinter::printFlow(StringRef phase, size_t id, int64_t thread,
                             int64_t timeNs) {
  stream.object([&] {
    stream.attribute("name", "wait");
    stream.attribute("cat", "wait");
    stream.attribute("ph", phase);
    stream.attribute("id", static_cast<int64_t>(id));
    stream.attribute("pid", pid);
    stream.attribute("tid", thread);
    if (phase == "f")
      stream.attribute("bp", "e");
    printMicroseconds(stream, "ts", timeNs);
  });
}

void TracePrinter::print(const StepReport &report) {
  printMetadata("process_name", 0, "@" + report.function);
  printMetadata("thread_name", computeThread, "compute");
  llvm::MapVector<StringRef, int64_t> threads;
  for (const CollectiveReport &c : report.collectives) {
    int64_t next = computeThread + 1 + static_cast<int64_t>(threads.size());
    if (threads.try_emplace(c.group, next).second)
      printMetadata("thread_name", next, "@" + c.group);
  }
  for (const ComputeReport &c : report.computations)
    printSlice(c.name, "compute", computeThread, c.startNs, c.endNs, nullptr);
  for (auto [index, c] : llvm::enumerate(report.collectives)) {
    const CollectiveReport &collective = c;
    int64_t thread = threads.lookup(c.group);
    printSlice(c.name, c.kind, thread, c.startNs, c.endNs, [&] {
      stream.attribute("bytes", collective.bytes);
      stream.attribute("exposed_ns", collective.exposedNs);
    });
    if (c.exposedNs == 0)
      continue;
    printSlice("wait for " + c.name, "wait", computeThread, c.waitNs,
               c.waitNs + c.exposedNs, nullptr);
    size_t id = static_cast<size_t>(pid) << 32 | index;
    printFlow("s", id, thread, c.startNs);
    printFlow("f", id, computeThread, c.waitNs + c.exposedNs);
  }
  for (const MemorySample &sample : report.memory)
    stream.object([&] {
      stream.attribute("name", "live bytes");
      stream.attribute("ph", "C");
      stream.attribute("pid", pid);
      printMicroseconds(stream, "ts", sample.timeNs);
      stream.attributeObject("args",
                             [&] { stream.attribute("bytes", sample.bytes); });
    });
}

void mlir::commsched::printTrace(ArrayRef<StepReport> reports,
                                 raw_ostream &os) {
  json::OStream stream(os);
  stream.object([&] {
    stream.attribute("displayTimeUnit", "ns");
    stream.attributeArray("traceEvents", [&] {
      for (auto [index, report] : llvm::enumerate(reports))
        TracePrinter(stream, static_cast<int64_t>(index) + 1).print(report);
    });
  });
  os << "\n";
}
