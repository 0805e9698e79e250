//===- Tables.cpp - Result and cost tables --------------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tables.h"

#include "CommSched/Support/OutputFile.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/DynamicLibrary.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Host.h"

#include <dlfcn.h>
#include <map>
#include <set>
#include <thread>
#include <tuple>
#include <unistd.h>

namespace commsched::bench {

bool Environment::gather(const Peer *peer) {
  backend = commsched_backend_name();
  if (peer) {
    library = peer->getLibrary();
    device = peer->getDevice();
  }
  if (device.empty())
    device = (llvm::sys::getHostCPUName() + ", " +
              llvm::Twine(std::thread::hardware_concurrency()) + " cores")
                 .str();
  constexpr size_t length = 256;
  char name[length] = {};
  gethostname(name, length - 1);
  int32_t ranks = commsched_num_ranks();
  std::vector<char> all(length * ranks);
  if (commsched_exchange(name, all.data(), length) != 0)
    return false;
  for (int32_t rank = 0; rank < ranks; ++rank)
    hosts.emplace_back(all.data() + rank * length);
  return true;
}

int32_t Environment::countNodes(const PlanGroup &group) const {
  size_t most = 0;
  for (size_t rank = 0; rank < hosts.size(); ++rank) {
    std::set<std::string> distinct;
    for (int32_t member : group.getMembers(rank))
      distinct.insert(hosts[member]);
    most = std::max(most, distinct.size());
  }
  return most;
}

std::unique_ptr<Peer> loadPeer(llvm::StringRef backend, std::string &error) {
  if (backend == "local") {
    error = "the ranks of 'local' are threads of one process";
    return nullptr;
  }
  Dl_info runtime;
  if (!dladdr(reinterpret_cast<void *>(&commsched_init), &runtime)) {
    error = "the runtime's library has no path";
    return nullptr;
  }
  llvm::SmallString<128> path = llvm::sys::path::parent_path(runtime.dli_fname);
  // "mpi": libCommSchedBenchMpiPeer.so.
  std::string name = backend.str();
  name.front() = llvm::toUpper(name.front());
  llvm::sys::path::append(path, "libCommSchedBench" + name + "Peer.so");
  llvm::sys::DynamicLibrary library =
      llvm::sys::DynamicLibrary::getPermanentLibrary(path.c_str(), &error);
  if (!library.isValid())
    return nullptr;
  auto *create = reinterpret_cast<decltype(&commsched_bench_create_peer)>(
      library.getAddressOfSymbol("commsched_bench_create_peer"));
  if (!create) {
    error = (path + " has no commsched_bench_create_peer").str();
    return nullptr;
  }
  PeerConfig config;
  config.rank = commsched_rank();
  config.numRanks = commsched_num_ranks();
  config.exchange = &commsched_exchange;
  return std::unique_ptr<Peer>(create(&config, &error));
}

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
  os << "#\n# " << stringifyOperation(point.operation) << " on " << group.name;
  if (settings.implementation)
    os << " (" << settings.implementation->name << ")";
  os << ": " << environment.hosts.size() / group.size
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

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

namespace {

/// Writes one row's JSON, its columns in the order in which they are added.
class RowWriter {
public:
  explicit RowWriter(llvm::raw_ostream &os) : json(os) { json.objectBegin(); }
  ~RowWriter() { json.objectEnd(); }

  template <typename T> void add(llvm::StringRef column, T value) {
    json.attribute(column, value);
  }
  void add(llvm::StringRef prefix, const Summary &times) {
    add((prefix + "_p5_ns").str(), times.p5);
    add((prefix + "_median_ns").str(), times.median);
    add((prefix + "_p95_ns").str(), times.p95);
  }

private:
  llvm::json::OStream json;
};

/// Sorts results into the two lists of rows.
class RowLists {
public:
  RowLists(const Settings &settings, const Plan &plan,
           const Environment &environment)
      : settings(settings), plan(plan), environment(environment) {}

  void addPoint(const Point &point, const PointResult &result);

  /// The columns that readers look up, and the rest.
  std::vector<std::string> rows, otherRows;

private:
  void addRow(std::vector<std::string> &list, llvm::StringRef collective,
              const Point &point, llvm::StringRef place,
              const PlaceResult &result);

