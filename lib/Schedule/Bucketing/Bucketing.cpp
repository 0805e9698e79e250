//===- Bucketing.cpp - Buckets of collectives -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Bucketing/Bucketing.h"

#include "CommSched/Schedule/Graphs/ContractedGraph.h"

#include <algorithm>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

/// How many candidates in a row a bucket may refuse for a dependence, and how
/// many buckets of one key may be open. Both bound the searches that a
/// candidate can cost: in a chain of collectives, such as those of tensor
/// parallelism, every candidate depends on every bucket before it. Where such
/// chains run side by side, their operations alternate every few layers, each
/// of which has two to four collectives of a kind.
static constexpr int32_t maxRefusals = 16;
static constexpr size_t maxOpenBuckets = 16;

namespace {

/// A bucket that comes before something: a path leads from the start of a
/// member to the start of that.
struct Ancestor {
  size_t bucket;
  NodeId member;
};

/// A bucket while candidates are looked at, perhaps of one member.
struct FormingBucket {
  int64_t capBytes;
  int64_t bytes;
  /// Indices of candidates.
  std::vector<size_t> members;
  /// Those among the buckets that were open when it was opened.
  std::vector<Ancestor> ancestors;
  /// For dependences, since the last member came.
  int32_t refusals = 0;
};

/// The state of the formation for one key.
struct KeyState {
  /// Indices of its open buckets, oldest first.
  std::vector<size_t> open;
  /// How many buckets there are so far: the index of the next one's cap.
  size_t numOpened = 0;
  /// How many candidates have opened a bucket that others could have joined.
  size_t numOpeners = 0;
};

/// One run of formBuckets(), on input without errors.
class Forming {
public:
  Forming(const Problem &problem, ContractedGraph graph,
          const std::vector<BucketCandidate> &candidates,
          const BucketingOptions &options)
      : problem(problem), graph(std::move(graph)), candidates(candidates),
        options(options), keys(options.capBytes.size()),
        assignments(candidates.size()) {}

  Bucketing run();

private:
  enum class Answer { Joined, Refused, Closed };

  void place(size_t index);
  void findAncestors(size_t index);
  Answer offer(size_t bucketIndex, size_t index);
  std::optional<NodeId> merge(size_t bucket, size_t index);
  void open(size_t index);
  void noteReason(size_t index, UnbucketedReason reason, NodeId other = noNode);
  Bucketing takeResult();

  NodeId startOf(size_t index) const { return candidates[index].start; }
  /// The start of a bucket's first member.
  NodeId openerOf(size_t bucket) const {
    return startOf(buckets[bucket].members.front());
  }

  const Problem &problem;
  ContractedGraph graph;
  const std::vector<BucketCandidate> &candidates;
  const BucketingOptions &options;
  std::vector<KeyState> keys;
  std::vector<FormingBucket> buckets;
  std::vector<BucketAssignment> assignments;
  /// Of the candidate that is looked at: those known before any bucket is
  /// asked, and those among the buckets that were asked.
  std::vector<Ancestor> knownAncestors;
  std::vector<Ancestor> ancestors;
};

} // namespace

Bucketing Forming::run() {
  for (size_t index = 0; index < candidates.size(); ++index)
    place(index);
  return takeResult();
}

/// Notes why a candidate is unbucketed, should it stay so.
void Forming::noteReason(size_t index, UnbucketedReason reason, NodeId other) {
  assignments[index].reason = reason;
  assignments[index].other = other;
}

void Forming::place(size_t index) {
  std::vector<size_t> &openBuckets = keys[candidates[index].key].open;
  findAncestors(index);
  auto kept = openBuckets.begin();
  auto it = kept;
  bool joined = false;
  for (; it != openBuckets.end() && !joined; ++it) {
    Answer answer = offer(*it, index);
    joined = answer == Answer::Joined;
    if (answer != Answer::Closed)
      *kept++ = *it;
  }
  openBuckets.erase(kept, it);
  if (!joined)
    open(index);
}

