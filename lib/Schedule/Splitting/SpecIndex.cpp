//===- SpecIndex.cpp - Regions by node and buffer -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "SplitBuilder.h"

#include <algorithm>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

void PairIndex::sort() {
  std::sort(entries.begin(), entries.end());
  entries.erase(std::unique(entries.begin(), entries.end()), entries.end());
}

std::vector<int32_t> PairIndex::find(int32_t first, int32_t second) const {
  std::vector<int32_t> values;
  for (auto it = std::lower_bound(entries.begin(), entries.end(),
                                  Entry{first, second, 0});
       it != entries.end() && (*it)[0] == first && (*it)[1] == second; ++it)
    values.push_back((*it)[2]);
  return values;
}

//===----------------------------------------------------------------------===//
// Members and buffers
//===----------------------------------------------------------------------===//

static std::string describeRegion(int32_t spec) {
  return "region " + std::to_string(spec);
}

static std::string describeSource(BufferId buffer) {
  return "buffer " + std::to_string(buffer);
}

Status SpecIndex::checkMembers(int32_t spec) {
  std::string name = describeRegion(spec);
  const SplitSpec &region = specs[spec];
  if (region.chunks < SplitSpec::minChunks ||
      region.chunks > SplitSpec::maxChunks)
    return Error{name + " has " + std::to_string(region.chunks) +
                 " chunks; there can be " +
                 std::to_string(SplitSpec::minChunks) + " to " +
                 std::to_string(SplitSpec::maxChunks)};
  if (region.members.empty())
    return Error{name + " has no members"};
  NodeId last = noNode;
  for (const SplitSpec::Member &member : region.members) {
    NodeId node = member.node;
    if (!isNode(node))
      return Error{name + " has node " + std::to_string(node) +
                   "; the problem has " + std::to_string(problem.numNodes()) +
                   " nodes"};
    if (node <= last)
      return Error{name + " has " + problem.describe(node) + " after " +
                   problem.describe(last) + "; members are in ascending order"};
    last = node;
    if (specOfNode[node] >= 0)
      return Error{problem.describe(node) + " is in " +
                   describeRegion(specOfNode[node]) + " and again in " + name};
    if (problem.kind(node) == NodeKind::Blocking)
      return Error{name + " has " + problem.describe(node) +
                   ", which cannot be split"};
    if (member.chunkCostNs < 0)
      return Error{"a chunk of " + problem.describe(node) +
                   " has a negative cost of " +
                   std::to_string(member.chunkCostNs) + " ns"};
    if (problem.kind(node) == NodeKind::Wait && member.chunkCostNs != 0)
      return Error{"a chunk of " + problem.describe(node) + " has a cost of " +
                   std::to_string(member.chunkCostNs) +
                   " ns, but the time of a collective belongs to its start"};
    specOfNode[node] = spec;
    costOfNode[node] = member.chunkCostNs;
  }
  return Status::success();
}

Status SpecIndex::checkPairs(int32_t spec) const {
  for (const SplitSpec::Member &member : specs[spec].members) {
    NodeId node = member.node;
    NodeId other = noNode;
    if (problem.kind(node) == NodeKind::Start)
      other = problem.waitOf(node);
    else if (problem.kind(node) == NodeKind::Wait)
      other = problem.startOf(node);
    if (other != noNode && specOfNode[other] != spec)
      return Error{describeRegion(spec) + " has " + problem.describe(node) +
                   " without " + problem.describe(other)};
  }
  return Status::success();
}

Status SpecIndex::checkBuffers(int32_t spec) {
  std::string name = describeRegion(spec);
  for (const SplitSpec::ChunkBuffer &entry : specs[spec].buffers) {
    BufferId id = entry.buffer;
    if (id < 0 || id >= problem.numBuffers())
      return Error{name + " splits " + describeSource(id) +
                   "; the problem has " + std::to_string(problem.numBuffers()) +
                   " buffers"};
    NodeId producer = problem.buffer(id).producer;
    if (producer == noNode || specOfNode[producer] != spec)
      return Error{name + " splits " + describeSource(id) +
                   ", which no member of it makes"};
    if (specOfChunks[id] >= 0)
      return Error{name + " splits " + describeSource(id) + " twice"};
    if (entry.chunkBytes < 0)
      return Error{"a chunk of " + describeSource(id) +
                   " has a negative size of " +
                   std::to_string(entry.chunkBytes) + " bytes"};
    specOfChunks[id] = spec;
    bytesOfChunk[id] = entry.chunkBytes;
  }
  for (const SplitSpec::Member &member : specs[spec].members)
    for (BufferId id : problem.buffersMadeBy(member.node))
      if (specOfChunks[id] < 0)
        return Error{name + " has " + problem.describe(member.node) +
                     ", but does not split its " + describeSource(id)};
  return Status::success();
}

