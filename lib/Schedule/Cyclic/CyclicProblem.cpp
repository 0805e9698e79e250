//===- CyclicProblem.cpp - Programs that repeat ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Cyclic/CyclicProblem.h"

#include "BufferUses.h"
#include "CommSched/Schedule/Model/Verify.h"

#include <algorithm>
#include <limits>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

//===----------------------------------------------------------------------===//
// Check
//===----------------------------------------------------------------------===//

static std::string describeDistance(int32_t distance) {
  return " at a distance of " + std::to_string(distance) + " repetitions";
}

/// Checks that a sum of a repetition fits 64 bits `times` times.
static Status checkSum(const char *what, int64_t sum, int32_t times) {
  if (sum <= std::numeric_limits<int64_t>::max() / times)
    return Status::success();
  return Error{std::string("the sum of all ") + what + " is " +
               std::to_string(sum) + ", of which " + std::to_string(times) +
               " repetitions do not fit 64 bits"};
}

static bool isDistance(int32_t distance) {
  return distance >= 1 && distance < CyclicProblem::maxDistance;
}

Status CyclicProblem::check() const {
  if (const Status &status = program.check(); !status)
    return status;
  int64_t totalNs = 0, totalBytes = 0;
  for (NodeId node = 0; node < program.numNodes(); ++node)
    totalNs += program.costNs(node);
  for (BufferId id = 0; id < program.numBuffers(); ++id) {
    const Buffer &buffer = program.buffer(id);
    totalBytes += buffer.bytes;
    if (buffer.producer == noNode && buffer.freed)
      return Error{"buffer " + std::to_string(id) +
                   " is freed, but no operation makes it in each repetition"};
  }
  if (Status status = checkSum("costs", totalNs, maxRepetitions); !status)
    return status;
  // Uses reach as far as a distance and the stages.
  if (Status status = checkSum("sizes", totalBytes, 2 * maxDistance); !status)
    return status;
  auto isNode = [&](NodeId node) {
    return node >= 0 && node < program.numNodes();
  };
  std::string range = ", but distances are from 1 to " +
                      std::to_string(maxDistance - 1) + ", and nodes below " +
                      std::to_string(program.numNodes());
  for (const CarriedDependence &edge : dependences)
    if (!isNode(edge.from) || !isNode(edge.to) || !isDistance(edge.distance))
      return Error{program.describe(edge.to) + " depends on " +
                   program.describe(edge.from) +
                   describeDistance(edge.distance) + range};
  for (const CarriedUse &use : uses) {
    std::string text = program.describe(use.node) + " uses buffer " +
                       std::to_string(use.buffer) +
                       describeDistance(use.distance);
    if (use.buffer < 0 || use.buffer >= program.numBuffers())
      return Error{text + ", but there are " +
                   std::to_string(program.numBuffers()) + " buffers"};
    if (!isNode(use.node) || !isDistance(use.distance))
      return Error{text + range};
    if (program.buffer(use.buffer).producer == noNode)
      return Error{text + ", which no operation makes"};
  }
  return Status::success();
}

//===----------------------------------------------------------------------===//
// Orders
//===----------------------------------------------------------------------===//

int32_t CyclicOrder::depth() const {
  return stages.empty() ? 1
                        : *std::max_element(stages.begin(), stages.end()) + 1;
}

CyclicOrder schedule::programOrder(const CyclicProblem &problem) {
  return {std::vector<int32_t>(problem.body().numNodes()),
          problem.body().programOrder()};
}

namespace {

/// When each operation runs.
class Places {
public:
  Places(const CyclicOrder &schedule, const std::vector<int32_t> &positions)
      : schedule(schedule), positions(positions) {}

  /// Whether `to` of the repetition that is `distance` later runs after `from`.
  bool isAfter(NodeId from, NodeId to, int32_t distance) const {
    int32_t periods = distance + schedule.stages[to] - schedule.stages[from];
    return periods > 0 || (periods == 0 && positions[from] < positions[to]);
  }
  std::string at(NodeId node) const {
    return " at stage " + std::to_string(schedule.stages[node]) +
           ", position " + std::to_string(positions[node]);
  }

private:
  const CyclicOrder &schedule;
  const std::vector<int32_t> &positions;
};

} // namespace

static Status verifyDependences(const CyclicProblem &problem,
                                const Places &places) {
  const Problem &body = problem.body();
  auto check = [&](NodeId from, NodeId to, DependenceKind kind,
                   int32_t distance) -> Status {
    if (places.isAfter(from, to, distance))
      return Status::success();
    return Error{body.describe(to) + places.at(to) + " comes before " +
                 body.describe(from) + places.at(from) +
                 ", on which it depends (" + toString(kind) + ")" +
                 (distance > 0 ? describeDistance(distance) : "")};
  };
  for (NodeId node = 0; node < body.numNodes(); ++node)
    for (DependenceEnd successor : body.successors(node))
      if (Status status = check(node, successor.node, successor.kind, 0);
          !status)
        return status;
  for (const CarriedDependence &edge : problem.carriedDependences())
    if (Status status = check(edge.from, edge.to, edge.kind, edge.distance);
        !status)
      return status;
  return Status::success();
}

