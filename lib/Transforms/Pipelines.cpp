//===- Pipelines.cpp - Pass pipelines -------------------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Transforms/Pipelines.h"
#include "CommSched/Transforms/Passes.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::commsched;

namespace {

struct NamedInductorPass {
  StringLiteral name;
  InductorPass pass;
};

} // namespace

static constexpr NamedInductorPass inductorPasses[] = {
    {"sink_waits", InductorPass::SinkWaits},
    {"raise_comms", InductorPass::RaiseComms},
    {"reorder_compute_for_overlap", InductorPass::ReorderComputeForOverlap},
    {"reorder_communication_preserving_peak_memory",
     InductorPass::ReorderCommunicationPreservingPeakMemory},
    {"sink_waits_iterative", InductorPass::SinkWaitsIterative},
    {"simple_overlap", InductorPass::SimpleOverlap},
};

bool llvm::cl::parser<InductorPass>::parse(Option &option, StringRef argName,
                                           StringRef text, InductorPass &pass) {
  for (const NamedInductorPass &entry : inductorPasses)
    if (text == entry.name) {
      pass = entry.pass;
      return false;
    }
  auto names = map_range(
      inductorPasses,
      [](const NamedInductorPass &entry) -> StringRef { return entry.name; });
  return option.error("'" + text + "' is none of " + join(names, ", "));
}

void llvm::cl::parser<InductorPass>::print(raw_ostream &os, InductorPass pass) {
  for (const NamedInductorPass &entry : inductorPasses)
    if (pass == entry.pass)
      os << entry.name;
}

static std::unique_ptr<Pass>
createInductorPass(InductorPass pass, const InductorPipelineOptions &options) {
  switch (pass) {
  case InductorPass::SinkWaits:
    return createSinkWaits();
  case InductorPass::RaiseComms:
    return createRaiseComms();
  case InductorPass::ReorderComputeForOverlap:
    return createReorderComputeForOverlap();
  case InductorPass::ReorderCommunicationPreservingPeakMemory: {
    ReorderCommsPreservingPeakMemoryOptions passOptions;
    passOptions.memoryBudget = options.memoryBudget;
    return createReorderCommsPreservingPeakMemory(std::move(passOptions));
  }
  case InductorPass::SinkWaitsIterative: {
    SinkWaitsIterativeOptions passOptions;
    passOptions.memoryBudget = options.memoryBudget;
    return createSinkWaitsIterative(std::move(passOptions));
  }
  case InductorPass::SimpleOverlap:
    return createSimpleOverlap();
  }
  llvm_unreachable("unknown pass");
}

void mlir::commsched::buildInductorPipeline(
    OpPassManager &manager, const InductorPipelineOptions &options) {
  OpPassManager &functions = manager.nest<func::FuncOp>();
  if (options.orderCollectives)
    functions.addPass(createOrderCollectives());
  if (options.reorderForPeakMemory)
    functions.addPass(createReorderForPeakMemory());
  for (InductorPass pass : options.passes)
    functions.addPass(createInductorPass(pass, options));
}

void mlir::commsched::registerPipelines() {
  PassPipelineRegistration<InductorPipelineOptions>(
      "commsched-inductor-pipeline",
      "What PyTorch Inductor does to communication: fix its order, reorder for "
      "peak memory, then the recommended passes",
      buildInductorPipeline);
}