//===----------------------------------------------------------------------===//
// Wholes and slices
//===----------------------------------------------------------------------===//

NodeId schedule::findFirstUser(const SplitSpec::Slice &slice) {
  return *std::min_element(slice.users.begin(), slice.users.end());
}

template <typename Range, typename T>
static bool includes(const Range &range, const T &value) {
  return std::find(range.begin(), range.end(), value) != range.end();
}

static bool isDataUser(const Problem &problem, NodeId user, NodeId producer) {
  ArrayView<DependenceEnd> before = problem.predecessors(user);
  ArrayView<DependenceEnd> after = problem.successors(producer);
  bool isBackward = before.size() < after.size();
  for (DependenceEnd end : isBackward ? before : after)
    if (end.node == (isBackward ? producer : user) &&
        end.kind == DependenceKind::Data)
      return true;
  return false;
}

static bool usesBuffer(const Problem &problem, NodeId node, BufferId buffer) {
  ArrayView<BufferId> used = problem.buffersUsedBy(node);
  ArrayView<NodeId> users = problem.users(buffer);
  return used.size() < users.size() ? includes(used, buffer)
                                    : includes(users, node);
}

/// Checks what a Whole and a Slice have in common.
Status SpecIndex::checkPart(const std::string &name, NodeId producer,
                            BufferId source, int64_t costNs,
                            int64_t bytes) const {
  if (producer != noNode && !isNode(producer))
    return Error{name + " has " + problem.describe(producer) +
                 " as its producer; the problem has " +
                 std::to_string(problem.numNodes()) + " nodes"};
  if (source < 0 || source >= problem.numBuffers())
    return Error{name + " reads " + describeSource(source) +
                 "; the problem has " + std::to_string(problem.numBuffers()) +
                 " buffers"};
  if (costNs < 0)
    return Error{name + " has a negative cost of " + std::to_string(costNs) +
                 " ns"};
  if (bytes < 0)
    return Error{name + " has a negative size of " + std::to_string(bytes) +
                 " bytes"};
  NodeId maker = problem.buffer(source).producer;
  if (producer == noNode && maker != noNode)
    return Error{name + " reads " + describeSource(source) + ", which " +
                 problem.describe(maker) + " makes, but has no producer"};
  if (producer != noNode && maker != producer &&
      !usesBuffer(problem, producer, source))
    return Error{name + " reads " + describeSource(source) + ", which " +
                 problem.describe(producer) + " neither makes nor uses"};
  return Status::success();
}

Status SpecIndex::checkUser(const std::string &name, NodeId producer,
                            BufferId source, NodeId user) const {
  if (!isNode(user))
    return Error{name + " has node " + std::to_string(user) +
                 " as a user; the problem has " +
                 std::to_string(problem.numNodes()) + " nodes"};
  if (producer != noNode && !isDataUser(problem, user, producer))
    return Error{name + " has " + problem.describe(user) +
                 " as a user, which does not depend on " +
                 problem.describe(producer)};
  if (producer == noNode && !usesBuffer(problem, user, source))
    return Error{name + " has " + problem.describe(user) +
                 " as a user, which does not use " + describeSource(source)};
  return Status::success();
}

