//===- ChakraTrace.cpp - Execution traces of schedules --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Report/ChakraTrace.h"
#include "ChakraSteps.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <map>

using namespace mlir;
using namespace mlir::commsched;
using chakra::NodeType;
using schedule::StreamId;

namespace {

/// The nodes of one operation on one rank: none, one, or the two of a permute.
using NodeIds = SmallVector<uint64_t, 2>;

/// Which steps a rank takes part in, and with whom. Ranks with equal roles have
/// equal traces but for the numbers of their groups.
using Role = std::vector<int64_t>;

/// Part of a trace.
struct Piece {
  std::string bytes;
  /// If `bytes` is the message of a collective, which lacks its group: the
  /// declaration of that; else `bytes` are whole messages.
  std::optional<unsigned> group;
};

/// Follows the order of issue on one rank. A node depends on what has to end
/// before it begins:
///   - a computation on the one before it and on all that has been waited for,
///   - a collective on these, and on the one before it on its stream and on
///     each stream that is exclusive with that.
class IssueOrder {
public:
  IssueOrder(size_t numStreams, const schedule::Contention &contention)
      : last(numStreams), awaited(numStreams), exclusive(numStreams) {
    for (auto [one, other] : contention.exclusive) {
      exclusive[one].push_back(other);
      exclusive[other].push_back(one);
    }
  }

  /// What a node on `stream` depends on that begins now; noStream is that of
  /// computation. O(streams with a collective that was waited for, and streams
  /// that are exclusive with its own).
  std::vector<uint64_t> getDependences(StreamId stream) const;

  void addComputation(uint64_t id);
  void addStart(StreamId stream, NodeIds ids);
  /// `ids` are those of a start on `stream`.
  void addWait(StreamId stream, const NodeIds &ids);

private:
  std::optional<uint64_t> computation;
  /// By stream: its last nodes.
  std::vector<NodeIds> last;
  /// By stream: its last nodes that have been waited for since the last
  /// computation. Nodes before these have ended, too.
  std::vector<NodeIds> awaited;
  /// The streams for which there are some.
  SmallVector<StreamId> streamsAwaited;
  /// By stream: those that are exclusive with it.
  std::vector<SmallVector<StreamId>> exclusive;
};

} // namespace

std::vector<uint64_t> IssueOrder::getDependences(StreamId stream) const {
  std::vector<uint64_t> ids;
  if (computation)
    ids.push_back(*computation);
  for (StreamId other : streamsAwaited)
    if (other != stream)
      llvm::append_range(ids, awaited[other]);
  if (stream != schedule::noStream) {
    llvm::append_range(ids, last[stream]);
    for (StreamId other : exclusive[stream])
      llvm::append_range(ids, last[other]);
  }
  llvm::sort(ids);
  ids.erase(llvm::unique(ids), ids.end());
  return ids;
}

void IssueOrder::addComputation(uint64_t id) {
  computation = id;
  for (StreamId stream : streamsAwaited)
    awaited[stream].clear();
  streamsAwaited.clear();
}

void IssueOrder::addStart(StreamId stream, NodeIds ids) {
  last[stream] = std::move(ids);
}

void IssueOrder::addWait(StreamId stream, const NodeIds &ids) {
  if (awaited[stream].empty())
    streamsAwaited.push_back(stream);
  else if (awaited[stream].front() > ids.front())
    return;
  awaited[stream] = ids;
}

//===----------------------------------------------------------------------===//
// One rank
//===----------------------------------------------------------------------===//

namespace {

/// Makes the traces of one function.
class TraceBuilder {
public:
  TraceBuilder(const ChakraRanks &ranks, const std::vector<ChakraStep> &steps,
               size_t numStreams, const schedule::Contention &contention)
      : ranks(ranks), steps(steps), numStreams(numStreams),
        contention(contention) {
    findGroups();
  }

