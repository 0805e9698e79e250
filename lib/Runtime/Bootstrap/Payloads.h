//===- Payloads.h - Messages of the bootstrap -------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Conversion of the ranks' introductions, texts and standings to bytes and
// back.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_BOOTSTRAP_PAYLOADS_H
#define COMMSCHED_RUNTIME_BOOTSTRAP_PAYLOADS_H

#include "Bootstrap/Bootstrap.h"

#include <nlohmann/json.hpp>

namespace commsched::runtime {

/// More than this in one message is taken for garbage.
inline constexpr uint64_t mostMessageBytes = uint64_t(1) << 36;

/// The first message of a rank.
struct Hello {
  int32_t version = 0;
  std::string job;
  int32_t rank = -1;
  int32_t numRanks = 0;

  std::string write() const;
  bool read(const nlohmann::json &object);
};

/// As text; bytes that are not UTF-8 are replaced.
std::string dumpJson(const nlohmann::json &value);

std::string packTexts(const std::vector<std::string> &texts);
bool unpackTexts(const std::string &bytes, std::vector<std::string> &texts);

std::string packStandings(const std::vector<Standing> &standings);
/// Throws nlohmann::json::exception.
std::vector<Standing> unpackStandings(const std::string &text);

} // namespace commsched::runtime

#endif // COMMSCHED_RUNTIME_BOOTSTRAP_PAYLOADS_H
