//===- HeldRequests.h - Requests between two functions ----------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Requests that one function starts and another one waits for, with the buffers
// that must live until then.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_CORE_HELDREQUESTS_H
#define COMMSCHED_RUNTIME_CORE_HELDREQUESTS_H

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace commsched::runtime {

struct HeldRequest {
  /// 0 for a start that failed.
  int64_t request = 0;
  /// Released once the request has ended.
  std::vector<void *> sent;
  /// Handed to whoever waits.
  std::vector<void *> received;
};

class HeldRequests {
public:
  /// Returns its number, which is positive and never given again.
  int64_t add(HeldRequest held) {
    table.emplace(++lastNumber, std::move(held));
    return lastNumber;
  }

  /// Takes the request out. False if there is none of that number.
  bool take(int64_t number, HeldRequest &held) {
    auto entry = table.find(number);
    if (entry == table.end())
      return false;
    held = std::move(entry->second);
    table.erase(entry);
    return true;
  }

private:
  std::unordered_map<int64_t, HeldRequest> table;
  int64_t lastNumber = 0;
};

} // namespace commsched::runtime

#endif // COMMSCHED_RUNTIME_CORE_HELDREQUESTS_H
