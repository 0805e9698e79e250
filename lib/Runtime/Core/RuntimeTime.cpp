//===- RuntimeTime.cpp - Steps and their records ----------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Core/Call.h"

#include <cstring>

using namespace commsched::runtime;

int32_t commsched_begin_step(void) {
  bool ok = callRank("commsched_begin_step",
                     [](Rank &rank) { return rank.beginStep(); });
  return ok ? 0 : 1;
}

int64_t commsched_end_step(void) {
  int64_t ns = -1;
  bool ok = callRank("commsched_end_step",
                     [&](Rank &rank) { return rank.endStep(ns); });
  return ok ? ns : -1;
}

int64_t commsched_get_records(const commsched_record **records) {
  Rank *rank = getCurrentRank("commsched_get_records");
  *records = rank ? rank->getRecords().get().data() : nullptr;
  return rank ? static_cast<int64_t>(rank->getRecords().get().size()) : 0;
}

int32_t commsched_synchronize(void) {
  bool ok = callRank("commsched_synchronize", [](Rank &rank) {
    return rank.getBackend()->synchronize(rank.getDeadline());
  });
  return ok ? 0 : 1;
}

int32_t commsched_exchange(const void *mine, void *all, int64_t bytes) {
  bool ok = callRank("commsched_exchange", [&](Rank &rank) -> Error {
    if (bytes < 0)
      return "cannot exchange " + std::to_string(bytes) + " bytes";
    std::vector<std::string> texts;
    if (Error error = rank.exchange(
            std::string(static_cast<const char *>(mine), bytes), texts))
      return error;
    for (size_t i = 0; i < texts.size(); ++i) {
      if (static_cast<int64_t>(texts[i].size()) != bytes)
        return "ranks exchange different numbers of bytes: this one " +
               std::to_string(bytes) + ", rank " + std::to_string(i) + " " +
               std::to_string(texts[i].size());
      std::memcpy(static_cast<char *>(all) + i * bytes, texts[i].data(), bytes);
    }
    return std::nullopt;
  });
  return ok ? 0 : 1;
}
