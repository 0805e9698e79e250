//===- GroupedOrder.cpp - Topological sort under constraints --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Graphs/GroupedOrder.h"

#include "../Model/ReadyTracker.h"
#include "CommSched/Schedule/Model/Verify.h"

#include <algorithm>
#include <functional>
#include <queue>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

namespace {

/// A node of the contracted graph: an operation that is in no group (numbered
/// below the number of operations) or a group (from there on).
using UnitId = int32_t;

constexpr int32_t none = -1;

/// A dependence or a precedence between two units.
struct Link {
  NodeId from;
  NodeId to;
  /// Index of the precedence; none: a dependence.
  int32_t precedence;
};

/// The dependence graph in which groups are contracted and precedences added,
/// as far as they have not been left out.
class Contraction {
public:
  Contraction(const Problem &problem, const SoftConstraints &constraints);

  NodeId numNodes() const { return problem.numNodes(); }
  int32_t numGroups() const { return static_cast<int32_t>(groups.size()); }
  UnitId numUnits() const { return numNodes() + numGroups(); }
  UnitId unitOf(NodeId node) const {
    return groupOf[node] == none ? node : numNodes() + groupOf[node];
  }
  /// The index of the group that a unit is; none if it is an operation.
  int32_t groupIndex(UnitId unit) const {
    return unit < numNodes() ? none : unit - numNodes();
  }
  /// In the order of the program. Empty for what is no unit: a member of a
  /// group, or a group that was left out.
  ArrayView<NodeId> members(UnitId unit) const;

  const Problem &getProblem() const { return problem; }
  /// A topological order of all operations.
  const Order &base() const { return problem.topologicalOrder(); }
  /// Returns the position of an operation in it.
  int32_t basePosition(NodeId node) const { return basePositions[node]; }

  std::pair<NodeId, NodeId> precedence(int32_t index) const {
    return precedences[index];
  }
  const std::vector<bool> &satisfiedPrecedences() const { return isSatisfied; }

  void leaveOutGroup(int32_t group);
  void leaveOutPrecedence(int32_t index) { isSatisfied[index] = false; }

  /// Calls `visit` with each link from another unit to one of `unit`, or from
  /// one of `unit` to another.
  template <typename Visit> void visitIncoming(UnitId unit, Visit visit) const;
  template <typename Visit> void visitOutgoing(UnitId unit, Visit visit) const;

private:
  const Problem &problem;
  Positions basePositions;
  /// Members sorted; empty for a group that was left out.
  std::vector<std::vector<NodeId>> groups;
  /// By operation.
  std::vector<int32_t> groupOf;
  const std::vector<std::pair<NodeId, NodeId>> &precedences;
  std::vector<bool> isSatisfied;
  /// Precedences by their second and by their first operation.
  Csr<int32_t> incoming;
  Csr<int32_t> outgoing;
};

/// Drops constraints until the contracted graph has no cycle.
///
/// Units without a predecessor are peeled off the graph, one after the other.
/// When there is none, a walk from predecessor to predecessor, begun at any
/// unit that is left, comes to a cycle.
class CycleBreaker {
public:
  explicit CycleBreaker(Contraction &graph);
  std::vector<std::optional<GroupConflict>> run();

private:
  bool isPeeled(UnitId unit) const { return missing[unit] < 0; }
  void addUnits(ArrayView<UnitId> units);
  void peel();
  Link findPredecessor(UnitId unit) const;
  void walk(UnitId unit);
  void shortenPath(size_t length);
  void breakCycle(size_t first);
  void leaveOutPrecedence(int32_t index);
  void leaveOutGroup(size_t first);
  bool isJoinedInside(UnitId group, NodeId from, NodeId to);

  Contraction &graph;
  std::vector<std::optional<GroupConflict>> conflicts;
  /// By unit: how many links come from units that are left; -1 once peeled.
  std::vector<int32_t> missing;
  std::vector<UnitId> ready;
  /// The walk: a unit that is left, a predecessor of it that is left, and so
  /// on. links[i] leads from path[i + 1] to path[i].
  std::vector<UnitId> path;
  std::vector<Link> links;
  /// By unit: where it is on the path; none if it is not.
  std::vector<int32_t> placeOnPath;
  /// By operation: for isJoinedInside(); false in between.
  std::vector<bool> isReached;
};

} // namespace

