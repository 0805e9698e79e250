//===- Reference.h - Expected results of launches ---------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Inputs are a function of the launch and the rank, so that each rank can work
// out by itself what all the others send: the expected results come from the
// definition of the collective, with no communication and none of the runtime's
// arithmetic.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_UNITTESTS_CONFORMANCE_REFERENCE_H
#define COMMSCHED_UNITTESTS_CONFORMANCE_REFERENCE_H

#include "Cases.h"

#include <cstddef>

namespace commsched::conformance {

using Bytes = std::vector<std::byte>;

/// One execution of a case on one row of its group.
struct CaseLaunch {
  const Case *theCase = nullptr;
  const std::vector<int32_t> *row = nullptr;
  /// Tells executions of the same case apart.
  uint64_t repetition = 0;

  int32_t getSize() const { return static_cast<int32_t>(row->size()); }
};

/// Returns the input of member `rank` for tensor `index`. Sums, products and so
/// on over the members are exact in the tensor's type, in whatever order.
Bytes makeInput(const CaseLaunch &launch, size_t index, int32_t rank);

/// Returns the expected output of member `rank` for tensor `index`.
Bytes makeOutput(const CaseLaunch &launch, size_t index, int32_t rank);

/// `count` bytes that differ from seed to seed.
Bytes makeNoise(uint64_t seed, int64_t count);

} // namespace commsched::conformance

#endif // COMMSCHED_UNITTESTS_CONFORMANCE_REFERENCE_H
