//===- BudgetRemedies.cpp - Options with which a step fits ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Support/Unlimited.h"
#include "MemorySearch.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::commsched;

namespace {

class BudgetRemedies {
public:
  BudgetRemedies(const SearchInput &input, const PairSchedule &taken)
      : input(input), taken(taken) {}

  /// `options` are those with which the step does not fit.
  LogicalResult tryAll(MemorySearch::Options options);
  std::string getText() const;

private:
  /// A step that fits.
  struct Found {
    int64_t stepNs;
    /// What its partition saves, before any of that is made smaller.
    int64_t savedBytes;
  };

  FailureOr<std::optional<Found>> find(const MemorySearch::Options &options);
  FailureOr<bool> tryHostMemory(MemorySearch::Options options, StringRef with);
  void addFitting(const Twine &options, int64_t stepNs);

  const SearchInput &input;
  /// What does not fit.
  const PairSchedule &taken;
  /// What was tried: options with what they give, and those that do not help.
  SmallVector<std::string> fitting;
  SmallVector<StringRef> others;
};

} // namespace

//===----------------------------------------------------------------------===//
// Searches
//===----------------------------------------------------------------------===//

/// What a run of the pass with those options finds, if it fits. Where the
/// host's memory has no limit, which no option says, it is not scheduled if it
/// fits as it is.
FailureOr<std::optional<BudgetRemedies::Found>>
BudgetRemedies::find(const MemorySearch::Options &options) {
  MemorySearch search(input, options);
  auto makeFound = [&](const PartitionTrial &trial, int64_t stepNs) {
    return std::optional(
        Found{stepNs, computeSavedBytes(input.working.getGraph(),
                                        trial.partition->split.saved)});
  };
  if (options.hostBytes == unlimited) {
    FailureOr<const PartitionTrial *> trial = search.findUnscheduled();
    if (failed(trial))
      return failure();
    if ((*trial)->costs.peakBytes <= options.limitBytes)
      return makeFound(**trial, (*trial)->costs.boundNs);
  }
  if (failed(search.run()))
    return failure();
  const auto &[trial, schedule] = search.getBest().point;
  return schedule.isWithin(options.limitBytes)
             ? makeFound(*trial, schedule.stepNs)
             : std::nullopt;
}

/// A power of two as an option has it, such as 8GiB.
static std::string formatPowerOfTwo(int64_t bytes) {
  constexpr std::pair<int32_t, StringLiteral> units[] = {
      {30, "GiB"}, {20, "MiB"}, {10, "KiB"}};
  for (auto [shift, unit] : units)
    if (bytes >= int64_t(1) << shift)
      return (Twine(bytes >> shift) + unit).str();
  return std::to_string(bytes);
}

/// Finds out whether memory of the host makes it fit, and adds the first size
/// that does, of the last five powers of two up to all that is saved then.
FailureOr<bool> BudgetRemedies::tryHostMemory(MemorySearch::Options options,
                                              StringRef with) {
  constexpr int32_t mostHalvings = 4;
  int64_t tooFew = std::exchange(options.hostBytes, unlimited);
  FailureOr<std::optional<Found>> found = find(options);
  if (failed(found))
    return failure();
  if (!*found)
    return false;
  auto all = static_cast<int64_t>(llvm::PowerOf2Ceil((*found)->savedBytes));
  for (int32_t halvings = mostHalvings; halvings >= 0; --halvings) {
    options.hostBytes = all >> halvings;
    if (options.hostBytes <= tooFew)
      continue;
    found = find(options);
    if (failed(found))
      return failure();
    if (!*found)
      continue;
    addFitting("host-memory=" + formatPowerOfTwo(options.hostBytes) + with,
               (*found)->stepNs);
    return true;
  }
  return false;
}

LogicalResult BudgetRemedies::tryAll(MemorySearch::Options options) {
  FailureOr<bool> fits = tryHostMemory(options, "");
  if (failed(fits))
    return failure();
  if (!*fits)
    others.push_back("more host-memory");
  if (options.mayQuantize)
    return success();
  options.mayQuantize = true;
  FailureOr<std::optional<Found>> found = find(options);
  if (failed(found))
    return failure();
  if (*found)
    addFitting("quantize=auto", (*found)->stepNs);
  else
    others.push_back("quantize=auto");
  if (!fitting.empty())
    return success();
  fits = tryHostMemory(options, " quantize=auto");
  if (succeeded(fits) && !*fits)
    others.push_back("both");
  return fits;
}

//===----------------------------------------------------------------------===//
// What they give
//===----------------------------------------------------------------------===//

void BudgetRemedies::addFitting(const Twine &options, int64_t stepNs) {
  int64_t takenNs = taken.stepNs;
  double change = 100.0 * static_cast<double>(stepNs - takenNs) /
                  static_cast<double>(std::max<int64_t>(takenNs, 1));
  llvm::raw_string_ostream(fitting.emplace_back())
      << options << " in " << stepNs << " ns instead of " << takenNs
      << llvm::format(" (%+.1f %%)", change);
}

std::string BudgetRemedies::getText() const {
  std::string text =
      ("; '" + input.working.getFunction().getSymName() + "' would ").str();
  if (!fitting.empty())
    text += "fit with " + llvm::join(fitting, " or with ");
  if (!others.empty())
    text += (fitting.empty() ? "not fit with " : ", but not with ") +
            llvm::join(others, " or with ");
  return text;
}

FailureOr<std::string>
mlir::commsched::findBudgetRemedies(const SearchInput &input,
                                    const MemorySearch::Options &options,
                                    const PairSchedule &taken) {
  BudgetRemedies remedies(input, taken);
  if (failed(remedies.tryAll(options)))
    return failure();
  return remedies.getText();
}
