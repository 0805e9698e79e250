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

#include "Core/HostBackend.h"
#include "Mpi/Board.h"
#include "Mpi/MpiCollectives.h"
#include "Mpi/Session.h"

#include <functional>

namespace commsched::runtime::mpi {

/// For 20 microseconds, as far as the system can.
void sleepSlice();

class MpiBackend final : public HostBackend {
public:
  explicit MpiBackend(const BackendConfig &config)
      : HostBackend(config), board(getBoard()) {}
  ~MpiBackend() override;

  /// Starts MPI and meets all ranks.
  Status join(Deadline deadline);

  int32_t getRank() const override { return rank; }
  int32_t getNumRanks() const override { return numRanks; }
  Status exchange(const std::string &mine, std::vector<std::string> &all,
                  Deadline deadline) override;
  void fail(const std::string &text) override { board.fail(text); }
  Status checkSite(const Site &site) const override {
    return checkLimits(site);
  }
  Status createGroup(const Group &group, Deadline deadline) override;

  std::unique_ptr<Request> start(Launch launch, Status &status) override;
  bool test(Request &request, Status &status) override;
  Status wait(Request &request, Deadline deadline) override;
  Status poll() override;

  Status compute(const Operator &op, int64_t ns, const void *const *inputs,
                 void *const *outputs) override;

  Status beginStep() override;
  Status synchronize(Deadline deadline) override;
  Status shutdown(bool failed, Deadline deadline) override;

private:
  void complete(MpiRequest &request);
  Status progress();
  Status startRequest(MpiRequest &request);
  /// Collectives go on.
  Status awaitTransfer(HostTransfer &transfer, Deadline deadline) override;

  /// Ranks that have ended, and those that will never come to `launch`.
  RankStates findFailed(Clock::time_point now, const Launch *launch);
  /// Polls until `isDone`; an error when that is no use any more: at the
  /// deadline, or because ranks have failed. `launch` is null where all ranks
  /// meet.
  Status pollUntil(const std::function<bool()> &isDone, const Launch *launch,
                   Deadline deadline);
  std::string describeEnd(const Launch *launch, const RankStates &failed) const;
  Status await(MpiRequest &request, Deadline deadline);
  Status awaitAll(MPI_Request &handle, Deadline deadline);
  Status meet(Deadline deadline);

  int32_t rank = 0;
  int32_t numRanks = 1;
  bool isOpen = false;
  bool isOversubscribed = false;
  /// How much later than it should have the last operator ended.
  Clock::duration overslept = {};
  int oldTimerSlack = 0;
  Clock::time_point lastLook = Clock::now();
  MPI_Comm world = MPI_COMM_NULL;
  /// By group index; MPI_COMM_NULL where this rank is in no row.
  std::vector<MPI_Comm> communicators;
  Board &board;
  MpiTypes types;
  PendingRequests pending;
  /// Kept between calls of `progress`.
  std::vector<MpiRequest *> ended;
};

} // namespace commsched::runtime::mpi

#endif // COMMSCHED_RUNTIME_MPI_MPIBACKEND_H
