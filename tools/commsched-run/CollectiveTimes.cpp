//===- CollectiveTimes.cpp - Times of single collectives ------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CollectiveTimes.h"

#include "Measurements.h"
#include "Settings.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

#include <chrono>
#include <set>
#include <unistd.h>

using namespace mlir;
using namespace mlir::commsched::run;
using llvm::createStringError;
namespace json = llvm::json;

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

static constexpr StringLiteral collectiveNames[] = {
    "all_gather", "reduce_scatter", "all_reduce", "all_to_all",
    "broadcast",  "permute",        "send_recv"};
/// From one size to the next.
static constexpr int64_t sizeFactor = 4;
/// Calls before those that are timed.
static constexpr int64_t numWarmUps = 5;

/// A number of bytes such as "1024", "64K" or "1GiB", with powers of 1024.
static llvm::Expected<int64_t> readBytes(const cl::opt<std::string> &option) {
  StringRef digits = option.getValue();
  digits.consume_back("iB");
  unsigned shift = digits.consume_back("K")   ? 10
                   : digits.consume_back("M") ? 20
                   : digits.consume_back("G") ? 30
                                              : 0;
  int64_t number = 0;
  if (digits.getAsInteger(10, number) || number < 1 ||
      number > (int64_t(1) << 40) >> shift)
    return createStringError("--" + option.ArgStr +
                             " must be a number of bytes from 1 to 1024GiB, "
                             "such as 64KiB, but is '" +
                             option + "'");
  return number << shift;
}

static llvm::Error readSizes(const Settings &settings,
                             std::vector<int64_t> &sizes) {
  llvm::Expected<int64_t> least = readBytes(settings.minBytes);
  if (!least)
    return least.takeError();
  llvm::Expected<int64_t> most = readBytes(settings.maxBytes);
  if (!most)
    return most.takeError();
  if (*least > *most)
    return createStringError("--min-bytes is " + Twine(*least) +
                             ", but --max-bytes is only " + Twine(*most));
  for (int64_t size = *least; size <= *most; size *= sizeFactor)
    sizes.push_back(size);
  return llvm::Error::success();
}

/// The bytes of an element of the type `name`.
static llvm::Expected<int64_t> readType(StringRef name) {
  std::vector<StringRef> known;
  for (int number = COMMSCHED_I1; number <= COMMSCHED_COMPLEX_F64; ++number) {
    auto type = static_cast<commsched_type>(number);
    known.push_back(commsched_type_name(type));
    if (known.back() == name)
      return commsched_type_bytes(type);
  }
  return createStringError("--type is '" + name + "'; there are " +
                           llvm::join(known, ", "));
}

static llvm::Expected<TimedGroup> readGroup(StringRef name) {
  TimedGroup group{name.str()};
  if (name == "world")
    return group;
  auto [kind, size] = name.split(':');
  group.areColumns = kind == "columns";
  if ((kind != "rows" && !group.areColumns) ||
      size.getAsInteger(10, group.size) || group.size < 1)
    return createStringError(
        "--groups has '" + name +
        "'; there are world, rows:SIZE and columns:SIZE, as in rows:2");
  return group;
}

/// Reads NAME, NAME:METHOD or NAME:METHOD:CHANNELS.
static llvm::Expected<json::Object> readImplementation(StringRef text) {
  auto [name, rest] = text.split(':');
  auto [method, channels] = rest.split(':');
  json::Object implementation{{"name", name},
                              {"method", method.empty() ? name : method}};
  int64_t number = 0;
  if (name.empty() ||
      (!channels.empty() && (channels.getAsInteger(10, number) || number < 1)))
    return createStringError(
        "--implementation must be NAME, NAME:METHOD or NAME:METHOD:CHANNELS, "
        "as in few:nccl:4, but is '" +
        text + "'");
  if (number)
    implementation["channels"] = number;
  return implementation;
}

