//===- Json.cpp - Reading JSON from files ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Support/Json.h"

using namespace mlir::commsched;

/// How deep objects and arrays are nested at most. Of a text that is no JSON,
/// how deep the parser may get before it sees that.
static int getNesting(llvm::StringRef text) {
  int depth = 0, deepest = 0;
  bool isInString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char character = text[i];
    if (isInString) {
      // An escape may be of a quote.
      i += character == '\\';
      isInString = character != '"';
    } else if (character == '"') {
      isInString = true;
    } else if (character == '[' || character == '{') {
      deepest = std::max(deepest, ++depth);
    } else if (character == ']' || character == '}') {
      --depth;
    }
  }
  return deepest;
}

llvm::Expected<llvm::json::Value>
mlir::commsched::parseJson(llvm::StringRef text) {
  constexpr int mostNested = 100;
  if (int nesting = getNesting(text); nesting > mostNested)
    return llvm::createStringError("values are nested %d deep, but at most %d "
                                   "are read",
                                   nesting, mostNested);
  return llvm::json::parse(text);
}
