//===- Register.h - Registration of all of CommSched ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The entry point of a tool or an embedding compiler: the dialects, the
// external models of other dialects' operations, the passes and the pipelines.
// The header includes no dialect, so that tools stay cheap to compile; a
// program that builds or inspects operations includes
// CommSched/Dialect/CommSchedDialect.h as well.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_REGISTER_H
#define COMMSCHED_REGISTER_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace mlir::commsched {

/// Adds the dialects `commsched` and `commsched_rt` to `registry`, and the
/// models through which operations of other dialects state their effects, costs
/// and aliases: those of MLIR's dialects, and of StableHLO, Shardy and torch
/// where a program links them.
void registerDialects(DialectRegistry &registry);

/// Adds dialects by name (CommSched/OperationTables/NamedDialects.h) for
/// StableHLO, CHLO, MHLO, VHLO, Shardy and torch, unless `registry` has them:
/// real dialects have to be registered before. The generic form of their
/// operations can then be read without them.
void registerDialectsByName(DialectRegistry &registry);

/// Registers every pass and pipeline under its flag and textual name.
void registerAllPasses();

} // namespace mlir::commsched

#endif // COMMSCHED_REGISTER_H
