//===- Unlimited.h - The limit that nothing exceeds -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_SUPPORT_UNLIMITED_H
#define COMMSCHED_SUPPORT_UNLIMITED_H

#include <cstdint>
#include <limits>

namespace mlir::commsched {

/// The value of a limit in bytes or nanoseconds that nothing exceeds.
inline constexpr int64_t unlimited = std::numeric_limits<int64_t>::max();

} // namespace mlir::commsched

#endif // COMMSCHED_SUPPORT_UNLIMITED_H
