//===- DimensionNumbers.cpp - Dimension numbers as text -------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DimensionNumbers.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::commsched::detail;

/// The text of `attr`, in `buffer` if it has to be printed.
static StringRef getText(Attribute attr, std::string &buffer) {
  if (auto opaque = dyn_cast<OpaqueAttr>(attr))
    return opaque.getAttrData();
  llvm::raw_string_ostream(buffer) << attr;
  return buffer;
}

std::optional<SmallVector<int64_t>>
mlir::commsched::detail::readContractedDimensions(Attribute attr) {
  std::string buffer;
  StringRef text = attr ? getText(attr, buffer) : StringRef();
  if (!text.contains("dot<"))
    return std::nullopt;
  SmallVector<int64_t> dims;
  size_t begin = text.find("lhs_contracting_dimensions");
  // Absent where nothing is summed up: an outer product.
  if (begin == StringRef::npos)
    return dims;
  StringRef list = text.substr(begin).split('[').second.split(']').first;
  for (StringRef part : llvm::split(list, ',')) {
    if (part.trim().empty())
      continue;
    if (part.trim().getAsInteger(10, dims.emplace_back()))
      return std::nullopt;
  }
  return dims;
}

std::optional<int64_t>
mlir::commsched::detail::readOutputChannel(Attribute attr) {
  std::string buffer;
  StringRef text = attr ? getText(attr, buffer) : StringRef();
  // The second of three lists.
  StringRef weights = text.split("]x[").second.split(']').first;
  int64_t index = 0;
  for (StringRef part : llvm::split(weights, ',')) {
    if (part.trim() == "o")
      return index;
    ++index;
  }
  return std::nullopt;
}

bool mlir::commsched::detail::hasWord(Attribute attr, StringRef word) {
  if (!attr)
    return false;
  std::string buffer;
  StringRef text = getText(attr, buffer);
  while (!text.empty()) {
    auto isLetter = [](char c) { return llvm::isAlnum(c) || c == '_'; };
    text = text.drop_until(isLetter);
    if (text.take_while(isLetter) == word)
      return true;
    text = text.drop_while(isLetter);
  }
  return false;
}
