//===- Register.h - Registration of all of CommSched ------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The entry point of a tool or an embedding compiler: the dialects, the
// external models of other dialects' operations, the passes and the pipelines.
// The header includes no dialect, so that tools stay cheap to compile; a
// program that builds or inspects operations includes
// CommSched/Dialect/CommSchedDialect.h as well.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_REGISTER_H
#define COMMSCHED_REGISTER_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace mlir::commsched {

/// Adds the dialects `commsched` and `commsched_rt` to `registry`, and the
/// external models through which operations of other dialects state their costs
/// and aliases.
void registerDialects(DialectRegistry &registry);

/// Registers every pass and pipeline under its flag and textual name.
void registerAllPasses();

} // namespace mlir::commsched

#endif // COMMSCHED_REGISTER_H
