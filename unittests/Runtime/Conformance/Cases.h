//===- Cases.h - Cases of the suite -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A plan is the process groups and the collectives of one program; all ranks
// make the same plan from the number of ranks and what the backend supports.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_UNITTESTS_CONFORMANCE_CASES_H
#define COMMSCHED_UNITTESTS_CONFORMANCE_CASES_H

#include "CommSched/Runtime/Runtime.h"
#include "ElementFormats.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace commsched::conformance {

/// How the collectives of a group are carried out.
struct Implementation {
  const char *name;
  /// As in program descriptions.
  const char *method;
  int32_t channels;
  /// All, if it is empty.
  std::vector<commsched_kind> kinds;
};

/// A process group: its members, row by row.
struct ProcessGroup {
  std::string name;
  /// Between the ranks of a row; 0 when the rows are listed.
  int32_t stride = 0;
  std::vector<std::vector<int32_t>> rows;
  /// Null: the backend's usual one.
  const Implementation *implementation = nullptr;

  int32_t getSize() const { return static_cast<int32_t>(rows[0].size()); }
  /// The row of `rank`, or null.
  const std::vector<int32_t> *findRow(int32_t rank) const;
};

struct CaseTensor {
  const ElementFormat *format;
  /// Elements that one rank contributes (all_gather), is left with
  /// (reduce_scatter), has for each rank (all_to_all) or in a row (with splits
  /// that are values), or has.
  int64_t count;
};

/// One collective, on all rows of its group. COMMSCHED_SEND stands for a send
/// and the recv that it belongs to.
struct Case {
  commsched_kind kind = COMMSCHED_BARRIER;
  int32_t group = 0;
  std::vector<CaseTensor> tensors;
  std::optional<commsched_reduction> reduction;
  /// The root of a broadcast, the target of a send.
  int32_t peer = -1;
  /// Of a send.
  int32_t source = -1;
  int32_t tag = 0;
  std::vector<std::pair<int32_t, int32_t>> pairs;
  /// Of an all_to_all: ranks send each other different numbers of elements. The
  /// program states them, or the numbers of rows on these sides are values.
  bool uneven = false;
  bool inputValues = false;
  bool outputValues = false;
  bool inPlace = false;
  /// The case's site in the program; that of a recv follows.
  int32_t site = 0;

  bool hasSplitValues() const { return inputValues || outputValues; }
  int32_t getNumSites() const { return kind == COMMSCHED_SEND ? 2 : 1; }
};

struct Plan {
  std::string name;
  std::vector<ProcessGroup> groups;
  std::vector<Case> cases;
};

/// The elements of one tensor that the member `rank` of a group of `size` sends
/// and receives.
struct TensorSizes {
  int64_t inputs = 0;
  int64_t outputs = 0;
  /// Of an uneven all_to_all.
  std::vector<int64_t> inputSplits;
  std::vector<int64_t> outputSplits;
};

/// The rows of one side of an all_to_all that has splits as values: those for
/// each rank.
std::vector<int64_t> getInputRows(int32_t rank, int32_t size);
std::vector<int64_t> getOutputRows(int32_t rank, int32_t size);

TensorSizes getSizes(const Case &theCase, const CaseTensor &tensor,
                     int32_t rank, int32_t size);

const char *getName(commsched_kind kind);
const char *getName(commsched_reduction reduction);
inline constexpr int numReductions = COMMSCHED_BXOR + 1;

/// All facts of a case, for people.
std::string describe(const Case &theCase, const Plan &plan);

/// The programs to run on `backend` with `numRanks` ranks. `oneNode`: all are
/// on one node.
std::vector<Plan> makePlans(const std::string &backend, int32_t numRanks,
                            bool oneNode);

/// The program of `rank` for commsched_load_program.
std::string makeDescription(const Plan &plan, int32_t rank);

/// Whether `backend` has `reduction` for elements of `format`. Without it, it
/// rejects the program when it is loaded. All backends send all types.
bool canReduce(const std::string &backend, const ElementFormat &format,
               commsched_reduction reduction);

/// Prints the table in Markdown.
void printSupport();

} // namespace commsched::conformance

#endif // COMMSCHED_UNITTESTS_CONFORMANCE_CASES_H