//===----------------------------------------------------------------------===//
// The contracted graph
//===----------------------------------------------------------------------===//

Contraction::Contraction(const Problem &problem,
                         const SoftConstraints &constraints)
    : problem(problem), basePositions(problem.numNodes()),
      groupOf(problem.numNodes(), none), precedences(constraints.precedences),
      isSatisfied(constraints.precedences.size(), true) {
  for (size_t position = 0; position < base().size(); ++position)
    basePositions[base()[position]] = static_cast<int32_t>(position);
  for (const ContiguousGroup &group : constraints.groups) {
    for (NodeId member : group.members)
      groupOf[member] = numGroups();
    groups.push_back(group.members);
    std::sort(groups.back().begin(), groups.back().end(),
              [&](NodeId a, NodeId b) {
                return basePositions[a] < basePositions[b];
              });
  }
  auto index = [](size_t i) { return static_cast<int32_t>(i); };
  incoming.build(
      problem.numNodes(), precedences.size(),
      [&](size_t i) { return precedences[i].second; }, index);
  outgoing.build(
      problem.numNodes(), precedences.size(),
      [&](size_t i) { return precedences[i].first; }, index);
}

ArrayView<NodeId> Contraction::members(UnitId unit) const {
  if (int32_t group = groupIndex(unit); group != none)
    return {groups[group].data(), groups[group].size()};
  if (groupOf[unit] != none)
    return {};
  return {&base()[basePositions[unit]], 1};
}

void Contraction::leaveOutGroup(int32_t group) {
  for (NodeId member : groups[group])
    groupOf[member] = none;
  groups[group].clear();
}

template <typename Visit>
void Contraction::visitIncoming(UnitId unit, Visit visit) const {
  for (NodeId member : members(unit)) {
    for (DependenceEnd end : problem.predecessors(member))
      if (unitOf(end.node) != unit)
        visit(Link{end.node, member, none});
    for (int32_t index : incoming[member])
      if (isSatisfied[index])
        visit(Link{precedences[index].first, member, index});
  }
}

template <typename Visit>
void Contraction::visitOutgoing(UnitId unit, Visit visit) const {
  for (NodeId member : members(unit)) {
    for (DependenceEnd end : problem.successors(member))
      if (unitOf(end.node) != unit)
        visit(Link{member, end.node, none});
    for (int32_t index : outgoing[member])
      if (isSatisfied[index])
        visit(Link{member, precedences[index].second, index});
  }
}

//===----------------------------------------------------------------------===//
// Cycles
//===----------------------------------------------------------------------===//

CycleBreaker::CycleBreaker(Contraction &graph)
    : graph(graph), conflicts(graph.numGroups()),
      missing(graph.numUnits(), none), placeOnPath(graph.numUnits(), none),
      isReached(graph.numNodes(), false) {
  std::vector<UnitId> units;
  for (UnitId unit = 0; unit < graph.numUnits(); ++unit)
    if (!graph.members(unit).empty())
      units.push_back(unit);
  addUnits({units.data(), units.size()});
}

void CycleBreaker::addUnits(ArrayView<UnitId> units) {
  for (UnitId unit : units)
    missing[unit] = 0;
  for (UnitId unit : units) {
    graph.visitIncoming(unit, [&](const Link &link) {
      missing[unit] += !isPeeled(graph.unitOf(link.from));
    });
    if (missing[unit] == 0)
      ready.push_back(unit);
  }
}

void CycleBreaker::peel() {
  while (!ready.empty()) {
    UnitId unit = ready.back();
    ready.pop_back();
    missing[unit] = none;
    graph.visitOutgoing(unit, [&](const Link &link) {
      UnitId successor = graph.unitOf(link.to);
      if (--missing[successor] == 0)
        ready.push_back(successor);
    });
  }
  while (!path.empty() && isPeeled(path.back()))
    shortenPath(path.size() - 1);
}

/// One of the links to `unit` from a unit that is left.
Link CycleBreaker::findPredecessor(UnitId unit) const {
  Link found = {noNode, noNode, none};
  graph.visitIncoming(unit, [&](const Link &link) {
    if (found.from == noNode && !isPeeled(graph.unitOf(link.from)))
      found = link;
  });
  return found;
}