static Status verifyUses(const CyclicProblem &problem, const Places &places) {
  const Problem &body = problem.body();
  auto check = [&](BufferId id, NodeId user, int32_t distance) -> Status {
    NodeId producer = body.buffer(id).producer;
    if (producer == noNode || places.isAfter(producer, user, distance) ||
        (producer == user && distance == 0))
      return Status::success();
    return Error{body.describe(user) + places.at(user) + " uses buffer " +
                 std::to_string(id) + " before " + body.describe(producer) +
                 places.at(producer) + " makes it"};
  };
  for (BufferId id = 0; id < body.numBuffers(); ++id)
    for (NodeId user : body.users(id))
      if (Status status = check(id, user, 0); !status)
        return status;
  for (const CarriedUse &use : problem.carriedUses())
    if (Status status = check(use.buffer, use.node, use.distance); !status)
      return status;
  return Status::success();
}

Status schedule::verify(const CyclicProblem &problem,
                        const CyclicOrder &schedule) {
  const Problem &body = problem.body();
  if (schedule.stages.size() != static_cast<size_t>(body.numNodes()))
    return Error{
        "there are stages for " + std::to_string(schedule.stages.size()) +
        " operations; the problem has " + std::to_string(body.numNodes())};
  for (NodeId node = 0; node < body.numNodes(); ++node)
    if (schedule.stages[node] < 0 ||
        schedule.stages[node] >= CyclicProblem::maxDistance)
      return Error{body.describe(node) + " has stage " +
                   std::to_string(schedule.stages[node]) +
                   ", but stages are from 0 to " +
                   std::to_string(CyclicProblem::maxDistance - 1)};
  Result<std::vector<int32_t>> positions = invert(body, schedule.order);
  if (!positions)
    return Error{positions.error()};
  Places places(schedule, *positions);
  if (Status status = verifyDependences(problem, places); !status)
    return status;
  for (NodeId node = 0; node < body.numNodes(); ++node)
    if (NodeId wait = body.waitOf(node);
        wait != noNode && !places.isAfter(wait, node, 1))
      return Error{body.describe(node) + places.at(node) +
                   " starts again before " + body.describe(wait) +
                   places.at(wait) + " has waited for it"};
  return verifyUses(problem, places);
}

//===----------------------------------------------------------------------===//
// Unrolling
//===----------------------------------------------------------------------===//

namespace {

/// Builds the program of several repetitions.
class Unroller {
public:
  Unroller(const CyclicProblem &problem, int32_t count)
      : problem(problem), body(problem.body()), count(count) {}

  Problem unroll() {
    for (int32_t repetition = 0; repetition < count; ++repetition)
      addNodes(repetition);
    for (int32_t repetition = 0; repetition < count; ++repetition)
      addDependences(repetition);
    addBuffers();
    result.finalize();
    return std::move(result);
  }

private:
  NodeId copyOf(NodeId node, int32_t repetition) const {
    return node == noNode ? noNode : repetition * body.numNodes() + node;
  }

  void addNodes(int32_t repetition) {
    for (NodeId node = 0; node < body.numNodes(); ++node) {
      if (body.kind(node) == NodeKind::Wait)
        result.addWait(copyOf(body.startOf(node), repetition));
      else
        result.addNode(body.kind(node), body.costNs(node), body.stream(node));
    }
  }

  void addDependences(int32_t repetition) {
    for (NodeId node = 0; node < body.numNodes(); ++node)
      for (DependenceEnd end : body.successors(node))
        if (body.startOf(end.node) != node || end.kind != DependenceKind::Data)
          result.addDependence(copyOf(node, repetition),
                               copyOf(end.node, repetition), end.kind);
    for (const CarriedDependence &edge : problem.carriedDependences())
      if (repetition + edge.distance < count)
        result.addDependence(copyOf(edge.from, repetition),
                             copyOf(edge.to, repetition + edge.distance),
                             edge.kind);
  }

  /// Adds the buffer that a repetition makes, or that the caller made in place
  /// of one before the first.
  void addInstance(BufferId id, int32_t repetition, ArrayView<BufferUse> uses) {
    const Buffer &buffer = body.buffer(id);
    bool outlives = false;
    for (const BufferUse &use : uses)
      outlives |= repetition + use.distance >= count;
    NodeId producer =
        repetition < 0 ? noNode : copyOf(buffer.producer, repetition);
    BufferId instance =
        result.addBuffer(buffer.bytes, producer, /*freed=*/!outlives);
    for (const BufferUse &use : uses)
      if (int32_t user = repetition + use.distance; user >= 0 && user < count)
        result.addUse(instance, copyOf(use.node, user));
  }