  /// None if the rank does not run the program, which sends to it or receives
  /// from it.
  std::optional<Role> getRole(int64_t rank) const;

  /// The trace of `rank`, for all ranks of its role.
  std::vector<Piece> build(int64_t rank) const;

private:
  void findGroups();
  /// The messages of the step on the rank, which may be none.
  SmallVector<chakra::Node, 2> getNodes(const ChakraStep &step,
                                        int64_t rank) const;

  const ChakraRanks &ranks;
  const std::vector<ChakraStep> &steps;
  size_t numStreams;
  const schedule::Contention &contention;
  /// The declarations that the steps use, ascending, and whether ranks of a
  /// group differ by their index in it.
  std::map<unsigned, bool> groups;
};

} // namespace

void TraceBuilder::findGroups() {
  for (const ChakraStep &step : steps)
    switch (step.kind) {
    case ChakraStep::Kind::Collective:
      groups.try_emplace(step.group, false);
      break;
    case ChakraStep::Kind::Send:
    case ChakraStep::Kind::Recv:
    case ChakraStep::Kind::Permute:
      groups[step.group] = true;
      break;
    case ChakraStep::Kind::Computation:
    case ChakraStep::Kind::Transfer:
    case ChakraStep::Kind::Wait:
      break;
    }
}

std::optional<Role> TraceBuilder::getRole(int64_t rank) const {
  for (const ChakraStep &step : steps) {
    if (step.kind != ChakraStep::Kind::Send &&
        step.kind != ChakraStep::Kind::Recv)
      continue;
    auto place = ranks.getPlace(step.group, rank);
    if (place && place->index == step.peer)
      return std::nullopt;
  }
  Role role;
  for (auto [group, hasPeers] : groups) {
    auto place = ranks.getPlace(group, rank);
    role.push_back(place.has_value());
    // The numbers of peers are part of the messages.
    if (place && hasPeers)
      role.insert(role.end(), {place->row, place->index});
  }
  return role;
}

SmallVector<chakra::Node, 2> TraceBuilder::getNodes(const ChakraStep &step,
                                                    int64_t rank) const {
  if (step.kind == ChakraStep::Kind::Computation ||
      step.kind == ChakraStep::Kind::Transfer)
    return {step.message};
  std::optional<ChakraRanks::Place> place = ranks.getPlace(step.group, rank);
  if (!place)
    return {};
  if (step.kind == ChakraStep::Kind::Collective)
    return {step.message};
  SmallVector<chakra::Node, 2> nodes;
  auto addMessage = [&](NodeType type, int64_t peerIndex) {
    chakra::Node &node = nodes.emplace_back(step.message);
    auto peer = static_cast<int32_t>(
        ranks.getRank(step.group, {place->row, peerIndex}));
    auto self = static_cast<int32_t>(rank);
    node.type = type;
    node.peers.source = type == NodeType::CommSend ? self : peer;
    node.peers.destination = type == NodeType::CommSend ? peer : self;
  };
  if (step.kind == ChakraStep::Kind::Send) {
    addMessage(NodeType::CommSend, step.peer);
  } else if (step.kind == ChakraStep::Kind::Recv) {
    addMessage(NodeType::CommRecv, step.peer);
  } else {
    if (int64_t target = step.targetOf[place->index]; target >= 0)
      addMessage(NodeType::CommSend, target);
    if (int64_t source = step.sourceOf[place->index]; source >= 0) {
      addMessage(NodeType::CommRecv, source);
      ++nodes.back().id;
    }
  }
  return nodes;
}

