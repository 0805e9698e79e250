//===- Invocation.h - The buffers of one rank for one program ---*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a rank passes to a program and takes back: arguments in the runtime's
// memory, descriptors of memrefs as MLIR's C interface has them, and results,
// which the program allocates. To be used by the rank's thread.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TOOLS_COMMSCHED_RUN_INVOCATION_H
#define COMMSCHED_TOOLS_COMMSCHED_RUN_INVOCATION_H

#include "Program.h"

namespace mlir::commsched::run {

class Invocation {
public:
  /// `inputs` are the values of the arguments.
  Invocation(const Program &program, std::vector<Bytes> inputs);
  ~Invocation();
  Invocation(const Invocation &) = delete;
  Invocation &operator=(const Invocation &) = delete;

  /// Allocates the arguments. Whether that succeeded, the runtime knows.
  bool allocate();

  /// Gives the arguments the values of the inputs.
  bool restore();

  /// Runs the program once.
  void call();

  /// Reads what the last call returned and left in memref arguments; then the
  /// results are released.
  struct Outputs {
    std::vector<Bytes> results;
    /// By argument; empty for all but memrefs whose content means something.
    std::vector<Bytes> arguments;
  };
  bool takeOutputs(Outputs &outputs);

  /// Releases the results of the last call.
  void releaseResults();

private:
  /// A descriptor: allocated and aligned pointer, offset, sizes, strides.
  using Descriptor = std::vector<int64_t>;

  const Program &program;
  std::vector<Bytes> inputs;
  /// By argument; null for scalars.
  std::vector<void *> buffers;
  std::vector<Descriptor> descriptors;
  /// The struct of all results, and where each of them lies in it.
  std::vector<int64_t> results;
  std::vector<size_t> resultOffsets;
  /// What is passed: descriptors by their addresses, scalars as they are.
  std::vector<void *> pointers;
  std::vector<void *> packed;
};

} // namespace mlir::commsched::run

#endif // COMMSCHED_TOOLS_COMMSCHED_RUN_INVOCATION_H
