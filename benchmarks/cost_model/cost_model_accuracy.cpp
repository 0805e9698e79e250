//===- cost_model_accuracy.cpp - Accuracy of cost models ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares CommSched's model and measured tables, and other projects' formulas,
// with the public measurements in data/cost-tables. Prints, for each table and
// collective, the median and the worst relative error |predicted - measured| /
// measured of each.
//===----------------------------------------------------------------------===//

#include "Peers.h"

#include "CommSched/CostModel/CollectiveCost.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

using namespace mlir::commsched;
using namespace mlir::commsched::cost;

static llvm::cl::opt<std::string>
    tableFolder("tables", llvm::cl::desc("Folder with the measured tables"),
                llvm::cl::value_desc("folder"),
                llvm::cl::init(COMMSCHED_COST_TABLES));
static llvm::cl::opt<bool>
    presetsOnly("presets-only",
                llvm::cl::desc("Take each machine's network from its preset, "
                               "not from what is known of the cluster"));
static llvm::cl::opt<bool>
    showPoints("points", llvm::cl::desc("Print every prediction as well"));
static llvm::cl::list<std::string>
    overrides("set", llvm::cl::desc("Override a target field everywhere"),
              llvm::cl::value_desc("field=value"));
static llvm::cl::opt<bool>
    printTargets("print-targets",
                 llvm::cl::desc("Print every field of every preset instead"));