llvm::Expected<CollectiveSweep>
mlir::commsched::run::readCollectiveOptions(const Settings &settings) {
  CollectiveSweep sweep;
  sweep.collectives.assign(settings.collectives.begin(),
                           settings.collectives.end());
  if (ArrayRef(sweep.collectives) == ArrayRef<std::string>("all"))
    sweep.collectives.assign(std::begin(collectiveNames),
                             std::end(collectiveNames));
  llvm::StringSet<> seen;
  for (StringRef name : sweep.collectives) {
    if (!llvm::is_contained(collectiveNames, name))
      return createStringError("--collectives has '" + name + "'; there are " +
                               llvm::join(ArrayRef(collectiveNames), ", ") +
                               ", or all");
    if (!seen.insert(name).second)
      return createStringError("--collectives names '" + name + "' twice");
  }
  for (StringRef name : settings.groups) {
    llvm::Expected<TimedGroup> group = readGroup(name);
    if (!group)
      return group.takeError();
    sweep.groups.push_back(std::move(*group));
  }
  llvm::Expected<int64_t> elementBytes = readType(settings.type);
  if (!elementBytes)
    return elementBytes.takeError();
  sweep.elementBytes = *elementBytes;
  if (!settings.implementation.empty()) {
    llvm::Expected<json::Object> read =
        readImplementation(settings.implementation);
    if (!read)
      return read.takeError();
    sweep.implementation = std::move(*read);
  }
  if (llvm::Error error = readSizes(settings, sweep.sizes))
    return error;
  return sweep;
}

//===----------------------------------------------------------------------===//
// Points
//===----------------------------------------------------------------------===//

namespace {

/// A group as the program's description has it.
struct Group {
  int64_t size = 0;
  int64_t stride = 1;

  int64_t getFirst(int64_t rank) const {
    return rank / (size * stride) * (size * stride) + rank % stride;
  }
};

/// A collective on a group with a size.
struct Point {
  StringRef collective;
  size_t group = 0;
  int64_t bytes = 0;
  int32_t site = 0;
};

/// Measures on one rank.
class Sweep {
public:
  explicit Sweep(const Settings &settings)
      : settings(settings), sweep(*settings.sweep) {}

  llvm::Error prepare();
  llvm::Error measure(function_ref<void(const Twine &)> begin);
  void print(raw_ostream &os) const;

private:
  llvm::Error addPoint(StringRef collective, size_t group, int64_t bytes);
  int32_t addSite(StringRef kind, size_t group, int64_t inputs, int64_t outputs,
                  json::Object site);
  llvm::Expected<int64_t> time(const Point &point);
  int64_t countNodes(const Group &group) const;

  const Settings &settings;
  const CollectiveSweep &sweep;
  int64_t numRanks = commsched_num_ranks();
  std::vector<Group> groups;
  std::vector<Point> points;
  json::Array sites;
  int32_t barrier = 0;
  std::shared_ptr<void> input, output;
  /// By rank.
  std::vector<std::string> hosts;
  /// By point, in nanoseconds.
  std::vector<int64_t> times;
};

} // namespace

int32_t Sweep::addSite(StringRef kind, size_t group, int64_t inputs,
                       int64_t outputs, json::Object site) {
  auto index = static_cast<int32_t>(sites.size());
  site["name"] = (kind + "#" + Twine(index)).str();
  site["location"] = "commsched-run";
  site["kind"] = kind;
  site["group"] = group;
  site["tensors"] = json::Array();
  if (inputs || outputs)
    site["tensors"] =
        json::Array{json::Object{{"type", settings.type.getValue()},
                                 {"inputs", inputs},
                                 {"outputs", outputs}}};
  sites.push_back(std::move(site));
  return index;
}

