//===- ElementTypes.cpp - Element types and their names -------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Numerics/ElementTypes.h"

#include <algorithm>
#include <cassert>
#include <iterator>

using namespace commsched::runtime;

namespace {
struct TypeInfo {
  const char *name;
  int64_t bytes;
};
} // namespace

/// In the order of commsched_type.
static const TypeInfo typeInfos[] = {
    {"i1", 1},           {"i8", 1},       {"i16", 2},    {"i32", 4},
    {"i64", 8},          {"ui8", 1},      {"ui16", 2},   {"ui32", 4},
    {"ui64", 8},         {"f8E4M3FN", 1}, {"f8E5M2", 1}, {"f16", 2},
    {"bf16", 2},         {"f32", 4},      {"f64", 8},    {"complex<f32>", 8},
    {"complex<f64>", 16}};

/// In the order of commsched_kind.
static const char *const kindNames[] = {
    "all_gather", "reduce_scatter", "all_reduce", "all_to_all",
    "broadcast",  "permute",        "send",       "recv",
    "barrier",    "offload",        "reload"};

/// In the order of commsched_reduction.
static const char *const reductionNames[] = {"sum", "avg",  "prod", "min",
                                             "max", "band", "bor",  "bxor"};

static_assert(std::size(typeInfos) == COMMSCHED_COMPLEX_F64 + 1 &&
                  std::size(kindNames) == COMMSCHED_RELOAD + 1 &&
                  std::size(reductionNames) == COMMSCHED_BXOR + 1,
              "a number without a name");

const char *commsched::runtime::getName(commsched_type type) {
  assert(isType(type));
  return typeInfos[type].name;
}

const char *commsched::runtime::getName(commsched_kind kind) {
  return kindNames[kind];
}

const char *commsched::runtime::getName(commsched_reduction reduction) {
  return reductionNames[reduction];
}

/// The number of a kind or a reduction.
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
  for (size_t i = 0; i < std::size(typeInfos); ++i)
    if (name == typeInfos[i].name)
      return static_cast<commsched_type>(i);
  return std::nullopt;
}

bool commsched::runtime::isType(int32_t type) {
  return type >= 0 && type < static_cast<int32_t>(std::size(typeInfos));
}

int64_t commsched::runtime::getByteSize(commsched_type type) {
  assert(isType(type));
  return typeInfos[type].bytes;
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

Status commsched::runtime::checkReduction(const ElementType &element,
                                          commsched_reduction reduction) {
  bool exists = false;
  if (element.type) {
    bool isBool = *element.type == COMMSCHED_I1;
    switch (reduction) {
    case COMMSCHED_SUM:
    case COMMSCHED_PROD:
      exists = !isBool;
      break;
    case COMMSCHED_AVG:
      exists = !isInteger(*element.type);
      break;
    case COMMSCHED_MIN:
    case COMMSCHED_MAX:
      exists = !isComplex(*element.type);
      break;
    case COMMSCHED_BAND:
    case COMMSCHED_BOR:
    case COMMSCHED_BXOR:
      exists = isInteger(*element.type);
      break;
    }
  }
  if (exists)
    return Status();
  return std::string("reduction '") + getName(reduction) +
         "' is not defined for type '" + element.name + "'";
}