namespace {

/// A table, the machine that it was measured on, and what is known of that
/// cluster's network beyond the preset.
struct Setup {
  const char *file;
  const char *label;
  const char *preset;
  peers::Gpu gpu;
  std::vector<std::pair<const char *, double>> network;
};

const Setup setups[] = {
    {"h100-8gpu-xla", "A h100", "h100", peers::Gpu::Hopper, {}},
    {"b200-8gpu-xla", "A b200", "b200", peers::Gpu::Blackwell, {}},
    {"h200-8gpu-nccl-tests",
     "B h200",
     "h200",
     peers::Gpu::Hopper,
     {{"collective_launch_us", 0}}},
    {"h100-2node-a3mega",
     "C1 h100 x2",
     "h100",
     peers::Gpu::Hopper,
     {{"collective_launch_us", 0}, {"nic_gb_s", 25}, {"net_latency_us", 55}}},
    {"h100-2node-alpha",
     "C2 h100 x2",
     "h100",
     peers::Gpu::Hopper,
     {{"collective_launch_us", 0},
      {"net_latency_us", 18},
      {"net_efficiency", 0.33}}},
    {"h100-8node-coreweave",
     "C3 h100 x8",
     "h100",
     peers::Gpu::Hopper,
     {{"collective_launch_us", 0}, {"collnet", 1}}},
    {"gh200-alps-nccl-tests",
     "D gh200",
     "gh200",
     peers::Gpu::Hopper,
     {{"collective_launch_us", 0}}},
};

using Predictor =
    std::function<std::optional<double>(const CollectiveQuery &, size_t row)>;

struct Column {
  const char *name;
  Predictor predictNs;
};

/// Relative errors of one model on one collective.
class Errors {
public:
  void add(double predicted, double measured) {
    values.push_back(std::fabs(predicted - measured) / measured);
  }
  std::string text() {
    if (values.empty())
      return "-";
    std::sort(values.begin(), values.end());
    size_t middle = values.size() / 2;
    double median = values.size() % 2
                        ? values[middle]
                        : (values[middle - 1] + values[middle]) / 2;
    std::string result;
    llvm::raw_string_ostream(result)
        << llvm::format("%.0f / %.0f", 100 * median, 100 * values.back());
    return result;
  }

private:
  std::vector<double> values;
};

CollectiveQuery queryOf(const MeasuredRow &row) {
  CollectiveQuery query;
  query.kind = row.kind;
  query.bytes = row.bytes;
  query.ranks = row.ranks;
  query.ranksPerNode = row.ranks / row.nodes;
  return query;
}

/// The table without one row.
MeasuredTable without(const MeasuredTable &table, size_t index) {
  std::vector<MeasuredRow> rows = table.getRows().vec();
  rows.erase(rows.begin() + index);
  return llvm::cantFail(MeasuredTable::create(std::move(rows)));
}

std::vector<Column> makeColumns(const Setup &setup, const Target &target,
                                const MeasuredTable &table) {
  auto fromUs = [](std::optional<double> us) -> std::optional<double> {
    if (!us)
      return std::nullopt;
    return 1000 * *us;
  };
  peers::Gpu gpu = setup.gpu;
  return {
      {"model",
       [=](const CollectiveQuery &query, size_t) {
         return NcclModel(target).estimate(query).timeNs;
       }},
      {"table",
       [=, &table](const CollectiveQuery &query, size_t row) {
         return CollectiveCost(target, without(table, row)).timeNs(query);
       }},
      {"PyTorch new",
       [=](const CollectiveQuery &query, size_t) {
         return fromUs(peers::pytorchNewestUs(query, gpu));
       }},
      {"PyTorch old",
       [=](const CollectiveQuery &query, size_t) {
         return fromUs(peers::pytorchOlderUs(query));
       }},
      {"XLA SoL",
       [=](const CollectiveQuery &query, size_t) {
         return fromUs(peers::xlaSpeedOfLightUs(query, gpu));
       }},
  };
}

void printPoint(const Setup &setup, const Target &target,
                const MeasuredRow &row,
                const std::vector<std::optional<double>> &predictions) {
  NcclEstimate estimate = NcclModel(target).estimate(queryOf(row));
  llvm::outs() << llvm::format(
      "%-10s %-14s %5d %3d %12lld %12.1f |", setup.label,
      stringifyCollectiveKind(row.kind).str().c_str(), row.ranks, row.nodes,
      static_cast<long long>(row.bytes), row.timeNs / 1e3);
  for (const std::optional<double> &prediction : predictions)
    llvm::outs() << llvm::format(
        " %+7.0f%%",
        prediction ? 100 * (*prediction / row.timeNs - 1) : std::nan(""));
  llvm::outs() << "  " << stringifyNcclAlgorithm(estimate.algorithm) << "/"
               << stringifyNcclProtocol(estimate.protocol) << "\n";
}

void printRow(llvm::StringRef label, llvm::StringRef collective, size_t points,
              std::vector<Errors> &errors) {
  llvm::outs() << llvm::format("| %-10s | %-14s | %6zu |", label.str().c_str(),
                               collective.str().c_str(), points);
  for (Errors &error : errors)
    llvm::outs() << llvm::format(" %-11s |", error.text().c_str());
  llvm::outs() << "\n";
}

llvm::Error applyOverrides(Target &target) {
  for (llvm::StringRef text : overrides) {
    auto [key, number] = text.split('=');
    double value = 0;
    if (number.getAsDouble(value))
      return llvm::createStringError("expected field=value, got '" + text +
                                     "'");
    if (llvm::Error error = target.setField(key, value))
      return error;
  }
  return llvm::Error::success();
}

llvm::Error runSetup(const Setup &setup) {
  std::string path = tableFolder + "/" + setup.file + ".json";
  llvm::Expected<MeasuredTable> table = MeasuredTable::load(path);
  if (!table)
    return table.takeError();
  std::optional<Target> target = getTargetPreset(setup.preset);
  if (!presetsOnly)
    for (const auto &[key, value] : setup.network)
      if (llvm::Error error = target->setField(key, value))
        return error;
  if (llvm::Error error = applyOverrides(*target))
    return error;
  std::vector<Column> columns = makeColumns(setup, *target, *table);
  for (CollectiveKind kind : allCollectiveKinds) {
    std::vector<Errors> errors(columns.size());
    size_t points = 0;
    llvm::ArrayRef<MeasuredRow> rows = table->getRows();
    for (size_t i = 0; i < rows.size(); ++i) {
      if (rows[i].kind != kind)
        continue;
      ++points;
      std::vector<std::optional<double>> predictions;
      for (size_t c = 0; c < columns.size(); ++c) {
        predictions.push_back(columns[c].predictNs(queryOf(rows[i]), i));
        if (predictions.back())
          errors[c].add(*predictions.back(), rows[i].timeNs);
      }
      if (showPoints)
        printPoint(setup, *target, rows[i], predictions);
    }
    if (points != 0)
      printRow(setup.label, stringifyCollectiveKind(kind), points, errors);
  }
  return llvm::Error::success();
}

void printTargetTable() {
  llvm::outs() << "| field | meaning |";
  for (llvm::StringRef name : targetPresetNames())
    llvm::outs() << " " << name << " |";
  llvm::outs() << "\n|---|---|";
  for (size_t i = 0; i < targetPresetNames().size(); ++i)
    llvm::outs() << "---:|";
  llvm::outs() << "\n";
  for (const TargetField &field : targetFields()) {
    llvm::outs() << "| `" << field.key << "` | " << field.description << " |";
    for (llvm::StringRef name : targetPresetNames())
      llvm::outs() << llvm::format(" %.8g |",
                                   *getTargetPreset(name)->getField(field.key));
    llvm::outs() << "\n";
  }
}

} // namespace

int main(int argc, char **argv) {
  llvm::cl::ParseCommandLineOptions(
      argc, argv,
      "Relative errors in percent, median / worst, of cost models on measured "
      "collectives\n");
  if (printTargets) {
    printTargetTable();
    return 0;
  }
  llvm::outs() << "| table      | collective     | points | model       | "
                  "table       | PyTorch new | PyTorch old | XLA SoL     |\n"
                  "|------------|----------------|-------:|-------------|-"
                  "------------|-------------|-------------|-------------|\n";
  for (const Setup &setup : setups)
    if (llvm::Error error = runSetup(setup)) {
      llvm::errs() << "error: " << llvm::toString(std::move(error)) << "\n";
      return 1;
    }
  return 0;
}
