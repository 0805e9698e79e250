//===- ChakraSteps.h - Parts of execution traces ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which ranks there are, which process groups each is in, and the numbers by
// which execution traces name these groups.
//
// The messages of MLCommons' Chakra execution traces in the wire format of
// protocol buffers. Field numbers and types are those of the published schema,
// schema/protobuf/et_def.proto of github.com/mlcommons/chakra (version 1.0.0).
//
// A trace is a sequence of messages, each behind its length: GlobalMetadata,
// then Nodes.
//
// The operations of a scheduled function as execution traces have them, before
// it is known on which rank.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_REPORT_CHAKRA_CHAKRASTEPS_H
#define COMMSCHED_LIB_REPORT_CHAKRA_CHAKRASTEPS_H

#include "CommSched/Analysis/Problem/BlockProblem.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "CommSched/Schedule/Model/Simulator.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mlir::commsched {

/// The ranks of a module: as many as the groups that it declares need.
class ChakraRanks {
public:
  /// A rank's place in what one declaration makes.
  struct Place {
    /// Which of its groups.
    int64_t row;
    /// Which of the group's ranks.
    int64_t index;
  };

  /// Emits an error if the groups have more than `maxRanks` ranks.
  static FailureOr<ChakraRanks> create(ModuleOp module);

  int64_t getNumRanks() const { return numRanks; }

  /// The index of a declaration in the module.
  std::optional<unsigned> find(GroupOp op) const;

  /// None if the rank is in none of the groups. O(1).
  std::optional<Place> getPlace(unsigned group, int64_t rank) const;

  /// The rank at `place`. O(1).
  int64_t getRank(unsigned group, Place place) const;

  /// The number of a group, at least 1 and different for all groups of the
  /// module.
  int64_t getId(unsigned group, Place place) const {
    return declarations[group].firstId + place.row;
  }

  /// If strides and sizes divide the ranks into a grid, and not all groups have
  /// all ranks, by axis, whether the group extends along it; the axis of
  /// consecutive ranks is the first. Otherwise empty.
  const std::vector<bool> &getAxes(unsigned group) const {
    return declarations[group].axes;
  }

  /// Writes the ranks of each group by its number, as JSON.
  void writeGroups(raw_ostream &os) const;

  static constexpr int64_t maxRanks = 1 << 16;

private:
  struct Declaration {
    GroupOp op;
    int64_t size;
    int64_t stride;
    int64_t numRows = 0;
    int64_t firstId = 0;
    std::vector<bool> axes;
    /// If the ranks are listed, row by row.
    std::vector<int64_t> listed;
    /// By listed rank.
    DenseMap<int64_t, Place> places;
  };

  LogicalResult add(GroupOp op);
  LogicalResult countRanks();
  void findAxes();

  std::vector<Declaration> declarations;
  DenseMap<Operation *, unsigned> indexOf;
  int64_t numRanks = 1;
};

} // namespace mlir::commsched

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

namespace mlir::commsched::chakra {

/// The schema's NodeType.
enum class NodeType : int32_t {
  MemLoad = 2,
  MemStore = 3,
  Comp = 4,
  CommSend = 5,
  CommRecv = 6,
  CommColl = 7,
};

/// The schema's CollectiveCommType, as far as CommSched has the collective.
enum class CommType : int64_t {
  AllReduce = 0,
  AllGather = 2,
  Broadcast = 5,
  AllToAll = 6,
  ReduceScatter = 7,
  Barrier = 9,
};

/// A message between two ranks.
struct Peers {
  int32_t source;
  int32_t destination;
  int32_t tag;
};

struct Node {
  uint64_t id = 0;
  /// Valid UTF-8.
  std::string_view name;
  NodeType type = NodeType::Comp;
  /// The nodes that have to end before this one begins.
  const std::vector<uint64_t> *dependences = nullptr;
  uint64_t startMicros = 0;
  uint64_t durationMicros = 0;
  /// The duration that durationMicros is rounded from.
  int64_t runtimeNs = 0;
  /// What a communication or a transfer moves.
  int64_t bytes = 0;
  /// For CommColl.
  CommType collective = CommType::AllReduce;
  /// For CommColl: by axis of the ranks' grid, whether the group extends along
  /// it; empty if that is not known or
  /// all groups have all ranks.
  std::vector<bool> axes;
  /// For CommSend and CommRecv.
  Peers peers = {};
};

/// Whether this build can encode messages; the functions below may only be
/// called if so.
bool canEncode();

/// The message GlobalMetadata.
std::string encodeMetadata();

/// The message Node.
std::string encodeNode(const Node &node);

/// What names the process group of a collective, to be appended to its message:
/// of protocol buffers, the concatenation of two messages is their merge.
std::string encodeGroup(int64_t id);

/// Appends the length of a message and the message, which has two parts.
void appendMessage(std::string &trace, std::string_view first,
                   std::string_view second = {});

} // namespace mlir::commsched::chakra

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

namespace mlir::commsched {

/// One operation that takes time or waits, in the order of the program.
struct ChakraStep {
  enum class Kind {
    Computation,
    Collective,
    Send,
    Recv,
    Permute,
    /// A transfer to or from the host.
    Transfer,
    Wait,
  };

  Kind kind = Kind::Computation;
  /// The position in the program. Numbers of trace nodes are twice this; that
  /// of the receiving half of a permute is one more.
  schedule::NodeId node = schedule::noNode;
  schedule::StreamId stream = schedule::noStream;
  /// For Wait: the step that is waited for.
  size_t start = 0;
  /// For a collective without a future: what follows waits for it.
  bool isBlocking = false;
  /// The node without what depends on the rank.
  chakra::Node message;
  std::string name;
  /// The declaration of the group.
  unsigned group = 0;
  /// For Send and Recv: the index of the peer in the group.
  int64_t peer = 0;
  /// For Permute, by index in the group: where it sends to and receives from,
  /// or -1.
  std::vector<int64_t> targetOf, sourceOf;
};

/// Reads the steps of the body of a function, simulated with `contention`.
/// Emits an error for what a trace cannot contain. Linear in what is simulated.
FailureOr<std::vector<ChakraStep>>
readChakraSteps(const BlockProblem &block,
                const schedule::Contention &contention,
                const ChakraRanks &ranks);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_REPORT_CHAKRA_CHAKRASTEPS_H
