//===- ChakraMessages.h - Messages of execution traces ----------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The messages of MLCommons' Chakra execution traces in the wire format of
// protocol buffers. Field numbers and types are those of the published schema,
// schema/protobuf/et_def.proto of github.com/mlcommons/chakra (version 1.0.0).
//
// A trace is a sequence of messages, each behind its length: GlobalMetadata,
// then Nodes.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_REPORT_CHAKRA_CHAKRAMESSAGES_H
#define COMMSCHED_LIB_REPORT_CHAKRA_CHAKRAMESSAGES_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

#endif // COMMSCHED_LIB_REPORT_CHAKRA_CHAKRAMESSAGES_H
