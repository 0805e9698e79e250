//===- OutputFile.h - Files that passes write -------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes the file of a pass such that a path that cannot be written, or a full
// disk, is an error of the pass and leaves no partial file.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_OUTPUTFILE_H
#define COMMSCHED_LIB_TRANSFORMS_OUTPUTFILE_H

#include "mlir/IR/Diagnostics.h"

namespace mlir::commsched {

/// Writes what `print` prints to the file of that path; `-` is standard output.
/// A failure is an error at `loc`, which calls the contents `what`.
LogicalResult writeOutputFile(Location loc, StringRef path, StringRef what,
                              function_ref<void(raw_ostream &)> print);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_OUTPUTFILE_H
