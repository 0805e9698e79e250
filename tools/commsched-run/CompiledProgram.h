//===- CompiledProgram.h - Compiled programs and their runs -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program that is ready to run. A module is parsed, simulated by the cost
// model, lowered and compiled; all ranks of a process share the result. Its
// plan says which functions are called in which order, and what their arguments
// and results are:
//   - without a number of repetitions: the entry function, once;
//   - a step, of which the functions that it calls have become a part: once in
//     every repetition;
//   - a step with a steady state: the prologue, the steady state and the
//     epilogue.
// From outside all are one step.
//
// A runner runs all repetitions of the step on one rank: gives each call its
// arguments, keeps what later calls take until the last of them, and copies
// results to the host. The outputs of two programs are compared element by
// element.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TOOLS_COMMSCHED_RUN_COMPILEDPROGRAM_H
#define COMMSCHED_TOOLS_COMMSCHED_RUN_COMPILEDPROGRAM_H

#include "CommSched/Report/StepReport.h"
#include "Measurements.h"
#include "Values.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <deque>
#include <memory>

namespace mlir::commsched::run {

struct Settings;

/// An argument of a function: what the call before returned or, if there has
/// been none, data.
struct Argument {
  ValueType type;
  /// Whether its content means nothing after the step: a parameter whose
  /// storage the program itself grows and frees.
  bool scratch = false;
  /// Whether the function may overwrite it: its storage may be freed.
  bool isFreeable = false;
  /// Of the step: each repetition has data of its own.
  bool isInput = false;
  /// The result of the call before; none: it is data.
  std::optional<unsigned> fedBy;
  /// The argument of the step whose data it is.
  unsigned argument = 0;
  /// Of which repetition, counted from PlannedCall::firstTaken.
  int64_t repetition = 0;
};

struct PlannedResult {
  ValueType type;
  /// Of the step: it feeds an argument of the next repetition. What the last
  /// repetition returns counts.
  bool isCarried = false;
  /// The result of the step that it is; none for what only other calls take.
  std::optional<unsigned> result;
  /// Of which repetition, counted from PlannedCall::firstReturned.
  int64_t repetition = 0;
};

struct PlannedFunction {
  func::FuncOp function;
  std::string name;
  std::vector<Argument> arguments;
  std::vector<PlannedResult> results;
  /// What it has been compiled to.
  void (*code)(void **) = nullptr;
};

struct PlannedCall {
  const PlannedFunction *function = nullptr;
  int64_t firstTaken = 0;
  int64_t firstReturned = 0;
};

struct StepPlan {
  /// Of the module, the public function `entry`; if that is empty, the only
  /// public one with a body, or of several the only one with collectives, apart
  /// from parts of steady states. What it calls has become a part of it.
  /// `repetitions` is at least 1.
  /// Fails, with a text that follows the name of the file, if it is not clear
  /// what to run, or if a steady state lacks a function or does not take or
  /// return what the step does.
  static llvm::Expected<StepPlan> create(ModuleOp module, StringRef entry,
                                         std::optional<int64_t> repetitions);

  /// The whole step, as it is from outside.
  PlannedFunction step;
  /// What is called.
  std::vector<PlannedFunction> functions;
  /// Of a steady state, how many repetitions a period has in flight; otherwise
  /// 1.
  int64_t depth = 1;
  /// None: the step is run once, and that is all.
  std::optional<int64_t> repetitions;

  int64_t getNumRepetitions() const { return repetitions.value_or(1); }
  int64_t getNumCalls() const;
  PlannedCall getCall(int64_t index) const;

  /// Whether a result of a repetition counts.
  bool isKept(unsigned result, int64_t repetition) const {
    return !step.results[result].isCarried ||
           repetition + 1 == getNumRepetitions();
  }
};

/// A collective, a transfer or an emulated operator. Its index is what the
/// runtime's records have.
struct Site {
  std::string name;
  std::string location;
  /// Empty for operators.
  std::string kind;
  /// The group, or the stream of a transfer: "d2h" or "h2d".
  std::string group;
  /// The implementation; empty for NCCL, which the predictions do not name
  /// either.
  std::string implementation;
  /// As it was before lowering; null if lowering has dropped or copied it.
  Operation *op = nullptr;

  /// As CollectiveReport::getStreamName.
  std::string getStreamName() const {
    return implementation.empty() ? group : group + " (" + implementation + ")";
  }
  bool isTransfer() const { return kind == "offload" || kind == "reload"; }
};

struct ProgramSites {
  std::vector<Site> sites;
  std::vector<Site> operators;

