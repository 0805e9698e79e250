//===- ResultReuse.cpp - Reuse of the results of collectives --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Reordering/ResultReuse.h"

#include "../Model/EditableSchedule.h"
#include "../Model/TransportBuffers.h"
#include "CommSched/Schedule/Model/MemoryTimeline.h"
#include "CommSched/Schedule/Model/Verify.h"

#include <algorithm>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

/// The buffers that `start` delivers.
static std::vector<BufferId> findDelivered(const Problem &problem,
                                           NodeId start) {
  std::vector<BufferId> delivered;
  for (BufferId id : problem.buffersMadeBy(start))
    if (!isForTransport(problem, id))
      delivered.push_back(id);
  return delivered;
}

/// The only buffer that `start`, which has been checked, delivers.
static BufferId getDelivered(const Problem &problem, NodeId start) {
  return findDelivered(problem, start).front();
}

namespace {

constexpr BufferId noBuffer = -1;

/// The program while collectives are dropped: users of buffers, and live bytes.
/// All operations keep their places; one that is removed does nothing there.
class Program {
public:
  Program(const Problem &problem, const ReuseCandidates &candidates);

  /// Drops `start` for `source`, which has not been dropped and is waited for
  /// earlier.
  void drop(NodeId start, NodeId source);
  /// Takes the last drop() back.
  void undo();

  int64_t peakBytes() const {
    return std::max(initialBytes, peakIn(0, problem.numNodes()));
  }
  /// The highest level of the operations at [first, end); what is live there if
  /// there is none.
  int64_t peakIn(NodeId first, NodeId end) const;
  /// The first operation of [first, end) at which that is reached.
  NodeId findPeak(NodeId first, NodeId end) const;

  /// The buffer that `start` delivers.
  BufferId delivered(NodeId start) const {
    return getDelivered(problem, start);
  }
  /// Returns the operation that frees the buffer; numNodes() if it stays to the
  /// end.
  NodeId lastUser(BufferId buffer) const { return lastUsers[buffer]; }
  const std::vector<bool> &removed() const { return isRemoved; }

private:
  /// How undo() finds back.
  struct Journal {
    std::vector<NodeId> removed;
    struct End {
      BufferId buffer;
      size_t numUsers;
      NodeId lastUser;
    };
    std::vector<End> ends;
    std::vector<std::pair<NodeId, OperationLoad>> loads;
  };

  void collectUsers();
  template <typename Visit> void visitNeeds(NodeId node, Visit visit) const;
  bool isFreedBy(NodeId user) const { return user < problem.numNodes(); }
  NodeId computeLastUser(BufferId buffer) const;
  void remove(NodeId node);
  void release(BufferId buffer);
  void moveEnd(BufferId buffer, NodeId user);
  void addToLoad(NodeId node, int64_t allocated, int64_t freed);

  const Problem &problem;
  int64_t initialBytes = 0;
  OrderTree<OperationLoad, StretchLoad> tree;
  /// By node: whether it may go, how often it is needed by those that are left,
  /// and whether it is gone.
  std::vector<bool> isRemovable;
  std::vector<int32_t> numNeeds;
  std::vector<bool> isRemoved;
  /// By buffer: its users in the order of the program, of which those behind
  /// the first numUsers have been removed.
  Csr<NodeId> users;
  std::vector<size_t> numUsers;
  std::vector<NodeId> lastUsers;
  Journal journal;
};

/// A collective that may be dropped: any but the first of a class.
struct Candidate {
  NodeId start;
  size_t classIndex;
  size_t place;
  /// Its index in ResultReuse::decisions.
  size_t decision;
};

/// Decides about the candidates, one after the other.
class Chooser {
public:
  Chooser(const Problem &problem, const ReuseCandidates &candidates)
      : problem(problem), classes(candidates.classes),
        program(problem, candidates) {}

  Result<ResultReuse> run(std::optional<int64_t> limitBytes);

private:
  std::vector<Candidate> listCandidates();
  size_t findStandIn(size_t classIndex, size_t place);
  void decide(const Candidate &candidate, ReuseDecision &decision);

  const Problem &problem;
  const std::vector<std::vector<NodeId>> &classes;
  Program program;
  int64_t limitBytes = 0;
  /// By class and member: the place of a member before it that stands for it,
  /// or its own.
  std::vector<std::vector<size_t>> standIns;
};

} // namespace

//===----------------------------------------------------------------------===//
// The program
//===----------------------------------------------------------------------===//

