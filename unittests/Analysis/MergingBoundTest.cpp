//===- MergingBoundTest.cpp - The bound of all ways of merging ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random blocks of a few collectives are merged in all ways, and each merged
// program is run in all orders: the bound exceeds none of them.
//===----------------------------------------------------------------------===//

#include "CommSched/Analysis/Bounds/LeastProblem.h"

#include "../Schedule/ExactStep.h"
#include "../Testing.h"
#include "CommSched/Analysis/Bucketing/Mergeability.h"
#include "CommSched/Schedule/Bounds/LowerBounds.h"
#include "CommSched/Schedule/Bucketing/BucketedProblem.h"
#include "CommSched/Support/Unlimited.h"
#include "CostsTest.h"

using namespace mlir;
using namespace mlir::commsched;

using commsched::testing::Random;
using commsched::testing::Seeds;
using schedule::Bucket;
using schedule::BucketCost;
using schedule::BucketedProblem;
using schedule::NodeId;
using schedule::Problem;

namespace {

/// Gathers, reductions and scatters of casts, arguments and computed values,
/// with computation that needs some of what they deliver.
class RandomBlock {
public:
  explicit RandomBlock(uint64_t seed) : random(seed), os(text) {}

  std::string write() {
    // Whole programs have pinned times, others none.
    isPinned = random.percent(40);
    os << "%a: " << shard(0, "f32") << ", %b: " << shard(1, "bf16")
       << ", %c: " << whole(0, "bf16") << ", %d: " << whole(1, "bf16")
       << ") {\n";
    int64_t numCollectives = 2 + random.below(3);
    for (int64_t i = 0; i < numCollectives; ++i) {
      if (random.percent(60))
        addComputation();
      addCollective();
    }
    addComputation();
    return text;
  }

private:
  /// Of a few rows, or of so many that the bandwidth counts.
  static int64_t rows(int64_t size) { return size == 0 ? 64 : 32768; }
  static std::string type(int64_t rows, StringRef element) {
    return "tensor<" + std::to_string(rows) + "x512x" + element.str() + ">";
  }
  static std::string shard(int64_t size, StringRef element) {
    return type(rows(size) / 8, element);
  }
  static std::string whole(int64_t size, StringRef element) {
    return type(rows(size), element);
  }

  std::string makeName() { return "%v" + std::to_string(numNames++); }

  /// A time, where times are pinned.
  std::string pin(StringRef prefix) {
    if (!isPinned || random.percent(30))
      return "";
    return prefix.str() + "commsched.runtime_ns = " +
           std::to_string(1000 + random.below(100000)) + " : i64";
  }
  std::string pinOnly() {
    std::string time = pin("");
    return time.empty() ? "" : " {" + time + "}";
  }

  void addComputation() {
    std::string name = makeName(), operands, types;
    for (const auto &[value, valueType] : values)
      if (random.percent(40)) {
        operands += ", " + value;
        types += ", " + valueType;
      }
    int64_t size = random.below(2);
    int64_t flops = random.below(3) * 20000000000;
    os << name << " = commsched.compute \"f\"(%d" << operands
       << ") {flops = " << flops << ".0" << pin(", ") << "} : ("
       << whole(1, "bf16") << types << ") -> " << whole(size, "bf16") << "\n";
    computed[size] = name;
  }

  void addCollective() {
    int64_t size = random.below(2);
    std::string future = makeName(), value = makeName(), source, from, to;
    int64_t kind = random.below(3);
    if (kind == 0) {
      from = shard(size, "bf16");
      to = whole(size, "bf16");
      source = size == 0 ? castArgument() : "%b";
    } else {
      from = whole(size, "bf16");
      to = kind == 1 ? shard(size, "bf16") : from;
      source = computed[size].empty() || random.percent(40)
                   ? (size == 0 ? "%c" : "%d")
                   : computed[size];
    }
    constexpr StringRef names[] = {"all_gather", "reduce_scatter",
                                   "all_reduce"};
    os << future << " = commsched." << names[kind] << " " << source << " on @dp"
       << (kind == 0 ? "" : " reduction(sum)") << (kind == 2 ? "" : " dim(0)")
       << pinOnly() << " : " << from << " -> !commsched.future<" << to << ">\n"
       << value << " = commsched.wait " << future << " : !commsched.future<"
       << to << ">\n";
    values.emplace_back(value, to);
  }

  std::string castArgument() {
    std::string name = makeName();
    os << name << " = arith.truncf %a" << pinOnly() << " : " << shard(0, "f32")
       << " to " << shard(0, "bf16") << "\n";
    return name;
  }

  Random random;
  std::string text;
  llvm::raw_string_ostream os;
  bool isPinned = false;
  int64_t numNames = 0;
  /// What collectives deliver.
  std::vector<std::pair<std::string, std::string>> values;
  /// By size: the last value that was computed.
  std::array<std::string, 2> computed;
};

/// The shortest step of all merged programs of a block, by enumeration.
class AllMergings {
public:
  AllMergings(const BlockProblem &problem, OperationCosts &costs)
      : problem(problem), costs(costs) {
    for (NodeId node = 0; node < problem.getProblem().numNodes(); ++node)
      if (auto start =
              dyn_cast<CollectiveOpInterface>(problem.getOperation(node)))
        starts.push_back(node);
    unmergedNs = exact(problem.getProblem());
    leastNs = unmergedNs;
    assign(0);
  }

