//===- ResultTable.cpp - What is printed ----------------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ResultTable.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

#include <set>

namespace commsched::bench {

void ResultTable::printHeader(llvm::StringRef direct) {
  const Environment &env = environment;
  std::set<std::string> hosts(env.hosts.begin(), env.hosts.end());
  os << "# backend " << env.backend;
  if (!env.library.empty())
    os << " (" << env.library << ")";
  os << ", " << env.hosts.size() << (env.hosts.size() == 1 ? " rank" : " ranks")
     << " on " << hosts.size() << (hosts.size() == 1 ? " host" : " hosts")
     << " (rank 0: " << env.hosts.front() << "), " << env.device << "\n";
  os << "# time, algbw, busbw: back to back, " << settings.launches
     << " launches; isolated: all ranks meet, one call out of place\n"
     << "# medians of " << settings.repeats << " of each, after "
     << settings.warmup << " untimed calls\n";
  os << "# every time is the largest of all ranks\n";
  compared = !direct.empty();
  if (compared)
    os << "# ratios: median over that of the same call directly: " << direct
       << "\n";
}

void ResultTable::printColumns(const Point &point) {
  const PlanGroup &group = plan.groups[point.group];
  os << "#\n# " << stringifyOperation(point.operation) << " on " << group.name
     << ": " << environment.hosts.size() / group.size
     << (size_t(group.size) == environment.hosts.size()
             ? " group of "
             : " groups at the same time, each of ")
     << group.size << (group.size == 1 ? " rank\n" : " ranks\n");
  std::string side = "    time   algbw   busbw  #wrong";
  std::string unit = "    (us)  (GB/s)  (GB/s)        ";
  os << llvm::formatv("#{0,58}{1,32}{2,32}{3,27}{4}\n", "", "out-of-place  ",
                      "in-place     ", "isolated",
                      compared ? "       ratio" : "");
  os << llvm::formatv("#{0,12}{1,14}{2,14}{3,8}{4,7}   {5}{5}  {6}{7}\n",
                      "size", "count", "type", "redop", "root", side,
                      "  median      p5     p95",
                      compared ? "    time  isolated" : "");
  os << llvm::formatv("#{0,12}{1,14}{2,14}{2,8}{2,7}   {3}{3}  {4}\n", "(B)",
                      "(elements)", "", unit, "    (us)    (us)    (us)");
}

/// Four digits that count, as nccl-tests prints times.
static std::string formatMicroseconds(int64_t ns) {
  double us = double(ns) / 1e3;
  int digits = us < 100 ? 2 : us < 1000 ? 1 : 0;
  llvm::SmallString<16> text;
  llvm::raw_svector_ostream(text) << llvm::format("%.*f", digits, us);
  return text.str().str();
}

void ResultTable::printPlace(const Point &point, const PlaceResult &result) {
  int64_t timeNs = result.runtime.backToBack.median;
  double algorithm = computeAlgorithmBandwidth(point.bytes, timeNs);
  double bus = algorithm *
               computeBusFactor(point.operation, plan.groups[point.group].size);
  os << llvm::formatv("{0,8}{1,8:f2}{2,8:f2}{3,8}", formatMicroseconds(timeNs),
                      algorithm, bus, result.wrong);
  wrong += result.wrong;
  busBandwidthSum += bus;
  ++busBandwidthCount;
}

void ResultTable::printPoint(const Point &point, const PointResult &result) {
  if (!previous || previous->operation != point.operation ||
      previous->group != point.group)
    printColumns(point);
  previous = &point;
  os << llvm::formatv(" {0,12}{1,14}{2,14}{3,8}{4,7}   ", point.bytes,
                      point.partElements, point.element->name,
                      point.reduction ? stringifyReduction(*point.reduction)
                                      : "none",
                      point.operation == Operation::Broadcast ? 0 : -1);
  printPlace(point, result.outOfPlace);
  if (result.inPlace)
    printPlace(point, *result.inPlace);
  else
    os << llvm::formatv("{0,8}{0,8}{0,8}{0,8}", "N/A");
  const PlaceResult &place = result.outOfPlace;
  const Summary &isolated = place.runtime.isolated;
  os << llvm::formatv("  {0,8}{1,8}{2,8}", formatMicroseconds(isolated.median),
                      formatMicroseconds(isolated.p5),
                      formatMicroseconds(isolated.p95));
  if (compared && place.direct) {
    auto ratio = [](const Summary &ours, const Summary &direct) {
      return double(ours.median) / double(std::max<int64_t>(direct.median, 1));
    };
    os << llvm::formatv(
        "{0,8:f3}{1,10:f3}",
        ratio(place.runtime.backToBack, place.direct->backToBack),
        ratio(isolated, place.direct->isolated));
  } else if (compared) {
    os << llvm::formatv("{0,8}{0,10}", "none");
  }
  os << "\n";
  os.flush();
}

void ResultTable::printFooter() {
  os << "#\n# Wrong elements       : " << wrong << (wrong ? " FAILED" : " OK")
     << "\n# Avg bus bandwidth    : "
     << llvm::formatv("{0:f3}", busBandwidthSum / busBandwidthCount) << "\n";
  os.flush();
}

} // namespace commsched::bench
