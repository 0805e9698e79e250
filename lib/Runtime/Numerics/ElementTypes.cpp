//===- ElementTypes.cpp - Element types and their names -------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Numerics/ElementTypes.h"

#include "Numerics/Elements.h"

#include <algorithm>
#include <cassert>
#include <iterator>

using namespace commsched::runtime;

/// In the order of commsched_type.
static const char *const typeNames[] = {
    "i1",   "i8",   "i16",  "i32",          "i64",         "ui8",
    "ui16", "ui32", "ui64", "f8E4M3FN",     "f8E5M2",      "f16",
    "bf16", "f32",  "f64",  "complex<f32>", "complex<f64>"};

/// In the order of commsched_kind.
static const char *const kindNames[] = {
    "all_gather", "reduce_scatter", "all_reduce", "all_to_all",
    "broadcast",  "permute",        "send",       "recv",
    "barrier",    "offload",        "reload"};

/// In the order of commsched_reduction.
static const char *const reductionNames[] = {"sum", "avg",  "prod", "min",
                                             "max", "band", "bor",  "bxor"};

/// In the order of Method.
static const char *const methodNames[] = {"nccl", "copy-engine", "symmetric"};

static_assert(std::size(typeNames) == COMMSCHED_COMPLEX_F64 + 1 &&
                  std::size(kindNames) == COMMSCHED_RELOAD + 1 &&
                  std::size(reductionNames) == COMMSCHED_BXOR + 1,
              "a number without a name");

const char *commsched::runtime::getName(commsched_type type) {
  assert(isType(type));
  return typeNames[type];
}

const char *commsched::runtime::getName(commsched_kind kind) {
  return kindNames[kind];
}

const char *commsched::runtime::getName(commsched_reduction reduction) {
  return reductionNames[reduction];
}

const char *commsched::runtime::getName(Method method) {
  return methodNames[static_cast<int>(method)];
}

template <class Number, size_t Count>
static std::optional<Number> findName(const char *const (&names)[Count],
                                      const std::string &name) {
  const auto *found = std::find(std::begin(names), std::end(names), name);
  if (found == std::end(names))
    return std::nullopt;
  return static_cast<Number>(found - names);
}

std::optional<commsched_kind>
commsched::runtime::parseKind(const std::string &name) {
  return findName<commsched_kind>(kindNames, name);
}

std::optional<commsched_reduction>
commsched::runtime::parseReduction(const std::string &name) {
  return findName<commsched_reduction>(reductionNames, name);
}

std::optional<commsched_type>
commsched::runtime::parseType(const std::string &name) {
  return findName<commsched_type>(typeNames, name);
}

std::optional<Method> commsched::runtime::parseMethod(const std::string &name) {
  return findName<Method>(methodNames, name);
}

bool commsched::runtime::isType(int32_t type) {
  return type >= 0 && type < static_cast<int32_t>(std::size(typeNames));
}

int64_t commsched::runtime::getByteSize(commsched_type type) {
  assert(isType(type));
  int64_t bytes = 0;
  dispatchType(type,
               [&](auto tag) { bytes = sizeof(typename decltype(tag)::Type); });
  return bytes;
}

bool commsched::runtime::isInteger(commsched_type type) {
  return type <= COMMSCHED_UI64;
}

bool commsched::runtime::isComplex(commsched_type type) {
  return type >= COMMSCHED_COMPLEX_F32;
}

Status commsched::runtime::parseElementType(const std::string &name,
                                            ElementType &element) {
  element.name = name;
  element.type = parseType(name);
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
