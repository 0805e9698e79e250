//===- OperationCosts.h - Costs of operations -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The time of any operation, registered or not: from its pin, the measured
// profile, its interfaces, or the bytes of its operands and results. This is
// where the MLIR-free cost models meet the IR.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_ANALYSIS_COSTS_OPERATIONCOSTS_H
#define COMMSCHED_ANALYSIS_COSTS_OPERATIONCOSTS_H

#include "CommSched/Analysis/Costs/RegionRuns.h"
#include "CommSched/Analysis/Problem/OperationPrice.h"
#include "CommSched/Analysis/Problem/StorageAnalysis.h"
#include "CommSched/CostModel/CollectiveCost.h"
#include "CommSched/CostModel/Target.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "CommSched/Schedule/Model/Simulator.h"

#include <optional>
#include <string>

namespace mlir::commsched {

class BlockNodes;

/// The cost of one launch of a collective, and the model that it comes from.
struct CollectiveEstimate {
  enum class Source {
    /// A row, or an interpolation between rows, of the measured profile.
    Profile,
    /// The operation's own `CostOpInterface`.
    Operation,
    /// The latency and bandwidth that the target lists for its implementation.
    Implementation,
    /// The analytic model; `algorithm` and `protocol` are its choice.
    Model
  };

  cost::CollectiveQuery query;
  int64_t timeNs = 0;
  Source source = Source::Model;
  cost::NcclAlgorithm algorithm = cost::NcclAlgorithm::Local;
  cost::NcclProtocol protocol = cost::NcclProtocol::Simple;
};

/// The rate at which `type` is computed with. Types without a rate of their
/// own, such as 32-bit integers, count as f32; a complex type counts as its
/// part.
cost::ElementKind getElementKind(Type type);

class OperationCosts {
public:
  /// `profile` may be null; it is copied. `symbolTables` caches the look-ups of
  /// process groups and must outlive this object.
  OperationCosts(const cost::Target &target, const cost::MeasuredTable *profile,
                 SymbolTableCollection &symbolTables);

  /// Nanoseconds: the pinned `commsched.runtime_ns`, else `findMeasuredNs`,
  /// else `estimateNs`, else the stand-in of `assume`.
  int64_t getRuntimeNs(Operation *op) { return price(op).timeNs; }

  /// The same, with its sources. Measured is what the profile has for an
  /// operation, a collective or a product, interpolated or scaled or not; all
  /// else that is neither pinned nor assumed comes from the model.
  OperationPrice price(Operation *op);

  /// What operations with regions take and hold.
  struct RegionMemo {
    DenseMap<Operation *, OperationPrice> prices;
    ScratchBytes scratchBytes;
  };
  /// Lets each operation with regions be read once until the memo is another
  /// one, or null. Nothing may change meanwhile.
  void setMemo(RegionMemo *memo) { this->memo = memo; }
  RegionMemo *getMemo() const { return memo; }

  /// The blocks that `op` runs one after the other, those of a loop in each
  /// iteration, of alternatives those of the dearest; none if its price is not
  /// the sum of theirs.
  std::optional<SmallVector<Block *>> findRuns(Operation *op);

  /// Nanoseconds that were measured of `op`: `commsched.measured_ns`, else what
  /// the profile has by its name in its graph, else by its operator and types.
  /// Waits, terminators and constants have none; nor has a collective that
  /// another implementation carries out than the one that ran.
  std::optional<int64_t> findMeasuredNs(Operation *op) const;
  /// Of a collective, if `implementation` carries it out.
  std::optional<int64_t> findMeasuredNs(Operation *op,
                                        StringRef implementation) const;

  /// The pinned time of `op`, else the measured one.
  std::optional<int64_t> findKnownNs(Operation *op) const {
    std::optional<int64_t> pinned = getPinnedRuntimeNs(op);
    return pinned ? pinned : findMeasuredNs(op);
  }

  /// By how many percent longer than they are collectives are taken to be, in
  /// case that times are off: as the profile says, else the default.
  int32_t getSlackPercent() const { return slackPercent; }

