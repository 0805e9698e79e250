//===- Requests.h - Requests of launches in flight --------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Hands out the numbers that programs know launches by. A number is never given
// twice and carries its site, so that a wait for a request that has already
// been waited for says which one.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_CORE_REQUESTS_H
#define COMMSCHED_RUNTIME_CORE_REQUESTS_H

#include "CommSched/Runtime/Backend.h"

#include <unordered_map>

namespace commsched::runtime {

class RequestTable {
public:
  /// Sites beyond this number cannot be told apart in a request.
  static constexpr int64_t maxSites = int64_t(1) << 24;

  /// Takes the request over; its number is positive.
  int64_t add(std::unique_ptr<Request> request);

  /// The request, or null and why there is none. `sites` are those of the
  /// program that runs.
  Request *find(int64_t number, const std::vector<Site> &sites,
                Error &error) const;

  void remove(int64_t number) { inFlight.erase(number / maxSites); }
  void clear() { inFlight.clear(); }

  /// From now on numbers that were given before are of another program.
  void startProgram() { firstSerial = lastSerial + 1; }

  size_t size() const { return inFlight.size(); }
  /// The oldest launch in flight; null if there is none.
  const Launch *getOldest() const;

private:
  /// By serial number, which is the number without its site.
  std::unordered_map<int64_t, std::unique_ptr<Request>> inFlight;
  int64_t lastSerial = 0;
  int64_t firstSerial = 1;
};

} // namespace commsched::runtime

#endif // COMMSCHED_RUNTIME_CORE_REQUESTS_H
