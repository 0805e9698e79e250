//===- ExternalAnswer.cpp - Schedules of other projects -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ExternalAnswer.h"
#include "CommSched/Schedule/Bucketing/BucketedProblem.h"
#include "CommSched/Schedule/Model/Verify.h"
#include "MergeableStarts.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

#include <queue>

using namespace mlir;
using namespace mlir::commsched;
using schedule::Bucket;
using schedule::BucketedProblem;
using schedule::DependenceEnd;
using schedule::invert;
using schedule::NodeId;
using schedule::NodeKind;
using schedule::noNode;
using schedule::Order;
using schedule::Positions;
using schedule::Problem;

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

namespace mlir::commsched {
static bool fromJSON(const llvm::json::Value &value, ExternalAnswer &answer,
                     llvm::json::Path path) {
  llvm::json::ObjectMapper mapper(value, path);
  return mapper && mapper.map("order", answer.order) &&
         mapper.mapOptional("buckets", answer.buckets) &&
         mapper.mapOptional("schedule_ms", answer.scheduleMs) &&
         mapper.mapOptional("note", answer.note);
}
} // namespace mlir::commsched

Result<ExternalAnswer> mlir::commsched::readAnswer(StringRef path,
                                                   StringRef function) {
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!file)
    return Error{
        ("cannot read '" + path + "': " + file.getError().message()).str()};
  llvm::Expected<llvm::json::Value> parsed =
      llvm::json::parse((*file)->getBuffer());
  if (!parsed)
    return Error{(path + ": " + llvm::toString(parsed.takeError())).str()};
  const llvm::json::Object *object = parsed->getAsObject();
  const llvm::json::Array *functions =
      object ? object->getArray("functions") : nullptr;
  if (!functions)
    return Error{("'" + path + "' has no array 'functions'").str()};
  for (const llvm::json::Value &entry : *functions) {
    const llvm::json::Object *described = entry.getAsObject();
    if (!described || described->getString("function") != function)
      continue;
    ExternalAnswer answer;
    llvm::json::Path::Root root("answer");
    if (!fromJSON(entry, answer, root))
      return Error{(path + ": " + llvm::toString(root.getError())).str()};
    return answer;
  }
  return Error{
      ("'" + path + "' has no answer for function '" + function + "'").str()};
}

//===----------------------------------------------------------------------===//
// Applying
//===----------------------------------------------------------------------===//

namespace {

class AnswerApplier {
public:
  AnswerApplier(ExternalAnswer &answer, LoneFunction &function,
                const BlockProblem &block)
      : answer(answer), function(function), block(block),
        problem(block.getProblem()) {}

  LogicalResult run();

private:
  InFlightDiagnostic emitError(const Twine &text) {
    return function.getFunction().emitError(text);
  }
  LogicalResult makeBuckets();
  Order sort(const BucketedProblem &program, const Positions &positions);
  void noteBroken(const BucketedProblem &program,
                  const std::vector<int32_t> &places);
  void merge();

  ExternalAnswer &answer;
  LoneFunction &function;
  const BlockProblem &block;
  const Problem &problem;
  std::vector<Bucket> buckets;
  std::vector<BucketMode> modes;
};

} // namespace

LogicalResult AnswerApplier::makeBuckets() {
  std::vector<MergeableStart> mergeable = findMergeableStarts(block);
  for (std::vector<NodeId> &starts : answer.buckets) {
    if (starts.size() < 2)
      return emitError("a bucket has fewer than two members");
    for (NodeId start : starts) {
      if (start < 0 || start >= problem.numNodes())
        return emitError("a bucket has a member ")
               << start << ", but there are only " << problem.numNodes()
               << " nodes";
      const MergeableStart &member = mergeable[start];
      if (member.key < 0)
        return emitError("a bucket has a member that may not be merged: ")
               << problem.describe(start) << ": " << member.reason;
      if (member.key != mergeable[starts.front()].key)
        return emitError("a bucket has members with different keys: ")
               << problem.describe(starts.front()) << " and "
               << problem.describe(start);
    }
    std::sort(starts.begin(), starts.end());
    const MergeableStart &first = mergeable[starts.front()];
    buckets.push_back({first.key, starts, /*bytes=*/0});
    modes.push_back(first.mode);
  }
  return success();
}