/// Searches for a path from the youngest open bucket to a candidate. If there
/// is one, the candidate also depends on all buckets that the youngest depends
/// on. In a chain this one search, which is also the shortest, decides about
/// all buckets. An earlier path to the youngest bucket remains one, even if it
/// may have shrunk to an Order dependence when others joined its beginning:
/// with the youngest in between, that forbids to merge.
void Forming::findAncestors(size_t index) {
  knownAncestors.clear();
  ancestors.clear();
  const std::vector<size_t> &openBuckets = keys[candidates[index].key].open;
  if (openBuckets.size() < 2)
    return;
  size_t youngest = openBuckets.back();
  std::optional<JoiningPath> path =
      graph.findPath(openerOf(youngest), startOf(index));
  if (!path || path->to != startOf(index))
    return;
  knownAncestors = buckets[youngest].ancestors;
  knownAncestors.push_back({youngest, path->from});
}

/// Lets a candidate join a bucket, if it can.
Forming::Answer Forming::offer(size_t bucketIndex, size_t index) {
  FormingBucket &bucket = buckets[bucketIndex];
  int64_t bytes = candidates[index].bytes;
  // Such a giant says nothing about the room that is left.
  if (bytes > bucket.capBytes)
    return Answer::Refused;
  size_t opener = bucket.members.front();
  bool hasNoReason = assignments[opener].reason == UnbucketedReason::None;
  if (bytes > bucket.capBytes - bucket.bytes ||
      static_cast<int64_t>(bucket.members.size()) >= options.maxCount) {
    if (hasNoReason)
      noteReason(opener, UnbucketedReason::BucketFull);
    if (assignments[index].reason == UnbucketedReason::None)
      noteReason(index, UnbucketedReason::BucketFull);
    return Answer::Closed;
  }
  if (std::optional<NodeId> other = merge(bucketIndex, index)) {
    noteReason(index, UnbucketedReason::Dependent, *other);
    if (hasNoReason)
      noteReason(opener, UnbucketedReason::Dependent, startOf(index));
    return ++bucket.refusals < maxRefusals ? Answer::Refused : Answer::Closed;
  }
  bucket.bytes += bytes;
  bucket.members.push_back(index);
  bucket.refusals = 0;
  return Answer::Joined;
}

/// Merges a candidate with the members of a bucket, or returns the member that
/// a path joins it to.
std::optional<NodeId> Forming::merge(size_t bucket, size_t index) {
  for (const Ancestor &ancestor : knownAncestors)
    if (ancestor.bucket == bucket) {
      ancestors.push_back(ancestor);
      return ancestor.member;
    }
  NodeId start = startOf(index);
  std::optional<JoiningPath> path =
      graph.mergeCollectives(openerOf(bucket), start);
  if (!path)
    return std::nullopt;
  if (path->to == start)
    ancestors.push_back({bucket, path->from});
  if (problem.kind(path->to) == NodeKind::Wait)
    path = JoiningPath{problem.startOf(path->from), problem.startOf(path->to)};
  return path->to == start ? path->from : path->to;
}

/// Opens a bucket for a candidate.
void Forming::open(size_t index) {
  const BucketCandidate &candidate = candidates[index];
  KeyState &key = keys[candidate.key];
  const std::vector<int64_t> &caps = options.capBytes[candidate.key];
  auto cap = caps.begin() +
             static_cast<ptrdiff_t>(std::min(key.numOpened, caps.size() - 1));
  if (candidate.bytes > *cap) {
    if (assignments[index].reason == UnbucketedReason::None)
      noteReason(index, UnbucketedReason::OverCap);
    // If the cap of a later bucket admits the candidate, the candidate uses up
    // the current cap. Otherwise all candidates above the first cap would stay
    // unbucketed.
    if (std::any_of(cap, caps.end(),
                    [&](int64_t later) { return candidate.bytes <= later; }))
      ++key.numOpened;
    return;
  }
  ++key.numOpened;
  ++key.numOpeners;
  // Room for one more is made by the bucket that is least likely to be joined.
  if (key.open.size() == maxOpenBuckets)
    key.open.erase(std::max_element(
        key.open.begin(), key.open.end(), [&](size_t a, size_t b) {
          return buckets[a].refusals < buckets[b].refusals;
        }));
  key.open.push_back(buckets.size());
  buckets.push_back({*cap, candidate.bytes, {index}, ancestors});
}

