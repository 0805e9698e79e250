//===- BucketCosts.cpp - Costs of merged collectives ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Analysis/Costs/BucketCosts.h"

#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::commsched;

using cost::CollectiveQuery;
using schedule::BucketCost;
using schedule::BucketMemory;

namespace {

/// The bytes that are copied in and out; none where a size is not known or the
/// sum does not fit.
struct CopiedBytes {
  std::optional<int64_t> read;
  std::optional<int64_t> sent;
  std::optional<int64_t> delivered;
};

} // namespace

/// The launch of all members together.
static std::optional<CollectiveQuery>
getMergedQuery(OperationCosts &costs, ArrayRef<CollectiveOpInterface> members,
               BucketMode mode) {
  std::optional<CollectiveQuery> merged = costs.getQuery(members.front());
  for (CollectiveOpInterface member : members.drop_front()) {
    // The members are of one kind: they all deliver more than they send, or
    // none does. So the larger of both, summed, is the larger of both sums.
    std::optional<CollectiveQuery> query = costs.getQuery(member);
    if (!merged || !query ||
        llvm::AddOverflow(merged->bytes, query->bytes, merged->bytes))
      return std::nullopt;
    merged->tensors += query->tensors;
  }
  if (merged &&
      (mode == BucketMode::Copy || hasPackedLaunches(members.front())))
    merged->tensors = 1;
  return merged;
}

/// The time of the launch that `merged` describes, by what is known of
/// `members`.
static int64_t getLaunchNs(OperationCosts &costs,
                           ArrayRef<CollectiveOpInterface> members,
                           const CollectiveQuery &merged) {
  int64_t launchNs = costs.estimateCollective(merged).timeNs;
  if (!hasKnownMember(costs, members))
    return launchNs;
  double takenNs = 0, estimatedNs = 0;
  int64_t longestNs = 0;
  for (CollectiveOpInterface member : members) {
    // All queries are known, or `merged` would not be.
    int64_t estimate = costs.estimateCollective(*costs.getQuery(member)).timeNs;
    std::optional<int64_t> known = costs.findKnownNs(member);
    takenNs += static_cast<double>(known.value_or(estimate));
    estimatedNs += static_cast<double>(estimate);
    longestNs = std::max(longestNs, known.value_or(0));
  }
  if (estimatedNs > 0)
    launchNs = cost::roundToNs(static_cast<double>(launchNs) *
                               (takenNs / estimatedNs));
  return std::max(launchNs, longestNs);
}

/// The time of kernels that read and write so many bytes; none when one is not
/// known or the sum does not fit.
static std::optional<int64_t> getCopyNs(const OperationCosts &costs,
                                        std::optional<int64_t> read,
                                        std::optional<int64_t> written,
                                        int64_t kernels = 1) {
  int64_t moved;
  if (!read || !written || llvm::AddOverflow(*read, *written, moved))
    return std::nullopt;
  return cost::computeTimeNs(costs.getTarget(), /*flops=*/0,
                             cost::ElementKind::F32, moved, kernels);
}

/// The time of packing what the members send. Each kernel but the first reads
/// what was packed, which the one before has written.
static std::optional<int64_t> getCopyInNs(const OperationCosts &costs,
                                          const CopiedBytes &bytes,
                                          int64_t kernels) {
  int64_t read;
  if (!bytes.read || llvm::MulOverflow(*bytes.read, 2 * kernels - 1, read))
    return std::nullopt;
  return getCopyNs(costs, read, bytes.sent, kernels);
}

static CopiedBytes getCopiedBytes(ArrayRef<CollectiveOpInterface> members,
                                  ArrayRef<Operation *> absorbedCasts) {
  SmallPtrSet<Operation *, 8> casts(absorbedCasts.begin(), absorbedCasts.end());
  SmallVector<Type> read, sent, delivered;
  for (CollectiveOpInterface member : members) {
    for (Value value : member.getSentValues()) {
      Operation *cast = value.getDefiningOp();
      sent.push_back(value.getType());
      read.push_back(casts.contains(cast) ? cast->getOperand(0).getType()
                                          : value.getType());
    }
    llvm::append_range(delivered, member.getDeliveredTypes());
  }
  return {getStaticBytes(read), getStaticBytes(sent),
          getStaticBytes(delivered)};
}

