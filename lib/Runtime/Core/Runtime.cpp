//===- Runtime.cpp - Joining and leaving ------------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Core/Call.h"

using namespace commsched::runtime;

/// The rank of this thread; after commsched_finalize only its error is left.
static thread_local std::unique_ptr<Rank> currentRank;
static thread_local std::string lastError;

Rank *commsched::runtime::getCurrentRank(const char *function) {
  if (currentRank)
    return currentRank.get();
  if (lastError.empty())
    lastError = std::string(function) + " outside of commsched_init and "
                                        "commsched_finalize";
  return nullptr;
}

void commsched_default_options(commsched_options *options) {
  *options = {};
  options->backend = "local";
  options->rank = -1;
  options->num_ranks = -1;
  options->job = "default";
  options->deadline_ms = 60000;
  options->check_buffers = 1;
}

int32_t commsched_init(const commsched_options *options) {
  if (currentRank) {
    currentRank->fail("commsched_init on a thread that is a rank already");
    return 1;
  }
  lastError.clear();
  currentRank = std::make_unique<Rank>();
  bool ok = callRank("commsched_init",
                     [&](Rank &rank) { return rank.join(*options); });
  return ok ? 0 : 1;
}

int32_t commsched_finalize(void) {
  Rank *rank = getCurrentRank("commsched_finalize");
  if (!rank)
    return 1;
  callRank(
      "commsched_finalize",
      [](Rank &rank) {
        rank.leave();
        return rank.getError();
      },
      /*evenIfFailed=*/true);
  lastError = rank->getError().value_or("");
  currentRank.reset();
  return lastError.empty() ? 0 : 1;
}

const char *commsched_last_error(void) {
  if (currentRank)
    return currentRank->hasFailed() ? currentRank->getError()->c_str() : "";
  return lastError.c_str();
}

void commsched_fail(const char *text) {
  if (Rank *rank = getCurrentRank("commsched_fail"))
    rank->fail(text ? text : "");
}

int32_t commsched_rank(void) {
  Rank *rank = getCurrentRank("commsched_rank");
  return rank && rank->getBackend() ? rank->getBackend()->getRank() : -1;
}

int32_t commsched_num_ranks(void) {
  Rank *rank = getCurrentRank("commsched_num_ranks");
  return rank && rank->getBackend() ? rank->getBackend()->getNumRanks() : -1;
}

const char *commsched_backend_name(void) {
  return currentRank ? currentRank->getBackendName().c_str() : "";
}

int32_t commsched_load_program(const char *json) {
  bool ok = callRank("commsched_load_program",
                     [&](Rank &rank) { return rank.load(json); });
  return ok ? 0 : 1;
}

int64_t commsched_counter(const char *name) {
  Rank *rank = getCurrentRank("commsched_counter");
  return rank && name ? rank->getCounter(name) : 0;
}
