//===- BenchRank.cpp - One rank of a benchmark ----------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BenchRank.h"

#include "Tables.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>

namespace commsched::bench {

/// A line on standard error that shows the current point: in place on a
/// terminal, elsewhere every 30 seconds, so that logs of long runs show life
/// and those of short runs stay empty.
class BenchProgress {
public:
  explicit BenchProgress(const Plan &plan);

  /// Before the point of that index is measured.
  void begin(size_t index);
  /// Before anything else is printed.
  void clear();

private:
  using Clock = std::chrono::steady_clock;

  const Plan &plan;
  bool isTerminal;
  Clock::time_point started;
  Clock::time_point printed;
};

/// Between two lines that do not go to a terminal.
static constexpr std::chrono::seconds interval(30);

BenchProgress::BenchProgress(const Plan &plan)
    : plan(plan), isTerminal(llvm::sys::Process::StandardErrIsDisplayed()),
      started(Clock::now()), printed(started) {}

void BenchProgress::begin(size_t index) {
  Clock::time_point now = Clock::now();
  if (!isTerminal && now - printed < interval)
    return;
  printed = now;
  const Point &point = plan.points[index];
  int64_t seconds =
      std::chrono::duration_cast<std::chrono::seconds>(now - started).count();
  llvm::errs() << llvm::formatv(
      "[{0}/{1}] {2} on {3}, {4} bytes of {5}, after {6} s", index + 1,
      plan.points.size(), stringifyOperation(point.operation),
      plan.groups[point.group].name, point.bytes, point.element->name, seconds);
  if (!isTerminal)
    llvm::errs() << "\n";
}

void BenchProgress::clear() {
  // To the line's beginning, and erase it.
  if (isTerminal)
    llvm::errs() << "\r\x1b[K";
}

namespace {

/// A rank between init and finalize. Functions return what went wrong here.
class BenchRank {
public:
  explicit BenchRank(const Settings &settings) : settings(settings) {}
  std::string run();

private:
  /// Gives up the peer where not all ranks have one. False on an error of the
  /// runtime.
  bool agreeOnPeer(std::unique_ptr<Peer> &peer);
  std::string measureAll(Peer *peer);
  std::string report(ResultTable &table);

  const Settings &settings;
  bool isFirst = commsched_rank() == 0;
  Plan plan;
  Environment environment;
  /// Why there is no peer, or what it calls.
  std::string direct;
  std::vector<PointResult> results;
};

} // namespace

/// The runtime's error, after one of its functions has failed.
static std::string getRuntimeError() { return commsched_last_error(); }

bool BenchRank::agreeOnPeer(std::unique_ptr<Peer> &peer) {
  char mine = peer != nullptr;
  std::vector<char> all(commsched_num_ranks());
  if (commsched_exchange(&mine, all.data(), 1) != 0)
    return false;
  if (peer && llvm::is_contained(all, 0)) {
    direct = "rank " + std::to_string(llvm::find(all, 0) - all.begin()) +
             " could not load it";
    peer.reset();
  }
  return true;
}

std::string BenchRank::run() {
  llvm::Expected<Plan> created = Plan::create(settings, commsched_num_ranks());
  // The same on all ranks: none waits for another.
  if (!created)
    return llvm::toString(created.takeError());
  plan = std::move(*created);
  if (commsched_load_program(plan.program.c_str()) != 0)
    return getRuntimeError();

  // Before hours of measuring, not after.
  if (isFirst && !settings.output.empty())
    if (llvm::Error error = checkWritable(settings.output)) {
      commsched_fail(llvm::toString(std::move(error)).c_str());
      return getRuntimeError();
    }

  // Also for a table without comparison: the peer knows the library's version.
  std::unique_ptr<Peer> peer = loadPeer(commsched_backend_name(), direct);
  if (!agreeOnPeer(peer) || !environment.gather(peer.get()))
    return getRuntimeError();
  if (peer)
    direct = environment.library;
  else
    direct = "none: " + direct;
  return measureAll(settings.compareDirect ? peer.get() : nullptr);
}

std::string BenchRank::measureAll(Peer *peer) {
  Measurement measurement(settings, plan, peer);
  if (!measurement.prepare())
    return getRuntimeError();
  ResultTable table(settings, plan, environment,
                    isFirst ? llvm::outs() : llvm::nulls());
  table.printHeader(settings.compareDirect ? direct : "");
  std::optional<BenchProgress> progress;
  if (isFirst)
    progress.emplace(plan);
  for (size_t i = 0; i < plan.points.size(); ++i) {
    if (progress)
      progress->begin(i);
    bool ok = measurement.measure(plan.points[i], results.emplace_back());
    if (progress)
      progress->clear();
    if (!ok)
      return getRuntimeError();
    table.printPoint(plan.points[i], results.back());
  }
  return report(table);
}

std::string BenchRank::report(ResultTable &table) {
  table.printFooter();
  // Known to all ranks. A table of a backend that gives wrong results is none.
  if (table.getWrong() != 0)
    return (llvm::Twine(table.getWrong()) +
            " elements are wrong; no table is written")
        .str();
  if (isFirst && !settings.output.empty())
    if (llvm::Error error = writeCostTable(settings.output, settings, plan,
                                           environment, results)) {
      commsched_fail(llvm::toString(std::move(error)).c_str());
      return getRuntimeError();
    }
  // The others learn whether the first rank could write.
  char mine = 0;
  std::vector<char> all(commsched_num_ranks());
  if (commsched_exchange(&mine, all.data(), 1) != 0)
    return getRuntimeError();
  return "";
}

std::string runRank(const Settings &settings, int32_t rank) {
  commsched_options options;
  commsched_default_options(&options);
  options.backend = settings.backend.c_str();
  options.rank = rank;
  options.num_ranks = settings.numRanks;
  options.job = "commsched-bench";
  if (commsched_init(&options) != 0) {
    std::string error = getRuntimeError();
    commsched_finalize();
    return error;
  }
  std::string error = BenchRank(settings).run();
  if (commsched_finalize() != 0 && error.empty())
    error = getRuntimeError();
  return error;
}

} // namespace commsched::bench
