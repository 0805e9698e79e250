//===- CostTable.cpp - The cost table that is written ---------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CostTable.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <map>
#include <set>
#include <tuple>

namespace commsched::bench {

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
  RowLists(const Plan &plan, const Environment &environment)
      : plan(plan), environment(environment) {}

  void addPoint(const Point &point, const PointResult &result);

  /// What readers look up, and the rest.
  std::vector<std::string> rows, otherRows;

private:
  void addRow(std::vector<std::string> &list, llvm::StringRef collective,
              const Point &point, llvm::StringRef place,
              const PlaceResult &result);

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
  llvm::Expected<llvm::sys::fs::TempFile> file =
      llvm::sys::fs::TempFile::create(path + ".temp-%%%%%%");
  if (!file)
    return fail(path, llvm::toString(file.takeError()));
  if (llvm::Error error = file->discard())
    return fail(path, llvm::toString(std::move(error)));
  return llvm::Error::success();
}

llvm::Error writeCostTable(llvm::StringRef path, const Settings &settings,
                           const Plan &plan, const Environment &environment,
                           llvm::ArrayRef<PointResult> results) {
  RowLists lists(plan, environment);
  for (auto [point, result] : llvm::zip_equal(plan.points, results))
    lists.addPoint(point, result);
  // Writes beside the file, then renames.
  llvm::Error error =
      llvm::writeToOutput(path, [&](llvm::raw_ostream &os) -> llvm::Error {
        printTable(os, settings, environment, lists);
        os.flush();
        auto &file = static_cast<llvm::raw_fd_ostream &>(os);
        if (!file.has_error())
          return llvm::Error::success();
        std::error_code code = file.error();
        file.clear_error();
        return llvm::errorCodeToError(code);
      });
  if (error)
    return fail(path, llvm::toString(std::move(error)));
  return llvm::Error::success();
}

} // namespace commsched::bench
