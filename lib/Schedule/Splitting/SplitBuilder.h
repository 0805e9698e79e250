//===- SplitBuilder.h - Construction of split problems ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the construction of a SplitProblem works on: the regions, checked and
// indexed, and a draft of the split program whose nodes have no order yet.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_SCHEDULE_SPLITTING_SPLITBUILDER_H
#define COMMSCHED_LIB_SCHEDULE_SPLITTING_SPLITBUILDER_H

#include "CommSched/Schedule/Splitting/SplitProblem.h"

#include <array>

namespace mlir::commsched::schedule {

/// Finds numbers by two keys.
class PairIndex {
public:
  void add(int32_t first, int32_t second, int32_t value) {
    entries.push_back({first, second, value});
  }
  /// Ends the additions.
  void sort();

  /// The different values of a pair of keys, ascending. O(log(entries)).
  std::vector<int32_t> find(int32_t first, int32_t second) const;

private:
  using Entry = std::array<int32_t, 3>;
  std::vector<Entry> entries;
};

/// The SplitSpecs of a problem by node and by buffer.
class SpecIndex {
public:
  SpecIndex(const Problem &problem, const std::vector<SplitSpec> &specs)
      : problem(problem), specs(specs) {}

  /// Checks all regions and builds the index. Error: that of
  /// SplitProblem::create().
  Status build();

  const Problem &getProblem() const { return problem; }
  const std::vector<SplitSpec> &getSpecs() const { return specs; }

  int32_t specOf(NodeId node) const { return specOfNode[node]; }
  /// What a chunk of a member costs.
  int64_t chunkCostNs(NodeId member) const { return costOfNode[member]; }
  int32_t numChunks(int32_t spec) const { return specs[spec].chunks; }
  /// The region whose chunks have their own buffers, or -1.
  int32_t specOfBuffer(BufferId buffer) const { return specOfChunks[buffer]; }
  int64_t chunkBytes(BufferId buffer) const { return bytesOfChunk[buffer]; }

  /// A Whole or a Slice: its region and its index there.
  struct Part {
    int32_t spec;
    int32_t index;
  };
  /// In the order of the regions.
  std::vector<Part> wholes, slices;
  const SplitSpec::Whole &whole(int32_t id) const {
    return specs[wholes[id].spec].wholes[wholes[id].index];
  }
  const SplitSpec::Slice &slice(int32_t id) const {
    return specs[slices[id].spec].slices[slices[id].index];
  }

  /// The buffers that are allocated whole, with chunks that are parts of them,
  /// each with the first Whole in it.
  struct Storage {
    BufferId buffer;
    int32_t whole;
  };
  std::vector<Storage> storages;
  /// The storage of a buffer, or -1.
  int32_t storageOf(BufferId buffer) const { return storageOfBuffer[buffer]; }

  /// By producer and user.
  PairIndex wholesOfProducer, slicesOfProducer;

private:
  Status checkMembers(int32_t spec);
  Status checkPairs(int32_t spec) const;
  Status checkBuffers(int32_t spec);
  Status checkWhole(int32_t spec, int32_t index);
  Status checkWritten(const std::string &name, int32_t spec, int32_t id);
  Status checkSlice(int32_t spec, int32_t index);
  Status checkPart(const std::string &name, NodeId producer, BufferId source,
                   int64_t costNs, int64_t bytes) const;
  Status checkUser(const std::string &name, NodeId producer, BufferId source,
                   NodeId user) const;
  bool isNode(NodeId node) const {
    return node >= 0 && node < problem.numNodes();
  }

  const Problem &problem;
  const std::vector<SplitSpec> &specs;
  std::vector<int32_t> specOfNode;
  std::vector<int64_t> costOfNode;
  std::vector<int32_t> specOfChunks;
  std::vector<int64_t> bytesOfChunk;
  std::vector<int32_t> storageOfBuffer;
};

/// The split program before its nodes are numbered.
struct SplitDraft {
  struct Node {
    SplitProblem::Origin origin;
    NodeKind kind;
    int64_t costNs;
    StreamId stream;
    /// Wait: its start in the draft.
    NodeId start;
    bool isExpensive;
  };
  struct Use {
    BufferId buffer;
    NodeId node;
  };

  /// The nodes of the original in their order, with the chunks of a member one
  /// after the other, then all wholes, all slices, and all storages.
  std::vector<Node> nodes;
  std::vector<Dependence> dependences;
  std::vector<Buffer> buffers;
  std::vector<Use> uses;

  /// By original node: its node or its first chunk.
  std::vector<NodeId> firsts;
  /// By Whole: its node. By Slice: its first chunk.
  std::vector<NodeId> wholes, slices;
  /// By storage: its node.
  std::vector<NodeId> storages;
};

/// Adds all buffers and uses to a draft whose nodes are there.
void addSplitBuffers(const SpecIndex &regions, SplitDraft &draft);

/// The first of the users, which decides what the slice depends on.
NodeId findFirstUser(const SplitSpec::Slice &slice);

/// The member in whose place a node of a region comes.
NodeId findMember(const SpecIndex &regions, const SplitProblem::Origin &origin);

/// By region: an order of its nodes of the draft, as a pipeline that is short
/// with nothing beside it. `successors` are those in the draft. O(nodes of
/// regions and their dependences * log(nodes)), and the effort of searches,
/// which is limited.
std::vector<Order> pipelineRegions(const SpecIndex &regions,
                                   const SplitDraft &draft,
                                   const Csr<NodeId> &successors);

/// The nodes of a draft with all dependences and buffers, in the order of
/// SplitProblem::place(). Error: there is no legal order.
Result<Order> placeSplit(const SpecIndex &regions, const SplitDraft &draft);

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_LIB_SCHEDULE_SPLITTING_SPLITBUILDER_H
