//===- Arrival.cpp - Waiting for the processes of a job -------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arrival.h"

#include <cstdlib>
#include <cstring>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>

using namespace commsched::runtime;
using namespace commsched::runtime::mpi;

static std::string getVariable(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

static int32_t getNumber(const char *name) {
  return static_cast<int32_t>(
      std::strtol(getVariable(name).c_str(), nullptr, 10));
}

/// The abstract name of one process; calls `use` with the address.
template <class Use>
static bool withAddress(const std::string &job, int32_t localRank, Use use) {
  std::string name = job + "-" + std::to_string(localRank);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  // The first character stays 0: that makes the name abstract.
  size_t length = std::min(name.size(), sizeof(address.sun_path) - 1);
  std::memcpy(address.sun_path + 1, name.data(), length);
  return use(reinterpret_cast<const sockaddr *>(&address),
             static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 +
                                    length)) == 0;
}

Arrival::Arrival() {
  // A process may join several times.
  static int32_t numArrivals = 0;
  std::string jobName = getVariable("PMIX_NAMESPACE");
  numLocalRanks = getNumber("OMPI_COMM_WORLD_LOCAL_SIZE");
  if (jobName.empty() || numLocalRanks < 1)
    return;
  isWholeJob = numLocalRanks == getNumber("OMPI_COMM_WORLD_SIZE");
  // The name space is a number that another mpirun may have, too; the second
  // variable is random.
  job = "commsched-" + std::to_string(numArrivals++) + "-" + jobName + "-" +
        getVariable("OMPI_MCA_orte_precondition_transports");
  socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  withAddress(job, getNumber("OMPI_COMM_WORLD_LOCAL_RANK"),
              [&](const sockaddr *address, socklen_t size) {
                return bind(socket, address, size);
              });
}

Arrival::~Arrival() {
  if (socket >= 0)
    close(socket);
}

bool Arrival::hasCome(int32_t localRank) const {
  int probe = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  bool isBound =
      withAddress(job, localRank, [&](const sockaddr *address, socklen_t size) {
        return connect(probe, address, size);
      });
  close(probe);
  return isBound;
}

Error Arrival::awaitOthers(int64_t deadlineMs, Deadline deadline) const {
  if (socket < 0)
    return {};
  // Who has been seen may go on, and need not be looked for again.
  int32_t first = 0;
  while (first != numLocalRanks) {
    if (hasCome(first)) {
      ++first;
      continue;
    }
    if (Clock::now() >= deadline)
      break;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::string missing;
  for (int32_t rank = first; rank < numLocalRanks; ++rank)
    if (!hasCome(rank))
      missing += (missing.empty() ? "" : "; ") +
                 std::string(isWholeJob ? "rank " : "local rank ") +
                 std::to_string(rank) + " has not come";
  if (missing.empty())
    return {};
  return "timed out after " + std::to_string(deadlineMs) +
         " ms while all ranks meet: " + missing;
}