llvm::Error Sweep::addPoint(StringRef collective, size_t group, int64_t bytes) {
  int64_t size = groups[group].size;
  if (collective == "send_recv" && size < 2)
    return llvm::Error::success();
  bool isGather = collective == "all_gather";
  bool isScatter = collective == "reduce_scatter";
  int64_t parts =
      isGather || isScatter || collective == "all_to_all" ? size : 1;
  int64_t elements = bytes / (parts * sweep.elementBytes);
  if (elements == 0)
    return createStringError(Twine(bytes) + " bytes hold no " + settings.type +
                             " for " + collective + " on group '" +
                             sweep.groups[group].name + "', which takes " +
                             Twine(parts * sweep.elementBytes) +
                             " bytes at least: give --min-bytes");
  int64_t full = parts * elements;
  Point point{collective, group, full * sweep.elementBytes};
  if (collective == "send_recv") {
    point.site =
        addSite("send", group, full, 0, json::Object{{"peer", 1}, {"tag", 0}});
    addSite("recv", group, 0, full, json::Object{{"peer", 0}, {"tag", 0}});
  } else {
    json::Object site;
    if (collective.contains("reduce"))
      site["reduction"] = "sum";
    if (collective == "broadcast")
      site["peer"] = 0;
    if (collective == "permute") {
      json::Array pairs;
      for (int64_t rank = 0; rank < size; ++rank)
        pairs.push_back(json::Array{rank, (rank + 1) % size});
      site["pairs"] = std::move(pairs);
    }
    point.site = addSite(collective, group, isGather ? elements : full,
                         isScatter ? elements : full, std::move(site));
  }
  points.push_back(point);
  return llvm::Error::success();
}

