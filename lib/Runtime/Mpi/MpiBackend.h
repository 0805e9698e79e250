//===- MpiBackend.h - Ranks as processes of an MPI job ----------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A rank is a process, a collective is one or more non-blocking calls of MPI,
// and compute sleeps and polls. All time stamps are the host's.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_MPI_MPIBACKEND_H
#define COMMSCHED_RUNTIME_MPI_MPIBACKEND_H

#include "Core/TransferThreads.h"
#include "Mpi/Board.h"
#include "Mpi/MpiCollectives.h"

#include <climits>
#include <functional>

namespace commsched::runtime::mpi {

/// MPI's counts are ints, and Open MPI adds small numbers to them.
inline constexpr int64_t defaultMaxCount = int64_t(1) << 30;

/// For 20 microseconds, as far as the system can.
void sleepSlice();

/// An offload or a reload.
struct MpiTransfer final : Request {
  TransferJobPtr job;
  bool isRecorded = false;
};

class MpiBackend final : public Backend {
public:
  /// `maxCount` limits what one call of MPI is given, see MpiTypes.
  MpiBackend(const BackendConfig &config, int64_t maxCount);
  ~MpiBackend() override;

  /// Starts MPI and meets all ranks.
  Status join(const commsched_options &options, Deadline deadline);

  int32_t getRank() const override { return rank; }
  int32_t getNumRanks() const override { return numRanks; }
  Status exchange(const std::string &mine, std::vector<std::string> &all,
                  Deadline deadline) override;
  void fail(const std::string &text) override { board.fail(text); }
  Status checkSite(const Site &site) const override;
  Status checkHostCode(const std::string &where) const override;
  Status createGroup(const Group &group, Deadline deadline) override;

  std::unique_ptr<Request> start(Launch launch, Status &status) override;
  bool test(Request &request, Status &status) override;
  Status wait(Request &request, Deadline deadline) override;
  Status barrier(const Launch &launch, Deadline deadline) override;
  Status poll() override;

  Status compute(const Operator &op, int64_t ns, const void *const *inputs,
                 void *const *outputs) override;
  Status copy(const StridedCopy &copy) override;
  Status zero(void *target, int64_t bytes) override;

  void *allocate(int64_t bytes, int64_t alignment, Status &status) override;
  void release(void *buffer) override;
  Status upload(void *buffer, const void *host, int64_t bytes) override;
  Status download(void *host, const void *buffer, int64_t bytes) override;

  Status beginStep() override;
  Status endStep(int64_t &stepNs, Deadline deadline) override;
  Status synchronize(Deadline deadline) override;
  Status shutdown(bool failed, Deadline deadline) override;

private:
  int64_t getStepNs(Clock::time_point time) const;
  void complete(MpiRequest &request);
  Status progress();
  Status startRequest(MpiRequest &request);
  std::unique_ptr<Request> startTransfer(Launch launch);
  bool isDone(const MpiTransfer &transfer);
  /// Waits until the data has been copied, and records it. Collectives go on.
  Status finishTransfer(MpiTransfer &transfer, Deadline deadline);

  // Waiting.cpp
  /// Ranks that have ended, and those that will never come to `launch`.
  Ranks findFailed(Clock::time_point now, const Launch *launch);
  /// Polls until `isDone`, or until it is no use any more: `isDue` at the
  /// deadline, or because ranks have `failed`.
  Status pollUntil(const std::function<bool()> &isDone, const Launch *launch,
                   Deadline deadline, Ranks &failed, bool &isDue);
  Status await(MpiRequest &request, Deadline deadline);
  Status awaitAll(MPI_Request &handle, Deadline deadline);
  Status meet(Deadline deadline);

  Recorder &recorder;
  int64_t deadlineMs;
  bool emulatesData;
  int32_t rank = 0;
  int32_t numRanks = 1;
  bool isOpen = false;
  bool isOversubscribed = false;
  /// How much later than it should have the last operator ended.
  Clock::duration overslept = {};
  int oldTimerSlack = 0;
  Clock::time_point stepBegin = Clock::now();
  Clock::time_point lastLook = Clock::now();
  MPI_Comm world = MPI_COMM_NULL;
  /// By group index; MPI_COMM_NULL where this rank is in no row.
  std::vector<MPI_Comm> communicators;
  Board &board;
  MpiTypes types;
  PendingRequests pending;
  /// Kept between calls of `progress`.
  std::vector<MpiRequest *> ended;
  TransferThreads transferThreads;
  std::vector<MpiTransfer *> transfersInFlight;
};

} // namespace commsched::runtime::mpi

#endif // COMMSCHED_RUNTIME_MPI_MPIBACKEND_H
