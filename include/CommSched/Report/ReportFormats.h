//===- ReportFormats.h - Reports as text ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A trace is one JSON object with a list of events, which Perfetto and
// chrome://tracing show: slices on the threads of processes, arrows between
// them, and counters. Times are nanoseconds and written without rounding.
// Traces of simulated steps and of measured ones have the same layout: a
// process for a step, a thread for the compute stream and one for each group.
//
// The output formats of commsched-report: simulated steps as JSON, as text
// tables, and as Chrome traces.
//
// Simulated steps as one page of HTML that needs nothing else: streams over
// time before and after scheduling, live bytes, reasons and remedies, and the
// frontier.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_REPORT_REPORTFORMATS_H
#define COMMSCHED_REPORT_REPORTFORMATS_H

#include "CommSched/Report/Frontier.h"
#include "CommSched/Report/StepReport.h"
#include "mlir/Support/LLVM.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/JSON.h"

namespace mlir::commsched {

/// One trace. The object is complete when this is destroyed. Texts must be
/// UTF-8.
class ChromeTrace {
public:
  /// `facts` are what is known of the processes, by name.
  ChromeTrace(raw_ostream &os,
              ArrayRef<std::pair<std::string, std::string>> facts);
  ~ChromeTrace();

  void nameProcess(int64_t process, StringRef name);
  void nameThread(int64_t process, int64_t thread, StringRef name);

  /// Something that takes from `beginNs` to `endNs`. `printArguments` writes
  /// the attributes of an object.
  void addSlice(int64_t process, int64_t thread, StringRef name,
                StringRef category, int64_t beginNs, int64_t endNs,
                function_ref<void(llvm::json::OStream &)> printArguments = {});

  /// An arrow, called "wait", from one thread of the process to another. `id`
  /// identifies the arrow in the trace.
  void addWait(int64_t id, int64_t process, int64_t fromThread, int64_t fromNs,
               int64_t toThread, int64_t toNs);

  /// The value of `series` in the counter `name` from a time on.
  void addCount(int64_t process, StringRef name, StringRef series,
                int64_t timeNs, int64_t value);

private:
  void addFlow(StringRef phase, int64_t id, int64_t process, int64_t thread,
               int64_t timeNs);

  raw_ostream &os;
  llvm::json::OStream stream;
};

/// Which thread shows which stream: compute first, then the groups in the order
/// in which they were added.
class StreamThreads {
public:
  static constexpr int64_t computeThread = 1;

  /// The group's thread, new if it has none. Of `isTransfer`, `group` is the
  /// name of a stream of transfers to or from the host.
  int64_t add(StringRef group, bool isTransfer = false);
  int64_t lookup(StringRef group) const {
    return threads.lookup(group.str()).index;
  }

  /// Names `process` and its threads.
  void nameIn(ChromeTrace &trace, int64_t process, StringRef name) const;

private:
  struct Thread {
    int64_t index = 0;
    bool isTransfer = false;
  };
  llvm::MapVector<std::string, Thread, std::map<std::string, unsigned>> threads;
};

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

/// One function as a JSON object on one line.
void printJson(const StepReport &report, raw_ostream &os);

/// The keys and values of that object which are numbers or names of functions,
/// as attributes of the object that `stream` prints.
void printFigures(const StepReport &report, llvm::json::OStream &stream);

/// One function as a text table.
void printTable(const StepReport &report, raw_ostream &os);

/// All functions as one Chrome trace: a process a function, a thread a stream,
/// a counter of live bytes.
void printTrace(ArrayRef<StepReport> reports, raw_ostream &os);

/// Adds the groups of the report's collectives, in program order.
void addGroups(const StepReport &report, StreamThreads &threads);

/// One function as the slices of `process`. `threads` has all its groups.
void addStep(const StepReport &report, const StreamThreads &threads,
             int64_t process, ChromeTrace &trace);

/// Prints a page on the `reports`. Those of the same function in `before` stand
/// beside them; other functions of `before` follow by themselves. The page
/// shows buffers if the reports have them. Linear in the operations.
void printPage(ArrayRef<StepReport> reports, ArrayRef<StepReport> before,
               ArrayRef<FunctionFrontier> frontiers, raw_ostream &os);

} // namespace mlir::commsched

#endif // COMMSCHED_REPORT_REPORTFORMATS_H
