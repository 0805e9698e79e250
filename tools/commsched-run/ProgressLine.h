//===- ProgressLine.h - Progress on standard error --------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A line on standard error that shows the current activity and its duration
// once it takes more than a few seconds. Where standard error is no terminal,
// lines appear only on demand, one for each activity.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TOOLS_COMMSCHED_RUN_PROGRESSLINE_H
#define COMMSCHED_TOOLS_COMMSCHED_RUN_PROGRESSLINE_H

#include "mlir/Support/LLVM.h"

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace mlir::commsched::run {

class ProgressLine {
public:
  /// `shown`: by a process that speaks for all. `demanded`: by the user.
  ProgressLine(bool shown, bool demanded);
  ~ProgressLine();

  /// Any thread may call this.
  void begin(std::string what);

private:
  void watch();

  bool lines;
  std::mutex mutex;
  std::condition_variable changed;
  std::string current;
  bool stopped = false;
  bool visible = false;
  std::thread watcher;
};

} // namespace mlir::commsched::run

#endif // COMMSCHED_TOOLS_COMMSCHED_RUN_PROGRESSLINE_H
