//===- FsdpPatterns.h - Rewrites of FSDP's buffers --------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the passes for FSDP's buffers rewrite, once an analysis has decided
// where. Each pattern matches an operation at most once, so that one walk over
// a function applies them all.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_FSDP_FSDPPATTERNS_H
#define COMMSCHED_LIB_TRANSFORMS_FSDP_FSDPPATTERNS_H

#include "CommSched/Analysis/Fsdp/ReinplaceableGathers.h"
#include "CommSched/Analysis/Fsdp/UnshardedParams.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::commsched {

/// Lets a gather of a slice write the slice's buffer where `gathers`, which
/// outlives the patterns, allows it.
void populateReinplaceAllGatherPatterns(RewritePatternSet &patterns,
                                        const ReinplaceableGathers &gathers);

/// Replaces reads of removable storages by what they yield, and erases what
/// resizes and fills these. `params` outlives the patterns.
void populateRemoveUnshardedParamUsagePatterns(RewritePatternSet &patterns,
                                               const UnshardedParams &params);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_FSDP_FSDPPATTERNS_H
