//===- MemoryBudget.cpp - Budgets of memory as text -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Model/MemoryBudget.h"
#include "CommSched/Support/Unlimited.h"
#include <charconv>
#include <cmath>

using namespace mlir::commsched;

int64_t MemoryBudget::getLimitBytes(int64_t peakBytes,
                                    int64_t countedBytes) const {
  if (bytes)
    return *bytes;
  double extra = std::floor(static_cast<double>(countedBytes) * fraction);
  if (!(extra < static_cast<double>(unlimited - peakBytes)))
    return unlimited;
  return peakBytes + static_cast<int64_t>(extra);
}

static bool consumeBack(std::string_view &text, std::string_view suffix) {
  if (text.size() < suffix.size() ||
      text.substr(text.size() - suffix.size()) != suffix)
    return false;
  text.remove_suffix(suffix.size());
  return true;
}

/// Takes the unit off the end of `text` and returns how many bytes it is.
static int64_t consumeUnit(std::string_view &text) {
  if (!consumeBack(text, "B"))
    return 1;
  int64_t base = consumeBack(text, "i") ? 1024 : 1000, unit = 1;
  for (std::string_view prefix : {"K", "M", "G", "T"}) {
    unit *= base;
    if (consumeBack(text, prefix))
      return unit;
  }
  // No number ends in what is left of a wrong unit.
  if (base == 1024)
    text = {};
  return 1;
}

/// A number of only digits, or none. More than fits is the largest uint64_t.
static std::optional<uint64_t> parseDigits(std::string_view text) {
  if (text.empty() ||
      text.find_first_not_of("0123456789") != std::string_view::npos)
    return std::nullopt;
  uint64_t number = 0;
  bool fits =
      std::from_chars(text.data(), text.data() + text.size(), number).ec ==
      std::errc();
  return fits ? number : std::numeric_limits<uint64_t>::max();
}

/// parseByteCount(), where the error message lists `otherForms` as well.
static std::optional<std::string> parseBytes(std::string_view text,
                                             const std::string &otherForms,
                                             int64_t &bytes) {
  std::string given = ", but is '" + std::string(text) + "'";
  if (!text.empty() && text.front() == '-')
    return "must not be negative" + given;
  constexpr size_t maxDecimals = 6;
  std::string_view number = text, decimals = "0";
  int64_t unit = consumeUnit(number);
  if (size_t dot = number.find('.');
      dot != std::string_view::npos && unit > 1) {
    decimals = number.substr(dot + 1);
    number = number.substr(0, dot);
  }
  std::optional<uint64_t> whole = parseDigits(number);
  std::optional<uint64_t> part = parseDigits(decimals);
  if (!whole || !part || decimals.size() > maxDecimals)
    return "must be bytes such as 68719476736, 64GiB or 640MB" + otherForms +
           given;
  int64_t parts = unit * static_cast<int64_t>(*part);
  for (size_t index = 0; index < decimals.size(); ++index)
    parts /= 10;
  if (*whole > static_cast<uint64_t>((unlimited - parts) / unit))
    return "must be at most " + std::to_string(unlimited) + " bytes" + given;
  bytes = static_cast<int64_t>(*whole) * unit + parts;
  return std::nullopt;
}

std::optional<std::string>
mlir::commsched::parseByteCount(std::string_view text, int64_t &bytes) {
  return parseBytes(text, /*otherForms=*/"", bytes);
}

std::optional<std::string>
mlir::commsched::parseMemoryBudget(std::string_view text,
                                   MemoryBudget &budget) {
  std::string_view number = text;
  double percent = 0;
  if (consumeBack(number, "%")) {
    auto [end, error] =
        std::from_chars(number.data(), number.data() + number.size(), percent);
    if (error == std::errc() && end == number.data() + number.size() &&
        std::isfinite(percent) && percent >= 0) {
      budget.bytes.reset();
      budget.fraction = percent / 100;
      return std::nullopt;
    }
  }
  int64_t bytes = 0;
  if (std::optional<std::string> problem = parseBytes(
          text, ", or a percentage over the peak of the input such as 5%",
          bytes))
    return problem;
  budget.bytes = bytes;
  return std::nullopt;
}
