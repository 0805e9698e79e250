//===- EntryFunction.h - Entry functions and their collectives --*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The entry function of a module with the types of its arguments and results,
// and the collectives and emulated operators of the lowered program with the
// operations that they come from.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TOOLS_COMMSCHED_RUN_ENTRYFUNCTION_H
#define COMMSCHED_TOOLS_COMMSCHED_RUN_ENTRYFUNCTION_H

#include "Values.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace mlir::commsched::run {

struct Argument {
  ValueType type;
  /// Whether its content means nothing after the step: a parameter whose
  /// storage the program itself grows and frees.
  bool scratch = false;
  /// Whether the function may overwrite it: its storage may be freed.
  bool isFreeable = false;
};

struct Signature {
  std::string name;
  std::vector<Argument> arguments;
  std::vector<ValueType> results;
};

/// The public function `name`; if that is empty, the only public one with a
/// body, or of several the only one with collectives, apart from parts of
/// steady states. Otherwise fails, with a text that lists the public functions.
llvm::Expected<func::FuncOp> findEntry(ModuleOp module, StringRef name);

/// Fails, with a text that names the argument or result, when it cannot be
/// passed. A future can only be passed from one function to another; it is the
/// number of a request that is held.
llvm::Expected<Signature> getSignature(func::FuncOp function,
                                       bool allowFutures);

/// A collective or a transfer. Its index is what the runtime's records have.
struct Site {
  std::string name;
  std::string location;
  std::string kind;
  /// The group, or the stream of a transfer: "d2h" or "h2d".
  std::string group;
  /// The implementation; empty for NCCL, which the predictions do not name
  /// either.
  std::string implementation;

  /// As CollectiveReport::getStreamName.
  std::string getStreamName() const {
    return implementation.empty() ? group : group + " (" + implementation + ")";
  }
  bool isTransfer() const { return kind == "offload" || kind == "reload"; }
};

/// An emulated operator, likewise.
struct Operator {
  std::string name;
  std::string location;
};

struct ProgramSites {
  std::vector<Site> sites;
  std::vector<Operator> operators;

  /// Reads the text that commsched_load_program takes.
  static llvm::Expected<ProgramSites> parse(StringRef description);
};

/// Operations, as they were before lowering, and their indices.
struct SiteMap {
  llvm::DenseMap<Operation *, int32_t> sites;
  llvm::DenseMap<Operation *, int32_t> operators;

  /// Finds the operations of `module` by name and location. Operations that
  /// lowering has dropped or copied have no index.
  SiteMap(ModuleOp module, const ProgramSites &program);
};

} // namespace mlir::commsched::run

#endif // COMMSCHED_TOOLS_COMMSCHED_RUN_ENTRYFUNCTION_H
