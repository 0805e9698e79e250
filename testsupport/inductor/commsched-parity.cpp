//===- commsched-parity.cpp - Orders to compare with Inductor's -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Says what CommSched makes of the functions of the programs that are given, in
// a form in which another scheduler can be given the same problems and be
// compared: one JSON object a function, on one line. compare.py is what reads
// it.
//===----------------------------------------------------------------------===//

#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Register.h"
#include "CommSched/Report/ProgramJson.h"
#include "CommSched/Schedule/Inductor/IterativeReordering.h"
#include "CommSched/Schedule/Inductor/PeakMemoryOrders.h"
#include "CommSched/Schedule/Model/ProblemTransforms.h"
#include "LoneFunction.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/CommandLine.h"

using namespace mlir;
using namespace mlir::commsched;

static llvm::cl::list<std::string> programPaths(llvm::cl::Positional,
                                                llvm::cl::desc("program..."),
                                                llvm::cl::OneOrMore);
static llvm::cl::list<std::string> pipelines("pipeline",
                                             llvm::cl::desc("Passes to run"));

static llvm::cl::list<std::string>
    sorts("sort", llvm::cl::desc("Sorts to run: lpmf, bfs or dfs"));

namespace {
/// The outcome of one pipeline or sort.
struct Outcome {
  /// The program's operations, by their places there, in the new order.
  std::vector<int32_t> order;
  StepReport report;
  /// The attributes in which passes record the moves of operations, by the
  /// position of the operation in the program.
  std::vector<std::pair<int32_t, DictionaryAttr>> reorderInfos;
};
} // namespace

/// Applies `sort`, which knows each user of a buffer as dependent on its
/// producer, as Inductor's sort does, and collectives in program order.
static LogicalResult applySort(LoneFunction &program, StringRef sort) {
  FailureOr<BlockProblem> original = program.createProblem(StreamOrder::Free);
  if (failed(original))
    return failure();
  schedule::Problem problem = original->getProblem();
  for (schedule::BufferId id = 0; id < problem.numBuffers(); ++id)
    if (schedule::NodeId producer = problem.buffer(id).producer;
        producer != schedule::noNode)
      for (schedule::NodeId user : original->getProblem().users(id))
        if (user != producer)
          problem.addDependence(producer, user, schedule::DependenceKind::Data);
  addCollectiveOrder(problem, schedule::CollectiveOrderScope::Global);
  problem.finalize();
  auto function = sort == "lpmf"  ? schedule::sortLeastPeakMemoryFirst
                  : sort == "bfs" ? schedule::sortBreadthFirst
                                  : schedule::sortDepthFirst;
  Result<schedule::Order> order = function(problem);
  if (!order)
    return program.getModule().emitError("no order was found: ")
           << order.error();
  original->apply(*order);
  return success();
}

/// Runs `change` on a copy of `program`. Emits an error when it fails or makes
/// or removes operations.
static FailureOr<Outcome>
run(LoneFunction &program,
    llvm::function_ref<LogicalResult(LoneFunction &)> change) {
  LoneFunction result = program.clone();
  DenseMap<Operation *, int32_t> places;
  for (Operation &op : result.getBlock().without_terminator())
    places.try_emplace(&op, static_cast<int32_t>(places.size()));
  if (failed(change(result)))
    return failure();
  Outcome outcome;
  for (Operation &op : result.getBlock().without_terminator()) {
    auto it = places.find(&op);
    if (it == places.end())
      return op.emitOpError("was not in the program");
    outcome.order.push_back(it->second);
    if (auto info = dyn_cast_if_present<DictionaryAttr>(
            op.getDiscardableAttr(reorderInfoAttrName)))
      outcome.reorderInfos.emplace_back(it->second, info);
  }
  if (outcome.order.size() != places.size())
    return result.getModule().emitError(
        "has fewer operations than the program");
  FailureOr<StepReport> report = result.report();
  if (failed(report))
    return failure();
  outcome.report = std::move(*report);
  return outcome;
}

