//===- CollectiveTimes.cpp - Times of single collectives ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

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

static llvm::Expected<std::vector<int64_t>>
readSizes(const Settings &settings) {
  int64_t least = settings.exitOnError(readBytes(settings.minBytes));
  int64_t most = settings.exitOnError(readBytes(settings.maxBytes));
  if (least > most)
    return createStringError("--min-bytes is " + Twine(least) +
                             ", but --max-bytes is only " + Twine(most));
  std::vector<int64_t> sizes;
  for (int64_t size = least; size <= most; size *= sizeFactor)
    sizes.push_back(size);
  return sizes;
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

/// The names of what is timed.
static llvm::Expected<std::vector<std::string>>
readCollectives(std::vector<std::string> names) {
  if (ArrayRef(names) == ArrayRef<std::string>("all"))
    names.assign(std::begin(collectiveNames), std::end(collectiveNames));
  llvm::StringSet<> seen;
  for (StringRef name : names) {
    if (!llvm::is_contained(collectiveNames, name))
      return createStringError("--collectives has '" + name + "'; there are " +
                               llvm::join(ArrayRef(collectiveNames), ", ") +
                               ", or all");
    if (!seen.insert(name).second)
      return createStringError("--collectives names '" + name + "' twice");
  }
  return names;
}

CollectiveSweep
mlir::commsched::run::readCollectiveOptions(const Settings &settings) {
  CollectiveSweep sweep;
  sweep.collectives = settings.exitOnError(readCollectives(
      {settings.collectives.begin(), settings.collectives.end()}));
  for (StringRef name : settings.groups)
    sweep.groups.push_back(settings.exitOnError(readGroup(name)));
  sweep.elementBytes = settings.exitOnError(readType(settings.type));
  if (!settings.implementation.empty())
    sweep.implementation =
        settings.exitOnError(readImplementation(settings.implementation));
  sweep.sizes = settings.exitOnError(readSizes(settings));
  return sweep;
}

//===----------------------------------------------------------------------===//
// Points
//===----------------------------------------------------------------------===//

namespace {

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
      : settings(settings), sweep(*settings.sweep), groups(sweep.groups) {}

  int32_t addSite(StringRef kind, size_t group, int64_t inputs, int64_t outputs,
                  json::Object site) {
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

  LogicalResult addPoint(StringRef collective, size_t group, int64_t bytes) {
    int64_t size = groups[group].size;
    if (collective == "send_recv" && size < 2)
      return success();
    bool isGather = collective == "all_gather";
    bool isScatter = collective == "reduce_scatter";
    int64_t parts =
        isGather || isScatter || collective == "all_to_all" ? size : 1;
    int64_t elements = bytes / (parts * sweep.elementBytes);
    if (elements == 0)
      return report(createStringError(
          Twine(bytes) + " bytes hold no " + settings.type + " for " +
          collective + " on group '" + groups[group].name + "', which takes " +
          Twine(parts * sweep.elementBytes) +
          " bytes at least: give --min-bytes"));
    int64_t full = parts * elements;
    Point point{collective, group, full * sweep.elementBytes};
    if (collective == "send_recv") {
      point.site = addSite("send", group, full, 0,
                           json::Object{{"peer", 1}, {"tag", 0}});
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
    return success();
  }

  LogicalResult prepare() {
    json::Array descriptions;
    for (TimedGroup &group : groups) {
      group.size = group.size ? group.size : numRanks;
      if (numRanks % group.size != 0)
        return report(createStringError("group '" + group.name +
                                        "' does not divide the " +
                                        Twine(numRanks) + " ranks evenly"));
      json::Object description{{"name", group.name},
                               {"size", group.size},
                               {"stride", getStride(group)}};
      if (sweep.implementation)
        description["implementation"] = json::Object(*sweep.implementation);
      descriptions.push_back(std::move(description));
    }
    for (StringRef collective : sweep.collectives)
      for (size_t group = 0; group < groups.size(); ++group)
        for (int64_t bytes : sweep.sizes)
          if (failed(addPoint(collective, group, bytes)))
            return failure();
    if (points.empty())
      return report(
          createStringError("nothing to measure: send_recv needs groups of "
                            "two ranks at least"));
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
      return failure();

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
    std::vector<char> names;
    if (failed(exchange(ArrayRef<char>(name), names)))
      return failure();
    for (size_t at = 0; at < names.size(); at += sizeof(name))
      hosts.emplace_back(names.data() + at);
    return success();
  }

  /// All calls of the runtime return at once after its first error.
  LogicalResult time(const Point &point) {
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
    if (failed(exchangeLargest(samples)))
      return failure();
    times.push_back(std::max<int64_t>(getMedian(std::move(samples)), 1));
    return success();
  }

  LogicalResult measure(function_ref<void(const Twine &)> begin) {
    for (auto [index, point] : llvm::enumerate(points)) {
      begin(Twine(point.bytes) + " bytes of " + point.collective + " on " +
            groups[point.group].name + ", " + Twine(index + 1) + " of " +
            Twine(points.size()));
      if (failed(time(point)))
        return failure();
    }
    return success();
  }

  /// Of the group that is on most.
  int64_t countNodes(const TimedGroup &group) const {
    size_t most = 0;
    int64_t stride = getStride(group), block = group.size * stride;
    for (int64_t rank = 0; rank < numRanks; ++rank) {
      std::set<StringRef> nodes;
      for (int64_t index = 0; index < group.size; ++index)
        nodes.insert(
            hosts[rank / block * block + rank % stride + index * stride]);
      most = std::max(most, nodes.size());
    }
    return static_cast<int64_t>(most);
  }

  void print(raw_ostream &os) const {
    // Readers look rows up by these columns, so that each is there once: for
    // the first of the groups that have as many ranks and nodes.
    std::set<std::tuple<StringRef, int64_t, int64_t, int64_t>> seen;
    std::string rows, others;
    for (auto [point, ns] : llvm::zip_equal(points, times)) {
      const TimedGroup &group = groups[point.group];
      int64_t nodes = countNodes(group);
      bool isFirst =
          seen.insert({point.collective, group.size, nodes, point.bytes})
              .second;
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
          row.attribute("group", groups[point.group].name);
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

private:
  int64_t getStride(const TimedGroup &group) const {
    return group.areColumns ? numRanks / group.size : 1;
  }

  const Settings &settings;
  const CollectiveSweep &sweep;
  int64_t numRanks = commsched_num_ranks();
  /// Those of the sweep, with the size that there is.
  std::vector<TimedGroup> groups;
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

LogicalResult
mlir::commsched::run::timeCollectives(const Settings &settings,
                                      function_ref<void(const Twine &)> begin) {
  Sweep sweep(settings);
  if (failed(sweep.prepare()) || failed(sweep.measure(begin)))
    return failure();
  if (commsched_rank() != 0)
    return success();
  return report(
      writeFile(settings.output, [&](raw_ostream &os) { sweep.print(os); }));
}
