//===- Requests.cpp - Requests of launches in flight ------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Core/Requests.h"

#include "Core/Describe.h"

using namespace commsched::runtime;

int64_t RequestTable::add(std::unique_ptr<Request> request) {
  int64_t number = ++lastSerial * maxSites + request->launch.site->index;
  inFlight[lastSerial] = std::move(request);
  return number;
}

Request *RequestTable::find(int64_t number, const std::vector<Site> &sites,
                            Error &error) const {
  int64_t serial = number / maxSites;
  int64_t site = number % maxSites;
  auto found = inFlight.find(serial);
  if (found != inFlight.end() && found->second->launch.site->index == site)
    return found->second.get();
  bool wasGiven = serial >= firstSerial && serial <= lastSerial &&
                  site < static_cast<int64_t>(sites.size());
  if (wasGiven && found == inFlight.end())
    error = "the request of " + describeSite(sites[site]) +
            " has already been waited for";
  else
    error = "there is no request " + std::to_string(number);
  return nullptr;
}

const Launch *RequestTable::getOldest() const {
  const Launch *oldest = nullptr;
  int64_t oldestSerial = lastSerial + 1;
  for (const auto &[serial, request] : inFlight) {
    if (serial < oldestSerial) {
      oldestSerial = serial;
      oldest = &request->launch;
    }
  }
  return oldest;
}
