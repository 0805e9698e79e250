//===- SplitChoice.cpp - Choice of what to split --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "SplitChoice.h"

#include "CommSched/Analysis/Costs/ChunkCosts.h"
#include "CommSched/Analysis/OperationTexts.h"
#include "CommSched/Schedule/Model/MemoryTimeline.h"
#include "CommSched/Schedule/Splitting/RegionSketch.h"
#include "SplitRewrite.h"
#include "llvm/Support/Debug.h"

#include <cmath>
#include <set>

#define DEBUG_TYPE "commsched-split"

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

SplitChooser::SplitChooser(Block &block, const BlockProblem &problem,
                           OperationCosts &costs,
                           const SplittingOptions &options)
    : problem(problem), costs(costs), options(options), plain(block),
      specs(block, problem, costs) {
  for (const SplitRegion &region : plain.getRegions())
    regions.push_back(&region);
  if (options.split == ScheduleSplit::Sums) {
    SplitRegionOptions withSums;
    withSums.allowSums = true;
    for (const SplitRegion &region : plain.getRegions())
      withSums.firstSignature =
          std::max(withSums.firstSignature, region.signature + 1);
    summed.emplace(block, withSums);
    for (const SplitRegion &region : summed->getRegions())
      if (region.hasSums)
        regions.push_back(&region);
  }
  constexpr int64_t leastEffort = 1 << 16;
  effort = std::max<int64_t>(4 * int64_t(problem.getProblem().numNodes()),
                             leastEffort);
}

//===----------------------------------------------------------------------===//
// Verdicts on single regions
//===----------------------------------------------------------------------===//

/// The number of rows, and the rate in percent of the whole product's.
static std::string describeRate(int64_t rows, double slowdown) {
  return "products of " + std::to_string(rows) + " rows run at " +
         std::to_string(std::lround(100 / slowdown)) + " %";
}

/// Why the chunks of `region` do not take less than the whole.
std::string SplitChooser::explainLoss(const SplitRegion &region,
                                      int32_t chunks) const {
  double worst = 1;
  int64_t rows = 0;
  for (const SplitMember &member : region.members) {
    if (member.isWait() || isa<CollectiveOpInterface>(member.op))
      continue;
    std::optional<ProductChunk> product =
        divideProduct(member.op, member.axis, chunks);
    if (!product)
      continue;
    double slowdown = cost::getChunkSlowdown(costs.getTarget(), product->whole,
                                             product->chunk, chunks);
    if (slowdown > worst) {
      worst = slowdown;
      rows = product->chunk.m;
    }
  }
  constexpr double notable = 1.05;
  if (worst > notable)
    return describeRate(rows, worst);
  return "what is launched and copied for " + std::to_string(chunks) +
         " chunks takes more than they hide";
}

/// Whether the options allow to split `region`, if it gains.
bool SplitChooser::isConsidered(const SplitRegion &region) const {
  return !options.extent || region.extent == *options.extent ||
         region.isNearestAndWidest;
}