  void addBuffers() {
    for (BufferId id = 0; id < body.numBuffers(); ++id) {
      const Buffer &buffer = body.buffer(id);
      ArrayView<BufferUse> uses = bufferUses[id];
      if (buffer.producer == noNode) {
        BufferId instance =
            result.addBuffer(buffer.bytes, noNode, /*freed=*/false);
        for (int32_t repetition = 0; repetition < count; ++repetition)
          for (const BufferUse &use : uses)
            result.addUse(instance, copyOf(use.node, repetition));
        continue;
      }
      int32_t farthest = 0;
      for (const BufferUse &use : uses)
        farthest = std::max(farthest, use.distance);
      for (int32_t repetition = -farthest; repetition < count; ++repetition)
        addInstance(id, repetition, uses);
    }
  }

  const CyclicProblem &problem;
  const Problem &body;
  BufferUses bufferUses = BufferUses(problem);
  int32_t count;
  Problem result;
};

} // namespace

Problem schedule::unroll(const CyclicProblem &problem, int32_t count) {
  return Unroller(problem, count).unroll();
}

Order schedule::unroll(const CyclicOrder &schedule, int32_t count) {
  Order order;
  int32_t numNodes = static_cast<int32_t>(schedule.order.size());
  int32_t numPeriods = count + schedule.depth() - 1;
  order.reserve(static_cast<size_t>(numNodes) * count);
  for (int32_t period = 0; period < numPeriods; ++period)
    for (NodeId node : schedule.order)
      if (int32_t repetition = period - schedule.stages[node];
          repetition >= 0 && repetition < count)
        order.push_back(repetition * numNodes + node);
  return order;
}

//===----------------------------------------------------------------------===//
// One period
//===----------------------------------------------------------------------===//

namespace {

/// Builds the program of one period.
class PeriodBuilder {
public:
  PeriodBuilder(const CyclicProblem &problem, const CyclicOrder &schedule)
      : problem(problem), body(problem.body()), schedule(schedule),
        places(positionsOf(schedule.order)) {}

  Result<Problem> build() {
    if (Status status = addNodes(); !status)
      return status;
    for (NodeId node = 0; node < body.numNodes(); ++node)
      for (DependenceEnd end : body.successors(node))
        if (body.startOf(end.node) != node || end.kind != DependenceKind::Data)
          addDependence(node, end.node, end.kind, 0);
    for (const CarriedDependence &edge : problem.carriedDependences())
      addDependence(edge.from, edge.to, edge.kind, edge.distance);
    BufferUses uses(problem);
    for (BufferId id = 0; id < body.numBuffers(); ++id)
      addBuffer(body.buffer(id), uses[id]);
    result.finalize();
    return std::move(result);
  }

private:
  int32_t periodsBetween(NodeId from, NodeId to, int32_t distance) const {
    return distance + schedule.stages[to] - schedule.stages[from];
  }

  Status addNodes() {
    result.reserve(schedule.order.size(), body.numDependences());
    result.reserveStreams(body.numStreams());
    for (NodeId node : schedule.order) {
      NodeId start = body.startOf(node);
      if (start == noNode) {
        NodeId added = result.addNode(body.kind(node), body.costNs(node),
                                      body.stream(node));
        if (body.isExpensive(node))
          result.setExpensive(added);
        continue;
      }
      if (schedule.stages[start] != schedule.stages[node])
        return Error{body.describe(node) + " has another stage than " +
                     body.describe(start) + ", for which it waits"};
      result.addWait(places[start]);
    }
    return Status::success();
  }

  void addDependence(NodeId from, NodeId to, DependenceKind kind,
                     int32_t distance) {
    if (periodsBetween(from, to, distance) == 0)
      result.addDependence(places[from], places[to], kind);
  }

  /// Adds one buffer for each repetition whose own is live in the period.
  void addBuffer(const Buffer &buffer, ArrayView<BufferUse> uses) {
    if (buffer.producer == noNode) {
      BufferId id = result.addBuffer(buffer.bytes, noNode, /*freed=*/false);
      for (const BufferUse &use : uses)
        result.addUse(id, places[use.node]);
      return;
    }
    auto age = [&](const BufferUse &use) {
      return periodsBetween(buffer.producer, use.node, use.distance);
    };
    int32_t oldest = 0;
    for (const BufferUse &use : uses)
      oldest = std::max(oldest, age(use));
    for (int32_t periods = 0; periods <= oldest; ++periods) {
      NodeId producer = periods > 0 ? noNode : places[buffer.producer];
      BufferId id = result.addBuffer(buffer.bytes, producer,
                                     /*freed=*/periods == oldest);
      for (const BufferUse &use : uses)
        if (age(use) == periods)
          result.addUse(id, places[use.node]);
    }
  }

  const CyclicProblem &problem;
  const Problem &body;
  const CyclicOrder &schedule;
  /// By operation: its position.
  std::vector<NodeId> places;
  Problem result;
};

} // namespace

Result<Problem> schedule::makePeriodProblem(const CyclicProblem &problem,
                                            const CyclicOrder &schedule) {
  return PeriodBuilder(problem, schedule).build();
}
