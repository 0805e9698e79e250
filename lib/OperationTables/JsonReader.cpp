//===- JsonReader.cpp - Strict reading of JSON ----------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JsonReader.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::commsched::detail;

bool JsonReader::fail(const Twine &message) {
  if (!error.empty())
    return false;
  error = fileName + ": ";
  if (!item.empty())
    error += item + ": ";
  if (!path.empty())
    error += "field '" + llvm::join(path, ".") + "': ";
  error += message.str();
  return false;
}

std::string JsonReader::describe(const Value &value) {
  std::string text = llvm::formatv("{0}", value).str();
  constexpr size_t longest = 40;
  return text.size() <= longest ? text : text.substr(0, longest) + "...";
}

bool JsonReader::readObject(const Value &value, ArrayRef<Field> fields) {
  return readMap(value, [&](StringRef key, const Value &element) {
    for (const Field &field : fields)
      if (field.name == key)
        return field.read(element);
    std::string known;
    for (const Field &field : fields)
      known += (known.empty() ? "'" : ", '") + field.name.str() + "'";
    return fail("unknown field; known are " + known);
  });
}

bool JsonReader::readArray(const Value &value, StringRef what,
                           function_ref<bool(const Value &)> read) {
  const llvm::json::Array *array = value.getAsArray();
  if (!array)
    return fail("expected an array of " + what + ", not " + describe(value));
  return llvm::all_of(*array, read);
}

bool JsonReader::readMap(const Value &value,
                         function_ref<bool(StringRef, const Value &)> read) {
  const llvm::json::Object *object = value.getAsObject();
  if (!object)
    return fail("expected an object, not " + describe(value));
  // Keys in the order of their text, so that one error is reported always.
  std::vector<StringRef> keys;
  for (const auto &[key, element] : *object)
    keys.push_back(key);
  llvm::sort(keys);
  for (StringRef key : keys) {
    path.push_back(key.str());
    if (!read(key, *object->get(key)))
      return false;
    path.pop_back();
  }
  return true;
}

bool JsonReader::read(const Value &value, bool &result) {
  std::optional<bool> boolean = value.getAsBoolean();
  if (!boolean)
    return fail("expected true or false, not " + describe(value));
  result = *boolean;
  return true;
}

bool JsonReader::read(const Value &value, int64_t &result, int64_t least) {
  std::optional<int64_t> number = value.getAsInteger();
  if (!number || *number < least)
    return fail("expected a whole number of at least " + Twine(least) +
                ", not " + describe(value));
  result = *number;
  return true;
}

bool JsonReader::read(const Value &value, std::string &result) {
  std::optional<StringRef> text = value.getAsString();
  if (!text || text->empty())
    return fail("expected a text that is not empty, not " + describe(value));
  result = text->str();
  return true;
}

bool JsonReader::read(const Value &value, std::vector<std::string> &result) {
  return readArray(value, "texts", [&](const Value &element) {
    return read(element, result.emplace_back());
  });
}
