//===- ProgramDescription.h - What the runtime loads ------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The description of a lowered program: the JSON text that
// `commsched_load_program` reads (CommSched/Runtime/Runtime.h).
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_CONVERSION_RUNTIMETOCALLS_PROGRAMDESCRIPTION_H
#define COMMSCHED_LIB_CONVERSION_RUNTIMETOCALLS_PROGRAMDESCRIPTION_H

#include "CommSched/Dialect/CommSchedDialect.h"
#include "CommSched/Dialect/Runtime/CommSchedRtDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/JSON.h"

namespace mlir::commsched {

class ProgramDescription {
public:
  explicit ProgramDescription(ModuleOp module);

  /// The index of the group `symbol`; an error at `op` if there is none.
  FailureOr<int32_t> getGroup(Operation *op, FlatSymbolRefAttr symbol);
  /// The index of the group of the same ranks with this implementation, which
  /// may be null. Appends it if it is new.
  FailureOr<int32_t> getGroup(Operation *op, FlatSymbolRefAttr symbol,
                              rt::ImplementationAttr implementation);

  /// Appends the collective, and returns its index.
  FailureOr<int32_t> addSite(rt::StartOp op);
  FailureOr<int32_t> addSite(rt::BarrierOp op);
  /// Appends the operator, and returns its index.
  int32_t addOperator(rt::ComputeOp op);
  int32_t addOperator(rt::AccountOp op);
  /// Remembers the first operation that works on buffers on the processor.
  void addHostCode(Operation *op);

  /// One line of JSON.
  std::string getText() const;

private:
  int32_t addOperator(StringRef name, Location loc, ValueRange inputs,
                      ValueRange outputs);
  /// `group` is none for a transfer.
  llvm::json::Object getSite(StringRef name, Location loc, CollectiveKind kind,
                             std::optional<int32_t> group,
                             IntegerAttr runtimeNs);

  llvm::DenseMap<StringAttr, int32_t> groupIndices;
  llvm::DenseMap<std::pair<int32_t, Attribute>, int32_t> implementedGroups;
  llvm::json::Array groups, sites, operators;
  std::string hostCode;
};

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_CONVERSION_RUNTIMETOCALLS_PROGRAMDESCRIPTION_H
