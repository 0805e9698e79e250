//===- StepRecords.h - What a step's records are collected in ---*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The intervals that a backend reports between beginStep and endStep, sorted
// for the host. Outside of a step it drops them.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_CORE_STEPRECORDS_H
#define COMMSCHED_RUNTIME_CORE_STEPRECORDS_H

#include "CommSched/Runtime/Backend.h"

namespace commsched::runtime {

class StepRecords {
public:
  void begin();
  void add(commsched_record_kind kind, int32_t index, Interval interval);
  /// Sorts by the beginnings; records that begin together stay in the order in
  /// which they came.
  void end();

  bool isRunning() const { return running; }
  const std::vector<commsched_record> &get() const { return records; }

private:
  std::vector<commsched_record> records;
  bool running = false;
};

} // namespace commsched::runtime

#endif // COMMSCHED_RUNTIME_CORE_STEPRECORDS_H