  /// Nanoseconds without regard to a pin on `op` itself or to what the profile
  /// has for it; those on operations in its regions count. In this order:
  ///  * a wait, a terminator without regions, a constant: 0;
  ///  * a collective: `estimateCollective`;
  ///  * `CostOpInterface`: its known time, or for a product of matrices that
  ///    the profile has, the measured one, or the roofline over its flops and
  ///    moved bytes. Flops of a chunk of a product (`commsched.chunk`) count
  ///    more, as it fills the device less than the whole;
  ///  * an operation whose results are all views of its operands: 0;
  ///  * an operation with regions: its blocks as simulated in their order, with
  ///    idle streams at their edges and the contention of the target. Those of
  ///    a loop count as often as getTripCount() says, and those of a loop with
  ///    `commsched.pipelined` with the collectives that an iteration starts for
  ///    the next; of several alternative regions the dearest counts. If no
  ///    interface describes how the regions are run, at least the roofline over
  ///    operands and results;
  ///  * a call that says what its callee takes (CalleeSummary): that;
  ///  * an operation that only allocates or frees: 0;
  ///  * any other: the roofline over the bytes of operands and results.
  /// None when the time of `op`, or of an operation in its regions, would be a
  /// stand-in, or how often a loop runs is not known; sums that do not fit
  /// saturate at INT64_MAX.
  std::optional<int64_t> estimateNs(Operation *op);

  /// The measured profile's answer, else the operation's own known time, else
  /// the model's; none when a size or the group is not known.
  std::optional<CollectiveEstimate>
  estimateCollective(CollectiveOpInterface collective);

  /// The measured profile's answer, else the model's. For a launch that no
  /// operation stands for.
  CollectiveEstimate
  estimateCollective(const cost::CollectiveQuery &query) const;

  /// The time of one kernel that packs tensors of so many bytes together, and
  /// of one for each of them that takes it out of what is delivered. No bytes
  /// take no kernel.
  int64_t getPackingNs(int64_t sentBytes, int64_t deliveredBytes,
                       int64_t tensors) const;

  /// The query that describes the launch of `collective`; none when a size, the
  /// group or the implementation is not known.
  std::optional<cost::CollectiveQuery>
  getQuery(CollectiveOpInterface collective);

  /// Whether `collective` reduces and may round an element otherwise at another
  /// place of its message: algorithms choose by the place in which order they
  /// take the ranks. What two ranks have gives the same in either order.
  bool roundsByPlace(CollectiveOpInterface collective);

  /// The models behind `estimateCollective`.
  const cost::CollectiveCost &getCollectiveCost() const {
    return collectiveCost;
  }

  const cost::Target &getTarget() const { return target; }

  /// The measured products.
  const cost::MeasuredProducts &getProducts() const { return products; }

  /// What one run of `region` takes: its blocks, one after the other, each as
  /// simulated in its order.
  OperationPrice priceRegion(Region &region);

  /// The file of the measured profile; none without one.
  const std::optional<std::string> &getProfilePath() const {
    return profilePath;
  }

  /// The tables that resolve process groups.
  SymbolTableCollection &getSymbolTables() const { return symbolTables; }

  /// What stands in for the time of `op` where a size, a group or an
  /// implementation that the model needs is not known:
  ///  * of a collective, what the model gives for the bytes that are known, at
  ///    least for one byte;
  ///  * of any other, and of a collective whose group is not known, the
  ///    roofline over its flops and the bytes that are known.
  /// At least one launch of a kernel, the smallest cost of the target.
  int64_t assumeNs(Operation *op);

private:
  OperationPrice compute(Operation *op);
  OperationPrice estimate(Operation *op);
  std::optional<cost::CollectiveQuery>
  makeQuery(CollectiveOpInterface collective, int64_t bytes);
  OperationPrice estimateOwnCost(CostOpInterface op);
  std::optional<OperationPrice> estimateProduct(CostOpInterface op,
                                                double flops, int64_t bytes);
  OperationPrice priceLoop(Operation *op);
  OperationPrice priceRegions(Operation *op);
  OperationPrice priceOnce(Operation *op, SmallVectorImpl<Block *> *blocks);
  OperationPrice priceBlock(Block &block);
  OperationPrice pricePipelined(Block &block, int64_t iterations);
  OperationPrice estimateBytes(Operation *op);
  schedule::Contention getContention(const BlockNodes &nodes) const;

  cost::Target target;
  std::optional<std::string> profilePath;
  int32_t slackPercent;
  cost::CollectiveCost collectiveCost;
  /// The measured operations, or null.
  std::shared_ptr<const cost::MeasuredOperations> operations;
  cost::MeasuredProducts products;
  SymbolTableCollection &symbolTables;
  RegionMemo *memo = nullptr;
};

/// Puts what was measured of operations in `root` onto them, for passes that
/// move and rename them, and takes off what was there. `operations` may be
/// null. Returns false if it names operations, but none in `root`.
bool attachMeasuredTimes(Operation *root,
                         const cost::MeasuredOperations *operations);

/// Why the time of `op` is not known, as the text of a remark: names the
/// operation (itself or one in its regions) and the value whose size is not
/// static or not known. Only for operations whose price is assumed.
std::string explainUnknownCost(OperationCosts &costs, Operation *op);

} // namespace mlir::commsched

#endif // COMMSCHED_ANALYSIS_COSTS_OPERATIONCOSTS_H