Program::Program(const Problem &problem, const ReuseCandidates &candidates)
    : problem(problem), isRemovable(candidates.isRemovable),
      numNeeds(problem.numNodes(), 0), isRemoved(problem.numNodes(), false),
      numUsers(problem.numBuffers()), lastUsers(problem.numBuffers()) {
  collectUsers();
  std::vector<OperationLoad> loads(problem.numNodes());
  for (BufferId id = 0; id < problem.numBuffers(); ++id) {
    const Buffer &buffer = problem.buffer(id);
    numUsers[id] = users[id].size();
    lastUsers[id] = computeLastUser(id);
    (buffer.producer == noNode ? initialBytes
                               : loads[buffer.producer].allocated) +=
        buffer.bytes;
    if (isFreedBy(lastUsers[id]))
      loads[lastUsers[id]].freed += buffer.bytes;
  }
  tree = {problem.programOrder(), std::move(loads)};
  for (NodeId node = 0; node < problem.numNodes(); ++node) {
    visitNeeds(node, [&](NodeId needed) { ++numNeeds[needed]; });
    if (problem.kind(node) != NodeKind::Compute)
      isRemovable[node] = false;
  }
  for (const std::vector<NodeId> &starts : candidates.classes)
    for (NodeId start : starts)
      for (NodeId user : users[delivered(start)])
        isRemovable[user] = false;
}

void Program::collectUsers() {
  std::vector<std::pair<BufferId, NodeId>> uses;
  for (NodeId node = 0; node < problem.numNodes(); ++node)
    for (BufferId buffer : problem.buffersUsedBy(node))
      uses.push_back({buffer, node});
  users.build(
      problem.numBuffers(), uses.size(),
      [&](size_t i) { return uses[i].first; },
      [&](size_t i) { return uses[i].second; });
}

/// Visits the operations whose results `node` needs, some of them repeatedly.
template <typename Visit>
void Program::visitNeeds(NodeId node, Visit visit) const {
  for (DependenceEnd end : problem.predecessors(node))
    if (end.kind == DependenceKind::Data)
      visit(end.node);
  for (BufferId buffer : problem.buffersUsedBy(node))
    if (NodeId producer = problem.buffer(buffer).producer;
        producer != noNode && producer != node)
      visit(producer);
}

/// Returns the remaining user that frees the buffer.
NodeId Program::computeLastUser(BufferId id) const {
  const Buffer &buffer = problem.buffer(id);
  NodeId last = buffer.producer;
  if (numUsers[id] > 0)
    last = std::max(last, users[id][numUsers[id] - 1]);
  return buffer.freed && last != noNode ? last : problem.numNodes();
}

void Program::addToLoad(NodeId node, int64_t allocated, int64_t freed) {
  OperationLoad load = tree.leaf(node);
  journal.loads.push_back({node, load});
  load.allocated += allocated;
  load.freed += freed;
  tree.setLeaf(node, load);
}

/// Lets `user` free the buffer instead of its last user so far.
void Program::moveEnd(BufferId buffer, NodeId user) {
  if (lastUsers[buffer] == user)
    return;
  int64_t bytes = problem.buffer(buffer).bytes;
  if (isFreedBy(lastUsers[buffer]))
    addToLoad(lastUsers[buffer], 0, -bytes);
  if (isFreedBy(user))
    addToLoad(user, 0, bytes);
  lastUsers[buffer] = user;
}

/// Forgets users of the buffer that have been removed.
void Program::release(BufferId buffer) {
  journal.ends.push_back({buffer, numUsers[buffer], lastUsers[buffer]});
  while (numUsers[buffer] > 0 && isRemoved[users[buffer][numUsers[buffer] - 1]])
    --numUsers[buffer];
  moveEnd(buffer, computeLastUser(buffer));
}

void Program::remove(NodeId node) {
  isRemoved[node] = true;
  journal.removed.push_back(node);
}

void Program::drop(NodeId start, NodeId source) {
  journal = {};
  NodeId wait = problem.waitOf(start);
  remove(start);
  remove(wait);
  for (size_t index = 0; index < journal.removed.size(); ++index)
    visitNeeds(journal.removed[index], [&](NodeId needed) {
      if (--numNeeds[needed] == 0 && isRemovable[needed])
        remove(needed);
    });

  BufferId own = delivered(start), kept = delivered(source);
  // A result that only the wait uses need not be kept.
  if (NodeId last = lastUsers[own]; last > wait) {
    journal.ends.push_back({kept, numUsers[kept], lastUsers[kept]});
    moveEnd(kept, std::max(last, lastUsers[kept]));
  }
  for (NodeId node : journal.removed) {
    for (BufferId buffer : problem.buffersMadeBy(node)) {
      addToLoad(node, -problem.buffer(buffer).bytes, 0);
      if (isFreedBy(lastUsers[buffer]))
        addToLoad(lastUsers[buffer], 0, -problem.buffer(buffer).bytes);
    }
    for (BufferId buffer : problem.buffersUsedBy(node)) {
      NodeId producer = problem.buffer(buffer).producer;
      if (producer == noNode || !isRemoved[producer])
        release(buffer);
    }
  }
}

