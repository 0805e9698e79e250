//===- CompileRegions.cpp - Pass that compiles marked regions -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "../PassSupport.h"
#include "CommSched/Analysis/Costs/Callees.h"
#include "CommSched/Analysis/Costs/CostAnalysis.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Transforms/Passes.h"
#include "Regions.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Threading.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/Regex.h"

#include <deque>
#include <mutex>

namespace mlir::commsched {
#define GEN_PASS_DEF_COMPILEREGIONS
#include "CommSched/Transforms/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;

//===----------------------------------------------------------------------===//
// Pipelines of regions
//===----------------------------------------------------------------------===//

namespace {

/// The pipelines that marks name, parsed once each.
class RegionPipelines {
public:
  /// Runs a pipeline on an operation; several threads may call it.
  using Runner = function_ref<LogicalResult(OpPassManager &, Operation *)>;

  /// Reads the pipelines of `regions`: passes on a `func.func`, as a list or
  /// wrapped in `func.func(…)`. Emits an error at the operation that names one
  /// if it is no such list, or if it needs a dialect that is not loaded: none
  /// can be while passes run.
  static FailureOr<RegionPipelines> parse(ArrayRef<MarkedRegion> regions);

  /// Runs on each function the pipeline of its region, on several functions at
  /// once if the context has threads. All run, also if one fails; an error is
  /// emitted for each that does. Diagnostics come in the order of `outlined`.
  LogicalResult run(ArrayRef<OutlinedRegion> outlined, Runner run);

private:
  /// One for each text.
  SmallVector<OpPassManager> pipelines;
  SmallVector<StringRef> texts;
  /// By region.
  SmallVector<size_t> indexOf;
};

} // namespace

/// The text of the error that the parser printed, without its place and the
/// line that it quotes.
static StringRef getMessage(StringRef printed) {
  return printed.split("error: ").second.split('\n').first;
}

/// The pipeline for operations inside of the function, such as `any(cse)`;
/// empty if nothing does.
static std::string findNested(OpPassManager &manager) {
  for (Pass &pass : manager.getPasses()) {
    std::string text;
    llvm::raw_string_ostream os(text);
    pass.printAsTextualPipeline(os);
    // Options are behind a brace.
    if (StringRef(text)
            .take_until([](char c) { return c == '{'; })
            .contains('('))
      return text;
  }
  return {};
}

/// The first option with which a pass names a file, such as `profile=a.json`;
/// empty if there is none. "-" is standard output.
static std::string findFileOption(OpPassManager &manager) {
  std::string text;
  llvm::raw_string_ostream os(text);
  manager.printAsTextualPipeline(os);
  llvm::Regex option(
      "([a-z-]*(file|output|path|folder|directory|frontier)[a-z-]*)=([^} ]+)");
  SmallVector<StringRef, 4> found;
  for (StringRef rest = text; option.match(rest, &found);
       rest = rest.substr(found[0].end() - rest.begin()))
    if (!llvm::is_contained({"-", "true", "false"}, found[3]))
      return found[0].str();
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
  if (std::string option = findFileOption(*manager); !option.empty())
    return emitError() << "in which the option '" << option
                       << "' names a file: only users name files";
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

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

static void remarkOutlined(OutlinedRegion outlined,
                           const MarkedRegion &region) {
  auto caller = outlined.call->getParentOfType<func::FuncOp>();
  std::string passes = region.pipeline.empty()
                           ? "without a pipeline"
                           : ("compiled by '" + region.pipeline + "'").str();
  remark::passed(outlined.loc,
                 makeRemark("RegionOutlined", caller.getSymName()))
      << (Twine(outlined.numOperations) + " operation(s) of " +
          describe(region) + " are @" + outlined.call.getCallee() + ", " +
          passes)
             .str()
      << remark::metric("Operations", outlined.numOperations);
}

/// Says which settings of `region` have no effect. Its operations have to be
/// in the functions of the user still.
static void remarkSettings(const MarkedRegion &region) {
  for (const auto &[setting, op] : region.settings) {
    auto function = op->getParentOfType<func::FuncOp>();
    remark::missed(op->getLoc(),
                   makeRemark("RegionSettingIgnored",
                              function ? function.getSymName() : StringRef()))
        << ("the setting " + setting.first + " = " + setting.second + " of " +
            describe(region) +
            " is left out: a region is compiled by its 'pipeline'")
               .str();
  }
}

namespace {

struct CompileRegions
    : RewritingPass<mlir::commsched::impl::CompileRegionsBase<CompileRegions>> {
  FailureOr<bool> rewrite() override;

private:
  LogicalResult compile(ArrayRef<OutlinedRegion> outlined,
                        RegionPipelines &pipelines, OperationCosts &costs);
};

} // namespace

/// Compiles the outlined functions, and sets attributes on their calls.
LogicalResult CompileRegions::compile(ArrayRef<OutlinedRegion> outlined,
                                      RegionPipelines &pipelines,
                                      OperationCosts &costs) {
  // Threads may not add managers of analyses.
  for (OutlinedRegion region : outlined)
    getAnalysisManager().nest(region.function);
  auto run = [&](OpPassManager &pipeline, Operation *op) {
    return runPipeline(pipeline, op);
  };
  if (failed(pipelines.run(outlined, run)))
    return failure();
  for (const OutlinedRegion &region : outlined)
    if (failed(describeCall(region, costs)))
      return failure();
  return success();
}

FailureOr<bool> CompileRegions::rewrite() {
  // All that can be refused is refused before anything changes.
  FailureOr<Marks> marks = collectMarks(getOperation());
  if (failed(marks))
    return failure();
  if (marks->regions.empty()) {
    remark::analysis(getOperation().getLoc(), makeRemark("NoMarkedRegions", ""))
        << ("no operation has the mark '" + compileWithAttrName + "'").str();
    return false;
  }
  FailureOr<RegionPipelines> pipelines = RegionPipelines::parse(marks->regions);
  OperationCosts *costs = getAnalysis<CostAnalysis>().getCosts();
  if (failed(pipelines) || !costs)
    return failure();
  Callees callees(getOperation(), *costs);
  std::vector<MarkedBlock> blocks;
  bool isChanged = false;
  for (auto &[block, marked] : marks->blocks) {
    FailureOr<MarkedBlock> plan = planBlock(*block, marked);
    if (failed(plan))
      return failure();
    isChanged |= !plan->sets.empty() || !plan->passedOn.empty();
    blocks.push_back(std::move(*plan));
  }

  bool hasRemarks = areRemarksEnabled(getOperation());
  if (hasRemarks)
    llvm::for_each(marks->regions, remarkSettings);
  SmallVector<OutlinedRegion> outlined = outlineRegions(getOperation(), blocks);
  if (hasRemarks)
    for (const OutlinedRegion &region : outlined)
      remarkOutlined(region, marks->regions[region.region]);
  if (failed(compile(outlined, *pipelines, *costs)))
    return failure();
  return isChanged;
}
