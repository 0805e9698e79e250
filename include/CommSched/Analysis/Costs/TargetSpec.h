//===- TargetSpec.h - Target specification of a module ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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
// to others and are ignored. The measured profile is the module's attribute
// `commsched.profile`, a dictionary for `cost::MeasuredTable::parse`.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_ANALYSIS_COSTS_TARGETSPEC_H
#define COMMSCHED_ANALYSIS_COSTS_TARGETSPEC_H

#include "CommSched/CostModel/MeasuredTable.h"
#include "mlir/IR/BuiltinOps.h"
#include <memory>

namespace mlir::commsched {

/// The device of the target system specification that is read.
inline constexpr llvm::StringLiteral targetDeviceName = "GPU";

/// The target for the code in `from`: the preset that its module's
/// specification names, else h100, with the specification's overrides. Reports,
/// on the operation that has the specification, an unknown preset or key, a
/// value that is not a number, one that is out of range, and implementations
/// that cannot be read.
FailureOr<cost::Target> getTarget(Operation *from);

/// The profile of the module around `from`, or null. Reports, on that module,
/// one that cannot be read.
FailureOr<std::shared_ptr<const cost::MeasuredTable>>
getProfile(Operation *from);

/// Makes `preset` that of the module's specification. Emits an error if there
/// is no such preset, and a remark if it replaces another one.
LogicalResult setTarget(ModuleOp module, StringRef preset);

/// Makes the given fields of the target those of the module's specification.
void setTargetFields(ModuleOp module,
                     ArrayRef<std::pair<StringRef, double>> fields);

/// Makes the content of the file `path` the module's profile, and puts what it
/// has measured of single operations onto them. Emits an error if `user`, a
/// pass or a tool with the option `profile`, cannot use the file, a remark if
/// it replaces another profile, and a warning if the operations that the
/// profile names are those of another module.
LogicalResult setProfile(ModuleOp module, StringRef path, StringRef user);

/// Takes what getTarget() reads out of the specification of `module`, and the
/// specification if nothing else is in it.
void removeTarget(ModuleOp module);

/// Takes over the target and the profile of another module, of another context
/// perhaps, where `module` has none.
void inheritCosts(ModuleOp module, ModuleOp from);

} // namespace mlir::commsched

#endif // COMMSCHED_ANALYSIS_COSTS_TARGETSPEC_H
