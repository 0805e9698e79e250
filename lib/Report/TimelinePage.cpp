//===- TimelinePage.cpp - The timeline as a page --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The page is lib/Report/Page with the data in the place that it marks. The
// data are one JSON object. Operations are columns, arrays with a number for
// each: texts are places in one array of all texts, and times count from the
// operation before, so that most numbers have few digits. Page/model.js reads
// them.
//===----------------------------------------------------------------------===//

#include "CommSched/Report/ReportFormats.h"
#include "Page/Page.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace mlir::commsched;
namespace json = llvm::json;

namespace {

/// Prints the data of a page.
class PageData {
public:
  explicit PageData(raw_ostream &os) : stream(os) {}

  void print(ArrayRef<StepReport> reports, ArrayRef<StepReport> before,
             ArrayRef<FunctionFrontier> frontiers);

private:
  /// Any but one of `before` and `after` may be null.
  void printFunction(const StepReport *before, const StepReport *after,
                     const FunctionFrontier *frontier);
  void printStep(StringRef key, const StepReport *report);
  void printFrontier(const FunctionFrontier *frontier);

  /// Prints an array with `getNumber` of each element of `range`.
  template <typename Range, typename Function>
  void printColumn(StringRef key, const Range &range, Function getNumber) {
    stream.attributeArray(key, [&] {
      for (const auto &element : range)
        stream.value(static_cast<int64_t>(getNumber(element)));
    });
  }

  /// Prints an array with the difference of `getTime` to that of the element
  /// before.
  template <typename Range, typename Function>
  void printSteps(StringRef key, const Range &range, Function getTime) {
    int64_t last = 0;
    printColumn(key, range, [&](const auto &element) {
      return getTime(element) - std::exchange(last, getTime(element));
    });
  }

  /// The place of a text among all texts.
  size_t getPlace(StringRef text) {
    auto [it, isNew] = places.try_emplace(text, texts.size());
    if (isNew)
      texts.push_back(it->first());
    return it->second;
  }

  json::OStream stream;
  llvm::StringMap<size_t> places;
  /// The keys of `places`.
  std::vector<StringRef> texts;
};

} // namespace

void PageData::printStep(StringRef key, const StepReport *report) {
  if (!report)
    return;
  auto name = [&](const auto &element) { return getPlace(element.name); };
  auto bytes = [](const auto &element) { return element.bytes; };
  using Collective = CollectiveReport;
  stream.attributeObject(key, [&] {
    stream.attributeObject("figures", [&] { printFigures(*report, stream); });
    stream.attributeObject("computations", [&] {
      const auto &all = report->computations;
      printColumn("name", all, name);
      printSteps("begin", all, [](const auto &c) { return c.startNs; });
      printColumn("time", all,
                  [](const auto &c) { return c.endNs - c.startNs; });
    });
    stream.attributeObject("collectives", [&] {
      const auto &all = report->collectives;
      printColumn("name", all, name);
      printColumn("kind", all,
                  [&](const Collective &c) { return getPlace(c.kind); });
      printColumn("group", all, [&](const Collective &c) {
        return getPlace(c.getStreamName());
      });
      printColumn("transfer", all,
                  [](const Collective &c) { return c.isTransfer; });
      printColumn("bytes", all, bytes);
      printColumn("expected", all,
                  [](const Collective &c) { return c.areBytesExpected; });
      printSteps("begin", all, [](const Collective &c) { return c.startNs; });
      printColumn("time", all,
                  [](const Collective &c) { return c.endNs - c.startNs; });
      printSteps("wait", all, [](const Collective &c) { return c.waitNs; });
      printColumn("exposed", all,
                  [](const Collective &c) { return c.exposedNs; });
      printColumn("iterations", all,
                  [](const Collective &c) { return c.iterations; });
      printColumn("limit", all,
                  [&](const Collective &c) { return getPlace(c.limitedBy); });
      printColumn("remedy", all,
                  [&](const Collective &c) { return getPlace(c.remedy); });
    });
    stream.attributeObject("memory", [&] {
      const auto &all = report->memory;
      printSteps("time", all, [](const auto &sample) { return sample.timeNs; });
      printSteps("bytes", all, bytes);
    });
    stream.attributeObject("buffers", [&] {
      const auto &all = report->buffers;
      printColumn("name", all, name);
      printColumn("bytes", all, bytes);
      printSteps("begin", all, [](const auto &b) { return b.beginNs; });
      printColumn("time", all,
                  [](const auto &b) { return b.endNs - b.beginNs; });
    });
  });
}

void PageData::printFrontier(const FunctionFrontier *frontier) {
  if (!frontier)
    return;
  const std::vector<FrontierPoint> &points = frontier->points;
  stream.attributeObject("frontier", [&] {
    printColumn("peak_bytes", points,
                [](const auto &p) { return p.peakBytes; });
    printColumn("step_time_ns", points, [](const auto &p) { return p.stepNs; });
    printColumn("lower_bound_ns", points,
                [](const auto &p) { return p.lowerBoundNs; });
  });
}

void PageData::printFunction(const StepReport *before, const StepReport *after,
                             const FunctionFrontier *frontier) {
  stream.object([&] {
    stream.attribute("function", (after ? after : before)->function);
    printStep("before", before);
    printStep("after", after);
    printFrontier(frontier);
  });
}

void PageData::print(ArrayRef<StepReport> reports, ArrayRef<StepReport> before,
                     ArrayRef<FunctionFrontier> frontiers) {
  llvm::StringMap<const StepReport *> unmatched;
  for (const StepReport &report : before)
    unmatched[report.function] = &report;
  llvm::StringMap<const FunctionFrontier *> frontierOf;
  for (const FunctionFrontier &frontier : frontiers)
    frontierOf[frontier.function] = &frontier;
  stream.object([&] {
    stream.attributeArray("functions", [&] {
      for (const StepReport &report : reports) {
        printFunction(unmatched.lookup(report.function), &report,
                      frontierOf.lookup(report.function));
        unmatched.erase(report.function);
      }
      for (const StepReport &report : before)
        if (unmatched.contains(report.function))
          printFunction(&report, /*after=*/nullptr,
                        frontierOf.lookup(report.function));
    });
    stream.attributeArray("texts", [&] {
      for (StringRef text : texts)
        stream.value(text);
    });
  });
}

void mlir::commsched::printPage(ArrayRef<StepReport> reports,
                                ArrayRef<StepReport> before,
                                ArrayRef<FunctionFrontier> frontiers,
                                raw_ostream &os) {
  std::string data;
  llvm::raw_string_ostream dataStream(data);
  PageData(dataStream).print(reports, before, frontiers);
  auto [head, tail] = getPageTemplate().split(pageDataMark);
  os << head;
  // Only texts can hold what would end the element, and there an escape means
  // the same.
  for (StringRef rest = data; !rest.empty();) {
    size_t place = rest.find('<');
    os << rest.take_front(place);
    if (place == StringRef::npos)
      break;
    os << "\\u003c";
    rest = rest.drop_front(place + 1);
  }
  os << tail;
}
