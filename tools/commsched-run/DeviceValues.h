//===- DeviceValues.h - Values between calls of functions -------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Values in memory of the runtime, and calls of compiled functions with them.
// The functions here return false or nothing where the runtime knows an error.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TOOLS_COMMSCHED_RUN_DEVICEVALUES_H
#define COMMSCHED_TOOLS_COMMSCHED_RUN_DEVICEVALUES_H

#include "EntryFunction.h"

#include <memory>

namespace mlir::commsched::run {

struct DeviceValue {
  /// The memory, which is released with its last owner; null for scalars.
  std::shared_ptr<void> buffer;
  /// Where the elements begin in it.
  char *data = nullptr;
  /// The bytes of a scalar.
  Bytes scalar;

  explicit operator bool() const { return buffer || !scalar.empty(); }
};

/// A value with undefined content; none on an error.
std::optional<DeviceValue> allocateValue(const ValueType &type);

/// Gives the value the content `bytes`.
bool upload(DeviceValue &value, const Bytes &bytes);

/// The content of the value.
std::optional<Bytes> download(const ValueType &type, const DeviceValue &value);

/// A value of its own with the same content.
std::optional<DeviceValue> copyValue(const ValueType &type,
                                     const DeviceValue &value);

/// Calls a C interface. After an error the results mean nothing.
std::vector<DeviceValue> callFunction(void (*code)(void **),
                                      const Signature &signature,
                                      std::vector<DeviceValue> &arguments);

} // namespace mlir::commsched::run

#endif // COMMSCHED_TOOLS_COMMSCHED_RUN_DEVICEVALUES_H
