//===- Runner.cpp - One rank of the suite ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Runner.h"

#include "Image.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iterator>
#include <numeric>
#include <random>
#include <thread>

using namespace commsched::conformance;

/// Enough to see what is wrong.
static constexpr int64_t maxPrinted = 40;

void Report::setRank() {
  rank = commsched_rank();
  numRanks = commsched_num_ranks();
}

void Report::addDefect(commsched_kind kind, const std::string &text) {
  ++counts[kind].defects;
  // One call a line, so that those of several ranks do not mix.
  if (numPrinted++ < maxPrinted)
    std::printf("%s",
                ("rank " + std::to_string(rank) + ": " + text + "\n").c_str());
}

void Report::addUp() {
  std::vector<std::array<Count, refused + 1>> all(commsched_num_ranks());
  if (commsched_exchange(counts.data(), all.data(), sizeof(counts)))
    return;
  counts = {};
  for (const auto &others : all)
    for (size_t i = 0; i < counts.size(); ++i) {
      counts[i].launches += others[i].launches;
      counts[i].defects += others[i].defects;
    }
}

void Report::print() const {
  for (size_t i = 0; i < counts.size(); ++i)
    std::printf("%-15s %8lld launches %6lld wrong\n",
                i == refused ? "refused"
                             : getName(static_cast<commsched_kind>(i)),
                static_cast<long long>(counts[i].launches),
                static_cast<long long>(counts[i].defects));
}

bool Report::hasDefects() const {
  for (const Count &count : counts)
    if (count.defects)
      return true;
  return false;
}

namespace {

/// So many launches are in flight, in turn.
constexpr size_t windowSizes[] = {1, 2, 8, 32};
/// Unless they take more than so many bytes.
constexpr int64_t windowBytes = 16 << 20;

enum class WaitOrder { Forward, Backward, Shuffled, Tested };
constexpr int numWaitOrders = 4;

int64_t countBytes(const Case &theCase, const Plan &plan) {
  int64_t bytes = 0;
  for (const CaseTensor &tensor : theCase.tensors)
    bytes += tensor.count * tensor.format->bytes *
             plan.groups[theCase.group].getSize() * 2;
  return bytes;
}

/// A launch of this rank in the current window.
struct Flight {
  CaseLaunch launch;
  int32_t member;
  LaunchBuffers buffers;
};

class PlanRunner {
public:
  PlanRunner(const Plan &plan, Report &report)
      : plan(plan), report(report), rank(commsched_rank()),
        inOrder(std::string(commsched_backend_name()) == "nccl"),
        random(static_cast<uint32_t>(rank)) {}

  void run() {
    // Neighbours in the plan are alike; neighbours in time are not, and belong
    // to different groups.
    size_t numCases = plan.cases.size();
    size_t stride = numCases * 5 / 8 + 1;
    while (std::gcd(stride, numCases) != 1)
      ++stride;
    size_t next = 0;
    for (size_t window = 0; next < numCases; ++window) {
      std::vector<const Case *> cases;
      int64_t bytes = 0;
      while (next < numCases &&
             cases.size() < windowSizes[window % std::size(windowSizes)] &&
             bytes < windowBytes) {
        cases.push_back(&plan.cases[next++ * stride % numCases]);
        bytes += countBytes(*cases.back(), plan);
      }
      runWindow(cases, window);
      if (*commsched_last_error())
        return;
    }
  }

private:
  void runWindow(const std::vector<const Case *> &cases, size_t window) {
    Image image(window << 8 | static_cast<size_t>(rank));
    std::vector<Flight> flights;
    for (const Case *theCase : cases)
      addFlight(flights, image, *theCase, 0);
    // The same site twice in flight.
    if (window % 2)
      addFlight(flights, image, *cases[0], 1);

    const Bytes &contents = image.getContents();
    auto bytes = static_cast<int64_t>(contents.size());
    auto *buffer =
        static_cast<std::byte *>(commsched_allocate(bytes, /*alignment=*/0));
    commsched_upload(buffer, contents.data(), bytes);
    wait(start(flights, buffer),
         static_cast<WaitOrder>(window / std::size(windowSizes) %
                                numWaitOrders));
    Bytes found(contents.size());
    commsched_download(found.data(), buffer, bytes);
    commsched_release(buffer);
    if (*commsched_last_error())
      return;
    for (const Image::Defect &defect : image.findDefects(std::move(found))) {
      const Case &theCase = *flights[defect.owner].launch.theCase;
      report.addDefect(theCase.kind, describe(theCase, plan) + ", window " +
                                         std::to_string(window) + " of " +
                                         std::to_string(cases.size()) + ": " +
                                         defect.text);
    }
  }

