//===- ChromeTrace.cpp - Traces in the Chrome trace event format ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Report/ReportFormats.h"
#include "llvm/Support/Format.h"

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

static void printName(json::OStream &stream, StringRef what, int64_t process,
                      int64_t thread, StringRef name) {
  stream.object([&] {
    stream.attribute("name", what);
    stream.attribute("ph", "M");
    stream.attribute("pid", process);
    stream.attribute("tid", thread);
    stream.attributeObject("args", [&] { stream.attribute("name", name); });
  });
}

ChromeTrace::ChromeTrace(raw_ostream &os,
                         ArrayRef<std::pair<std::string, std::string>> facts)
    : os(os), stream(os) {
  stream.objectBegin();
  stream.attribute("displayTimeUnit", "ns");
  stream.attributeObject("otherData", [&] {
    for (const auto &[name, fact] : facts)
      stream.attribute(name, fact);
  });
  stream.attributeBegin("traceEvents");
  stream.arrayBegin();
}

ChromeTrace::~ChromeTrace() {
  stream.arrayEnd();
  stream.attributeEnd();
  stream.objectEnd();
  os << "\n";
}

void ChromeTrace::nameProcess(int64_t process, StringRef name) {
  printName(stream, "process_name", process, 0, name);
}

void ChromeTrace::nameThread(int64_t process, int64_t thread, StringRef name) {
  printName(stream, "thread_name", process, thread, name);
}

void ChromeTrace::addSlice(int64_t process, int64_t thread, StringRef name,
                           StringRef category, int64_t beginNs, int64_t endNs,
                           function_ref<void(json::OStream &)> printArguments) {
  stream.object([&] {
    stream.attribute("name", name);
    stream.attribute("cat", category);
    stream.attribute("ph", "X");
    stream.attribute("pid", process);
    stream.attribute("tid", thread);
    printMicroseconds(stream, "ts", beginNs);
    printMicroseconds(stream, "dur", endNs - beginNs);
    if (printArguments)
      stream.attributeObject("args", [&] { printArguments(stream); });
  });
}

void ChromeTrace::addWait(int64_t id, int64_t process, int64_t fromThread,
                          int64_t fromNs, int64_t toThread, int64_t toNs) {
  addFlow("s", id, process, fromThread, fromNs);
  addFlow("f", id, process, toThread, toNs);
}

void ChromeTrace::addFlow(StringRef phase, int64_t id, int64_t process,
                          int64_t thread, int64_t timeNs) {
  stream.object([&] {
    stream.attribute("name", "wait");
    stream.attribute("cat", "wait");
    stream.attribute("ph", phase);
    stream.attribute("id", id);
    stream.attribute("pid", process);
    stream.attribute("tid", thread);
    if (phase == "f")
      stream.attribute("bp", "e");
    printMicroseconds(stream, "ts", timeNs);
  });
}

void ChromeTrace::addCount(int64_t process, StringRef name, StringRef series,
                           int64_t timeNs, int64_t value) {
  stream.object([&] {
    stream.attribute("name", name);
    stream.attribute("ph", "C");
    stream.attribute("pid", process);
    printMicroseconds(stream, "ts", timeNs);
    stream.attributeObject("args", [&] { stream.attribute(series, value); });
  });
}

int64_t StreamThreads::add(StringRef group, bool isTransfer) {
  int64_t next = computeThread + 1 + static_cast<int64_t>(threads.size());
  return threads.try_emplace(group.str(), Thread{next, isTransfer})
      .first->second.index;
}

void StreamThreads::nameIn(ChromeTrace &trace, int64_t process,
                           StringRef name) const {
  trace.nameProcess(process, name);
  trace.nameThread(process, computeThread, "compute");
  for (const auto &[group, thread] : threads)
    trace.nameThread(process, thread.index,
                     thread.isTransfer ? group : "@" + group);
}
