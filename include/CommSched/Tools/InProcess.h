//===- InProcess.h - commsched-opt without a process of its own -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What `commsched-opt` does to a module, as a function with plain types. The
// library that the wheel's programs share exports it to the Python extension.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TOOLS_INPROCESS_H
#define COMMSCHED_TOOLS_INPROCESS_H

#include <cstddef>

namespace mlir::commsched {

/// Receives text, a part at a time.
using TextSink = void (*)(const char *text, size_t size, void *userData);

enum class OptStatus {
  Succeeded,
  /// As `commsched-opt` ends with status 1; the errors are those that it
  /// writes.
  Failed,
  /// An option of a pass is wrong. MLIR writes why to standard error.
  InvalidOption,
  /// The flags are not among those that this function knows: nothing was done.
  Unsupported,
};

/// Runs `flags` on a module of `size` bytes, in a context of its own. The
/// module is text or bytecode, and is called <stdin> in errors. `output`
/// receives the text that results, or the bytecode with --emit-bytecode; NULL:
/// nothing is printed. `errors` receives the diagnostics.
///
/// The flags are passes and pipelines of CommSched, with options or without,
/// the passes canonicalize, cse, inline, strip-debuginfo and symbol-dce,
/// --emit-bytecode, --allow-unregistered-dialect, --mlir-print-op-generic and
/// --operations=FILE. A pass that writes to standard output is not supported.
///
/// Several threads may call it at once.
OptStatus runOpt(const char *module, size_t size, const char *const *flags,
                 size_t numFlags, TextSink output, TextSink errors,
                 void *userData);

} // namespace mlir::commsched

#endif // COMMSCHED_TOOLS_INPROCESS_H