Status SpecIndex::checkWhole(int32_t spec, int32_t index) {
  const SplitSpec::Whole &whole = specs[spec].wholes[index];
  std::string name =
      "whole " + std::to_string(index) + " of " + describeRegion(spec);
  if (whole.producer == noNode)
    return Error{name + " has no producer"};
  if (Status status = checkPart(name, whole.producer, whole.source,
                                whole.costNs, whole.bytes);
      !status)
    return status;
  if (specOfNode[whole.producer] != spec)
    return Error{name + " has " + problem.describe(whole.producer) +
                 " as its producer, which is no member of the region"};
  int32_t id = static_cast<int32_t>(wholes.size());
  wholes.push_back({spec, index});
  if (whole.isWritten)
    if (Status status = checkWritten(name, spec, id); !status)
      return status;
  for (NodeId user : whole.users) {
    if (Status status = checkUser(name, whole.producer, whole.source, user);
        !status)
      return status;
    wholesOfProducer.add(whole.producer, user, id);
  }
  return Status::success();
}

/// Notes that the chunks of a Whole are parts of the buffer that it is in.
Status SpecIndex::checkWritten(const std::string &name, int32_t spec,
                               int32_t id) {
  const SplitSpec::Whole &written = whole(id);
  if (written.costNs != 0)
    return Error{name + " costs " + std::to_string(written.costNs) +
                 " ns, but its chunks are parts of it"};
  NodeId producer = problem.buffer(written.source).producer;
  if (producer == noNode || specOfNode[producer] != spec ||
      problem.kind(producer) != NodeKind::Compute)
    return Error{name + " has chunks that are parts of " +
                 describeSource(written.source) +
                 ", which no Compute of the region makes"};
  int32_t &storage = storageOfBuffer[written.source];
  if (storage >= 0)
    return Status::success();
  storage = static_cast<int32_t>(storages.size());
  storages.push_back({written.source, id});
  specOfChunks[written.source] = -1;
  return Status::success();
}

/// Checks a slice when all wholes are indexed.
Status SpecIndex::checkSlice(int32_t spec, int32_t index) {
  const SplitSpec::Slice &slice = specs[spec].slices[index];
  std::string name =
      "slice " + std::to_string(index) + " of " + describeRegion(spec);
  if (Status status = checkPart(name, slice.producer, slice.source,
                                slice.costNs, slice.bytes);
      !status)
    return status;
  if (slice.users.empty())
    return Error{name + " has no users"};
  int32_t id = static_cast<int32_t>(slices.size());
  slices.push_back({spec, index});
  for (NodeId user : slice.users) {
    if (Status status = checkUser(name, slice.producer, slice.source, user);
        !status)
      return status;
    if (specOfNode[user] != spec)
      return Error{name + " has " + problem.describe(user) +
                   " as a user, which is no member of the region"};
    if (slice.producer != noNode && specOfNode[slice.producer] == spec &&
        wholesOfProducer.find(slice.producer, user).empty())
      return Error{name + " has a value of " +
                   problem.describe(slice.producer) +
                   ", which is a member, but no whole that " +
                   problem.describe(user) + " uses"};
    slicesOfProducer.add(slice.producer, user, id);
  }
  return Status::success();
}

Status SpecIndex::build() {
  specOfNode.assign(problem.numNodes(), -1);
  costOfNode.assign(problem.numNodes(), 0);
  specOfChunks.assign(problem.numBuffers(), -1);
  bytesOfChunk.assign(problem.numBuffers(), 0);
  storageOfBuffer.assign(problem.numBuffers(), -1);
  int32_t numSpecs = static_cast<int32_t>(specs.size());
  for (int32_t spec = 0; spec < numSpecs; ++spec)
    if (Status status = checkMembers(spec); !status)
      return status;
  for (int32_t spec = 0; spec < numSpecs; ++spec) {
    if (Status status = checkPairs(spec); !status)
      return status;
    if (Status status = checkBuffers(spec); !status)
      return status;
    for (size_t i = 0; i < specs[spec].wholes.size(); ++i)
      if (Status status = checkWhole(spec, static_cast<int32_t>(i)); !status)
        return status;
  }
  wholesOfProducer.sort();
  for (int32_t spec = 0; spec < numSpecs; ++spec)
    for (size_t i = 0; i < specs[spec].slices.size(); ++i)
      if (Status status = checkSlice(spec, static_cast<int32_t>(i)); !status)
        return status;
  slicesOfProducer.sort();
  return Status::success();
}
