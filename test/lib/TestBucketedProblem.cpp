//===- TestBucketedProblem.cpp - Pass that tests predictions of merges ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Predicts time and memory of random buckets in a random order, merges them in
// clones of the functions, and compares with what the rewritten blocks take.
//===----------------------------------------------------------------------===//

#include "Bucketing/MergeCollectives.h"
#include "CommSched/Analysis/Costs/CostAnalysis.h"
#include "CommSched/Analysis/Problem/BlockProblem.h"
#include "CommSched/Schedule/Model/MemoryTimeline.h"
#include "CommSched/Schedule/Model/Simulator.h"
#include "PassSupport.h"
#include "TestPasses.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

#include <random>

using namespace mlir;
using namespace mlir::commsched;
using schedule::Bucket;
using schedule::BucketBuffers;
using schedule::BucketCandidate;
using schedule::BucketCost;
using schedule::BucketedProblem;
using schedule::Bucketing;
using schedule::BucketingOptions;
using schedule::DependenceEnd;
using schedule::MemoryTimeline;
using schedule::NodeId;
using schedule::noNode;
using schedule::Order;
using schedule::Problem;

namespace {

/// One block, merged in one way.
class BucketTrial {
public:
  BucketTrial(func::FuncOp function, Block &block, OperationCosts &costs,
              uint64_t seed)
      : function(function), block(block), costs(costs), random(seed) {}

  /// Merges the block. Emits an error where it takes another time, or other
  /// live bytes at an operation, than was predicted.
  LogicalResult run();

  size_t getNumBuckets() const { return bucketing.buckets.size(); }
  /// How many casts copy-ins have absorbed.
  size_t getNumAbsorbed() const;

private:
  FailureOr<BlockProblem> read();
  LogicalResult formBuckets(const BlockProblem &problem);
  std::vector<BucketCost> price(const BlockProblem &problem, bool absorb);
  Result<BucketedProblem> predict(const BlockProblem &problem);
  Order drawOrder(const BucketedProblem &program);
  LogicalResult checkAbsorbed(const BlockProblem &problem,
                              const BucketedProblem &program);
  void merge(const BlockProblem &problem, const BucketedProblem &program);
  LogicalResult compareOrder(const Order &order);
  LogicalResult compare(const Problem &predicted, const Order &order);
  InFlightDiagnostic report(NodeId node);

  func::FuncOp function;
  Block &block;
  OperationCosts &costs;
  std::mt19937_64 random;
  Bucketing bucketing;
  /// By key of a bucket.
  SmallVector<BucketMode> modes;
  /// By bucket.
  SmallVector<SmallVector<Operation *>> absorbedCasts;
  /// By node of the merged program: what it has become, in the order of the
  /// block.
  std::vector<SmallVector<Operation *>> operations;
};

/// Remembers what is created.
struct Recorder : RewriterBase::Listener {
  void notifyOperationInserted(Operation *op,
                               OpBuilder::InsertPoint previous) override {
    if (!previous.isSet())
      inserted.push_back(op);
  }
  SmallVector<Operation *> inserted;
};

struct TestBucketedProblem
    : PassWrapper<TestBucketedProblem, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestBucketedProblem)

  TestBucketedProblem() = default;
  TestBucketedProblem(const TestBucketedProblem &other) : PassWrapper(other) {}

  StringRef getArgument() const final { return "test-bucketed-problem"; }
  StringRef getDescription() const final {
    return "Compares what merged programs take with what was predicted";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<linalg::LinalgDialect, tensor::TensorDialect>();
  }
  void runOnOperation() override;
  LogicalResult runOn(func::FuncOp function, uint64_t seed);

  Option<unsigned> seeds{*this, "seeds",
                         llvm::cl::desc("How many ways each function is tried"),
                         llvm::cl::init(4)};
  size_t numBuckets = 0;
  size_t numAbsorbed = 0;
};

} // namespace

FailureOr<BlockProblem> BucketTrial::read() {
  return BlockProblem::create(
      block, [&](Operation *op) { return costs.price(op); }, StreamOrder::Free);
}

/// Puts collectives that can be merged into one of two buckets each.
LogicalResult BucketTrial::formBuckets(const BlockProblem &problem) {
  std::vector<BucketCandidate> candidates;
  DenseMap<std::pair<Attribute, int>, int32_t> keys;
  for (NodeId node = 0; node < problem.getProblem().numNodes(); ++node) {
    auto start = dyn_cast<CollectiveOpInterface>(problem.getOperation(node));
    BucketMode mode = random() % 3 ? BucketMode::Copy : BucketMode::Coalesced;
    int part = static_cast<int>(random() % 2);
    if (!start || getUnmergeableReason(start, mode))
      continue;
    Attribute key = getMergeKey(start, mode, /*multiDtype=*/true);
    auto [it, isNew] = keys.try_emplace(
        {key, 2 * part + (mode == BucketMode::Copy)}, modes.size());
    if (isNew)
      modes.push_back(mode);
    candidates.push_back(
        {node, it->second,
         std::max(*start.getOperandBytes(), *start.getResultBytes())});
  }
  BucketingOptions options;
  options.capBytes.assign(modes.size(), {int64_t(1) << 40});
  options.maxCount = 2 + random() % 6;
  Result<Bucketing> formed =
      schedule::formBuckets(problem.getProblem(), candidates, options);
  if (!formed)
    return function.emitError(formed.error());
  bucketing = std::move(*formed);
  return success();
}

