//===- BrainFloat.h - Conversions that compiled programs call ---*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TOOLS_RUN_BRAINFLOAT_H
#define COMMSCHED_TOOLS_RUN_BRAINFLOAT_H

#include "llvm/ExecutionEngine/Orc/Core.h"
#include "llvm/ExecutionEngine/Orc/Mangling.h"

namespace mlir::commsched::run {

/// Round to bf16, to the nearest and ties to even. A bf16 is returned where a
/// float would be: it is the lower half of the bits.
float truncateToBrainFloat(float value);
float truncateToBrainFloat(double value);

/// The functions that round to bf16, under the names by which compiled code
/// calls them. libgcc has these since version 13 only.
llvm::orc::SymbolMap getBrainFloatSymbols(llvm::orc::MangleAndInterner mangle);

} // namespace mlir::commsched::run

#endif // COMMSCHED_TOOLS_RUN_BRAINFLOAT_H