void Program::undo() {
  for (auto it = journal.loads.rbegin(); it != journal.loads.rend(); ++it)
    tree.setLeaf(it->first, it->second);
  for (auto it = journal.ends.rbegin(); it != journal.ends.rend(); ++it) {
    numUsers[it->buffer] = it->numUsers;
    lastUsers[it->buffer] = it->lastUser;
  }
  for (NodeId node : journal.removed) {
    isRemoved[node] = false;
    visitNeeds(node, [&](NodeId needed) { ++numNeeds[needed]; });
  }
}

int64_t Program::peakIn(NodeId first, NodeId end) const {
  return initialBytes + tree.range(0, first).netBytes +
         tree.range(first, end).peakBytes;
}

NodeId Program::findPeak(NodeId first, NodeId end) const {
  int64_t peak = peakIn(first, end);
  return tree.findFirst(
      first, end, [&](const StretchLoad &before, const StretchLoad &stretch) {
        return initialBytes + before.netBytes + stretch.peakBytes >= peak;
      });
}

//===----------------------------------------------------------------------===//
// Decisions
//===----------------------------------------------------------------------===//

static Status checkStart(const Problem &problem, NodeId start) {
  if (start < 0 || start >= problem.numNodes())
    return Error{"node " + std::to_string(start) +
                 " is in a class; the problem has " +
                 std::to_string(problem.numNodes()) + " nodes"};
  if (problem.kind(start) != NodeKind::Start)
    return Error{problem.describe(start) + " is in a class, but no start"};
  std::vector<BufferId> delivered = findDelivered(problem, start);
  if (delivered.size() != 1)
    return Error{problem.describe(start) + " is in a class, but delivers " +
                 std::to_string(delivered.size()) + " buffers"};
  for (NodeId user : problem.users(delivered.front()))
    if (user < problem.waitOf(start))
      return Error{problem.describe(user) + " uses what " +
                   problem.describe(start) +
                   " delivers before it is waited for"};
  return Status::success();
}

static Status checkCandidates(const Problem &problem,
                              const ReuseCandidates &candidates) {
  if (Status status = verify(problem, problem.programOrder()); !status)
    return status;
  if (candidates.isRemovable.size() != static_cast<size_t>(problem.numNodes()))
    return Error{std::to_string(candidates.isRemovable.size()) +
                 " nodes are removable or not; the problem has " +
                 std::to_string(problem.numNodes()) + " nodes"};
  std::vector<bool> isInClass(problem.numNodes(), false);
  for (const std::vector<NodeId> &starts : candidates.classes)
    for (size_t place = 0; place < starts.size(); ++place) {
      NodeId start = starts[place];
      if (Status status = checkStart(problem, start); !status)
        return status;
      if (isInClass[start])
        return Error{problem.describe(start) + " is in a class twice"};
      isInClass[start] = true;
      if (place == 0)
        continue;
      NodeId before = starts[place - 1];
      if (problem.waitOf(before) > problem.waitOf(start))
        return Error{problem.describe(start) + " comes behind " +
                     problem.describe(before) +
                     " in a class, but is waited for before it"};
      auto bytesOf = [&](NodeId node) {
        return problem.buffer(getDelivered(problem, node)).bytes;
      };
      if (bytesOf(before) != bytesOf(start))
        return Error{problem.describe(start) + " delivers " +
                     std::to_string(bytesOf(start)) + " bytes, but " +
                     problem.describe(before) + " of its class " +
                     std::to_string(bytesOf(before))};
    }
  return Status::success();
}

/// Those that take longest first.
std::vector<Candidate> Chooser::listCandidates() {
  std::vector<Candidate> listed;
  for (size_t classIndex = 0; classIndex < classes.size(); ++classIndex) {
    standIns.emplace_back();
    for (size_t place = 0; place < classes[classIndex].size(); ++place) {
      standIns.back().push_back(place);
      if (place > 0)
        listed.push_back(
            {classes[classIndex][place], classIndex, place, listed.size()});
    }
  }
  std::sort(listed.begin(), listed.end(),
            [&](const Candidate &a, const Candidate &b) {
              int64_t costA = problem.costNs(a.start);
              int64_t costB = problem.costNs(b.start);
              return costA != costB ? costA > costB : a.start < b.start;
            });
  return listed;
}

