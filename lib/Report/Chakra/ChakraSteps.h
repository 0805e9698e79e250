//===- ChakraSteps.h - What a trace says of each operation ------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The operations of a scheduled function as execution traces have them, before
// it is known on which rank.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_REPORT_CHAKRA_CHAKRASTEPS_H
#define COMMSCHED_LIB_REPORT_CHAKRA_CHAKRASTEPS_H

#include "ChakraMessages.h"
#include "ChakraRanks.h"
#include "CommSched/Analysis/Problem/BlockProblem.h"

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

/// Reads the steps of the body of a function. Emits an error for what a trace
/// cannot contain. O(operations).
FailureOr<std::vector<ChakraStep>> readChakraSteps(const BlockProblem &block,
                                                   const ChakraRanks &ranks);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_REPORT_CHAKRA_CHAKRASTEPS_H
