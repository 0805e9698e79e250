//===- JsonReader.h - JSON, and where it is wrong ---------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thin layer over nlohmann::json for inputs that people write: what is
// missing, of another type, out of range or unknown throws a JsonError that
// says where.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_CORE_JSONREADER_H
#define COMMSCHED_RUNTIME_CORE_JSONREADER_H

#include <nlohmann/json.hpp>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace commsched::runtime {

struct JsonError : std::runtime_error {
  using runtime_error::runtime_error;
};

/// A value and the place where it stands.
class JsonReader {
public:
  using Json = nlohmann::json;

  JsonReader(const Json &value, std::string where)
      : value(value), where(std::move(where)) {}

  [[noreturn]] void fail(const std::string &text) const;

  /// How later errors call this object: "sites[2] 'ag'".
  void addName(const std::string &name) { where += " '" + name + "'"; }

  /// Fails unless this is an object, or has members of other names.
  void expectObject(const std::vector<const char *> &keys) const;

  bool has(const char *key) const { return value.contains(key); }

  /// The member of the name, which must be there.
  std::string getString(const char *key) const;
  int64_t getInt(const char *key, int64_t least, int64_t most) const;
  std::vector<JsonReader> getArray(const char *key) const;

  /// This value itself.
  int64_t asInt(int64_t least, int64_t most) const;
  std::vector<int64_t> asInts(int64_t least, int64_t most) const;
  std::vector<JsonReader> asArray() const;

private:
  const Json &get(const char *key) const;
  JsonReader member(const char *key) const;

  const Json &value;
  std::string where;
};

} // namespace commsched::runtime

#endif // COMMSCHED_RUNTIME_CORE_JSONREADER_H