  /// Reads the text that commsched_load_program takes.
  static llvm::Expected<ProgramSites> parse(const char *description);
};

struct CompiledProgram {
  /// Fails with all diagnostics, or what else is wrong, in words.
  static llvm::Expected<std::unique_ptr<CompiledProgram>>
  create(MLIRContext &context, StringRef path, const Settings &settings);

  std::string path;
  /// As it was before lowering.
  OwningOpRef<ModuleOp> module;
  StepPlan plan;

  /// What the cost model says about a step that is run once, and about all
  /// repetitions together, with what that rests on; none and empty, with the
  /// reason as text, where it says nothing.
  std::optional<StepReport> prediction;
  Summary predicted;
  std::string evidence;
  std::string noPredictionReason;

  std::unique_ptr<ExecutionEngine> engine;
  /// The text for commsched_load_program.
  const char *description = nullptr;
  ProgramSites sites;
  /// By site: how often the function is called that it is in; 0 where that is
  /// not known.
  std::vector<int64_t> siteCalls;
};

/// A value in memory of the runtime.
struct DeviceValue {
  /// The memory, which is released with its last owner; null for scalars.
  std::shared_ptr<void> buffer;
  /// Where the elements begin in it.
  char *data = nullptr;
  /// The bytes of a scalar.
  Bytes scalar;

  explicit operator bool() const { return buffer || !scalar.empty(); }
};

/// What a run returns.
struct Outputs {
  /// By repetition and result; those for which StepPlan::isKept() holds.
  std::map<std::pair<int64_t, unsigned>, Bytes> results;
  /// By argument of the step; empty for all but memrefs whose content means
  /// something.
  std::vector<Bytes> arguments;
};

class StepRunner {
public:
  /// The functions of the plan are compiled.
  StepRunner(const StepPlan &plan, const InputSettings &inputs, int32_t rank);

  /// Reads or makes the data that is the same in all repetitions, and that of
  /// the first, and checks that there are files for all of them.
  LogicalResult readInputs();

  /// Allocates what all repetitions share. The program is loaded.
  LogicalResult allocateShared();

  /// Gives the arguments the values that they have before the first repetition.
  /// `all`: the data of all repetitions is on the device before they run.
  LogicalResult restore(bool all);

  /// Runs all repetitions. Keeps the results unless `outputs` is null; those of
  /// the last call are still on the device.
  LogicalResult run(Outputs *outputs);

  /// Keeps what is left, unless `outputs` is null, and releases the results.
  LogicalResult finish(Outputs *outputs);

private:
  /// The results of one call.
  struct Frame {
    PlannedCall call;
    std::vector<DeviceValue> results;
  };

  bool isShared(const Argument &argument) const;
  LogicalResult readInput(unsigned argument, int64_t repetition,
                          Bytes &data) const;
  LogicalResult stage(int64_t call);
  LogicalResult takeOperands(int64_t call, std::vector<DeviceValue> &values);
  LogicalResult keepResults(Outputs &outputs);

  const StepPlan &plan;
  const InputSettings &inputs;
  int32_t rank;
  /// By argument of the step: the values that repetitions do not replace.
  std::vector<Bytes> initial;
  /// By argument of the step, if it has one storage in all repetitions.
  std::vector<DeviceValue> shared;
  /// The data of the next calls.
  std::deque<std::vector<DeviceValue>> staged;
  Frame last;
};

/// Ranks exchange it.
struct Difference {
  int64_t numElements = 0;
  int64_t numDifferent = 0;
  /// The first place: a result of a repetition, or an argument (-1); and the
  /// element in row-major order.
  int64_t repetition = -1;
  int64_t index = -1;
  int64_t element = -1;
  /// The bytes of the two elements.
  std::array<int64_t, 2> left = {}, right = {};
};

/// Fails, with a text that names both programs, unless they take and give the
/// same types, and the same of them in each repetition.
llvm::Error checkComparable(const CompiledProgram &left,
                            const CompiledProgram &right);

/// Compares the outputs of programs of that plan.
Difference compareOutputs(const StepPlan &plan, const Outputs &left,
                          const Outputs &right,
                          std::optional<double> tolerance);

/// One line for people, of the findings of all ranks.
std::string describeComparison(const CompiledProgram &left,
                               const CompiledProgram &right,
                               ArrayRef<Difference> ranks);

} // namespace mlir::commsched::run

#endif // COMMSCHED_TOOLS_COMMSCHED_RUN_COMPILEDPROGRAM_H
