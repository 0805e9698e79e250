//===- EmulatedData.h - Results of operators that do not run ----*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Numbers for the outputs of opaque operators that depend on their inputs, so
// that two orders of the same program can be compared: a wrong input anywhere
// spoils everything behind it.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_CORE_EMULATEDDATA_H
#define COMMSCHED_RUNTIME_CORE_EMULATEDDATA_H

#include "CommSched/Runtime/Backend.h"

namespace commsched::runtime {

/// Writes integers from 0 to 7 (an i1: 0 or 1; both parts of a complex number;
/// every byte of a type without a name), exact in every type, from a hash of
/// the operator's name and the bytes of all inputs. Of large inputs blocks are
/// sampled. An output may be the buffer of an input.
COMMSCHED_RUNTIME_API void emulateData(const Operator &op,
                                       const void *const *inputs,
                                       void *const *outputs);

} // namespace commsched::runtime

#endif // COMMSCHED_RUNTIME_CORE_EMULATEDDATA_H
