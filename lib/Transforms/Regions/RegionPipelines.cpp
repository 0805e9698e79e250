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

#include <deque>
#include <mutex>

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

FailureOr<RegionPipelines>
RegionPipelines::parse(ArrayRef<MarkedRegion> regions) {
  RegionPipelines result;
  // Regions of many layers name one text.
  llvm::StringMap<size_t> known;
  for (const MarkedRegion &region : regions) {
    auto [it, isNew] =
        known.try_emplace(region.pipeline, result.pipelines.size());
    result.indexOf.push_back(it->second);
    if (!isNew)
      continue;
    FailureOr<OpPassManager> manager = parseFor(region);
    if (failed(manager))
      return failure();
    result.pipelines.push_back(std::move(*manager));
    result.texts.push_back(region.pipeline);
  }
  return result;
}

namespace {

/// Copies of one pipeline, of which each thread takes one: passes have a state,
/// and some take long to make.
class Copies {
public:
  explicit Copies(const OpPassManager &original) : original(original) {}

  OpPassManager take() {
    std::lock_guard<std::mutex> lock(mutex);
    if (idle.empty())
      return original;
    return idle.pop_back_val();
  }
  void giveBack(OpPassManager copy) {
    std::lock_guard<std::mutex> lock(mutex);
    idle.push_back(std::move(copy));
  }

private:
  const OpPassManager &original;
  std::mutex mutex;
  SmallVector<OpPassManager, 0> idle;
};

} // namespace

LogicalResult RegionPipelines::run(ArrayRef<OutlinedRegion> outlined,
                                   Runner run) {
  if (outlined.empty())
    return success();
  std::deque<Copies> copies;
  for (const OpPassManager &pipeline : pipelines)
    copies.emplace_back(pipeline);
  SmallVector<char> hasFailed(outlined.size(), false);
  MLIRContext *context = outlined.front().loc.getContext();
  parallelFor(context, 0, outlined.size(), [&](size_t index) {
    Copies &mine = copies[indexOf[outlined[index].region]];
    OpPassManager pipeline = mine.take();
    hasFailed[index] = failed(run(pipeline, outlined[index].function));
    mine.giveBack(std::move(pipeline));
  });
  for (auto [region, isFailure] : llvm::zip(outlined, hasFailed)) {
    if (!isFailure)
      continue;
    func::FuncOp function = region.function;
    InFlightDiagnostic diag = emitError(region.loc)
                              << "'" << region.name
                              << "' op is not compiled: the pipeline '"
                              << texts[indexOf[region.region]] << "' failed";
    diag.attachNote(function.getLoc())
        << "on @" << function.getSymName() << ", which it was outlined to";
  }
  return failure(llvm::is_contained(hasFailed, true));
}
