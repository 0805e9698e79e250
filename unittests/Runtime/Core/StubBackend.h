//===- StubBackend.h - A backend that only allocates ------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For tests of what the core does with a backend's memory.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_UNITTESTS_RUNTIME_CORE_STUBBACKEND_H
#define COMMSCHED_UNITTESTS_RUNTIME_CORE_STUBBACKEND_H

#include "CommSched/Runtime/Backend.h"

#include <cstdlib>
#include <map>

namespace commsched::runtime::testing {

class StubBackend : public Backend {
public:
  int64_t bytesLeft = int64_t(1) << 30;
  int64_t numAllocations = 0;
  std::map<void *, int64_t> live;

  ~StubBackend() override {
    for (const auto &[buffer, bytes] : live)
      std::free(buffer);
  }

  void *allocate(int64_t bytes, int64_t alignment, Error &error) override {
    if (bytes > bytesLeft) {
      error = "no memory left";
      return nullptr;
    }
    bytesLeft -= bytes;
    ++numAllocations;
    void *buffer = std::aligned_alloc(alignment, (bytes + alignment - 1) /
                                                     alignment * alignment);
    live[buffer] = bytes;
    return buffer;
  }
  void release(void *buffer) override {
    bytesLeft += live.at(buffer);
    live.erase(buffer);
    std::free(buffer);
  }

  int32_t getRank() const override { return 0; }
  int32_t getNumRanks() const override { return 1; }
  Error exchange(const std::string &mine, std::vector<std::string> &all,
                 Deadline) override {
    all = {mine};
    return std::nullopt;
  }
  void fail(const std::string &) override {}
  Error checkSite(const Site &) const override { return std::nullopt; }
  Error checkHostCode(const std::string &) const override {
    return std::nullopt;
  }
  Error createGroup(const Group &, Deadline) override { return std::nullopt; }
  std::unique_ptr<Request> start(Launch, Error &) override { return nullptr; }
  bool test(Request &, Error &) override { return true; }
  Error wait(Request &, Deadline) override { return std::nullopt; }
  Error barrier(const Launch &, Deadline) override { return std::nullopt; }
  Error poll() override { return std::nullopt; }
  Error compute(const Operator &, int64_t, const void *const *,
                void *const *) override {
    return std::nullopt;
  }
  Error copy(const StridedCopy &) override { return std::nullopt; }
  Error zero(void *, int64_t) override { return std::nullopt; }
  Error upload(void *, const void *, int64_t) override { return std::nullopt; }
  Error download(void *, const void *, int64_t) override {
    return std::nullopt;
  }
  Error beginStep() override { return std::nullopt; }
  Error endStep(int64_t &, Deadline) override { return std::nullopt; }
  Error synchronize(Deadline) override { return std::nullopt; }
  Error shutdown(bool, Deadline) override { return std::nullopt; }
};

} // namespace commsched::runtime::testing

#endif // COMMSCHED_UNITTESTS_RUNTIME_CORE_STUBBACKEND_H