static SmallVector<CollectiveOpInterface> getStarts(const BlockProblem &problem,
                                                    ArrayRef<NodeId> starts) {
  return llvm::map_to_vector(starts, [&](NodeId start) {
    return cast<CollectiveOpInterface>(problem.getOperation(start));
  });
}

size_t BucketTrial::getNumAbsorbed() const {
  size_t count = 0;
  for (ArrayRef<Operation *> casts : absorbedCasts)
    count += casts.size();
  return count;
}

std::vector<BucketCost> BucketTrial::price(const BlockProblem &problem,
                                           bool absorb) {
  absorbedCasts.clear();
  DenseMap<Operation *, NodeId> nodes;
  for (NodeId node = 0; node < problem.getProblem().numNodes(); ++node)
    nodes[problem.getOperation(node)] = node;
  std::vector<BucketCost> prices;
  for (const Bucket &bucket : bucketing.buckets) {
    SmallVector<CollectiveOpInterface> members =
        getStarts(problem, bucket.starts);
    SmallVector<Operation *> casts;
    if (absorb)
      casts = getAbsorbedCasts(members, modes[bucket.key]);
    prices.push_back(*estimateBucket(costs, members, modes[bucket.key], casts));
    for (Operation *cast : casts)
      prices.back().absorbed.push_back(nodes.at(cast));
    absorbedCasts.push_back(std::move(casts));
  }
  return prices;
}

Result<BucketedProblem> BucketTrial::predict(const BlockProblem &problem) {
  Result<BucketedProblem> program = BucketedProblem::create(
      problem.getProblem(), bucketing.buckets, price(problem, /*absorb=*/true),
      BucketBuffers::Kept);
  if (program)
    return program;
  // A copy-in may come too late to read what a cast has read.
  return BucketedProblem::create(problem.getProblem(), bucketing.buckets,
                                 price(problem, /*absorb=*/false),
                                 BucketBuffers::Kept);
}

/// Any legal order with copies next to their collective.
Order BucketTrial::drawOrder(const BucketedProblem &program) {
  const Problem &problem = program.getProblem();
  std::vector<size_t> missing(problem.numNodes());
  std::vector<NodeId> ready;
  for (NodeId node = 0; node < problem.numNodes(); ++node) {
    missing[node] = problem.predecessors(node).size();
    if (missing[node] == 0)
      ready.push_back(node);
  }
  Order order;
  while (!ready.empty()) {
    // Half of the time what has become ready last, if it was not copied.
    NodeId last = order.empty() ? noNode : order.back();
    int32_t bucket = last == noNode ? -1 : program.bucketOf(last);
    bool isCopied = bucket >= 0 && (last == program.bucket(bucket).copyIn ||
                                    (last == program.bucket(bucket).wait &&
                                     program.bucket(bucket).copyOut != noNode));
    if (!isCopied && random() % 2)
      std::swap(ready[random() % ready.size()], ready.back());
    NodeId node = ready.back();
    ready.pop_back();
    order.push_back(node);
    for (DependenceEnd successor : problem.successors(node))
      if (--missing[successor.node] == 0)
        ready.push_back(successor.node);
    // Direct successors are on top.
    bucket = program.bucketOf(node);
    if (bucket < 0)
      continue;
    NodeId next =
        node == program.bucket(bucket).copyIn ? program.bucket(bucket).start
        : node == program.bucket(bucket).wait ? program.bucket(bucket).copyOut
                                              : noNode;
    if (next != noNode)
      std::swap(*llvm::find(ready, next), ready.back());
  }
  return order;
}

/// Checks that copy-ins still find what the casts have read.
LogicalResult BucketTrial::checkAbsorbed(const BlockProblem &problem,
                                         const BucketedProblem &program) {
  for (auto [index, casts] : llvm::enumerate(absorbedCasts)) {
    SmallVector<Operation *> possible = getAbsorbedCasts(
        getStarts(problem, program.bucket(index).starts), BucketMode::Copy);
    for (Operation *cast : casts)
      if (!llvm::is_contained(possible, cast))
        return cast->emitError("cannot be absorbed where it stands now");
  }
  return success();
}