  void addFlight(std::vector<Flight> &flights, Image &image,
                 const Case &theCase, uint64_t repetition) {
    const std::vector<int32_t> *row = plan.groups[theCase.group].findRow(rank);
    if (!row)
      return;
    auto member = static_cast<int32_t>(
        std::find(row->begin(), row->end(), rank) - row->begin());
    if (theCase.kind == COMMSCHED_SEND && member != theCase.source &&
        member != theCase.peer)
      return;
    CaseLaunch launch = {&theCase, row, repetition};
    flights.push_back(
        {launch, member, image.add(launch, member, flights.size())});
    report.addLaunch(theCase.kind);
  }

  /// Starts everything. Receives come last and in the order of their tags,
  /// which is not that of the sends, where ranks may differ in this.
  std::vector<int64_t> start(const std::vector<Flight> &flights,
                             std::byte *buffer) {
    std::vector<int64_t> requests;
    std::vector<std::pair<int32_t, size_t>> receives;
    for (size_t i = 0; i < flights.size(); ++i) {
      const Case &theCase = *flights[i].launch.theCase;
      if (theCase.kind == COMMSCHED_BARRIER) {
        commsched_barrier(theCase.site);
        continue;
      }
      if (theCase.kind != COMMSCHED_SEND || flights[i].member == theCase.source)
        requests.push_back(startSite(theCase.site, flights[i], buffer));
      if (theCase.kind != COMMSCHED_SEND || flights[i].member != theCase.peer)
        continue;
      if (inOrder)
        requests.push_back(startSite(theCase.site + 1, flights[i], buffer));
      else
        receives.push_back({theCase.tag, i});
    }
    std::sort(receives.begin(), receives.end());
    for (auto [tag, i] : receives)
      requests.push_back(
          startSite(flights[i].launch.theCase->site + 1, flights[i], buffer));
    return requests;
  }

  /// Reads the rows of one side from a buffer, as programs do; returns their
  /// sum.
  static int64_t readRows(int32_t site, bool output,
                          std::vector<int64_t> &rows) {
    auto bytes = static_cast<int64_t>(rows.size() * sizeof(int64_t));
    void *buffer = commsched_allocate(bytes, /*alignment=*/0);
    commsched_upload(buffer, rows.data(), bytes);
    std::fill(rows.begin(), rows.end(), -1);
    int64_t sum = commsched_read_splits(site, output, buffer, rows.data(),
                                        static_cast<int32_t>(rows.size()));
    commsched_release(buffer);
    return sum;
  }

  static int64_t startSite(int32_t site, const Flight &flight,
                           std::byte *buffer) {
    std::vector<const void *> inputs;
    std::vector<void *> outputs;
    for (int64_t offset : flight.buffers.inputs)
      inputs.push_back(offset < 0 ? nullptr : buffer + offset);
    for (int64_t offset : flight.buffers.outputs)
      outputs.push_back(offset < 0 ? nullptr : buffer + offset);
    const Case &theCase = *flight.launch.theCase;
    if (!theCase.hasSplitValues())
      return commsched_start(site, inputs.data(), outputs.data());
    auto size = static_cast<int32_t>(flight.launch.row->size());
    std::vector<int64_t> inputRows = getInputRows(flight.member, size);
    std::vector<int64_t> outputRows = getOutputRows(flight.member, size);
    int64_t sent = 0, received = 0;
    if (theCase.inputValues)
      sent = readRows(site, /*output=*/false, inputRows);
    if (theCase.outputValues)
      received = readRows(site, /*output=*/true, outputRows);
    return commsched_start_uneven(
        site, inputs.data(), outputs.data(), sent,
        theCase.inputValues ? inputRows.data() : nullptr, received,
        theCase.outputValues ? outputRows.data() : nullptr);
  }

