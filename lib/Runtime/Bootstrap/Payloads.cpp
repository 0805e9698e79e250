//===- Payloads.cpp - Messages of the bootstrap ---------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bootstrap/Payloads.h"

#include <cstring>
#include <endian.h>

using namespace commsched::runtime;
using nlohmann::json;

std::string commsched::runtime::dumpJson(const json &value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string Hello::write() const {
  return dumpJson(json{
      {"version", version}, {"job", job}, {"rank", rank}, {"ranks", numRanks}});
}

bool Hello::read(const json &object) {
  try {
    object.at("version").get_to(version);
    object.at("job").get_to(job);
    object.at("rank").get_to(rank);
    object.at("ranks").get_to(numRanks);
    return true;
  } catch (const json::exception &) {
    return false;
  }
}

std::string
commsched::runtime::packTexts(const std::vector<std::string> &texts) {
  std::string bytes;
  for (const std::string &text : texts) {
    uint64_t size = htole64(text.size());
    bytes.append(reinterpret_cast<const char *>(&size), sizeof(size));
    bytes += text;
  }
  return bytes;
}

bool commsched::runtime::unpackTexts(const std::string &bytes,
                                     std::vector<std::string> &texts) {
  texts.clear();
  for (size_t at = 0; at < bytes.size();) {
    uint64_t size = 0;
    if (bytes.size() - at < sizeof(size))
      return false;
    std::memcpy(&size, bytes.data() + at, sizeof(size));
    size = le64toh(size);
    at += sizeof(size);
    if (bytes.size() - at < size)
      return false;
    texts.push_back(bytes.substr(at, size));
    at += size;
  }
  return true;
}

std::string
commsched::runtime::packStandings(const std::vector<Standing> &standings) {
  json list = json::array();
  for (const Standing &standing : standings) {
    json entry = {{"there", standing.isThere},
                  {"met", standing.hasMet},
                  {"absence", standing.absence}};
    if (standing.status)
      entry["status"] = *standing.status;
    list.push_back(std::move(entry));
  }
  return dumpJson(list);
}

std::vector<Standing>
commsched::runtime::unpackStandings(const std::string &text) {
  std::vector<Standing> standings;
  for (const json &entry : json::parse(text)) {
    Standing standing;
    entry.at("there").get_to(standing.isThere);
    entry.at("met").get_to(standing.hasMet);
    entry.at("absence").get_to(standing.absence);
    if (entry.contains("status"))
      standing.status = entry["status"].get<std::string>();
    standings.push_back(std::move(standing));
  }
  return standings;
}
