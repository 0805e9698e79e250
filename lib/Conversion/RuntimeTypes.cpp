//===- RuntimeTypes.cpp - Element types of the runtime --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "RuntimeTypes.h"

#include "CommSched/Runtime/Runtime.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/ScopedPrinter.h"

using namespace mlir;
using namespace mlir::commsched;

/// MLIR's name, without properties that do not matter to reductions.
static std::string getPlainName(Type type) {
  if (type.isIndex())
    return "i64";
  auto integer = dyn_cast<IntegerType>(type);
  if (integer && (integer.isSigned() || integer.getWidth() == 1))
    return "i" + std::to_string(integer.getWidth());
  return llvm::to_string(type);
}

std::optional<int32_t> mlir::commsched::getRuntimeType(Type elementType) {
  return llvm::StringSwitch<std::optional<int32_t>>(getPlainName(elementType))
      .Case("i1", COMMSCHED_I1)
      .Case("i8", COMMSCHED_I8)
      .Case("i16", COMMSCHED_I16)
      .Case("i32", COMMSCHED_I32)
      .Case("i64", COMMSCHED_I64)
      .Case("ui8", COMMSCHED_UI8)
      .Case("ui16", COMMSCHED_UI16)
      .Case("ui32", COMMSCHED_UI32)
      .Case("ui64", COMMSCHED_UI64)
      .Case("f8E4M3FN", COMMSCHED_F8E4M3FN)
      .Case("f8E5M2", COMMSCHED_F8E5M2)
      .Case("f16", COMMSCHED_F16)
      .Case("bf16", COMMSCHED_BF16)
      .Case("f32", COMMSCHED_F32)
      .Case("f64", COMMSCHED_F64)
      .Case("complex<f32>", COMMSCHED_COMPLEX_F32)
      .Case("complex<f64>", COMMSCHED_COMPLEX_F64)
      .Default(std::nullopt);
}

std::string mlir::commsched::getRuntimeTypeName(Type elementType) {
  if (getRuntimeType(elementType))
    return getPlainName(elementType);
  return "bytes<" + std::to_string(*getElementBytes(elementType)) + ">";
}

FailureOr<int64_t> mlir::commsched::getElementBytes(Type elementType) {
  if (auto complex = dyn_cast<ComplexType>(elementType)) {
    FailureOr<int64_t> part = getElementBytes(complex.getElementType());
    return failed(part) ? part : FailureOr<int64_t>(2 * *part);
  }
  if (elementType.isIndex())
    return 8;
  if (!elementType.isIntOrFloat())
    return failure();
  int64_t bytes = llvm::divideCeil(elementType.getIntOrFloatBitWidth(), 8u);
  return llvm::isPowerOf2_64(bytes) ? FailureOr<int64_t>(bytes)
                                    : FailureOr<int64_t>();
}