SplitChooser::Verdict SplitChooser::makeVerdict(const SplitRegion &region) {
  SplitChooser::Verdict verdict;
  if (std::optional<SplitStop> stop = getUnjoinableReason(region)) {
    verdict.obstacle = describe(stop->op) + " " + stop->reason;
    return verdict;
  }
  if (options.isBitwise)
    for (Operation *start : region.collectives) {
      auto collective = cast<CollectiveOpInterface>(start);
      if (collective.getCollectiveKind() == CollectiveKind::AllReduce &&
          costs.roundsByPlace(collective)) {
        verdict.obstacle =
            "the elements of " + describe(start) +
            " would be at other places of a message, which the option "
            "'bitwise' excludes";
        return verdict;
      }
    }
  const schedule::Problem &known = problem.getProblem();
  std::string loss;
  int64_t leastLossNs = 0;
  for (int32_t chunks = 2; chunks <= options.maxChunks; ++chunks) {
    if (region.length % chunks != 0)
      continue;
    effort -= static_cast<int64_t>(region.members.size()) * chunks;
    if (effort < 0) {
      if (verdict.chunks == 0 && loss.empty())
        loss = "the block has more kinds of regions than are tried";
      break;
    }
    std::optional<SplitSpec> spec = specs.make(region, chunks);
    Result<RegionSketch> sketch =
        spec ? sketchRegion(known, *spec)
             : Result<RegionSketch>(Error{"a cost or a size is not known"});
    if (!sketch) {
      if (loss.empty())
        loss = sketch.error();
      continue;
    }
    LLVM_DEBUG(llvm::dbgs() << "commsched-split: region " << region.signature
                            << " (" << describe(region.collectives.front())
                            << ", " << region.members.size() << " members) in "
                            << chunks << " chunks: " << sketch->splitNs
                            << " ns instead of " << sketch->wholeNs << "\n");
    verdict.wholeNs = sketch->wholeNs;
    verdict.gainsNs.resize(chunks - 1, 0);
    verdict.gainsNs.back() = sketch->gainNs();
    if (sketch->gainNs() > 0 &&
        (verdict.chunks == 0 || sketch->splitNs < verdict.splitNs)) {
      verdict.chunks = chunks;
      verdict.splitNs = sketch->splitNs;
    } else if (verdict.chunks == 0 &&
               (leastLossNs == 0 || -sketch->gainNs() < leastLossNs)) {
      leastLossNs = std::max<int64_t>(-sketch->gainNs(), 1);
      loss = explainLoss(region, chunks);
    }
  }
  if (verdict.chunks != 0)
    return verdict;
  if (loss.empty()) {
    const SplitMember *undivided = findUndivided(region, 2);
    const SplitMember &member = undivided ? *undivided : region.members.front();
    loss = "no number of chunks from 2 to " +
           std::to_string(options.maxChunks) + " divides the " +
           std::to_string(getSplitLength(member.axis, member.blocks)) +
           " rows of " + describe(member.op);
  }
  verdict.obstacle = loss;
  return verdict;
}

const SplitChooser::Verdict &SplitChooser::judge(const SplitRegion &region) {
  auto it = verdicts.find(region.signature);
  if (it == verdicts.end())
    it = verdicts.emplace(region.signature, makeVerdict(region)).first;
  return it->second;
}

/// The first operation next to the collective `start` that cannot be split: one
/// that reads what it delivers, or computes what it sends.
static std::optional<SplitStop> findNeighbor(Operation *start) {
  SmallVector<Operation *> neighbors;
  auto collective = cast<CollectiveOpInterface>(start);
  if (Operation *wait = collective.getWait())
    llvm::append_range(neighbors, wait->getUsers());
  for (Value sent : collective.getSentValues())
    if (Operation *op = sent.getDefiningOp())
      neighbors.push_back(op);
  for (Operation *op : neighbors)
    if (!op->hasTrait<OpTrait::IsTerminator>() && !isa<WaitOpInterface>(op))
      if (std::optional<std::string> reason = getUnsplittableReason(op))
        return SplitStop{op, start, *reason};
  return std::nullopt;
}

static SplitObstacle makeObstacle(const SplitStop &stop, Operation *start) {
  SplitObstacle obstacle{describe(stop.op) + " " + stop.reason, std::nullopt};
  if (stop.op != start)
    obstacle.place = stop.op->getLoc();
  return obstacle;
}

/// explain() for a collective with regions.
std::optional<SplitObstacle>
SplitChooser::explain(const SplitRegions::Seed &seed) {
  std::optional<SplitObstacle> obstacle;
  for (int32_t number :
       llvm::concat<const int32_t>(seed.nearest, seed.widest)) {
    const SplitRegion &region = getReachingRegions().getRegions()[number];
    if (!isConsidered(region))
      continue;
    const SplitChooser::Verdict &verdict = judge(region);
    if (verdict.chunks != 0)
      return std::nullopt;
    if (!obstacle)
      obstacle = {verdict.obstacle, std::nullopt};
  }
  if (obstacle)
    return obstacle;
  if (!seed.stops.empty())
    return makeObstacle(seed.stops.front(), seed.start);
  if (std::optional<SplitStop> stop = findNeighbor(seed.start))
    return makeObstacle(*stop, seed.start);
  return SplitObstacle{"no product or attention divides along with it",
                       std::nullopt};
}

