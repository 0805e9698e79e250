//===- Operations.h - Operations of stand-in communicators ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rendezvous of the ranks of a communicator: data of collectives, and
// messages between two ranks.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_UNITTESTS_RUNTIME_NCCL_OPERATIONS_H
#define COMMSCHED_UNITTESTS_RUNTIME_NCCL_OPERATIONS_H

#include "Standin.h"

#include <nccl.h>

#include <deque>
#include <memory>

namespace standin {

enum class Kind {
  AllGather,
  ReduceScatter,
  AllReduce,
  AllToAll,
  Broadcast,
  Send,
  Recv
};

/// One call of a collective, a send or a recv.
struct Operation {
  Kind kind;
  const void *input;
  void *output;
  size_t count;
  ncclDataType_t type;
  ncclRedOp_t op = ncclSum;
  int peer = -1;
  /// Counts the collectives of the communicator.
  int64_t number = -1;
  bool hasArrived = false;
};

/// The n-th collective of a communicator.
struct Meeting {
  std::string first;
  std::map<int, std::string> inputs;
  /// When the last rank came.
  double time = 0;
  int numDone = 0;
};

/// The state that the ranks of a communicator share.
struct World {
  int size = 1;
  std::map<int64_t, Meeting> meetings;
  std::map<std::pair<int, int>, std::deque<std::string>> messages;
  /// Colors and keys of the n-th split, by rank.
  std::map<int64_t, std::map<int, std::pair<int, int>>> splits;
  std::map<std::pair<int64_t, int>, std::shared_ptr<World>> children;
  int numJoined = 0;
  /// The sizes of the n-th window, by rank.
  std::map<int64_t, std::map<int, size_t>> windows;
  /// What went wrong, as only NCCL would have noticed: by hanging.
  std::string defect;
};

/// Brings what this rank has to bring, once. False when the operation does not
/// agree with those of other ranks.
bool arrive(World &world, int rank, Operation &operation, double now);
/// Whether all that the operation needs is there.
/// `before` is how many receives of the same group come from the same rank, and
/// take their messages first.
bool isReady(const World &world, int rank, const Operation &operation,
             size_t before);
/// Writes the output; `now` becomes the end.
void finish(World &world, int rank, const Operation &operation, double &now);

} // namespace standin

#endif // COMMSCHED_UNITTESTS_RUNTIME_NCCL_OPERATIONS_H
