//===- StatusText.h - Statuses as texts -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_UNITTESTS_RUNTIME_STATUSTEXT_H
#define COMMSCHED_UNITTESTS_RUNTIME_STATUSTEXT_H

#include "CommSched/Runtime/Backend.h"

#include <ostream>

namespace commsched::runtime {

inline std::string toText(const Status &status) {
  return status ? "no error" : status.getMessage();
}

/// For the messages of failed expectations.
inline void PrintTo(const Status &status, std::ostream *os) {
  *os << toText(status);
}

} // namespace commsched::runtime

#endif // COMMSCHED_UNITTESTS_RUNTIME_STATUSTEXT_H
