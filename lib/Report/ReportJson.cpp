//===- ReportJson.cpp - A simulated step as JSON --------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Report/ReportFormats.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace mlir::commsched;
namespace json = llvm::json;

static void printReorderInfo(json::OStream &stream, StringRef key,
                             const ReorderInfo &info) {
  stream.attributeObject(key, [&] {
    stream.attribute("comm_ns", info.commNs);
    stream.attribute("compute_ns", info.computeNs);
    stream.attribute("exposed_before_ns", info.exposedBeforeNs);
    stream.attribute("exposed_after_ns", info.exposedAfterNs);
    stream.attribute("moves", info.moves);
    stream.attribute("grouped", info.grouped);
    stream.attribute("limiting_factor", info.limitingFactor);
    stream.attribute("pass", info.pass);
  });
}

static void printCollective(json::OStream &stream,
                            const CollectiveReport &collective) {
  stream.attribute("name", collective.name);
  stream.attribute("kind", collective.kind);
  stream.attribute("group", collective.group);
  stream.attribute("bytes", collective.bytes);
  stream.attribute("start_ns", collective.startNs);
  stream.attribute("end_ns", collective.endNs);
  stream.attribute("wait_ns", collective.waitNs);
  stream.attribute("exposed_ns", collective.exposedNs);
  if (collective.exposedNs > 0) {
    stream.attribute("limited_by", collective.limitedBy);
    stream.attribute("remedy", collective.remedy);
  }
  if (!collective.startReorder && !collective.waitReorder)
    return;
  stream.attributeObject("reorder", [&] {
    if (collective.startReorder)
      printReorderInfo(stream, "start", *collective.startReorder);
    if (collective.waitReorder)
      printReorderInfo(stream, "wait", *collective.waitReorder);
  });
}

void mlir::commsched::printJson(const StepReport &report, raw_ostream &os) {
  json::OStream stream(os);
  stream.object([&] {
    stream.attribute("function", report.function);
    stream.attribute("num_ops", report.numOps);
    stream.attribute("num_collectives",
                     static_cast<int64_t>(report.collectives.size()));
    stream.attribute("comm_bytes", report.commBytes);
    stream.attribute("step_time_ns", report.stepTimeNs);
    stream.attribute("compute_time_ns", report.computeTimeNs);
    stream.attribute("comm_time_ns", report.commTimeNs);
    stream.attribute("exposed_comm_ns", report.exposedCommNs);
    stream.attribute("lower_bound_ns", report.lowerBoundNs);
    stream.attribute("tight_lower_bound_ns", report.tightLowerBoundNs);
    stream.attribute("peak_memory_bytes", report.peakMemoryBytes);
    stream.attributeArray("collectives", [&] {
      for (const CollectiveReport &collective : report.collectives)
        stream.object([&] { printCollective(stream, collective); });
    });
    if (report.slowdownNs > 0)
      stream.attribute("compute_slowdown_ns", report.slowdownNs);
    stream.attribute("peak_position", report.peakPosition);
    stream.attributeArray("peak_values", [&] {
      for (const LiveValue &value : report.peakValues)
        stream.object([&] {
          stream.attribute("name", value.name);
          stream.attribute("bytes", value.bytes);
          if (value.producer)
            stream.attribute("producer", *value.producer);
        });
    });
    if (const std::optional<HalvesReport> &halves = report.halves) {
      stream.attribute("forward", halves->forward);
      stream.attribute("backward", halves->backward);
      stream.attribute("saved_bytes", halves->savedBytes);
    }
  });
  os << "\n";
}
