//===- PassOptionEnums.cpp - Enum values of pass options ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Transforms/PassOptionEnums.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/ErrorHandling.h"

using namespace mlir;
using namespace mlir::commsched;

#include "CommSched/Transforms/PassOptionEnums.cpp.inc"

std::optional<schedule::SegmentKind>
mlir::commsched::getSegmentKind(AllocatorModel model) {
  switch (model) {
  case AllocatorModel::None:
    return std::nullopt;
  case AllocatorModel::PyTorch:
    return schedule::SegmentKind::Fixed;
  case AllocatorModel::PyTorchExpandable:
    return schedule::SegmentKind::Expandable;
  }
  llvm_unreachable("unknown allocator");
}

std::optional<std::string>
mlir::commsched::findBucketCapError(double megabytes) {
  constexpr double most = 1e12;
  if (megabytes > 0 && megabytes <= most)
    return std::nullopt;
  return "must be of sizes above 0 and up to 1e12, but has " +
         std::to_string(megabytes);
}
