//===- Json.h - Reading JSON from files -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_SUPPORT_JSON_H
#define COMMSCHED_SUPPORT_JSON_H

#include "llvm/Support/JSON.h"

namespace mlir::commsched {

/// llvm::json::parse() of a text that anybody may have written: values that are
/// nested more than 100 deep, which no file of ours has, are an error. That
/// parser calls itself for each level, so that deeper ones exhaust the stack.
llvm::Expected<llvm::json::Value> parseJson(llvm::StringRef text);

} // namespace mlir::commsched

#endif // COMMSCHED_SUPPORT_JSON_H