llvm::Error Sweep::prepare() {
  json::Array descriptions;
  for (const TimedGroup &timed : sweep.groups) {
    Group group{timed.size ? timed.size : numRanks, 1};
    if (numRanks % group.size != 0)
      return createStringError("group '" + timed.name +
                               "' does not divide the " + Twine(numRanks) +
                               " ranks evenly");
    if (timed.areColumns)
      group.stride = numRanks / group.size;
    groups.push_back(group);
    json::Object description{
        {"name", timed.name}, {"size", group.size}, {"stride", group.stride}};
    if (sweep.implementation)
      description["implementation"] = json::Object(*sweep.implementation);
    descriptions.push_back(std::move(description));
  }
  for (StringRef collective : sweep.collectives)
    for (size_t group = 0; group < groups.size(); ++group)
      for (int64_t bytes : sweep.sizes)
        if (llvm::Error error = addPoint(collective, group, bytes))
          return error;
  if (points.empty())
    return createStringError("nothing to measure: send_recv needs groups of "
                             "two ranks at least");
  barrier = addSite("barrier", groups.size(), 0, 0, json::Object());
  descriptions.push_back(
      json::Object{{"name", "all"}, {"size", numRanks}, {"stride", 1}});
  std::string program;
  llvm::raw_string_ostream(program)
      << json::Value(json::Object{{"version", 1},
                                  {"groups", std::move(descriptions)},
                                  {"sites", std::move(sites)},
                                  {"operators", json::Array()}});
  if (commsched_load_program(program.c_str()))
    return getRuntimeError();

  int64_t most = 0;
  for (const Point &point : points)
    most = std::max(most, point.bytes);
  input.reset(commsched_allocate(most, 0), commsched_release);
  output.reset(commsched_allocate(most, 0), commsched_release);
  // Zeros do not grow where sums become inputs.
  commsched_zero(input.get(), most);
  commsched_zero(output.get(), most);

  char name[256] = {};
  gethostname(name, sizeof(name) - 1);
  llvm::Expected<std::vector<char>> names = exchange(ArrayRef<char>(name));
  if (!names)
    return names.takeError();
  for (size_t at = 0; at < names->size(); at += sizeof(name))
    hosts.emplace_back(names->data() + at);
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Measuring
//===----------------------------------------------------------------------===//

/// All calls of the runtime return at once after its first error.
llvm::Expected<int64_t> Sweep::time(const Point &point) {
  int64_t member = commsched_group_rank(static_cast<int32_t>(point.group));
  bool isExchange = point.collective == "send_recv";
  const void *inputs[] = {isExchange && member != 0 ? nullptr : input.get()};
  void *outputs[] = {isExchange && member != 1 ? nullptr : output.get()};
  std::vector<int64_t> samples;
  for (int64_t call = -numWarmUps; call < settings.repeats; ++call) {
    commsched_barrier(barrier);
    commsched_synchronize();
    auto begin = std::chrono::steady_clock::now();
    if (!isExchange || member < 2)
      commsched_wait(commsched_start(
          point.site + (isExchange && member == 1 ? 1 : 0), inputs, outputs));
    commsched_synchronize();
    auto end = std::chrono::steady_clock::now();
    if (call >= 0)
      samples.push_back(std::chrono::nanoseconds(end - begin).count());
  }
  llvm::Expected<std::vector<int64_t>> largest = exchangeLargest(samples);
  if (!largest)
    return largest.takeError();
  return std::max<int64_t>(getMedian(std::move(*largest)), 1);
}

llvm::Error Sweep::measure(function_ref<void(const Twine &)> begin) {
  for (auto [index, point] : llvm::enumerate(points)) {
    begin(Twine(point.bytes) + " bytes of " + point.collective + " on " +
          sweep.groups[point.group].name + ", " + Twine(index + 1) + " of " +
          Twine(points.size()));
    llvm::Expected<int64_t> ns = time(point);
    if (!ns)
      return ns.takeError();
    times.push_back(*ns);
  }
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

/// Of the group that is on most.
int64_t Sweep::countNodes(const Group &group) const {
  size_t most = 0;
  for (int64_t rank = 0; rank < numRanks; ++rank) {
    std::set<StringRef> nodes;
    for (int64_t index = 0; index < group.size; ++index)
      nodes.insert(hosts[group.getFirst(rank) + index * group.stride]);
    most = std::max(most, nodes.size());
  }
  return static_cast<int64_t>(most);
}

void Sweep::print(raw_ostream &os) const {
  // Readers look rows up by these columns, so that each is there once: for the
  // first of the groups that have as many ranks and nodes.
  std::set<std::tuple<StringRef, int64_t, int64_t, int64_t>> seen;
  std::string rows, others;
  for (auto [point, ns] : llvm::zip_equal(points, times)) {
    const Group &group = groups[point.group];
    int64_t nodes = countNodes(group);
    bool isFirst =
        seen.insert({point.collective, group.size, nodes, point.bytes}).second;
    // A send and its receive are one measurement, and two operations.
    SmallVector<StringRef> names = {point.collective};
    if (point.collective == "send_recv")
      names = {"send", "recv"};
    for (StringRef name : names) {
      std::string &list = isFirst ? rows : others;
      list += list.empty() ? "\n    " : ",\n    ";
      llvm::raw_string_ostream stream(list);
      json::OStream row(stream);
      row.object([&] {
        row.attribute("collective", name);
        row.attribute("ranks", group.size);
        row.attribute("nodes", nodes);
        row.attribute("bytes", point.bytes);
        row.attribute("time_ns", ns);
        if (sweep.implementation)
          row.attribute("implementation", *sweep.implementation->get("name"));
        row.attribute("type", settings.type.getValue());
        row.attribute("group", sweep.groups[point.group].name);
      });
    }
  }
  std::set<std::string> distinct(hosts.begin(), hosts.end());
  auto quote = [](const Twine &text) {
    return json::Value(json::fixUTF8(text.str()));
  };
  os << "{\n  \"name\": "
     << quote(Twine(commsched_backend_name()) + ", " + Twine(numRanks) +
              (numRanks == 1 ? " rank on " : " ranks on ") +
              llvm::join(distinct, ", "))
     << ",\n  \"source\": "
     << quote("single calls, median of " + Twine(settings.repeats) +
              ", largest of all ranks; command: " + settings.command)
     << ",\n  \"rows\": [" << rows << "\n  ]";
  if (!others.empty())
    os << ",\n  \"other_rows\": [" << others << "\n  ]";
  os << "\n}\n";
}

llvm::Error
mlir::commsched::run::timeCollectives(const Settings &settings,
                                      function_ref<void(const Twine &)> begin) {
  Sweep sweep(settings);
  if (llvm::Error error = sweep.prepare())
    return error;
  if (llvm::Error error = sweep.measure(begin))
    return error;
  if (commsched_rank() != 0)
    return llvm::Error::success();
  return writeFile(settings.output, [&](raw_ostream &os) { sweep.print(os); });
}
