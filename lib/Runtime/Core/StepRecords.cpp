//===- StepRecords.cpp - What a step's records are collected in -*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Core/StepRecords.h"

#include <algorithm>
#include <numeric>

using namespace commsched::runtime;

void StepRecords::begin() {
  records.clear();
  running = true;
}

void StepRecords::add(commsched_record_kind kind, int32_t index,
                      Interval interval) {
  if (running)
    records.push_back({kind, index, interval.beginNs, interval.endNs});
}

void StepRecords::end() {
  running = false;
  std::vector<size_t> order(records.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    int64_t beginA = records[a].begin_ns;
    int64_t beginB = records[b].begin_ns;
    return beginA != beginB ? beginA < beginB : a < b;
  });
  std::vector<commsched_record> sorted;
  for (size_t index : order)
    sorted.push_back(records[index]);
  records = std::move(sorted);
}
