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

float mlir::commsched::run::truncateToBrainFloat(float value) {
  auto bits = llvm::bit_cast<uint32_t>(value);
  if (std::isnan(value))
    bits |= uint32_t(1) << 22; // Quiet, and not infinite without its low bits.
  else
    bits += 0x7fff + ((bits >> 16) & 1);
  return llvm::bit_cast<float>(bits >> 16);
}

float mlir::commsched::run::truncateToBrainFloat(double value) {
  // The float between is odd where it is not exact, so that it is no tie.
  auto between = static_cast<float>(value);
  double exact = between;
  auto bits = llvm::bit_cast<uint32_t>(between);
  if (!std::isnan(value) && exact != value && !(bits & 1))
    bits += std::fabs(exact) < std::fabs(value) ? 1 : -1;
  return truncateToBrainFloat(llvm::bit_cast<float>(bits));
}

llvm::orc::SymbolMap mlir::commsched::run::getBrainFloatSymbols(
    llvm::orc::MangleAndInterner mangle) {
  using llvm::orc::ExecutorAddr;
  llvm::JITSymbolFlags flags =
      llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable;
  float (*fromFloat)(float) = truncateToBrainFloat;
  float (*fromDouble)(double) = truncateToBrainFloat;
  return {{mangle("__truncsfbf2"), {ExecutorAddr::fromPtr(fromFloat), flags}},
          {mangle("__truncdfbf2"), {ExecutorAddr::fromPtr(fromDouble), flags}}};
}
