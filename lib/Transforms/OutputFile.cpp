//===- OutputFile.cpp - Files that passes write ---------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OutputFile.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mlir;

LogicalResult
mlir::commsched::writeOutputFile(Location loc, StringRef path, StringRef what,
                                 function_ref<void(raw_ostream &)> print) {
  std::string message;
  std::unique_ptr<llvm::ToolOutputFile> file = openOutputFile(path, &message);
  if (!file)
    return emitError(loc, "cannot write ") << what << ": " << message;
  raw_ostream &os = file->os();
  print(os);
  os.flush();
  if (std::error_code error = file->os().error()) {
    file->os().clear_error();
    return emitError(loc, "cannot write ")
           << what << " to '" << path << "': " << error.message();
  }
  file->keep();
  return success();
}
