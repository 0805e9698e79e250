//===- Environment.cpp - Where a run takes place --------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Environment.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/DynamicLibrary.h"
#include "llvm/Support/Path.h"
#include "llvm/TargetParser/Host.h"

#include <dlfcn.h>
#include <set>
#include <thread>
#include <unistd.h>

namespace commsched::bench {

bool Environment::gather(const Peer *peer) {
  backend = commsched_backend_name();
  if (peer) {
    library = peer->getLibrary();
    device = peer->getDevice();
  }
  if (device.empty())
    device = (llvm::sys::getHostCPUName() + ", " +
              llvm::Twine(std::thread::hardware_concurrency()) + " cores")
                 .str();
  constexpr size_t length = 256;
  char name[length] = {};
  gethostname(name, length - 1);
  int32_t ranks = commsched_num_ranks();
  std::vector<char> all(length * ranks);
  if (commsched_exchange(name, all.data(), length) != 0)
    return false;
  for (int32_t rank = 0; rank < ranks; ++rank)
    hosts.emplace_back(all.data() + rank * length);
  return true;
}

int32_t Environment::countNodes(const PlanGroup &group) const {
  size_t most = 0;
  for (size_t rank = 0; rank < hosts.size(); ++rank) {
    std::set<std::string> distinct;
    for (int32_t member : group.getMembers(rank))
      distinct.insert(hosts[member]);
    most = std::max(most, distinct.size());
  }
  return most;
}

std::unique_ptr<Peer> loadPeer(llvm::StringRef backend, std::string &error) {
  if (backend == "local") {
    error = "the ranks of 'local' are threads of one process";
    return nullptr;
  }
  Dl_info runtime;
  if (!dladdr(reinterpret_cast<void *>(&commsched_init), &runtime)) {
    error = "the runtime's library has no path";
    return nullptr;
  }
  llvm::SmallString<128> path = llvm::sys::path::parent_path(runtime.dli_fname);
  // "mpi": libCommSchedBenchMpiPeer.so.
  std::string name = backend.str();
  name.front() = llvm::toUpper(name.front());
  llvm::sys::path::append(path, "libCommSchedBench" + name + "Peer.so");
  llvm::sys::DynamicLibrary library =
      llvm::sys::DynamicLibrary::getPermanentLibrary(path.c_str(), &error);
  if (!library.isValid())
    return nullptr;
  auto *create = reinterpret_cast<decltype(&commsched_bench_create_peer)>(
      library.getAddressOfSymbol("commsched_bench_create_peer"));
  if (!create) {
    error = (path + " has no commsched_bench_create_peer").str();
    return nullptr;
  }
  PeerConfig config;
  config.rank = commsched_rank();
  config.numRanks = commsched_num_ranks();
  config.exchange = &commsched_exchange;
  return std::unique_ptr<Peer>(create(&config, &error));
}

} // namespace commsched::bench
