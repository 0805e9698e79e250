//===- Records.h - Flight record and step records ---------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The records that a rank keeps of its calls.
//
// The flight record is a ring of the last launches and their states. It is
// written as JSON with the fields of PyTorch's flight recorder, so that its
// analysers read it; the sequence numbers show which launches one rank has
// started and another has not.
//
// The step records are the intervals that a backend reports between beginStep
// and endStep.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_CORE_RECORDS_H
#define COMMSCHED_RUNTIME_CORE_RECORDS_H

#include "CommSched/Runtime/Backend.h"

namespace commsched::runtime {

/// The fields of a flight record besides the launches.
struct FlightRecordHeader {
  std::string backend;
  int32_t rank = 0;
  int32_t numRanks = 0;
  int64_t deadlineMs = 0;
  std::string error;
};

/// A ring of the last launches of a rank and their states.
class FlightRecord {
public:
  explicit FlightRecord(int64_t capacity = 2000) : capacity(capacity) {}

  /// Adds the launch as scheduled and returns its number. Its site and group
  /// are copied only when the record is written, and must live until then.
  int64_t add(const Launch &launch);
  void setStarted(int64_t record);
  void setCompleted(int64_t record);
  /// The launch has been waited for.
  void setRetired(int64_t record);

  /// The record as JSON, oldest launch first.
  std::string toJson(const FlightRecordHeader &header) const;

private:
  struct Entry {
    const Site *site = nullptr;
    const Group *group = nullptr;
    /// Of the launch, if it has its own.
    std::shared_ptr<const std::vector<Tensor>> tensors;
    int64_t sequence = 0;
    int64_t createdNs = 0;
    /// 0: not yet.
    int64_t startedNs = 0;
    int64_t completedNs = 0;
    bool retired = false;
  };

  /// Null when a later launch has taken the place.
  Entry *find(int64_t record);

  int64_t capacity;
  int64_t count = 0;
  std::vector<Entry> entries;
};

/// Writes `text` into `path`, in which "%r" stands for the rank.
Status writeFlightRecord(const std::string &path, int32_t rank,
                         const std::string &text);

/// The intervals of one step, sorted for the host. Intervals outside of a step
/// are dropped.
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

#endif // COMMSCHED_RUNTIME_CORE_RECORDS_H
