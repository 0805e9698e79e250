//===- Memory.h - Device memory ---------------------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Large buffers come from NCCL's allocator, whose memory it can register; small
// ones from CUDA's, since the former gives whole pages of 2 MiB.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_NCCL_MEMORY_H
#define COMMSCHED_RUNTIME_NCCL_MEMORY_H

#include "Nccl/Check.h"

#include <map>

namespace commsched::runtime::nccl {

class Memory {
public:
  /// Aligned to 256 bytes or `alignment`. Null and an error if there is none.
  void *allocate(int64_t bytes, int64_t alignment, Error &error);
  /// The GPU must not use the buffer any more.
  void release(void *buffer);

private:
  struct Block {
    void *begin;
    bool isNccls;
  };
  std::map<void *, Block> blocks;
  /// Not on all systems NCCL's allocator works.
  bool triesNccl = true;
};

} // namespace commsched::runtime::nccl

#endif // COMMSCHED_RUNTIME_NCCL_MEMORY_H
