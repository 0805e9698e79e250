//===- SplitProblem.h - Problem with regions in chunks ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The program with split regions: a problem in which each operation of a region
// is replaced by one operation a chunk, with the slices on the way in and the
// concatenations on the way out. Scheduling it decides whether splitting pays,
// without changing the program.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_SCHEDULE_SPLITTING_SPLITPROBLEM_H
#define COMMSCHED_SCHEDULE_SPLITTING_SPLITPROBLEM_H

#include "CommSched/Schedule/Model/Problem.h"

namespace mlir::commsched::schedule {

/// A region of a problem and the number of chunks that it is split into.
struct SplitSpec {
  static constexpr int32_t minChunks = 2;
  static constexpr int32_t maxChunks = 64;

  /// From minChunks to maxChunks.
  int32_t chunks = minChunks;

  /// An operation of the region. Each chunk has its kind and its stream.
  struct Member {
    NodeId node;
    /// Of one chunk; 0 for a Wait.
    int64_t chunkCostNs;
  };
  /// In the order of their indices. A Start and its Wait come together.
  std::vector<Member> members;

  /// A buffer that a member allocates: each chunk allocates its own.
  struct ChunkBuffer {
    BufferId buffer;
    int64_t chunkBytes;
  };
  /// All buffers that members allocate, each once.
  std::vector<ChunkBuffer> buffers;

  /// A value of the region that is needed whole: a Compute puts the chunks
  /// together.
  struct Whole {
    /// The member that the value is a result of.
    NodeId producer;
    /// The buffer that the value is in: the producer makes or uses it. Compute
    /// reads all chunks of it.
    BufferId source;
    int64_t costNs;
    /// The size of what Compute allocates; `freed`: whether the last user frees
    /// that.
    int64_t bytes;
    bool freed;
    /// The operations, of the region or not, that have a data dependence on the
    /// producer and read the value whole. Those that read it through views of
    /// these, and the waits of starts, follow by themselves.
    std::vector<NodeId> users;
    /// Whether the chunks are parts of the whole: it costs nothing, and `bytes`
    /// and `freed` do not count. A member makes `source`, which is not in
    /// chunks then: a free Compute, the storage, allocates it ahead of them.
    bool isWritten = false;
  };
  std::vector<Whole> wholes;

  /// A copy of the part of a value from outside that one chunk needs: one
  /// Compute a chunk. Parts that are views are left out.
  struct Slice {
    /// The operation that the value is a result of; noNode: an argument.
    NodeId producer;
    /// The buffer that the value is in: the producer makes or uses it.
    BufferId source;
    /// Of one chunk.
    int64_t costNs;
    int64_t bytes;
    /// The members that read the parts instead of the value. Those that read
    /// them through views of these, and the waits of starts, follow by
    /// themselves.
    std::vector<NodeId> users;
  };
  std::vector<Slice> slices;
};

class SplitProblem {
public:
  /// Splits the regions of `problem`, which has to live on. Other operations
  /// and buffers stay as they are. The order of `specs` does not matter.
  ///
  /// Dependences. A Data dependence of a member on another one of its region
  /// holds chunk by chunk, unless the Whole of the producer names the user:
  /// then it leads from all chunks to the Whole, and from there to the user
  /// (all of its chunks). One that leaves the region goes through the Whole
  /// that names the user, or else from all chunks. One that enters the region
  /// goes, chunk by chunk, through the Slice that names the user, or else to
  /// all chunks. Order dependences among members of one region hold chunk by
  /// chunk. All others hold between all chunks.
  ///
  /// Buffers. Chunks use their own chunk of a buffer of their region, others
  /// all of them. Users of a Whole or a Slice use what that allocates in place
  /// of its source, and so do those that read it through views: results of
  /// Compute that allocates nothing. A chunk of a buffer that a Whole reads is
  /// freed behind its last user, even if the buffer is not: the Whole stays
  /// instead. Chunks that are parts of a Whole use the buffer that its storage
  /// makes. So simulateMemory() returns the memory of the rewritten program.
  ///
  /// Numbers are those of place().
  ///
  /// Error: the one of `problem`; a region without members, with a number of
  /// chunks that is out of range, or with a member that another region has;
  /// members that are not in ascending order; a member that is a Blocking, or a
  /// Start or Wait without the other one; a buffer that no member makes, is
  /// given twice, or is missing; a Whole or a Slice whose source its producer
  /// neither makes nor uses, or whose user does not depend on it; a Whole whose
  /// chunks are parts of a buffer that no member makes, or that costs; a
  /// negative cost or size; sums that do not fit 64 bits; no legal order,
  /// because an operation uses a buffer that an operation makes which depends
  /// on it.
  ///
  /// O((nodes + dependences + uses) * log(nodes)) of the split program.
  static Result<SplitProblem> create(const Problem &problem,
                                     const std::vector<SplitSpec> &specs);

  /// The split program, finalized. Its program is a legal order.
  const Problem &getProblem() const { return split; }

  /// An order of the split program, verified, that is close to the original
  /// one: that of its indices.
  ///
  /// A *section* of a region is a sequence of members, in their order, without
  /// a Wait whose Start it contains and without an operation that needs all
  /// chunks of one of its members, in or outside of the region, between its
  /// first and its last one. Sections are as long as possible. Chunk c of
  /// section s has the rank p * s + q * c for some skew (p, q), from (1, 0),
  /// which is one section after the other, to (0, 1), which is one chunk after
  /// the other. For each region, list scheduling by these ranks, with nothing
  /// beside the region, gives the order in which its operations come; the skew
  /// is the one with the shortest step. A collective is issued in time to keep
  /// its stream busy, not before, so that others that rank before it pass it.
  /// Collectives then move among the others if that makes the region shorter.
  ///
  /// The operations of a region come in the places of its members, and later
  /// where the order of the region demands it. All other operations keep their
  /// order as far as they can, except that computation behind a region fills
  /// its stalls if that makes the step shorter.
  Order place() const { return split.programOrder(); }

  /// What a node of the split program stands for.
  enum class Role : uint8_t { Kept, Chunk, Whole, Slice, Storage };
  struct Origin {
    Role role = Role::Kept;
    /// Chunk, Slice: the chunk. Otherwise -1.
    int32_t chunk = -1;
    /// The region; -1 for Kept.
    int32_t spec = -1;
    /// Whole, Slice: the index in the region's list. Storage: that of the first
    /// Whole in it. Otherwise -1.
    int32_t index = -1;
    /// Kept, Chunk: the node of the original problem. Otherwise noNode.
    NodeId node = noNode;
  };
  const Origin &originOf(NodeId node) const { return origins[node]; }

  int32_t numSpecs() const { return numRegions; }

  /// The region of an original node, or -1.
  int32_t specOf(NodeId original) const { return specs[original]; }

private:
  friend class SplitBuilder;

  Problem split;
  /// By node of the split problem.
  std::vector<Origin> origins;
  /// By node of the original problem: its region or -1.
  std::vector<int32_t> specs;
  int32_t numRegions = 0;
};

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_SCHEDULE_SPLITTING_SPLITPROBLEM_H
