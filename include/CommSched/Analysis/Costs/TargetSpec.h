//===- TargetSpec.h - Target specification of a module ----------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads the machine that costs are estimated for from the DLTI target system
// specification of the nearest module that has one:
//
//   module attributes {
//     dlti.target_system_spec = #dlti.target_system_spec<
//       "GPU" = #dlti.target_device_spec<
//         "commsched.preset" = "h200",
//         "commsched.memory_gb_s" = 4000.0 : f64>>} { ... }
//
// The device is called "GPU". `commsched.preset` names the machine to start
// from, and `commsched.implementations` is a dictionary of dictionaries for
// `cost::Implementations::parse`; every other key with the prefix `commsched.`
// overrides one field of `cost::targetFields`. Keys without the prefix belong
// to others and are ignored.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_ANALYSIS_COSTS_TARGETSPEC_H
#define COMMSCHED_ANALYSIS_COSTS_TARGETSPEC_H

#include "CommSched/CostModel/Target.h"
#include "mlir/IR/Operation.h"

namespace mlir::commsched {

/// The device of the target system specification that is read.
inline constexpr llvm::StringLiteral targetDeviceName = "GPU";

/// The target for the code in `from`: the preset that its module's
/// specification names, else `defaultPreset`, with the specification's
/// overrides. Reports, on the operation that has the specification, an unknown
/// preset or key, a value that is not a number, one that is out of range, and
/// implementations that cannot be read.
/// `defaultPreset` must be one of `cost::targetPresetNames`.
FailureOr<cost::Target> getTarget(Operation *from,
                                  StringRef defaultPreset = "h100");

} // namespace mlir::commsched

#endif // COMMSCHED_ANALYSIS_COSTS_TARGETSPEC_H
