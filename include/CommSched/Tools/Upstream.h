//===- Upstream.h - What the tools offer of MLIR ----------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TOOLS_UPSTREAM_H
#define COMMSCHED_TOOLS_UPSTREAM_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace mlir::commsched {

// Two libraries define these functions. CommSchedUpstreamAll registers all that
// MLIR has. CommSchedUpstreamCore leaves out what belongs to other targets than
// the processor, and so the code generators of all of these: the programs of
// the Python wheel, which contain MLIR, link this one.

/// Registers the dialects of MLIR with their extensions and their translations
/// to LLVM IR.
void registerUpstreamDialects(DialectRegistry &registry);

/// Registers the passes and pipelines of MLIR by name.
void registerUpstreamPasses();

} // namespace mlir::commsched

#endif // COMMSCHED_TOOLS_UPSTREAM_H