/// The place of the member that stands for another, which may be itself.
size_t Chooser::findStandIn(size_t classIndex, size_t place) {
  std::vector<size_t> &places = standIns[classIndex];
  while (places[place] != place)
    place = places[place] = places[places[place]];
  return place;
}

void Chooser::decide(const Candidate &candidate, ReuseDecision &decision) {
  auto [start, classIndex, place, index] = candidate;
  NodeId source = classes[classIndex][findStandIn(classIndex, place - 1)];
  BufferId kept = program.delivered(source);
  NodeId oldLast = program.lastUser(kept);
  program.drop(start, source);
  // It is kept from there up to where the collective would have started.
  NodeId first = oldLast + 1;
  if (program.lastUser(kept) != oldLast && first < start &&
      program.peakIn(first, start) > limitBytes) {
    decision.neededBytes = program.peakIn(first, start);
    decision.obstacle = program.findPeak(first, start);
    program.undo();
    return;
  }
  decision.isDropped = true;
  standIns[classIndex][place] = place - 1;
}

/// Returns `problem` without the removed nodes and their buffers.
static Problem makeRest(const Problem &problem, const ResultReuse &result) {
  Problem rest;
  std::vector<NodeId> nodes(problem.numNodes(), noNode);
  for (NodeId node = 0; node < problem.numNodes(); ++node)
    if (!result.isRemoved[node])
      nodes[node] = problem.kind(node) == NodeKind::Wait
                        ? rest.addWait(nodes[problem.startOf(node)])
                        : rest.addNode(problem.kind(node), problem.costNs(node),
                                       problem.stream(node));
  std::vector<BufferId> sources(problem.numBuffers(), noBuffer);
  std::vector<bool> isFreed(problem.numBuffers());
  for (BufferId id = 0; id < problem.numBuffers(); ++id)
    isFreed[id] = problem.buffer(id).freed;
  for (const ReuseDecision &decision : result.decisions) {
    if (!decision.isDropped)
      continue;
    BufferId dropped = getDelivered(problem, decision.start);
    sources[dropped] = getDelivered(problem, decision.source);
    if (!problem.buffer(dropped).freed)
      isFreed[sources[dropped]] = false;
  }
  std::vector<BufferId> buffers(problem.numBuffers(), noBuffer);
  for (BufferId id = 0; id < problem.numBuffers(); ++id) {
    NodeId producer = problem.buffer(id).producer;
    if (producer == noNode || !result.isRemoved[producer])
      buffers[id] = rest.addBuffer(
          problem.buffer(id).bytes,
          producer == noNode ? noNode : nodes[producer], isFreed[id]);
  }
  for (BufferId id = 0; id < problem.numBuffers(); ++id) {
    BufferId buffer = buffers[sources[id] == noBuffer ? id : sources[id]];
    for (NodeId user : problem.users(id))
      if (!result.isRemoved[user])
        rest.addUse(buffer, nodes[user]);
  }
  rest.finalize();
  return rest;
}

static Status verifyPeak(const Problem &problem, const ResultReuse &result) {
  Problem rest = makeRest(problem, result);
  Result<MemoryTimeline> timeline = simulateMemory(rest, rest.programOrder());
  if (!timeline)
    return Error{timeline.error()};
  if (timeline->peakBytes != result.newPeakBytes)
    return Error{"the simulated peak is " +
                 std::to_string(timeline->peakBytes) + " bytes, not " +
                 std::to_string(result.newPeakBytes)};
  return Status::success();
}

Result<ResultReuse> Chooser::run(std::optional<int64_t> limit) {
  ResultReuse result;
  result.oldPeakBytes = program.peakBytes();
  result.limitBytes = limitBytes = limit.value_or(result.oldPeakBytes);
  std::vector<Candidate> listed = listCandidates();
  result.decisions.resize(listed.size());
  for (const Candidate &candidate : listed)
    decide(candidate, result.decisions[candidate.decision]);
  for (const Candidate &candidate : listed) {
    auto [start, classIndex, place, index] = candidate;
    ReuseDecision &decision = result.decisions[index];
    decision.start = start;
    decision.source = classes[classIndex][findStandIn(classIndex, place - 1)];
  }
  result.isRemoved = program.removed();
  result.newPeakBytes = program.peakBytes();
  if (Status status = verifyPeak(problem, result); !status)
    return Error{"dropping collectives went wrong: " + status.error()};
  return result;
}

Result<ResultReuse> schedule::reuseResults(const Problem &problem,
                                           const ReuseCandidates &candidates,
                                           std::optional<int64_t> limitBytes) {
  if (Status status = checkCandidates(problem, candidates); !status)
    return status;
  return Chooser(problem, candidates).run(limitBytes);
}
