//===- RuntimeTypes.h - Element types of the runtime ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The numbers, names and sizes that stand for MLIR's element types in calls of
// the runtime and in descriptions of programs.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_CONVERSION_RUNTIMETYPES_H
#define COMMSCHED_LIB_CONVERSION_RUNTIMETYPES_H

#include "mlir/IR/Types.h"
#include "mlir/Support/LLVM.h"

#include <optional>
#include <string>

namespace mlir::commsched {

/// The runtime's number of a type, a commsched_type; none for a type of which
/// the runtime knows only the size.
std::optional<int32_t> getRuntimeType(Type elementType);

/// The name in descriptions: that of MLIR, without properties that do not
/// matter to reductions, or "bytes<N>". The type must have a size
/// (`getElementBytes`).
std::string getRuntimeTypeName(Type elementType);

/// Bytes of an element in memory, or failure if the runtime cannot lay it out,
/// because its width is not a power of two.
FailureOr<int64_t> getElementBytes(Type elementType);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_CONVERSION_RUNTIMETYPES_H
