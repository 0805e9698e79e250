//===- Tables.h - Result and cost tables ------------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tables of a run and the description of its environment: hosts, device and
// library, the same on all ranks.
//
// The printed table has the columns of nccl-tests in their order, then the
// isolated times and, with a peer, the ratios to it.
//
// The cost table is the one that `commsched-estimate-runtime=profile=` reads.
// Its time is the isolated one, out of place: in the model of the passes, a
// wait stands still until the data is there, which is the time of a call that
// has no other call in flight. Further columns hold the other measurements.
// Other types, reductions, groups of the same size and in-place forms have a
// list of their own, since readers take one time for a collective, a number of
// ranks, a number of nodes and a number of bytes.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TOOLS_BENCH_TABLES_H
#define COMMSCHED_TOOLS_BENCH_TABLES_H

#include "Measurement.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

#include <memory>

namespace commsched::bench {

struct Environment {
  std::string backend;
  /// "Open MPI v4.1.4"; empty if not known.
  std::string library;
  /// "znver4, 2 cores", or a GPU's name.
  std::string device;
  /// By rank.
  std::vector<std::string> hosts;

  /// Asks all ranks. False on an error of the runtime. `peer` may be null.
  bool gather(const Peer *peer);

  /// Hosts that the members of a group are on; the most of any of its rows.
  int32_t countNodes(const PlanGroup &group) const;
};

/// The peer that calls the library of `backend`, from beside the runtime's
/// library. Null, and why in `error`, if there is none.
std::unique_ptr<Peer> loadPeer(llvm::StringRef backend, std::string &error);

class ResultTable {
public:
  ResultTable(const Settings &settings, const Plan &plan,
              const Environment &environment, llvm::raw_ostream &os)
      : settings(settings), plan(plan), environment(environment), os(os) {}

  /// `direct` names the library that the runtime is compared with; empty for
  /// none.
  void printHeader(llvm::StringRef direct);
  /// Points of one collective and group come one after the other.
  void printPoint(const Point &point, const PointResult &result);
  void printFooter();

  int64_t getWrong() const { return wrong; }

private:
  void printColumns(const Point &point);
  void printPlace(const Point &point, const PlaceResult &result);

  const Settings &settings;
  const Plan &plan;
  const Environment &environment;
  llvm::raw_ostream &os;
  const Point *previous = nullptr;
  bool compared = false;
  int64_t wrong = 0;
  double busBandwidthSum = 0;
  int64_t busBandwidthCount = 0;
};

/// Fails when a table could not be written to `path`; changes nothing.
llvm::Error checkWritable(llvm::StringRef path);

/// `results` are those of the plan's points. On an error there is no new file,
/// and an old one is as it was.
llvm::Error writeCostTable(llvm::StringRef path, const Settings &settings,
                           const Plan &plan, const Environment &environment,
                           llvm::ArrayRef<PointResult> results);

} // namespace commsched::bench

#endif // COMMSCHED_TOOLS_BENCH_TABLES_H