std::vector<Piece> TraceBuilder::build(int64_t rank) const {
  std::vector<Piece> pieces(1);
  chakra::appendMessage(pieces.back().bytes, chakra::encodeMetadata());
  IssueOrder order(numStreams, contention);
  /// By step that starts a collective: its nodes.
  std::vector<NodeIds> idsOf(steps.size());
  for (auto [index, step] : llvm::enumerate(steps)) {
    if (step.kind == ChakraStep::Kind::Wait) {
      if (!idsOf[step.start].empty())
        order.addWait(step.stream, idsOf[step.start]);
      continue;
    }
    std::vector<uint64_t> dependences = order.getDependences(step.stream);
    NodeIds ids;
    for (chakra::Node &node : getNodes(step, rank)) {
      node.name = step.name;
      node.dependences = &dependences;
      ids.push_back(node.id);
      std::string message = chakra::encodeNode(node);
      if (step.kind == ChakraStep::Kind::Collective) {
        pieces.push_back({std::move(message), step.group});
        pieces.emplace_back();
      } else {
        chakra::appendMessage(pieces.back().bytes, message);
      }
    }
    if (ids.empty())
      continue;
    if (step.kind == ChakraStep::Kind::Computation) {
      order.addComputation(ids.front());
      continue;
    }
    if (step.isBlocking)
      order.addWait(step.stream, ids);
    order.addStart(step.stream, ids);
    idsOf[index] = std::move(ids);
  }
  return pieces;
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

bool ChakraWriter::isAvailable() { return chakra::canEncode(); }

ChakraWriter::ChakraWriter(std::unique_ptr<ChakraRanks> ranks)
    : ranks(std::move(ranks)) {}
ChakraWriter::ChakraWriter(ChakraWriter &&other) = default;
ChakraWriter::~ChakraWriter() = default;

FailureOr<ChakraWriter> ChakraWriter::create(ModuleOp module) {
  FailureOr<ChakraRanks> ranks = ChakraRanks::create(module);
  if (failed(ranks))
    return failure();
  return ChakraWriter(std::make_unique<ChakraRanks>(std::move(*ranks)));
}

/// Whether `name` names a file in any directory, and none elsewhere.
static bool isFileName(StringRef name) {
  constexpr size_t maxLength = 200;
  return !name.empty() && name.size() <= maxLength && name.front() != '.' &&
         llvm::all_of(name, [](char c) {
           return llvm::isAlnum(c) || c == '_' || c == '-' || c == '.' ||
                  c == '$';
         });
}

FailureOr<int64_t> ChakraWriter::write(func::FuncOp function,
                                       const BlockProblem &block,
                                       const schedule::Contention &contention,
                                       FileWriter writeFile) {
  StringRef name = function.getSymName();
  if (!isFileName(name))
    return function.emitOpError("cannot be exported: its name must be that of "
                                "a file, of letters, digits, '_', '-', '.' and "
                                "'$'");
  FailureOr<std::vector<ChakraStep>> steps =
      readChakraSteps(block, contention, *ranks);
  if (failed(steps))
    return failure();
  TraceBuilder builder(*ranks, *steps, block.getStreams().size(), contention);
  std::map<Role, std::vector<int64_t>> ranksOf;
  int64_t numIdle = 0;
  for (int64_t rank = 0; rank < ranks->getNumRanks(); ++rank) {
    if (std::optional<Role> role = builder.getRole(rank))
      ranksOf[*role].push_back(rank);
    else
      ++numIdle;
  }
  for (const auto &[role, members] : ranksOf) {
    std::vector<Piece> pieces = builder.build(members.front());
    for (int64_t rank : members) {
      std::string trace;
      for (const Piece &piece : pieces) {
        if (!piece.group)
          trace += piece.bytes;
        else
          chakra::appendMessage(
              trace, piece.bytes,
              chakra::encodeGroup(ranks->getId(
                  *piece.group, *ranks->getPlace(*piece.group, rank))));
      }
      if (failed(writeFile((name + "." + Twine(rank) + ".et").str(),
                           [&](raw_ostream &os) { os << trace; })))
        return failure();
    }
  }
  if (failed(writeFile((name + ".groups.json").str(),
                       [&](raw_ostream &os) { ranks->writeGroups(os); })))
    return failure();
  return numIdle;
}
