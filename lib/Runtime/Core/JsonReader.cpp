//===- JsonReader.cpp - JSON, and where it is wrong -------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Core/JsonReader.h"

#include <algorithm>

using namespace commsched::runtime;

void JsonReader::fail(const std::string &text) const {
  throw JsonError(where.empty() ? text : where + ": " + text);
}

void JsonReader::expectObject(const std::vector<const char *> &keys) const {
  if (!value.is_object())
    fail(std::string("expected an object, got ") + value.type_name());
  for (const auto &entry : value.items())
    if (std::none_of(keys.begin(), keys.end(),
                     [&](const char *key) { return entry.key() == key; }))
      fail("unknown key '" + entry.key() + "'");
}

const JsonReader::Json &JsonReader::get(const char *key) const {
  auto found = value.find(key);
  if (found == value.end())
    fail(std::string("'") + key + "' is missing");
  return *found;
}

JsonReader JsonReader::member(const char *key) const {
  const Json &found = get(key);
  return JsonReader(found, where.empty() ? std::string("'") + key + "'"
                                         : where + ": '" + key + "'");
}

std::string JsonReader::getString(const char *key) const {
  const Json &found = get(key);
  if (!found.is_string())
    fail(std::string("'") + key + "' is no string, but " + found.dump());
  return found.get<std::string>();
}

int64_t JsonReader::getInt(const char *key, int64_t least, int64_t most) const {
  return member(key).asInt(least, most);
}

std::vector<JsonReader> JsonReader::getArray(const char *key) const {
  const Json &found = get(key);
  if (!found.is_array())
    fail(std::string("'") + key + "' is no array, but " + found.dump());
  std::vector<JsonReader> elements;
  std::string prefix = where.empty() ? "" : where + ": ";
  for (size_t i = 0; i < found.size(); ++i)
    elements.emplace_back(found[i],
                          prefix + key + "[" + std::to_string(i) + "]");
  return elements;
}

int64_t JsonReader::asInt(int64_t least, int64_t most) const {
  if (!value.is_number_integer())
    fail("expected an integer, got " + value.dump());
  bool fits = !value.is_number_unsigned() ||
              value.get<uint64_t>() <= static_cast<uint64_t>(INT64_MAX);
  int64_t result = fits ? value.get<int64_t>() : INT64_MAX;
  if (!fits || result < least || result > most)
    fail(value.dump() + " is not in [" + std::to_string(least) + ", " +
         std::to_string(most) + "]");
  return result;
}

std::vector<JsonReader> JsonReader::asArray() const {
  if (!value.is_array())
    fail("expected an array, got " + value.dump());
  std::vector<JsonReader> elements;
  for (size_t i = 0; i < value.size(); ++i)
    elements.emplace_back(value[i], where + "[" + std::to_string(i) + "]");
  return elements;
}

std::vector<int64_t> JsonReader::asInts(int64_t least, int64_t most) const {
  std::vector<int64_t> result;
  for (const JsonReader &element : asArray())
    result.push_back(element.asInt(least, most));
  return result;
}
