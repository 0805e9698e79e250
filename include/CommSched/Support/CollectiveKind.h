//===- CollectiveKind.h - Kinds of collectives ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The enumeration of the collectives, shared by the interfaces of operations
// and the cost models. TableGen generates it, because `commsched_rt` has an
// attribute of it, but it depends on LLVM alone.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_SUPPORT_COLLECTIVEKIND_H
#define COMMSCHED_SUPPORT_COLLECTIVEKIND_H

#include "llvm/ADT/DenseMapInfo.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/LogicalResult.h"
#include "llvm/Support/raw_ostream.h"
#include <array>
#include <cstdint>
#include <optional>

// The generated parser of attributes, a template, names these in `mlir`.
namespace mlir {
using llvm::failed;
using llvm::FailureOr;
} // namespace mlir

#include "CommSched/Support/CollectiveKind.h.inc"

namespace mlir::commsched {

/// Every kind, in the order of the enumeration.
inline constexpr std::array<CollectiveKind, 11> allCollectiveKinds = {
    CollectiveKind::AllGather, CollectiveKind::ReduceScatter,
    CollectiveKind::AllReduce, CollectiveKind::AllToAll,
    CollectiveKind::Broadcast, CollectiveKind::Permute,
    CollectiveKind::Send,      CollectiveKind::Recv,
    CollectiveKind::Barrier,   CollectiveKind::Offload,
    CollectiveKind::Reload};
static_assert(allCollectiveKinds.size() ==
              getMaxEnumValForCollectiveKind() + 1);

/// Whether `kind` copies between the device and its host. Such a transfer has
/// no process group: no other rank takes part.
constexpr bool isHostTransfer(CollectiveKind kind) {
  return kind == CollectiveKind::Offload || kind == CollectiveKind::Reload;
}

} // namespace mlir::commsched

#endif // COMMSCHED_SUPPORT_COLLECTIVEKIND_H