void BucketTrial::merge(const BlockProblem &problem,
                        const BucketedProblem &program) {
  DenseSet<Operation *> absorbed;
  for (ArrayRef<Operation *> casts : absorbedCasts)
    absorbed.insert(casts.begin(), casts.end());
  operations.resize(program.getProblem().numNodes());
  for (NodeId node = 0; node < program.getOriginal().numNodes(); ++node)
    if (program.bucketOf(program.nodeOf(node)) < 0 &&
        !absorbed.contains(problem.getOperation(node)))
      operations[program.nodeOf(node)] = {problem.getOperation(node)};
  Recorder recorder;
  IRRewriter rewriter(function.getContext(), &recorder);
  for (auto [index, bucket] : llvm::enumerate(bucketing.buckets)) {
    const auto &merged = program.bucket(index);
    SmallVector<CollectiveOpInterface> members =
        getStarts(problem, merged.starts);
    BucketMode mode = modes[bucket.key];
    recorder.inserted.clear();
    MergedCollective made = mergeCollectives(
        rewriter, members, mode, /*multiDtype=*/true, absorbedCasts[index]);
    NodeId node = merged.copyIn;
    for (Operation *op : recorder.inserted) {
      if (op->getBlock() != &block)
        continue;
      if (op == made.start)
        node = merged.start;
      else if (op == made.wait)
        node = merged.wait;
      operations[node].push_back(op);
      if (op == made.wait && merged.copyOut != noNode)
        node = merged.copyOut;
    }
  }
}

InFlightDiagnostic BucketTrial::report(NodeId node) {
  StringRef name = operations[node].empty()
                       ? "nothing"
                       : operations[node].front()->getName().getStringRef();
  return function.emitError("node ")
         << node << " of the merged program, " << name << ",";
}

/// Checks that the operations stand where the order has put them.
LogicalResult BucketTrial::compareOrder(const Order &order) {
  auto it = block.begin();
  for (NodeId node : order)
    for (Operation *op : operations[node]) {
      if (&*it != op)
        return report(node) << " stands elsewhere";
      ++it;
    }
  return success();
}

LogicalResult BucketTrial::compare(const Problem &predicted,
                                   const Order &order) {
  FailureOr<BlockProblem> rewritten = read();
  if (failed(rewritten))
    return failure();
  const Problem &actual = rewritten->getProblem();
  int64_t predictedNs = simulate(predicted, order)->stepNs;
  int64_t actualNs = simulate(actual, actual.programOrder())->stepNs;
  if (predictedNs != actualNs)
    return function.emitError("takes ")
           << actualNs << " ns, not " << predictedNs << " ns";

  MemoryTimeline plan = *simulateMemory(predicted, order);
  MemoryTimeline truth = *simulateMemory(actual, actual.programOrder());
  if (plan.initialBytes != truth.initialBytes ||
      plan.peakBytes != truth.peakBytes)
    return function.emitError("begins with ")
           << truth.initialBytes << " bytes and takes " << truth.peakBytes
           << ", not " << plan.initialBytes << " and " << plan.peakBytes;
  size_t next = 0;
  int64_t live = truth.initialBytes;
  for (auto [position, node] : llvm::enumerate(order)) {
    int64_t allocated = live;
    for (size_t i = operations[node].size(); i > 0; --i, ++next) {
      allocated = std::max(allocated, truth.allocatedBytes[next]);
      live = truth.remainingBytes[next];
    }
    if (plan.allocatedBytes[position] != allocated ||
        plan.remainingBytes[position] != live)
      return report(node) << " allocates up to " << allocated
                          << " bytes and leaves " << live << ", not "
                          << plan.allocatedBytes[position] << " and "
                          << plan.remainingBytes[position];
  }
  return success();
}

LogicalResult BucketTrial::run() {
  FailureOr<BlockProblem> problem = read();
  if (failed(problem) || failed(formBuckets(*problem)))
    return failure();
  Result<BucketedProblem> program = predict(*problem);
  if (!program)
    return function.emitError(program.error());
  bool isPlaced = random() % 4 == 0;
  Order order = isPlaced ? *program->place() : drawOrder(*program);
  Result<Order> expanded = program->expand(order);
  if (!expanded)
    return function.emitError(expanded.error());
  problem->apply(*expanded);
  if (failed(checkAbsorbed(*problem, *program)))
    return failure();
  merge(*problem, *program);
  if (failed(compareOrder(order)))
    return failure();
  return compare(program->getProblem(), order);
}

LogicalResult TestBucketedProblem::runOn(func::FuncOp function, uint64_t seed) {
  CostAnalysis analysis(function);
  OperationCosts *costs = analysis.getCosts();
  if (!costs)
    return failure();
  for (Block *block : getBlocksWithCollectives(function)) {
    BucketTrial trial(function, *block, *costs, seed);
    if (failed(trial.run()))
      return failure();
    numBuckets += trial.getNumBuckets();
    numAbsorbed += trial.getNumAbsorbed();
  }
  return success();
}

void TestBucketedProblem::runOnOperation() {
  for (auto function :
       llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
    for (uint64_t seed = 0; seed < seeds; ++seed) {
      func::FuncOp clone = function.clone();
      clone.setName((function.getName() + "_merged").str());
      getOperation().insert(function, clone);
      LogicalResult result = runOn(clone, seed);
      clone.erase();
      if (failed(result)) {
        function.emitError("differs from what was predicted for seed ") << seed;
        return signalPassFailure();
      }
    }
  llvm::outs() << "// " << numBuckets << " buckets and " << numAbsorbed
               << " absorbed casts were as predicted\n";
}

void mlir::commsched_test::registerBucketTestPasses() {
  PassRegistration<TestBucketedProblem>();
}
