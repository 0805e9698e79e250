//===- Files.h - Writes files at once ---------------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Files appear under their names when they are complete, so that nobody sees
// half of one.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TOOLS_COMMSCHED_RUN_FILES_H
#define COMMSCHED_TOOLS_COMMSCHED_RUN_FILES_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"

namespace mlir::commsched::run {

/// Writes what `print` prints to the file of that path; `-` is standard output.
/// Makes the directories that are missing. Errors name the file.
llvm::Error writeFile(StringRef path, function_ref<void(raw_ostream &)> print);

} // namespace mlir::commsched::run

#endif // COMMSCHED_TOOLS_COMMSCHED_RUN_FILES_H