std::optional<SplitObstacle> SplitChooser::explain(Operation *start) {
  if (const SplitRegions::Seed *seed = getReachingRegions().findSeed(start))
    return explain(*seed);
  return SplitObstacle{"it has no start and wait of its own", std::nullopt};
}

std::optional<SplitObstacle>
SplitChooser::findShared(Operation *start, const SplitChoice &choice) {
  const SplitRegions::Seed *seed = getReachingRegions().findSeed(start);
  if (!seed)
    return std::nullopt;
  if (takenFor != &choice) {
    takenFor = &choice;
    taken.clear();
    for (const SplitChoice::Region &chosen : choice.regions)
      for (const SplitMember &member : getRegion(chosen.region).members)
        taken[member.op] = getRegion(chosen.region).collectives.front();
  }
  for (int32_t number :
       llvm::concat<const int32_t>(seed->nearest, seed->widest))
    for (const SplitMember &member :
         getReachingRegions().getRegions()[number].members)
      if (Operation *other = taken.lookup(member.op))
        return SplitObstacle{describe(member.op) + " is split with " +
                                 describe(other),
                             other->getLoc()};
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Combinations
//===----------------------------------------------------------------------===//

/// The first regions that gain alone, with the largest gain first. What a
/// region gains alone counts only as far as its collectives are exposed.
std::vector<SplitChooser::Candidate>
SplitChooser::findCandidates(ArrayRef<int64_t> exposedNs, size_t numRegions) {
  std::vector<Candidate> candidates;
  for (size_t number = 0; number < numRegions; ++number) {
    const SplitRegion &region = *regions[number];
    if (!isConsidered(region))
      continue;
    int64_t exposed = 0;
    for (Operation *start : region.collectives)
      exposed += exposedNs[specs.getNode(start)];
    if (exposed <= 0)
      continue;
    const SplitChooser::Verdict &verdict = judge(region);
    int64_t gainNs = std::min(verdict.gainNs(), exposed);
    if (gainNs > 0)
      candidates.push_back(
          {static_cast<int32_t>(number), verdict.chunks, exposed, gainNs});
  }
  llvm::stable_sort(candidates, [](const Candidate &a, const Candidate &b) {
    return a.gainNs > b.gainNs;
  });
  return candidates;
}

/// The candidates of that extent without common members, the best first, in at
/// most so many chunks, and in at least so many where these gain as well.
SplitChooser::Combination
SplitChooser::combine(ArrayRef<Candidate> candidates,
                      std::optional<SplitExtent> extent, int32_t mostChunks,
                      int32_t leastChunks) {
  llvm::DenseSet<Operation *> taken;
  Combination result;
  std::vector<SplitChoice::Region> &chosen = result.regions;
  for (const Candidate &candidate : candidates) {
    const SplitRegion &region = getRegion(candidate.region);
    if (extent && region.extent != *extent && !region.isNearestAndWidest)
      continue;
    if (llvm::any_of(region.members, [&](const SplitMember &member) {
          return taken.contains(member.op);
        }))
      continue;
    int32_t chunks = std::min(candidate.chunks, mostChunks);
    while (chunks > 2 && region.length % chunks != 0)
      --chunks;
    if (leastChunks > chunks && leastChunks <= options.maxChunks &&
        region.length % leastChunks == 0 &&
        judge(region).gainNs(leastChunks) > 0)
      chunks = leastChunks;
    int64_t gainNs = judge(region).gainNs(chunks);
    if (region.length % chunks != 0 || gainNs <= 0)
      continue;
    result.gainNs += std::min(gainNs, candidate.exposedNs);
    for (const SplitMember &member : region.members)
      taken.insert(member.op);
    chosen.push_back({candidate.region, chunks});
  }
  llvm::sort(chosen,
             [](const SplitChoice::Region &a, const SplitChoice::Region &b) {
               return a.region < b.region;
             });
  return result;
}

/// For each region of `program`, whether the live bytes are at most
/// `limitBytes` at all its operations.
static Result<std::vector<char>> findRegionsWithin(const SplitProblem &program,
                                                   const schedule::Order &order,
                                                   int64_t limitBytes) {
  Result<schedule::MemoryTimeline> memory =
      simulateMemory(program.getProblem(), order);
  if (!memory)
    return Error{memory.error()};
  struct Span {
    int32_t begin = -1;
    int32_t end = -1;
  };
  std::vector<Span> spans(program.numSpecs());
  // By position: how many positions up to it are over the limit.
  std::vector<int32_t> numOver = {0};
  for (auto [position, node] : llvm::enumerate(order)) {
    numOver.push_back(numOver.back() +
                      (memory->allocatedBytes[position] > limitBytes));
    int32_t spec = program.originOf(node).spec;
    if (spec < 0)
      continue;
    if (spans[spec].begin < 0)
      spans[spec].begin = static_cast<int32_t>(position);
    spans[spec].end = static_cast<int32_t>(position) + 1;
  }
  std::vector<char> isWithin;
  for (const Span &span : spans)
    isWithin.push_back(span.begin < 0 ||
                       numOver[span.begin] == numOver[span.end]);
  return isWithin;
}

/// The half of `chosen` that gains most alone, in the same order.
std::vector<SplitChoice::Region>
SplitChooser::keepBestHalf(std::vector<SplitChoice::Region> chosen) {
  auto getGainNs = [&](const SplitChoice::Region &choice) {
    return judge(getRegion(choice.region)).gainNs(choice.chunks);
  };
  llvm::stable_sort(chosen, [&](const auto &a, const auto &b) {
    return getGainNs(a) > getGainNs(b);
  });
  chosen.resize(chosen.size() / 2);
  llvm::sort(chosen,
             [](const auto &a, const auto &b) { return a.region < b.region; });
  return chosen;
}

std::optional<SplitChoice>
SplitChooser::sketch(std::vector<SplitChoice::Region> chosen, StringRef rule,
                     const StepSchedulerOptions &stepOptions) {
  SplitChoice choice;
  choice.rule = rule.str();
  std::vector<SplitSpec> split;
  for (const SplitChoice::Region &region : chosen) {
    std::optional<SplitSpec> spec =
        specs.make(getRegion(region.region), region.chunks);
    if (!spec)
      return std::nullopt;
    split.push_back(std::move(*spec));
  }
  Result<SplitProblem> program =
      SplitProblem::create(problem.getProblem(), split);
  if (!program) {
    LLVM_DEBUG(llvm::dbgs() << "commsched-split: " << rule << ": "
                            << program.error() << "\n");
    return std::nullopt;
  }
  Result<StepSchedule> step =
      schedule::sketchStep(program->getProblem(), stepOptions);
  if (!step)
    return std::nullopt;
  LLVM_DEBUG(llvm::dbgs() << "commsched-split: sketch of " << chosen.size()
                          << " regions, " << rule << ": step " << step->stepNs
                          << " ns, peak " << step->peakBytes << " bytes\n");
  choice.regions = std::move(chosen);
  choice.program = std::move(*program);
  choice.stepNs = step->stepNs;
  choice.peakBytes = step->peakBytes;
  choice.order = std::move(step->order);
  return choice;
}

/// The combinations of candidates whose regions gain most alone: the best of
/// each family, then others.
std::vector<SplitChooser::Combination>
SplitChooser::findCombinations(ArrayRef<Candidate> candidates) {
  struct Rule {
    StringRef text;
    std::optional<SplitExtent> extent;
    int32_t mostChunks;
    int32_t leastChunks = 2;
  };
  const Rule rules[] = {
      {"the nearest regions", SplitExtent::Nearest, options.maxChunks},
      {"the widest regions", SplitExtent::Widest, options.maxChunks},
      {"the regions that gain most", std::nullopt, options.maxChunks},
      {"the nearest regions in 2 chunks", SplitExtent::Nearest, 2},
      {"the widest regions in 2 chunks", SplitExtent::Widest, 2},
      {"the widest regions in 4 chunks", SplitExtent::Widest, options.maxChunks,
       4},
  };
  std::vector<Combination> combinations;
  for (const Rule &rule : rules) {
    Combination found =
        combine(candidates, rule.extent, rule.mostChunks, rule.leastChunks);
    found.rule = rule.text.str();
    found.family = rule.extent == SplitExtent::Nearest ? Family::Nearest
                   : rule.mostChunks == 2              ? Family::InTwoChunks
                                                       : Family::Other;
    auto isSame = [&](const Combination &other) {
      return found.regions == other.regions;
    };
    if (!found.regions.empty() && llvm::none_of(combinations, isSame))
      combinations.push_back(std::move(found));
  }
  // A sketch of the whole program costs about as much as all that went before.
  constexpr size_t numSketches = 3;
  llvm::stable_sort(combinations,
                    [](const Combination &a, const Combination &b) {
                      return a.gainNs > b.gainNs;
                    });
  // What regions gain alone, something else may hide anyway. Then those that
  // cost least are better: the nearest ones, or those in few chunks. So the
  // best of each family comes first.
  std::set<Family> families;
  for (Combination &found : combinations)
    found.isFirst = families.insert(found.family).second;
  std::stable_partition(combinations.begin(), combinations.end(),
                        [](const Combination &found) { return found.isFirst; });
  if (combinations.size() > numSketches)
    combinations.resize(numSketches);
  return combinations;
}

/// The sketch of the regions of `choice`, which is over the limit, that run
/// where the limit is kept; if all do, of the half that gains most. None if
/// that is over the limit again and again.
std::optional<SplitChoice>
SplitChooser::sketchFewer(const SplitChoice &choice,
                          const StepSchedulerOptions &stepOptions) {
  constexpr int numAttempts = 3;
  const SplitChoice *over = &choice;
  std::optional<SplitChoice> fewer;
  for (int attempt = 0; attempt < numAttempts; ++attempt) {
    Result<std::vector<char>> isKept =
        findRegionsWithin(*over->program, over->order, stepOptions.limitBytes);
    if (!isKept)
      return std::nullopt;
    std::vector<SplitChoice::Region> kept;
    for (auto [region, isWithin] : llvm::zip_equal(over->regions, *isKept))
      if (isWithin)
        kept.push_back(region);
    if (kept.size() == over->regions.size())
      kept = keepBestHalf(std::move(kept));
    if (kept.empty())
      return std::nullopt;
    std::string rule = choice.rule + ", but for those that need much memory";
    fewer = sketch(std::move(kept), rule, stepOptions);
    if (!fewer || fewer->peakBytes <= stepOptions.limitBytes)
      return fewer;
    over = &*fewer;
  }
  return std::nullopt;
}

/// Adds to `choices` what choose() finds among the first regions.
void SplitChooser::chooseAmong(ArrayRef<int64_t> exposedNs, size_t numRegions,
                               const StepSchedulerOptions &stepOptions,
                               std::vector<SplitChoice> &choices) {
  std::optional<SplitChoice> best;
  auto rank = [&](const SplitChoice &choice) {
    return stepOptions.rank(choice.stepNs, choice.peakBytes);
  };
  for (Combination &combination :
       findCombinations(findCandidates(exposedNs, numRegions))) {
    std::optional<SplitChoice> choice =
        sketch(std::move(combination.regions), combination.rule, stepOptions);
    if (choice && (!best || rank(*choice) < rank(*best)))
      best = std::move(choice);
  }
  if (!best || llvm::any_of(choices, [&](const SplitChoice &other) {
        return other.regions == best->regions;
      }))
    return;
  std::optional<SplitChoice> fewer;
  if (best->peakBytes > stepOptions.limitBytes)
    fewer = sketchFewer(*best, stepOptions);
  choices.push_back(std::move(*best));
  if (fewer)
    choices.push_back(std::move(*fewer));
}

std::vector<SplitChoice>
SplitChooser::choose(ArrayRef<int64_t> exposedNs,
                     const StepSchedulerOptions &stepOptions) {
  std::vector<SplitChoice> choices;
  size_t numPlain = plain.getRegions().size();
  chooseAmong(exposedNs, numPlain, stepOptions, choices);
  if (regions.size() > numPlain)
    chooseAmong(exposedNs, regions.size(), stepOptions, choices);
  return choices;
}

#undef DEBUG_TYPE
