//===- Staging.h - Staged inputs of collectives -----------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Copies of inputs that are made when a collective starts, from which all ranks
// write their outputs when it ends; and the checks that both are left alone in
// between.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_LOCAL_STAGING_H
#define COMMSCHED_RUNTIME_LOCAL_STAGING_H

#include "CommSched/Runtime/Backend.h"

namespace commsched::runtime {

/// The data of one tensor that one rank sends.
struct StagedTensor {
  std::unique_ptr<char[]> bytes;
  int64_t size = 0;
  /// Of an uneven all_to_all.
  std::vector<int64_t> splits;
};

/// The data that one rank sends; empty if it sends nothing.
using Staged = std::vector<StagedTensor>;

/// Copies what the launch's rank sends.
Staged stageInputs(const Launch &launch);
int64_t countBytes(const Staged &staged);

/// An error that names both ranks where a rank of the group has sent this one
/// another number of rows than it expects: where splits are values, nobody has
/// compared them before.
Status checkParts(const Launch &launch,
                  const std::vector<const Staged *> &sent);

/// Writes the launch's outputs from what all ranks of the group sent; of a
/// recv, `sent` has one entry, the sender's.
void writeOutputs(const Launch &launch,
                  const std::vector<const Staged *> &sent);

/// The byte that outputs are filled with until the wait.
inline constexpr unsigned char spoiledByte = 0xff;

/// Fills the outputs, where they are not what is sent in place.
void spoilOutputs(const Launch &launch, const Staged &staged);

/// An error that names the tensor and the byte where the inputs are not what
/// was staged, or the outputs have been written since `spoilOutputs`.
Status checkBuffers(const Launch &launch, const Staged &staged);

} // namespace commsched::runtime

#endif // COMMSCHED_RUNTIME_LOCAL_STAGING_H