  const Settings &settings;
  const Plan &plan;
  const Environment &environment;
  /// Of each collective and group shape, the first point that was added.
  std::map<std::tuple<Operation, int32_t, int32_t>, const Point *> principals;
};

} // namespace

void RowLists::addRow(std::vector<std::string> &list,
                      llvm::StringRef collective, const Point &point,
                      llvm::StringRef place, const PlaceResult &result) {
  const PlanGroup &group = plan.groups[point.group];
  llvm::raw_string_ostream os(list.emplace_back());
  RowWriter row(os);
  row.add("collective", collective);
  row.add("ranks", group.size);
  row.add("nodes", environment.countNodes(group));
  row.add("bytes", point.bytes);
  row.add("time_ns", std::max<int64_t>(result.runtime.isolated.median, 1));
  if (settings.implementation)
    row.add("implementation", settings.implementation->name);
  row.add("type", point.element->name);
  if (point.reduction)
    row.add("reduction", stringifyReduction(*point.reduction));
  row.add("group", group.name);
  row.add("place", place);
  row.add("isolated", result.runtime.isolated);
  row.add("back_to_back", result.runtime.backToBack);
  if (result.direct) {
    row.add("direct_isolated", result.direct->isolated);
    row.add("direct_back_to_back", result.direct->backToBack);
  }
}

void RowLists::addPoint(const Point &point, const PointResult &result) {
  const PlanGroup &group = plan.groups[point.group];
  const Point &principal = *principals
                                .try_emplace({point.operation, group.size,
                                              environment.countNodes(group)},
                                             &point)
                                .first->second;
  bool isPrincipal = point.group == principal.group &&
                     point.element == principal.element &&
                     point.reduction == principal.reduction;
  // A send and its receive are one measurement, and two of the collectives.
  std::vector<llvm::StringRef> names = {stringifyOperation(point.operation)};
  if (point.operation == Operation::SendRecv)
    names = {"send", "recv"};
  for (llvm::StringRef name : names) {
    addRow(isPrincipal ? rows : otherRows, name, point, "out_of_place",
           result.outOfPlace);
    if (result.inPlace)
      addRow(otherRows, name, point, "in_place", *result.inPlace);
  }
}

//===----------------------------------------------------------------------===//
// File
//===----------------------------------------------------------------------===//

static std::string describeSource(const Settings &settings,
                                  const Environment &environment) {
  std::string text = "commsched-bench; ";
  if (!environment.library.empty())
    text += environment.library + "; ";
  return text + "isolated calls, median of " +
         std::to_string(settings.repeats) +
         ", largest of all ranks; command: " + settings.command;
}

static void printTable(llvm::raw_ostream &os, const Settings &settings,
                       const Environment &environment, const RowLists &lists) {
  auto printText = [&](llvm::StringRef key, const std::string &text) {
    os << "  \"" << key
       << "\": " << llvm::json::Value(llvm::json::fixUTF8(text)) << ",\n";
  };
  auto printRows = [&](llvm::StringRef key,
                       const std::vector<std::string> &rows) {
    os << "  \"" << key << "\": [";
    for (size_t i = 0; i < rows.size(); ++i)
      os << (i ? ",\n    " : "\n    ") << rows[i];
    os << (rows.empty() ? "]" : "\n  ]");
  };
  std::set<std::string> hosts(environment.hosts.begin(),
                              environment.hosts.end());
  os << "{\n";
  printText("name",
            environment.backend + ", " +
                std::to_string(environment.hosts.size()) +
                (environment.hosts.size() == 1 ? " rank on " : " ranks on ") +
                llvm::join(hosts, ", "));
  printText("source", describeSource(settings, environment));
  printText("device", environment.device);
  printRows("rows", lists.rows);
  os << ",\n";
  printRows("other_rows", lists.otherRows);
  os << "\n}\n";
}

static llvm::Error fail(llvm::StringRef path, const llvm::Twine &why) {
  return llvm::createStringError("cannot write the table '" + path +
                                 "': " + why);
}

llvm::Error checkWritable(llvm::StringRef path) {
  // Renaming would replace a directory's or a device's entry.
  llvm::sys::fs::file_status status;
  if (!llvm::sys::fs::status(path, status) &&
      !llvm::sys::fs::is_regular_file(status))
    return fail(path, "it is not a regular file");
  // Not kept, so that nothing is left.
  mlir::commsched::OutputFile file(path);
  if (std::error_code code = file.getError())
    return fail(path, code.message());
  return llvm::Error::success();
}

llvm::Error writeCostTable(llvm::StringRef path, const Settings &settings,
                           const Plan &plan, const Environment &environment,
                           llvm::ArrayRef<PointResult> results) {
  RowLists lists(settings, plan, environment);
  for (auto [point, result] : llvm::zip_equal(plan.points, results))
    lists.addPoint(point, result);
  mlir::commsched::OutputFile file(path);
  if (!file.getError())
    printTable(file.os(), settings, environment, lists);
  if (std::error_code code = file.keep())
    return fail(path, code.message());
  return llvm::Error::success();
}

} // namespace commsched::bench
