//===- SteadyState.h - Attributes of steps that repeat ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The steady state of a step @step with S repetitions in flight is three
// functions. Period k runs stage s of repetition k - s:
//
//   prologue(arguments of the step) -> (state...)
//   steady(state..., arguments) -> (state..., results of one repetition)
//   epilogue(state..., arguments) -> (results of the last repetitions)
//
// To run K >= S - 1 repetitions, the prologue runs once, the steady state
// K - (S - 1) times and the epilogue once.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_DIALECT_STEADYSTATE_H
#define COMMSCHED_DIALECT_STEADYSTATE_H

#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include <optional>

namespace mlir::commsched {

/// On an argument behind the state: the number of the argument of the step that
/// it is.
inline constexpr StringLiteral stepArgumentAttrName = "commsched.step_argument";

/// On a result behind the state: the number of the result of the step that it
/// is.
inline constexpr StringLiteral stepResultAttrName = "commsched.step_result";

/// On both: of which repetition, counted from the first that the call takes or
/// gives; see SteadyStateInfo. An argument without it is the same in all.
inline constexpr StringLiteral repetitionAttrName = "commsched.repetition";

/// The entries of `commsched.steady_state`.
struct SteadyStateInfo {
  /// `step`: the function of one repetition.
  FlatSymbolRefAttr step;
  SteadyStateRole role = SteadyStateRole::Steady;
  /// `depth`: how many repetitions a period has in flight, at least 2.
  int64_t depth = 2;

  /// How many repetitions an argument of the function can be of: the prologue
  /// takes the inputs of depth - 1, the steady state of one, the epilogue none.
  int64_t getNumArgumentRepetitions() const;
  /// How many repetitions a result can be of: none, one, or depth - 1.
  int64_t getNumResultRepetitions() const;
};

/// The function's `commsched.steady_state`, if it has one that is valid.
std::optional<SteadyStateInfo> getSteadyState(Operation *function);

/// Sets `commsched.steady_state`.
void setSteadyState(Operation *function, const SteadyStateInfo &info);

/// The function of the steady state of `step`, in the same symbol table as
/// `function`, that has `role`; null if there is none. Linear in the symbols.
FunctionOpInterface findSteadyStateFunction(Operation *function,
                                            FlatSymbolRefAttr step,
                                            SteadyStateRole role);

/// How many leading arguments of `function`, which has
/// `commsched.steady_state`, are state: all before the first with
/// `commsched.step_argument`.
unsigned getNumStateArguments(FunctionOpInterface function);

/// The same for results and `commsched.step_result`.
unsigned getNumStateResults(FunctionOpInterface function);

std::optional<int64_t> getStepArgument(FunctionOpInterface function,
                                       unsigned argument);
std::optional<int64_t> getStepResult(FunctionOpInterface function,
                                     unsigned result);
std::optional<int64_t> getArgumentRepetition(FunctionOpInterface function,
                                             unsigned argument);
std::optional<int64_t> getResultRepetition(FunctionOpInterface function,
                                           unsigned result);

/// Verifies `commsched.steady_state` of `op`, its arguments and results, and
/// that the state fits that of the other two functions.
LogicalResult verifySteadyState(Operation *op, Attribute attr);

/// Verifies `commsched.pipelined` of `op` and the futures that it carries.
LogicalResult verifyPipelined(Operation *op, Attribute attr);

/// Verifies one of the three attributes of an argument or a result of `op`,
/// which `what` calls by its number.
LogicalResult verifySteadyStateNumber(Operation *op, NamedAttribute attr,
                                      const Twine &what);

} // namespace mlir::commsched

#endif // COMMSCHED_DIALECT_STEADYSTATE_H
