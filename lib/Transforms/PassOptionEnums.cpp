//===- PassOptionEnums.cpp - Enum values of pass options ------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Transforms/PassOptionEnums.h"
#include "CommSched/CostModel/Target.h"

using namespace mlir;
using namespace mlir::commsched;
using mlir::commsched::detail::NamedValue;
using schedule::PeakMemoryMethod;

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

ArrayRef<NamedValue<ActivationType>>
mlir::commsched::detail::getNamedValues(ActivationType) {
  static constexpr NamedValue<ActivationType> values[] = {
      {"bf16", ActivationType::BF16},
      {"f16", ActivationType::F16},
      {"f32", ActivationType::F32},
      {"f64", ActivationType::F64},
  };
  return values;
}

ArrayRef<NamedValue<InductorPass>>
mlir::commsched::detail::getNamedValues(InductorPass) {
  static constexpr NamedValue<InductorPass> values[] = {
      {"sink_waits", InductorPass::SinkWaits},
      {"raise_comms", InductorPass::RaiseComms},
      {"reorder_compute_for_overlap", InductorPass::ReorderComputeForOverlap},
      {"reorder_communication_preserving_peak_memory",
       InductorPass::ReorderCommunicationPreservingPeakMemory},
      {"sink_waits_iterative", InductorPass::SinkWaitsIterative},
      {"simple_overlap", InductorPass::SimpleOverlap},
  };
  return values;
}

ArrayRef<NamedValue<PeakMemoryMethod>>
mlir::commsched::detail::getNamedValues(PeakMemoryMethod) {
  static constexpr NamedValue<PeakMemoryMethod> values[] = {
      {"lpmf", PeakMemoryMethod::LeastPeakMemoryFirst},
      {"bfs", PeakMemoryMethod::BreadthFirst},
      {"dfs", PeakMemoryMethod::DepthFirst},
  };
  return values;
}
