//===- ElementTypes.cpp - Element types and their names -------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Numerics/ElementTypes.h"

#include "Numerics/Elements.h"

using namespace commsched::runtime;

int64_t commsched::runtime::getByteSize(commsched_type type) {
  assert(isType(type));
  int64_t bytes = 0;
  dispatchType(type,
               [&](auto tag) { bytes = sizeof(typename decltype(tag)::Type); });
  return bytes;
}

Status commsched::runtime::parseElementType(const std::string &name,
                                            ElementType &element) {
  element.name = name;
  element.type = parseName<commsched_type>(name);
  if (element.type) {
    element.bytes = getByteSize(*element.type);
    return Status();
  }
  const std::string prefix = "bytes<";
  int64_t bytes = 0;
  bool isBytes = name.size() > prefix.size() + 1 &&
                 name.compare(0, prefix.size(), prefix) == 0 &&
                 name.back() == '>' && name.size() < prefix.size() + 8;
  for (size_t i = prefix.size(); isBytes && i + 1 < name.size(); ++i) {
    isBytes = name[i] >= '0' && name[i] <= '9';
    bytes = bytes * 10 + (name[i] - '0');
  }
  if (!isBytes || bytes == 0)
    return "unknown element type '" + name + "'";
  element.bytes = bytes;
  return Status();
}