void CycleBreaker::shortenPath(size_t length) {
  while (path.size() > length) {
    placeOnPath[path.back()] = none;
    path.pop_back();
  }
  links.resize(length == 0 ? 0 : length - 1);
}

/// Goes on from the end of the path, or from `unit` if there is none, up to a
/// cycle, and breaks it.
void CycleBreaker::walk(UnitId unit) {
  if (path.empty()) {
    path.push_back(unit);
    placeOnPath[unit] = 0;
  }
  while (true) {
    links.push_back(findPredecessor(path.back()));
    UnitId next = graph.unitOf(links.back().from);
    if (placeOnPath[next] != none)
      return breakCycle(placeOnPath[next]);
    placeOnPath[next] = static_cast<int32_t>(path.size());
    path.push_back(next);
  }
}

/// Breaks the cycle that the path from `first` on is. Dependences alone make
/// none, so there is a constraint on it.
void CycleBreaker::breakCycle(size_t first) {
  int32_t last = none;
  for (size_t place = first; place < path.size(); ++place)
    last = std::max(last, links[place].precedence);
  if (last != none)
    leaveOutPrecedence(last);
  else
    leaveOutGroup(first);
  shortenPath(first);
}

void CycleBreaker::leaveOutPrecedence(int32_t index) {
  graph.leaveOutPrecedence(index);
  UnitId behind = graph.unitOf(graph.precedence(index).second);
  if (--missing[behind] == 0)
    ready.push_back(behind);
}

/// Whether dependences inside of `group` lead from one member to another.
bool CycleBreaker::isJoinedInside(UnitId group, NodeId from, NodeId to) {
  isReached[from] = true;
  for (NodeId member : graph.members(group))
    for (DependenceEnd end : graph.getProblem().predecessors(member))
      if (isReached[end.node])
        isReached[member] = true;
  bool isJoined = isReached[to];
  for (NodeId member : graph.members(group))
    isReached[member] = false;
  return isJoined;
}

/// Leaves out the last group on the cycle without which it would be none: one
/// that the cycle enters and leaves at members that nothing else joins.
void CycleBreaker::leaveOutGroup(size_t first) {
  std::vector<size_t> places;
  for (size_t place = first; place < path.size(); ++place)
    if (graph.groupIndex(path[place]) != none)
      places.push_back(place);
  std::sort(places.begin(), places.end(),
            [&](size_t a, size_t b) { return path[a] > path[b]; });
  for (size_t place : places) {
    UnitId unit = path[place];
    const Link &in = links[place];
    const Link &out = place == first ? links.back() : links[place - 1];
    if (isJoinedInside(unit, in.to, out.from))
      continue;
    conflicts[graph.groupIndex(unit)] = GroupConflict{out.from, in.from, in.to};
    std::vector<NodeId> members(graph.members(unit).begin(),
                                graph.members(unit).end());
    graph.leaveOutGroup(graph.groupIndex(unit));
    addUnits({members.data(), members.size()});
    return;
  }
}

std::vector<std::optional<GroupConflict>> CycleBreaker::run() {
  peel();
  for (NodeId node : graph.base())
    while (!isPeeled(graph.unitOf(node))) {
      walk(graph.unitOf(node));
      peel();
    }
  return std::move(conflicts);
}

//===----------------------------------------------------------------------===//
// The order
//===----------------------------------------------------------------------===//

static std::string nameGroup(size_t index) {
  return "group " + std::to_string(index);
}

