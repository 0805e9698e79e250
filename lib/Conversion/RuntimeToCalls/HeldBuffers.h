//===- HeldBuffers.h - Buffers of requests that are held --------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_CONVERSION_RUNTIMETOCALLS_HELDBUFFERS_H
#define COMMSCHED_LIB_CONVERSION_RUNTIMETOCALLS_HELDBUFFERS_H

#include "CommSched/Dialect/Runtime/CommSchedRtDialect.h"

namespace mlir::commsched {

/// Gives `start`, which `hold` keeps in flight, buffers that outlive the
/// function: the allocations of its operands where nothing else uses them
/// later, and copies in buffers of their own elsewhere. `hold` gets those that
/// the runtime frees. On memrefs, before deallocation.
void holdBuffers(rt::StartOp start, rt::HoldOp hold);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_CONVERSION_RUNTIMETOCALLS_HELDBUFFERS_H
