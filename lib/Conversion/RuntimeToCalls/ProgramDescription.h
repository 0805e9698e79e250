//===- ProgramDescription.h - What the runtime knows of a module -*- C++
//-*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Collects the groups, collectives and operators of a module, in program order,
// into the JSON text that commsched_load_program reads (see
// CommSched/Runtime/Runtime.h for its form).
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_CONVERSION_RUNTIMETOCALLS_PROGRAMDESCRIPTION_H
#define COMMSCHED_LIB_CONVERSION_RUNTIMETOCALLS_PROGRAMDESCRIPTION_H

#include "CommSched/Dialect/CommSchedDialect.h"
#include "CommSched/Dialect/Runtime/CommSchedRtDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/JSON.h"

namespace mlir::commsched {

class ProgramDescription {
public:
  explicit ProgramDescription(ModuleOp module);

  /// The index of the group `symbol`; an error at `op` if there is none.
  FailureOr<int32_t> getGroup(Operation *op, FlatSymbolRefAttr symbol);

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
  llvm::json::Object getSite(StringRef name, Location loc, CollectiveKind kind,
                             int32_t group, IntegerAttr runtimeNs);

  llvm::MapVector<StringAttr, int32_t> groupIndices;
  llvm::json::Array groups, sites, operators;
  std::string hostCode;
};

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_CONVERSION_RUNTIMETOCALLS_PROGRAMDESCRIPTION_H
