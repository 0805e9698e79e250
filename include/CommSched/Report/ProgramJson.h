//===- ProgramJson.h - Programs and problems as JSON ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes a module as JSON for programs that put a schedule back into the graph
// that it came from: groups, functions, and operations in program order with
// the values that they take and give. docs/reference/program-json.md lists the
// keys.
//
// Writes scheduling problems as JSON: names, costs, sizes, dependences, buffers
// and streams, without the IR. It is the form for bug reports and for other
// schedulers; commsched.read_problems() of the Python package reads it.
//
// A file holds an object with `version` and `functions`. A function holds
//  - `function`: its name,
//  - `streams`: an array of names,
//  - `names`: an array of the names of the nodes,
//  - `nodes`: an array of arrays [kind, cost in nanoseconds, stream or -1,
//    whether it is expensive, the start that a wait completes or -1] with the
//    kind "compute", "start", "wait" or "blocking",
//  - `dependences`: an array of arrays [from, to, kind] with the kind "data",
//    "memory", "order" or "barrier",
//  - `buffers`: an array of arrays [bytes, producer or -1, whether it is freed
//    by its last user, users].
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_REPORT_PROGRAMJSON_H
#define COMMSCHED_REPORT_PROGRAMJSON_H

#include "CommSched/Report/StepReport.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/JSON.h"

namespace mlir::commsched {

/// Writes `module` as one JSON object on one line. Accepts every module: types
/// and attributes without a JSON form are written as MLIR text. Linear in the
/// operations and their attributes.
void writeProgram(raw_ostream &os, ModuleOp module);

//===----------------------------------------------------------------------===//
// Problems
//===----------------------------------------------------------------------===//

/// The problem of a function, with what it calls operations and groups.
struct NamedProblem {
  std::string function;
  schedule::Problem problem;
  /// By node.
  std::vector<std::string> names;
  /// By stream.
  std::vector<std::string> streams;
};

/// The problem of `block` with the stable names of its operations, or else the
/// names of their kinds.
NamedProblem nameProblem(StringRef function, const BlockProblem &block);

/// Writes the attributes of a function, but for its name, into the current
/// object.
void writeProblem(llvm::json::OStream &json, const NamedProblem &problem);

/// Writes step time, exposed communication and peak memory into the current
/// object.
void writeCosts(llvm::json::OStream &json, const StepReport &report);

/// Writes the attributes `dependences` and `buffers` of a function into the
/// current object.
void writeConstraints(llvm::json::OStream &json,
                      const schedule::Problem &problem);

/// Writes a whole file.
void writeProblems(raw_ostream &os, ArrayRef<NamedProblem> problems);

} // namespace mlir::commsched

#endif // COMMSCHED_REPORT_PROGRAMJSON_H
