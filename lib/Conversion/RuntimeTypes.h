//===- RuntimeTypes.h - Element types as the runtime knows ------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The numbers, names and sizes that stand for MLIR's element types in calls of
// the runtime and in descriptions of programs.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_CONVERSION_RUNTIMETYPES_H
#define COMMSCHED_LIB_CONVERSION_RUNTIMETYPES_H

#include "mlir/IR/Types.h"
#include "mlir/Support/LLVM.h"

#include <optional>
#include <string>

namespace mlir::commsched {

/// The number by which the runtime knows a type: commsched_type. None for a
/// type of which it only knows the size.
std::optional<int32_t> getRuntimeType(Type elementType);

/// The name in descriptions: MLIR's, without what no reduction looks at, or
/// "bytes<N>". The type must have a size (`getElementBytes`).
std::string getRuntimeTypeName(Type elementType);

/// Bytes of an element in memory, or failure where the runtime has no way to
/// lay it out: widths that are no power of two.
FailureOr<int64_t> getElementBytes(Type elementType);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_CONVERSION_RUNTIMETYPES_H
