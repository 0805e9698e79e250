//===- MpiRank.h - One rank of a test of the MPI backend --------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tests run on all processes that mpirun has started, in the same order. Each
// makes its own backend, with a limit of what one call of MPI is given, so that
// the paths for large counts run with small ones.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_UNITTESTS_RUNTIME_MPI_MPIRANK_H
#define COMMSCHED_UNITTESTS_RUNTIME_MPI_MPIRANK_H

#include "Mpi/MpiBackend.h"

#include <gtest/gtest.h>

namespace commsched::runtime::mpi {

struct Record {
  commsched_record_kind kind;
  int32_t index;
  Interval interval;
};

/// Keeps the records of the backend.
class Records final : public Recorder {
public:
  void record(commsched_record_kind kind, int32_t index,
              Interval interval) override {
    all.push_back({kind, index, interval});
  }
  void setStarted(const Launch &) override { ++numStarted; }
  void setCompleted(const Launch &) override { ++numCompleted; }
  void addStagedBytes(int64_t bytes) override { stagedBytes += bytes; }

  std::vector<Record> all;
  int64_t numStarted = 0;
  int64_t numCompleted = 0;
  int64_t stagedBytes = 0;
};

/// Calls of MPI since the start of the test; what counts them replaces MPI's
/// functions by the profiling interface.
struct Calls {
  int64_t num = 0;
  /// The largest count, times the parts of a reduce_scatter.
  int64_t largestCount = 0;
  int64_t numInPlace = 0;
};
Calls &getCalls();

class MpiRank : public ::testing::Test {
protected:
  void TearDown() override;

  void join(int64_t maxCount = defaultMaxCount);
  Deadline getDeadline() const {
    return Clock::now() + std::chrono::seconds(60);
  }
  /// A site on all ranks with one tensor.
  Site &makeSite(commsched_kind kind, commsched_type type, int64_t inputs,
                 int64_t outputs);
  std::unique_ptr<Request> start(const Site &site, const void *input,
                                 void *output);
  void finish(std::unique_ptr<Request> request);
  void run(const Site &site, const void *input, void *output) {
    finish(start(site, input, output));
  }

  Records records;
  std::unique_ptr<MpiBackend> backend;
  Group group;
  int32_t rank = 0;
  int32_t numRanks = 1;

private:
  std::vector<std::unique_ptr<Site>> sites;
  int64_t numLaunches = 0;
};

} // namespace commsched::runtime::mpi

#endif // COMMSCHED_UNITTESTS_RUNTIME_MPI_MPIRANK_H
