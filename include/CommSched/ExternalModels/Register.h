//===- Register.h - Models of other dialects' operations --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_EXTERNALMODELS_REGISTER_H
#define COMMSCHED_EXTERNALMODELS_REGISTER_H

namespace mlir {
class DialectRegistry;

namespace commsched {

/// Attaches `CostOpInterface` and `AliasOpInterface` to operations of the
/// arith, bufferization, linalg, math, tensor and tosa dialects, as each is
/// loaded; loads none itself. An implementation that an operation has already
/// is left alone.
void registerExternalModels(DialectRegistry &registry);

} // namespace commsched
} // namespace mlir

#endif // COMMSCHED_EXTERNALMODELS_REGISTER_H
