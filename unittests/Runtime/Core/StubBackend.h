//===- StubBackend.h - A backend that only allocates ------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A backend for tests of the core's use of a backend's memory.
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

  void *allocate(int64_t bytes, int64_t alignment, Status &status) override {
    if (bytes > bytesLeft) {
      status = "no memory left";
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
  Status exchange(const std::string &mine, std::vector<std::string> &all,
                  Deadline) override {
    all = {mine};
    return Status();
  }
  void fail(const std::string &) override {}
  Status checkSite(const Site &) const override { return Status(); }
  Status checkHostCode(const std::string &) const override { return Status(); }
  Status createGroup(const Group &, Deadline) override { return Status(); }
  std::unique_ptr<Request> start(Launch, Status &) override { return nullptr; }
  bool test(Request &, Status &) override { return true; }
  Status wait(Request &, Deadline) override { return Status(); }
  Status poll() override { return Status(); }
  Status compute(const Operator &, int64_t, const void *const *,
                 void *const *) override {
    return Status();
  }
  Status copy(const StridedCopy &) override { return Status(); }
  Status zero(void *, int64_t) override { return Status(); }
  Status upload(void *, const void *, int64_t) override { return Status(); }
  Status download(void *, const void *, int64_t) override { return Status(); }
  Status beginStep() override { return Status(); }
  Status endStep(int64_t &, Deadline) override { return Status(); }
  Status synchronize(Deadline) override { return Status(); }
  Status shutdown(bool, Deadline) override { return Status(); }
};

} // namespace commsched::runtime::testing

#endif // COMMSCHED_UNITTESTS_RUNTIME_CORE_STUBBACKEND_H
