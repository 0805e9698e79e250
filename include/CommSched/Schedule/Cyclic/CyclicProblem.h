//===- CyclicProblem.h - Programs that repeat -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The cyclic scheduling problem: a program that is repeated, such as a training
// step or the body of a loop, with dependences and uses of buffers that reach
// into later repetitions. A schedule assigns each operation a stage and a
// position, so that operations of several repetitions run in one period
// (modulo scheduling: Rau, "Iterative Modulo Scheduling", 1996; retiming:
// Leiserson and Saxe, "Retiming Synchronous Circuitry", 1991).
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_SCHEDULE_CYCLIC_CYCLICPROBLEM_H
#define COMMSCHED_SCHEDULE_CYCLIC_CYCLICPROBLEM_H

#include "CommSched/Schedule/Model/Problem.h"

namespace mlir::commsched::schedule {

/// `to` of repetition i + distance runs after `from` of repetition i.
struct CarriedDependence {
  NodeId from;
  NodeId to;
  DependenceKind kind;
  /// At least 1: dependences within a repetition are those of the body.
  int32_t distance;
};

/// `node` of repetition i + distance uses the buffer that repetition i makes.
struct CarriedUse {
  BufferId buffer;
  NodeId node;
  /// At least 1.
  int32_t distance;
};

/// A program that is repeated. `body` is one repetition. Its buffers are, with
/// the rules of Problem:
///   - with a producer: each repetition makes its own. One that is freed is
///     freed by the last of its uses, carried uses included. One that is not
///     freed is held until the next repetition has made its own;
///   - without a producer: the same in all repetitions, and never freed. What
///     each repetition is given anew has a producer that takes no time.
class CyclicProblem {
public:
  /// Distances are below this number: a repetition is held in memory as often
  /// as dependences reach.
  static constexpr int32_t maxDistance = 64;
  /// So many repetitions never take more time than 64 bits count.
  static constexpr int32_t maxRepetitions = 1 << 16;

  explicit CyclicProblem(Problem body) : program(std::move(body)) {}

  /// Requires that `to` of a later repetition runs after `from`; an operation
  /// may depend on itself.
  void addDependence(NodeId from, NodeId to, DependenceKind kind,
                     int32_t distance) {
    dependences.push_back({from, to, kind, distance});
  }
  /// Adds a use of the buffer by an operation of a later repetition.
  void addUse(BufferId buffer, NodeId node, int32_t distance) {
    uses.push_back({buffer, node, distance});
  }

  /// Returns success, or the error of the body (such as a cycle within one
  /// repetition, which is printed), or an error that names the carried
  /// dependence or use whose index or distance is out of range, a buffer
  /// without producer that is freed or carried, or that the times of
  /// maxRepetitions or the sizes of maxDistance repetitions do not fit 64 bits.
  /// O(nodes + buffers + carried dependences + uses).
  Status check() const;

  /// One repetition.
  const Problem &body() const { return program; }
  const std::vector<CarriedDependence> &carriedDependences() const {
    return dependences;
  }
  const std::vector<CarriedUse> &carriedUses() const { return uses; }

private:
  Problem program;
  std::vector<CarriedDependence> dependences;
  std::vector<CarriedUse> uses;
};

/// An order of the operations of one period. Period k runs `node` of repetition
/// k - stages[node].
struct CyclicOrder {
  /// By operation, from 0.
  std::vector<int32_t> stages;
  Order order;

  /// The number of repetitions that are in progress at once: the largest stage
  /// plus 1; 1 without operations.
  int32_t depth() const;
};

/// The order of the program, without overlap between repetitions.
CyclicOrder programOrder(const CyclicProblem &problem);

/// Returns success if `schedule` has each operation once, stages from 0, runs
/// each operation after those that it depends on, and waits for each collective
/// before that of the next repetition starts; else an error that names the
/// operations. O(nodes + dependences + uses).
Status verify(const CyclicProblem &problem, const CyclicOrder &schedule);

/// Returns `count` repetitions as one program: node i of repetition k is node
/// i + k * nodes. What repetitions before the first would have made is live
/// from the start; what the last repetitions make for later ones stays to the
/// end. The slow reference of everything that is computed about a period.
/// `problem` has no error. O(count * (nodes + dependences + uses)).
Problem unroll(const CyclicProblem &problem, int32_t count);

/// Returns the order in which unroll() with `count` runs by `schedule`: in the
/// first and the last periods only the operations whose repetition exists.
Order unroll(const CyclicOrder &schedule, int32_t count);

/// Returns one period as a program of its own, whose node i is the operation at
/// position i: with the dependences that hold within a period, and with the
/// live bytes of all repetitions that are in progress. A legal order of it is a
/// legal order of the period. Error: a collective and its wait have different
/// stages. `schedule` is legal. O(nodes + dependences + uses).
Result<Problem> makePeriodProblem(const CyclicProblem &problem,
                                  const CyclicOrder &schedule);

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_SCHEDULE_CYCLIC_CYCLICPROBLEM_H