Bucketing Forming::takeResult() {
  Bucketing result;
  std::vector<std::pair<NodeId, const FormingBucket *>> formed;
  for (const FormingBucket &bucket : buckets) {
    if (bucket.members.size() == 1)
      continue;
    NodeId first = startOf(bucket.members.front());
    for (size_t member : bucket.members)
      first = std::min(first, startOf(member));
    formed.push_back({first, &bucket});
  }
  // No two have the same first member.
  std::sort(formed.begin(), formed.end(),
            [](const auto &a, const auto &b) { return a.first < b.first; });
  for (const auto &[first, bucket] : formed) {
    Bucket merged;
    merged.key = candidates[bucket->members.front()].key;
    merged.bytes = bucket->bytes;
    for (size_t member : bucket->members) {
      merged.starts.push_back(startOf(member));
      assignments[member] = {static_cast<int32_t>(result.buckets.size()),
                             UnbucketedReason::None, noNode};
    }
    std::sort(merged.starts.begin(), merged.starts.end());
    result.buckets.push_back(std::move(merged));
  }
  for (size_t index = 0; index < candidates.size(); ++index)
    if (BucketAssignment &assignment = assignments[index];
        assignment.bucket < 0 && assignment.reason == UnbucketedReason::None)
      assignment.reason = keys[candidates[index].key].numOpeners == 1
                              ? UnbucketedReason::NoPartner
                              : UnbucketedReason::BucketFull;
  result.assignments = std::move(assignments);
  return result;
}

static Status checkOptions(const BucketingOptions &options) {
  if (options.maxCount < 1)
    return Error{"a bucket may have " + std::to_string(options.maxCount) +
                 " members; it has to be at least 1"};
  for (size_t key = 0; key < options.capBytes.size(); ++key) {
    const std::vector<int64_t> &caps = options.capBytes[key];
    std::string ofKey = " for bucket key " + std::to_string(key);
    if (caps.empty())
      return Error{"there is no cap" + ofKey};
    for (size_t i = 0; i < caps.size(); ++i)
      if (caps[i] <= 0)
        return Error{"cap " + std::to_string(i) + ofKey + " is " +
                     std::to_string(caps[i]) + " bytes; it has to be positive"};
  }
  return Status::success();
}

static Status checkCandidates(const Problem &problem,
                              const std::vector<BucketCandidate> &candidates,
                              size_t numKeys) {
  std::vector<bool> isNamed(problem.numNodes());
  for (const BucketCandidate &candidate : candidates) {
    std::string name = problem.describe(candidate.start);
    if (candidate.start < 0 || candidate.start >= problem.numNodes())
      return Error{name + " is a candidate; the problem has " +
                   std::to_string(problem.numNodes()) + " nodes"};
    if (problem.kind(candidate.start) != NodeKind::Start)
      return Error{name +
                   " is a candidate, but only a start can be in a bucket"};
    if (isNamed[candidate.start])
      return Error{name + " is a candidate twice"};
    isNamed[candidate.start] = true;
    if (candidate.key < 0 || static_cast<size_t>(candidate.key) >= numKeys)
      return Error{name + " has bucket key " + std::to_string(candidate.key) +
                   ", but there are caps for " + std::to_string(numKeys) +
                   " keys"};
    if (candidate.bytes < 0)
      return Error{name + " has a negative size of " +
                   std::to_string(candidate.bytes) + " bytes"};
  }
  return Status::success();
}

Result<Bucketing>
schedule::formBuckets(const Problem &problem,
                      const std::vector<BucketCandidate> &candidates,
                      const BucketingOptions &options) {
  Result<ContractedGraph> graph = ContractedGraph::create(problem);
  if (!graph)
    return Error{graph.error()};
  if (Status status = checkOptions(options); !status)
    return status;
  if (Status status =
          checkCandidates(problem, candidates, options.capBytes.size());
      !status)
    return status;
  return Forming(problem, std::move(*graph), candidates, options).run();
}
