//===- RegionPipelines.cpp - The pipelines of marked regions --------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RegionPipelines.h"

#include "mlir/IR/Threading.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
using namespace mlir::commsched;

/// The text of the error that the parser printed, without its place and the
/// line that it quotes.
static StringRef getMessage(StringRef printed) {
  return printed.split("error: ").second.split('\n').first;
}

/// What runs on operations inside of the function, such as `any(cse)`; empty if
/// nothing does.
static std::string findNested(OpPassManager &manager) {
  for (Pass &pass : manager.getPasses()) {
    std::string text;
    llvm::raw_string_ostream os(text);
    pass.printAsTextualPipeline(os);
    if (text[text.find_first_of("({")] == '(')
      return text;
  }
  return {};
}

static FailureOr<OpPassManager> parse(StringRef text, raw_ostream &errors) {
  StringRef anchor = func::FuncOp::getOperationName();
  StringRef rest = text.trim();
  if (rest.consume_front(anchor) && rest.ltrim().starts_with("("))
    return parsePassPipeline(text.trim(), errors);
  OpPassManager manager(anchor);
  if (failed(parsePassPipeline(text, manager, errors)))
    return failure();
  return manager;
}

static FailureOr<OpPassManager> parseFor(const MarkedRegion &region) {
  auto emitError = [&] {
    return region.first->emitOpError("names the pipeline '")
           << region.pipeline << "', ";
  };
  std::string printed;
  llvm::raw_string_ostream errors(printed);
  FailureOr<OpPassManager> manager = parse(region.pipeline, errors);
  if (failed(manager))
    return emitError() << "which is not valid: " << getMessage(printed);
  if (std::string nested = findNested(*manager); !nested.empty())
    return emitError() << "in which '" << nested
                       << "' runs on no 'func.func', which a region becomes";
  DialectRegistry dialects;
  manager->getDependentDialects(dialects);
  MLIRContext *context = region.first->getContext();
  for (StringRef name : dialects.getDialectNames())
    if (!context->getLoadedDialect(name))
      return emitError() << "which needs the dialect '" << name
                         << "', which is not loaded";
  return manager;
}

FailureOr<SmallVector<OpPassManager>>
mlir::commsched::parsePipelines(ArrayRef<MarkedRegion> regions) {
  SmallVector<OpPassManager> pipelines;
  // Regions of many layers name one text.
  llvm::StringMap<size_t> indexOf;
  for (const MarkedRegion &region : regions) {
    auto [it, isNew] = indexOf.try_emplace(region.pipeline, pipelines.size());
    if (!isNew) {
      pipelines.push_back(OpPassManager(pipelines[it->second]));
      continue;
    }
    FailureOr<OpPassManager> manager = parseFor(region);
    if (failed(manager))
      return failure();
    pipelines.push_back(std::move(*manager));
  }
  return pipelines;
}

LogicalResult mlir::commsched::runPipelines(
    ArrayRef<OutlinedRegion> outlined, ArrayRef<MarkedRegion> regions,
    ArrayRef<OpPassManager> pipelines,
    function_ref<LogicalResult(OpPassManager &, Operation *)> run) {
  if (outlined.empty())
    return success();
  MLIRContext *context = outlined.front().function->getContext();
  SmallVector<char> hasFailed(outlined.size(), false);
  parallelFor(context, 0, outlined.size(), [&](size_t index) {
    // Passes have a state.
    OpPassManager pipeline(pipelines[outlined[index].region]);
    hasFailed[index] = failed(run(pipeline, outlined[index].function));
  });
  for (auto [outlinedRegion, isFailure] : llvm::zip(outlined, hasFailed)) {
    if (!isFailure)
      continue;
    OutlinedRegion failed = outlinedRegion;
    InFlightDiagnostic diag = emitError(failed.loc)
                              << "'" << failed.name
                              << "' op is not compiled: the pipeline '"
                              << regions[failed.region].pipeline << "' failed";
    diag.attachNote(failed.function.getLoc())
        << "on @" << failed.function.getSymName()
        << ", which it was outlined to";
  }
  return failure(llvm::is_contained(hasFailed, true));
}
