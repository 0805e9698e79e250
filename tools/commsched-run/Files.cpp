//===- Files.cpp - Writes files at once -----------------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Files.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

llvm::Error
mlir::commsched::run::writeFile(StringRef path,
                                function_ref<void(raw_ostream &)> print) {
  auto fail = [&](const std::string &reason) {
    return llvm::createStringError("cannot write '" + path + "': " + reason);
  };
  StringRef directory = llvm::sys::path::parent_path(path);
  if (!directory.empty())
    if (std::error_code code = llvm::sys::fs::create_directories(directory))
      return fail(code.message());
  llvm::Error error = llvm::writeToOutput(path, [&](raw_ostream &os) {
    print(os);
    return llvm::Error::success();
  });
  if (error)
    return fail(llvm::toString(std::move(error)));
  return llvm::Error::success();
}