static void writeInfo(llvm::json::OStream &json, DictionaryAttr info) {
  json.object([&] {
    for (NamedAttribute entry : info) {
      if (auto number = dyn_cast<IntegerAttr>(entry.getValue()))
        json.attribute(entry.getName(), number.getInt());
      else if (auto text = dyn_cast<StringAttr>(entry.getValue()))
        json.attribute(entry.getName(), text.getValue());
    }
  });
}

static void writeOutcome(llvm::json::OStream &json, StringRef name,
                         const Outcome &outcome) {
  json.object([&] {
    json.attribute("name", name);
    json.attributeArray("order", [&] {
      for (int32_t place : outcome.order)
        json.value(place);
    });
    json.attributeObject("costs", [&] { writeCosts(json, outcome.report); });
    json.attributeArray("reorder_infos", [&] {
      for (auto [place, info] : outcome.reorderInfos)
        json.array([&, place = place, info = info] {
          json.value(place);
          writeInfo(json, info);
        });
    });
  });
}

/// By start, the computation that hides it in the program's order: seen from
/// the start, and from its wait.
static void writeExposures(llvm::json::OStream &json,
                           const schedule::Problem &problem) {
  using schedule::ExposureWalk;
  schedule::Order order = problem.programOrder();
  auto ahead = computeExposure(problem, order, ExposureWalk::FromStart);
  auto back = computeExposure(problem, order, ExposureWalk::FromWait);
  json.attributeArray("exposures", [&] {
    for (schedule::NodeId node : order)
      if (problem.kind(node) == schedule::NodeKind::Start)
        json.array([&] {
          json.value(node);
          json.value(ahead[node].computeNs);
          json.value(back[node].computeNs);
        });
  });
}

static LogicalResult writeFunction(llvm::json::OStream &json, StringRef path,
                                   FunctionOpInterface function) {
  LoneFunction program(function);
  // Only `commsched.order` and what can meet different operations on other
  // ranks orders collectives.
  FailureOr<BlockProblem> problem = program.createProblem(StreamOrder::Free);
  FailureOr<StepReport> report = program.report();
  if (failed(problem) || failed(report))
    return failure();
  std::vector<std::pair<StringRef, Outcome>> outcomes;
  auto keep = [&](StringRef name, auto change) {
    FailureOr<Outcome> outcome = run(program, change);
    if (succeeded(outcome))
      outcomes.emplace_back(name, std::move(*outcome));
    return succeeded(outcome);
  };
  for (const std::string &pipeline : pipelines)
    if (!keep(pipeline, [&](LoneFunction &result) {
          int64_t timeNs;
          return result.runPasses(pipeline, timeNs);
        }))
      return failure();
  for (const std::string &sort : sorts)
    if (!keep(sort,
              [&](LoneFunction &result) { return applySort(result, sort); }))
      return failure();
  json.object([&] {
    json.attribute("program", path);
    json.attribute("function", function.getName());
    writeProblem(json, nameProblem(function.getName(), *problem));
    writeExposures(json, problem->getProblem());
    json.attributeObject("costs", [&] { writeCosts(json, *report); });
    json.attributeArray("outcomes", [&] {
      for (auto &[name, outcome] : outcomes)
        writeOutcome(json, name, outcome);
    });
  });
  return success();
}

static LogicalResult writeProgram(StringRef path,
                                  const DialectRegistry &registry) {
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadDialect<CommSchedDialect, func::FuncDialect>();
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(path, &context);
  if (!module)
    return failure();
  for (FunctionOpInterface function : getBenchmarkedFunctions(*module)) {
    llvm::json::OStream json(llvm::outs());
    if (failed(writeFunction(json, path, function)))
      return failure();
    llvm::outs() << "\n";
  }
  return success();
}

int main(int argc, char **argv) {
  llvm::cl::ParseCommandLineOptions(
      argc, argv, "Dumps scheduling problems and CommSched's answers\n");
  DialectRegistry registry;
  registerAllDialects(registry);
  registerAllExtensions(registry);
  mlir::commsched::registerDialects(registry);
  mlir::commsched::registerAllPasses();
  for (const std::string &path : programPaths)
    if (failed(writeProgram(path, registry)))
      return 1;
  return 0;
}
