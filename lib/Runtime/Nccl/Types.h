//===- Types.h - What NCCL can send and reduce ------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// NCCL's names for element types and reductions, and the one place that decides
// what NCCL cannot do. What is only sent need not have a type: it travels as
// bytes.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_NCCL_TYPES_H
#define COMMSCHED_RUNTIME_NCCL_TYPES_H

#include "CommSched/Runtime/Backend.h"

#include <nccl.h>

namespace commsched::runtime::nccl {

/// One element is `count` values of NCCL's `type`, of `bytes` bytes each.
struct WireType {
  ncclDataType_t type = ncclUint8;
  int64_t count = 1;
  int64_t bytes = 1;
};

/// How elements travel that are not reduced.
WireType getWireType(const ElementType &element);
/// The same as bytes, for buffers at any address.
WireType getByteWireType(const ElementType &element);

/// NCCL's reduction; only for what `checkSite` lets pass.
ncclRedOp_t getReduction(commsched_reduction reduction);

/// Why NCCL cannot run the site on a GPU of compute capability
/// `capability` / 10 . `capability` % 10, as "'nccl' cannot reduce i16 by sum".
Error checkSite(const Site &site, int capability);

} // namespace commsched::runtime::nccl

#endif // COMMSCHED_RUNTIME_NCCL_TYPES_H