/// Whether shards of `type` are joined along a dimension with others before it.
static bool isTransposed(AllGatherOp gather, Type type) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(type).getShape();
  return llvm::any_of(shape.take_front(gather.getDim()),
                      [](int64_t size) { return size != 1; });
}

bool mlir::commsched::isTransposed(CollectiveOpInterface member) {
  auto gather = dyn_cast<AllGatherOp>(member.getOperation());
  return gather && llvm::any_of(gather.getDeliveredTypes(), [&](Type type) {
           return ::isTransposed(gather, type);
         });
}

/// The time of what follows the copy-out of a gather: the rows of transposed
/// tensors lie rank by rank, and are brought together.
static std::optional<int64_t> getTransposeNs(const OperationCosts &costs,
                                             AllGatherOp gather) {
  int64_t total = 0;
  for (Type type : gather.getDeliveredTypes()) {
    if (!::isTransposed(gather, type))
      continue;
    std::optional<int64_t> bytes = getStaticBytes(type);
    std::optional<int64_t> time = getCopyNs(costs, bytes, bytes);
    if (!time || llvm::AddOverflow(total, *time, total))
      return std::nullopt;
  }
  return total;
}

static std::optional<int64_t>
getCopyOutNs(const OperationCosts &costs,
             ArrayRef<CollectiveOpInterface> members,
             std::optional<int64_t> delivered) {
  std::optional<int64_t> total =
      getCopyNs(costs, delivered, delivered,
                getCopyOutKernels(members.front(), members.size()));
  for (CollectiveOpInterface member : members) {
    auto gather = dyn_cast<AllGatherOp>(member.getOperation());
    std::optional<int64_t> time =
        gather ? getTransposeNs(costs, gather) : std::optional<int64_t>(0);
    if (!total || !time || llvm::AddOverflow(*total, *time, *total))
      return std::nullopt;
  }
  return total;
}

int64_t mlir::commsched::getCopyInKernels(Operation *member,
                                          bool absorbsCasts) {
  return absorbsCasts && hasSeparateCopies(member) ? 2 : 1;
}

int64_t mlir::commsched::getCopyOutKernels(Operation *member,
                                           size_t numMembers) {
  bool separate = hasSeparateCopies(member) || hasPackedLaunches(member);
  return separate ? static_cast<int64_t>(numMembers) : 1;
}

bool mlir::commsched::hasKnownMember(OperationCosts &costs,
                                     ArrayRef<CollectiveOpInterface> members) {
  return llvm::any_of(members, [&](CollectiveOpInterface member) {
    return costs.findKnownNs(member).has_value();
  });
}

std::optional<BucketCost> mlir::commsched::estimateBucket(
    OperationCosts &costs, ArrayRef<CollectiveOpInterface> members,
    BucketMode mode, ArrayRef<Operation *> absorbedCasts) {
  std::optional<CollectiveQuery> query = getMergedQuery(costs, members, mode);
  if (!query)
    return std::nullopt;
  BucketCost cost;
  cost.collectiveNs = getLaunchNs(costs, members, *query);
  CopiedBytes bytes = getCopiedBytes(members, absorbedCasts);
  if (mode == BucketMode::Coalesced) {
    if (hasPackedLaunches(members.front()) && bytes.sent && bytes.delivered)
      cost.collectiveNs += costs.getPackingNs(
          *bytes.sent, *bytes.delivered, static_cast<int64_t>(members.size()));
    return cost;
  }

  std::optional<int64_t> copyIn = getCopyInNs(
      costs, bytes, getCopyInKernels(members.front(), !absorbedCasts.empty()));
  if (!copyIn || !bytes.delivered)
    return std::nullopt;
  cost.copyInNs = *copyIn;
  if (query->kind != CollectiveKind::AllGather) {
    cost.memory = {BucketMemory::Layout::Viewed, *bytes.sent, *bytes.delivered};
    return cost;
  }
  std::optional<int64_t> copyOut =
      getCopyOutNs(costs, members, bytes.delivered);
  if (!copyOut)
    return std::nullopt;
  cost.copyOutNs = *copyOut;
  // The gather works in a buffer of what all members deliver. Where rows are
  // brought together, one more tensor at a time is live, but no buffer.
  cost.memory = {BucketMemory::Layout::CopiedOut, *bytes.delivered, 0};
  return cost;
}