/// Says in the note which dependences of the merged program its order by
/// `places` would break.
void AnswerApplier::noteBroken(const BucketedProblem &program,
                               const std::vector<int32_t> &places) {
  const Problem &merged = program.getProblem();
  auto describe = [&](NodeId node) {
    NodeId original = program.originalOf(node);
    if (original != noNode)
      return problem.describe(original);
    return "the merged " + std::string(toString(merged.kind(node))) +
           " of bucket " + std::to_string(program.bucketOf(node));
  };
  int64_t numBroken = 0;
  std::string first;
  for (NodeId node = 0; node < merged.numNodes(); ++node)
    for (DependenceEnd end : merged.predecessors(node))
      if (places[end.node] > places[node] && ++numBroken == 1)
        first = describe(end.node) + " has to come before " + describe(node) +
                " (" + toString(end.kind) + ")";
  if (numBroken == 0)
    return;
  if (!answer.note.empty())
    answer.note += "; ";
  answer.note +=
      "dependences broken: " + std::to_string(numBroken) + ", first: " + first;
}

/// The order of the merged program that is closest to the answer's.
Order AnswerApplier::sort(const BucketedProblem &program,
                          const Positions &positions) {
  const Problem &merged = program.getProblem();
  // By node of the merged program: where the answer has it.
  std::vector<int32_t> places(merged.numNodes());
  for (NodeId node = 0; node < problem.numNodes(); ++node) {
    NodeId to = program.nodeOf(node);
    if (program.bucketOf(to) < 0)
      places[to] = positions[node];
  }
  for (int32_t index = 0; index < program.numBuckets(); ++index) {
    const BucketedProblem::MergedBucket &bucket = program.bucket(index);
    int32_t start = 0, wait = problem.numNodes();
    for (NodeId member : bucket.starts)
      start = std::max(start, positions[member]);
    for (NodeId member : bucket.waits)
      wait = std::min(wait, positions[member]);
    places[bucket.start] = start;
    places[bucket.wait] = wait;
  }
  noteBroken(program, places);

  std::vector<int32_t> numMissing(merged.numNodes());
  std::priority_queue<std::pair<int32_t, NodeId>,
                      std::vector<std::pair<int32_t, NodeId>>, std::greater<>>
      ready;
  for (NodeId node = 0; node < merged.numNodes(); ++node) {
    numMissing[node] = static_cast<int32_t>(merged.predecessors(node).size());
    if (numMissing[node] == 0)
      ready.emplace(places[node], node);
  }
  Order order;
  while (!ready.empty()) {
    NodeId node = ready.top().second;
    ready.pop();
    order.push_back(node);
    for (DependenceEnd end : merged.successors(node))
      if (--numMissing[end.node] == 0)
        ready.emplace(places[end.node], end.node);
  }
  return order;
}

void AnswerApplier::merge() {
  IRRewriter rewriter(function.getModule().getContext());
  for (auto [bucket, mode] : llvm::zip_equal(buckets, modes)) {
    SmallVector<CollectiveOpInterface> members;
    for (NodeId start : bucket.starts)
      members.push_back(cast<CollectiveOpInterface>(block.getOperation(start)));
    llvm::sort(members, [](CollectiveOpInterface a, CollectiveOpInterface b) {
      return a->isBeforeInBlock(b);
    });
    mergeCollectives(rewriter, members, mode, /*multiDtype=*/false);
  }
}

LogicalResult AnswerApplier::run() {
  Result<Positions> positions = invert(problem, answer.order);
  if (!positions)
    return emitError("the answer is no order: ") << positions.error();
  if (failed(makeBuckets()))
    return failure();
  // Copies stand beside the merged start and wait, whatever they cost.
  Result<BucketedProblem> program = BucketedProblem::create(
      problem, buckets, std::vector<schedule::BucketCost>(buckets.size()));
  if (!program)
    return emitError("the buckets cannot be merged: ") << program.error();
  Result<Order> order = program->expand(sort(*program, *positions));
  if (!order)
    return emitError("no order was found: ") << order.error();
  block.apply(*order);
  merge();
  return success();
}

LogicalResult mlir::commsched::applyAnswer(ExternalAnswer &answer,
                                           LoneFunction &function) {
  FailureOr<BlockProblem> block = function.createProblem(StreamOrder::Free);
  if (failed(block))
    return failure();
  return AnswerApplier(answer, function, *block).run();
}
