//===- BrainFloat.cpp - Conversions that compiled programs call -----------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BrainFloat.h"

#include "llvm/ADT/bit.h"

#include <cmath>

using namespace mlir::commsched::run;

/// To the nearest, ties to even. A bf16 is returned where a float would be, in
/// the lower half.
static float truncateFloat(float value) {
  auto bits = llvm::bit_cast<uint32_t>(value);
  if (std::isnan(value))
    bits |= uint32_t(1) << 22; // Quiet, and not infinite without its low bits.
  else
    bits += 0x7fff + ((bits >> 16) & 1);
  return llvm::bit_cast<float>(bits >> 16);
}

/// As from the exact value: the float between is odd where it is not exact, so
/// that it is no tie.
static float truncateDouble(double value) {
  auto between = static_cast<float>(value);
  double exact = between;
  auto bits = llvm::bit_cast<uint32_t>(between);
  if (!std::isnan(value) && exact != value && !(bits & 1))
    bits += std::fabs(exact) < std::fabs(value) ? 1 : -1;
  return truncateFloat(llvm::bit_cast<float>(bits));
}

llvm::orc::SymbolMap mlir::commsched::run::getBrainFloatSymbols(
    llvm::orc::MangleAndInterner mangle) {
  using llvm::orc::ExecutorAddr;
  llvm::JITSymbolFlags flags =
      llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable;
  return {
      {mangle("__truncsfbf2"), {ExecutorAddr::fromPtr(truncateFloat), flags}},
      {mangle("__truncdfbf2"), {ExecutorAddr::fromPtr(truncateDouble), flags}}};
}