  void wait(std::vector<int64_t> requests, WaitOrder order) {
    if (order == WaitOrder::Backward)
      std::reverse(requests.begin(), requests.end());
    if (order == WaitOrder::Shuffled)
      std::shuffle(requests.begin(), requests.end(), random);
    if (order == WaitOrder::Tested)
      for (int64_t request : requests)
        while (!*commsched_last_error() && commsched_test(request) == 0) {
          commsched_poll();
          // There may be more ranks than processors.
          std::this_thread::yield();
        }
    for (int64_t request : requests)
      commsched_wait(request);
  }

  const Plan &plan;
  Report &report;
  int32_t rank;
  /// Whether receives must come where the sends do.
  bool inOrder;
  std::mt19937 random;
};

} // namespace

void commsched::conformance::runCases(const Plan &plan, Report &report) {
  PlanRunner(plan, report).run();
}

/// All ranks are on one machine, whose clock they share.
static int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void commsched::conformance::checkBarrier(const Plan &plan, Report &report) {
  for (const Case &theCase : plan.cases) {
    if (theCase.kind != COMMSCHED_BARRIER)
      continue;
    int32_t rank = commsched_rank();
    const std::vector<int32_t> *row = plan.groups[theCase.group].findRow(rank);
    // Another rank is late each time.
    if (rank == theCase.site % commsched_num_ranks())
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    int64_t times[2] = {now(), 0};
    if (row)
      commsched_barrier(theCase.site);
    commsched_synchronize();
    times[1] = now();
    std::vector<int64_t> all(2 * commsched_num_ranks());
    if (commsched_exchange(times, all.data(), sizeof(times)) || !row)
      continue;
    report.addLaunch(COMMSCHED_BARRIER);
    for (int32_t other : *row)
      if (times[1] < all[2 * other])
        report.addDefect(COMMSCHED_BARRIER,
                         describe(theCase, plan) + ": leaves before rank " +
                             std::to_string(other) + " comes");
  }
}

/// A program with one collective.
static Plan makePlan(commsched_kind kind, const ElementFormat &format,
                     commsched_reduction reduction, int32_t numRanks) {
  Plan plan;
  plan.name = "refusal";
  plan.groups.push_back({"world", 1, {{}}});
  for (int32_t rank = 0; rank < numRanks; ++rank)
    plan.groups[0].rows[0].push_back(rank);
  Case theCase;
  theCase.kind = kind;
  theCase.reduction = reduction;
  theCase.tensors = {{&format, 4}};
  plan.cases.push_back(theCase);
  return plan;
}

void commsched::conformance::checkError(const std::string &what,
                                        const RunOptions &options,
                                        Report &report,
                                        const std::vector<std::string> &parts,
                                        const std::function<void()> &body) {
  report.addLaunch(Report::refused);
  if (options.join(what)) {
    report.addDefect(Report::refused,
                     what + ": cannot join: " + commsched_last_error());
    commsched_finalize();
    return;
  }
  report.setRank();
  body();
  int32_t left = commsched_finalize();
  std::string error = commsched_last_error();
  if (!left)
    report.addDefect(Report::refused, what + ": no error");
  for (const std::string &part : parts)
    if (left && error.find(part) == std::string::npos)
      report.addDefect(Report::refused,
                       what + ": the error lacks '" + part + "': " + error);
}

/// The error names the reduction, the type and the site.
static void checkRefusal(commsched_kind kind, const ElementFormat &format,
                         commsched_reduction reduction,
                         const RunOptions &options, Report &report) {
  std::string what = std::string(getName(kind)) + " of " + format.name +
                     " by " + getName(reduction);
  checkError(
      what, options, report,
      {getName(reduction), format.name, std::string(getName(kind)) + "#0"},
      [&] {
        Plan plan = makePlan(kind, format, reduction, commsched_num_ranks());
        std::string program = makeDescription(plan, commsched_rank());
        if (!commsched_load_program(program.c_str()))
          report.addDefect(Report::refused, what + ": not refused");
      });
}

void commsched::conformance::checkRefusals(const RunOptions &options,
                                           Report &report) {
  for (const ElementFormat &format : getElementFormats())
    for (int index = 0; index < numReductions; ++index) {
      auto reduction = static_cast<commsched_reduction>(index);
      if (canReduce(options.backend, format, reduction))
        continue;
      for (commsched_kind kind :
           {COMMSCHED_REDUCE_SCATTER, COMMSCHED_ALL_REDUCE})
        checkRefusal(kind, format, reduction, options, report);
    }
}
