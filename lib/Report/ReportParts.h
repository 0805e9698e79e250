//===- ReportParts.h - Names and memory in reports --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parts that the report on one function and the report on a pair share: the
// names of groups, operations and buffers, and the memory over time.
//
// Reports the collectives and the computation of a function, those in loops,
// branches and callees included.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_REPORT_REPORTPARTS_H
#define COMMSCHED_LIB_REPORT_REPORTPARTS_H

#include "CommSched/Analysis/Problem/BlockProblem.h"
#include "CommSched/Report/StepReport.h"
#include "CommSched/Schedule/Model/MemoryTimeline.h"
#include "CommSched/Schedule/Model/Simulator.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::commsched {

/// The group's symbol without `@`, or the group key as text.
std::string getGroupName(Attribute key);

/// The names in one block.
class ReportNames {
public:
  /// O(operations). `block` outlives this. Its collectives count on from
  /// `numBefore`.
  explicit ReportNames(const BlockProblem &block, size_t numBefore = 0);

  /// The name of a collective is otherwise its kind and its index among the
  /// collectives of the block, that of a `commsched.compute` its operator, that
  /// of any other operation the name that MLIR knows it by. O(log operations).
  std::string getOperationName(schedule::NodeId node) const;

  /// The name of the argument, which is otherwise `%arg` and its number, or of
  /// the operation that the buffer's value comes from, for what a collective
  /// delivers the collective. `#` and a number follow for results after the
  /// first. O(log operations).
  std::string getBufferName(schedule::BufferId buffer) const;

  /// Which rule of the memory model counts the buffer; see LiveValue::rule.
  StringRef getBufferRule(schedule::BufferId buffer) const;

  /// As that of the block.
  int64_t getHostBytes(schedule::BufferId buffer) const {
    return block.getHostBytes(buffer);
  }

private:
  const BlockProblem &block;
  size_t numBefore;
  /// Ascending.
  std::vector<schedule::NodeId> collectives;
};

/// The name of an operation that is no collective, in printable form.
std::string getOperationName(Operation *op);

/// Fills in computation and communication, by the prices of all operations.
void addTimes(StepReport &report);

/// Where a block runs in the step.
struct BlockPlace {
  /// When it begins the first time.
  int64_t beginNs = 0;
  /// How often it runs.
  int64_t iterations = 1;
};

/// Appends the report on the collective `op`, which starts at `node` of a
/// problem that is simulated to `timeline`, as that of a block at `place`.
/// `wait` is null for one that blocks.
void addCollective(StepReport &report, const schedule::Problem &problem,
                   schedule::NodeId node, Operation *op, Operation *wait,
                   std::string name, const schedule::Timeline &timeline,
                   BlockPlace place = {});

/// What the simulation of a problem's program gives.
struct SimulatedProgram {
  schedule::Timeline timeline;
  schedule::MemoryTimeline memory;
  /// What the allocator reserves, if there is one.
  std::optional<schedule::ReservedMemory> reserved;
};

/// Simulates the program of `problem`. Emits an error at `loc` if that cannot
/// be done.
FailureOr<SimulatedProgram>
simulateProgram(Location loc, const schedule::Problem &problem,
                const schedule::Contention &contention,
                std::optional<schedule::SegmentKind> allocator);

/// A buffer as the block that names it knows it.
struct NamedBuffer {
  const ReportNames &names;
  schedule::BufferId buffer;
};

/// Fills in the time of the step and its memory: the peak and what is live
/// there, the live bytes over time, those of the host, what is reserved, and
/// the buffers if they are asked for. `locate` gives the names of a buffer.
void addSimulated(StepReport &report, const schedule::Problem &problem,
                  const SimulatedProgram &simulated,
                  function_ref<NamedBuffer(schedule::BufferId)> locate,
                  bool withBuffers);

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

class OperationReporter {
public:
  /// The collectives of a program, with their places in the report.
  using Starts = SmallVector<std::pair<schedule::NodeId, size_t>>;

  /// All outlive this. `costs` prices what runs inside of operations.
  OperationReporter(StepReport &report, FunctionOpInterface function,
                    OperationCosts &costs)
      : report(report), function(function), costs(costs) {}

  /// Appends what the simulated `timeline` says about each operation of a
  /// block, and why its collectives are exposed. Emits an error if that cannot
  /// be found out, or if a block inside cannot be simulated.
  LogicalResult addBlock(const BlockProblem &block,
                         const schedule::Timeline &timeline,
                         const schedule::Contention &contention,
                         BlockPlace place = {});

  /// Appends a computation, or what runs inside of it if that communicates. A
  /// function that is called several times is reported where it is called
  /// first.
  LogicalResult addOperation(Operation *op, std::string name, int64_t beginNs,
                             int64_t endNs, int64_t iterations);

  /// Fills in why `starts` are exposed when `problem` runs in `order`. Emits an
  /// error if that cannot be found out.
  LogicalResult
  addLimits(const schedule::Problem &problem, const schedule::Order &order,
            const schedule::ExposureOptions &options, const Starts &starts,
            function_ref<Operation *(schedule::NodeId)> getOperation,
            function_ref<std::string(schedule::NodeId)> getName);

  /// Counts the collectives of callees, and how they slow computation down, as
  /// often as they run, when all is added.
  void countCalls();

private:
  /// The function, or one that it calls.
  struct Body {
    /// What it calls, and how often in one run.
    std::vector<std::pair<size_t, int64_t>> calls;
    int64_t runs = 0;
    /// By how much collectives inside of operations slow down computation
    /// there, in one run.
    int64_t slowdownNs = 0;
  };

  /// Nothing that takes no time.
  void addComputation(ComputeReport computation);
  LogicalResult addRuns(Operation *op, ArrayRef<Block *> blocks,
                        BlockPlace place);
  LogicalResult addCall(ArrayRef<Block *> blocks, BlockPlace place,
                        ComputeReport again);
  void addSlowdown(int64_t onceNs, BlockPlace place);
  FailureOr<int64_t> addRun(Block &block, BlockPlace place);
  FailureOr<int64_t> addPipelined(scf::ForOp loop, BlockPlace place);
  LogicalResult addBlockLimits(const BlockProblem &block,
                               const ReportNames &names,
                               const schedule::Contention &contention,
                               const Starts &starts, BlockPlace place);

  StepReport &report;
  FunctionOpInterface function;
  OperationCosts &costs;
  /// The function comes first.
  std::vector<Body> bodies{1};
  /// The callees, each behind those that it calls.
  std::vector<size_t> callees;
  DenseMap<Block *, size_t> bodyOf;
  /// The body that is being reported, and by collective that which it is in.
  size_t current = 0;
  std::vector<size_t> ownerOf;
};

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_REPORT_REPORTPARTS_H