  int64_t unmergedNs = 0;
  int64_t leastNs = 0;
  int64_t numPrograms = 0;

private:
  static int64_t exact(const Problem &program) {
    return *schedule::testing::ExactStep(program, unlimited).find();
  }

  CollectiveOpInterface get(NodeId start) const {
    return cast<CollectiveOpInterface>(problem.getOperation(start));
  }

  /// Puts the start with this index into each of the buckets, and into one of
  /// its own, and goes on with the next.
  void assign(size_t index) {
    if (index == starts.size())
      return chooseModes(0);
    for (size_t bucket = 0; bucket < buckets.size(); ++bucket) {
      buckets[bucket].push_back(starts[index]);
      assign(index + 1);
      buckets[bucket].pop_back();
    }
    buckets.push_back({starts[index]});
    assign(index + 1);
    buckets.pop_back();
  }

  bool mayTravel(ArrayRef<NodeId> members, BucketMode mode) const {
    return llvm::none_of(members, [&](NodeId start) {
      return getUnmergeableReason(get(start), mode) ||
             getMergeKey(get(start), mode, /*multiDtype=*/true) !=
                 getMergeKey(get(members.front()), mode, /*multiDtype=*/true);
    });
  }

  void chooseModes(size_t index) {
    if (index == buckets.size())
      return tryProgram();
    if (buckets[index].size() == 1)
      return chooseModes(index + 1);
    for (BucketMode mode : {BucketMode::Copy, BucketMode::Coalesced}) {
      if (!mayTravel(buckets[index], mode))
        continue;
      for (bool absorbs : {false, true}) {
        chosen.push_back(price(buckets[index], mode, absorbs));
        chooseModes(index + 1);
        chosen.pop_back();
      }
    }
  }

  std::pair<Bucket, BucketCost> price(ArrayRef<NodeId> starts, BucketMode mode,
                                      bool absorbs) const {
    SmallVector<CollectiveOpInterface> members;
    for (NodeId start : starts)
      members.push_back(get(start));
    SmallVector<Operation *> casts;
    if (absorbs)
      casts = getAbsorbedCasts(members, mode);
    Bucket bucket{0, {starts.begin(), starts.end()}, 0};
    BucketCost cost = *estimateBucket(costs, members, mode, casts);
    for (NodeId node = 0; node < problem.getProblem().numNodes(); ++node)
      if (llvm::is_contained(casts, problem.getOperation(node)))
        cost.absorbed.push_back(node);
    return {bucket, cost};
  }

  void tryProgram() {
    if (chosen.empty())
      return;
    std::vector<Bucket> members;
    std::vector<BucketCost> prices;
    for (const auto &[bucket, cost] : chosen) {
      members.push_back(bucket);
      prices.push_back(cost);
    }
    Result<BucketedProblem> merged =
        BucketedProblem::create(problem.getProblem(), members, prices);
    // Some depend on each other.
    if (!merged)
      return;
    ++numPrograms;
    leastNs = std::min(leastNs, exact(merged->getProblem()));
  }

  const BlockProblem &problem;
  OperationCosts &costs;
  std::vector<NodeId> starts;
  std::vector<std::vector<NodeId>> buckets;
  std::vector<std::pair<Bucket, BucketCost>> chosen;
};

class MergingBound : public CostsTest {
protected:
  BlockProblem read(OperationCosts &costs) {
    auto function = *module->getOps<func::FuncOp>().begin();
    return *BlockProblem::create(
        function.getBody().front(),
        [&](Operation *op) { return costs.price(op); }, StreamOrder::Free);
  }
};

TEST_F(MergingBound, ExceedsNoMergedProgramInAnyOrder) {
  int64_t numPrograms = 0, numGains = 0, numReached = 0, numBlocks = 0;
  for (uint64_t seed : Seeds(120)) {
    std::string body = RandomBlock(seed).write();
    parseFunction("dp size(8)", body);
    // Each module has its own.
    SymbolTableCollection tables;
    OperationCosts costs(*cost::getTargetPreset("h100"), nullptr, tables);
    BlockProblem problem = read(costs);
    FailureOr<int64_t> bound = computeMergingBoundNs(problem, costs);
    ASSERT_TRUE(succeeded(bound));
    AllMergings all(problem, costs);
    ASSERT_LE(*bound, all.leastNs) << body;
    ++numBlocks;
    numPrograms += all.numPrograms;
    numGains += all.leastNs < all.unmergedNs;
    // Within a hundredth.
    numReached += *bound >= all.leastNs - all.leastNs / 100;
  }
  EXPECT_GT(numPrograms, 2 * numBlocks);
  EXPECT_GT(numGains, numBlocks / 8);
  EXPECT_GT(numReached, numBlocks / 4);
}

} // namespace
