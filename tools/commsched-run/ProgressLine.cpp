//===- ProgressLine.cpp - Progress on standard error ----------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgressLine.h"

#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>

using namespace mlir;
using namespace mlir::commsched::run;
using Clock = std::chrono::steady_clock;

static constexpr std::chrono::seconds patience(3);
static constexpr std::chrono::milliseconds refresh(500);
/// Back to the first column, and clear the line.
static constexpr StringLiteral clearLine = "\r\x1b[K";

ProgressLine::ProgressLine(bool shown, bool demanded)
    : lines(shown && demanded) {
  if (shown && !demanded && llvm::sys::Process::StandardErrIsDisplayed())
    watcher = std::thread([this] { watch(); });
}

ProgressLine::~ProgressLine() {
  if (!watcher.joinable())
    return;
  {
    std::lock_guard<std::mutex> lock(mutex);
    stopped = true;
  }
  changed.notify_all();
  watcher.join();
  if (visible)
    llvm::errs() << clearLine;
}

void ProgressLine::begin(std::string what) {
  std::lock_guard<std::mutex> lock(mutex);
  current = std::move(what);
  if (lines)
    llvm::errs() << "commsched-run: " + current + "\n";
}

void ProgressLine::watch() {
  std::unique_lock<std::mutex> lock(mutex);
  Clock::time_point start = Clock::now();
  changed.wait_for(lock, patience, [this] { return stopped; });
  while (!stopped) {
    auto seconds =
        std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - start);
    llvm::errs() << clearLine.str() + current + ", " +
                        std::to_string(seconds.count()) + " s";
    visible = true;
    changed.wait_for(lock, refresh, [this] { return stopped; });
  }
}