static Status checkConstraints(const Problem &problem,
                               const SoftConstraints &constraints) {
  if (!problem.check())
    return problem.check();
  auto isNode = [&](NodeId node) {
    return node >= 0 && node < problem.numNodes();
  };
  std::string hasNodes =
      "; the problem has " + std::to_string(problem.numNodes()) + " nodes";
  std::vector<int32_t> groupOf(problem.numNodes(), none);
  for (size_t index = 0; index < constraints.groups.size(); ++index) {
    const ContiguousGroup &group = constraints.groups[index];
    if (group.members.empty())
      return Error{nameGroup(index) + " is empty"};
    if (!isNode(group.anchor))
      return Error{nameGroup(index) + " has the anchor " +
                   std::to_string(group.anchor) + hasNodes};
    for (NodeId member : group.members) {
      if (!isNode(member))
        return Error{nameGroup(index) + " has node " + std::to_string(member) +
                     hasNodes};
      if (groupOf[member] != none)
        return Error{nameGroup(index) + " has " + problem.describe(member) +
                     ", and so has " + nameGroup(groupOf[member])};
      groupOf[member] = static_cast<int32_t>(index);
    }
  }
  for (auto [first, second] : constraints.precedences) {
    if (!isNode(first) || !isNode(second))
      return Error{"node " + std::to_string(first) + " is to precede node " +
                   std::to_string(second) + hasNodes};
    if (first == second ||
        (groupOf[first] != none && groupOf[first] == groupOf[second]))
      return Error{problem.describe(first) + " is to precede " +
                   problem.describe(second) +
                   ", which is not of another group"};
  }
  return Status::success();
}

/// Of the units that are ready the one whose place in the program comes first.
static Order sortUnits(const Contraction &graph,
                       const std::vector<ContiguousGroup> &groups) {
  // Twice the place in the program, plus 1 for what does not stand before it.
  using Entry = std::pair<int64_t, UnitId>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> ready;
  IndegreeCounter missing(static_cast<size_t>(graph.numUnits()));
  auto makeReady = [&](UnitId unit) {
    int32_t group = graph.groupIndex(unit);
    NodeId place = group == none ? unit : groups[group].anchor;
    bool standsBefore = graph.unitOf(place) != unit;
    int64_t position = graph.basePosition(place);
    ready.push({2 * position + (standsBefore ? 0 : 1), unit});
  };
  for (UnitId unit = 0; unit < graph.numUnits(); ++unit) {
    graph.visitIncoming(unit, [&](const Link &) { missing.addEdgesTo(unit); });
    if (missing.isReady(unit) && !graph.members(unit).empty())
      makeReady(unit);
  }
  Order order;
  order.reserve(graph.numNodes());
  while (!ready.empty()) {
    UnitId unit = ready.top().second;
    ready.pop();
    order.insert(order.end(), graph.members(unit).begin(),
                 graph.members(unit).end());
    graph.visitOutgoing(unit, [&](const Link &link) {
      UnitId successor = graph.unitOf(link.to);
      if (missing.removeEdgeTo(successor))
        makeReady(successor);
    });
  }
  return order;
}

/// Checks that `result` satisfies what it says, and notes the precedences that
/// it satisfies by chance.
static Status verifyConstraints(const Problem &problem,
                                const SoftConstraints &constraints,
                                GroupedOrder &result) {
  Result<Positions> positions = invert(problem, result.order);
  if (!positions)
    return Error{positions.error()};
  auto isBefore = [&](NodeId a, NodeId b) {
    return (*positions)[a] < (*positions)[b];
  };
  for (size_t index = 0; index < constraints.groups.size(); ++index) {
    if (result.conflicts[index])
      continue;
    const std::vector<NodeId> &members = constraints.groups[index].members;
    auto [first, last] =
        std::minmax_element(members.begin(), members.end(), isBefore);
    if ((*positions)[*last] - (*positions)[*first] + 1 !=
        static_cast<int32_t>(members.size()))
      return Error{nameGroup(index) + " does not stand together"};
  }
  for (size_t index = 0; index < constraints.precedences.size(); ++index) {
    auto [first, second] = constraints.precedences[index];
    if (result.isSatisfied[index] && !isBefore(first, second))
      return Error{problem.describe(first) + " does not precede " +
                   problem.describe(second)};
    result.isSatisfied[index] = isBefore(first, second);
  }
  return Status::success();
}

Result<GroupedOrder>
schedule::sortInGroups(const Problem &problem,
                       const SoftConstraints &constraints) {
  if (Status status = checkConstraints(problem, constraints); !status)
    return status;
  Contraction graph(problem, constraints);
  GroupedOrder result;
  result.conflicts = CycleBreaker(graph).run();
  result.order = sortUnits(graph, constraints.groups);
  result.isSatisfied = graph.satisfiedPrecedences();
  Status status = verify(problem, result.order);
  if (status)
    status = verifyConstraints(problem, constraints, result);
  if (!status)
    return Error{"sorting in groups made an invalid order: " + status.error()};
  return result;
}
