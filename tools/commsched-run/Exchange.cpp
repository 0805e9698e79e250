//===- Exchange.cpp - What ranks tell each other --------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Exchange.h"

#include <algorithm>

using namespace mlir;
using namespace mlir::commsched::run;

llvm::Error mlir::commsched::run::getRuntimeError() {
  StringRef text = commsched_last_error();
  if (text.empty())
    return llvm::Error::success();
  return llvm::createStringError(text);
}

/// Equally many elements of every rank, one rank after the other.
template <typename T>
static llvm::Expected<std::vector<T>> gather(ArrayRef<T> mine) {
  std::vector<T> all(mine.size() * commsched_num_ranks());
  if (!mine.empty() &&
      commsched_exchange(mine.data(), all.data(),
                         static_cast<int64_t>(mine.size() * sizeof(T))))
    return getRuntimeError();
  return all;
}

llvm::Expected<std::vector<std::vector<int64_t>>>
mlir::commsched::run::exchangeNumbers(ArrayRef<int64_t> mine) {
  llvm::Expected<std::vector<int64_t>> all = gather(mine);
  if (!all)
    return all.takeError();
  std::vector<std::vector<int64_t>> numbers;
  for (int32_t rank = 0; rank < commsched_num_ranks(); ++rank) {
    auto first = all->begin() + rank * mine.size();
    numbers.emplace_back(first, first + mine.size());
  }
  return numbers;
}

llvm::Expected<std::vector<std::vector<commsched_record>>>
mlir::commsched::run::exchangeRecords(ArrayRef<commsched_record> mine) {
  llvm::Expected<std::vector<int64_t>> counts =
      gather(ArrayRef<int64_t>(static_cast<int64_t>(mine.size())));
  if (!counts)
    return counts.takeError();
  size_t most = *std::max_element(counts->begin(), counts->end());
  std::vector<commsched_record> padded(mine.begin(), mine.end());
  padded.resize(most);
  llvm::Expected<std::vector<commsched_record>> all =
      gather(ArrayRef<commsched_record>(padded));
  if (!all)
    return all.takeError();
  std::vector<std::vector<commsched_record>> records;
  for (auto [rank, count] : llvm::enumerate(*counts)) {
    auto first = all->begin() + rank * most;
    records.emplace_back(first, first + count);
  }
  return records;
}
