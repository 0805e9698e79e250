//===- Implementations.h - Implementations of collectives -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ways in which a machine can carry out collectives: kernels of NCCL with
// all or some of their channels, copy engines, kernels on symmetric memory,
// further communicators. Each has its own time, its own effect on computation
// that runs beside it, and its own limits. docs/guide/implementations.md
// describes the fields.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_COSTMODEL_IMPLEMENTATIONS_H
#define COMMSCHED_COSTMODEL_IMPLEMENTATIONS_H

#include "CommSched/CostModel/Collective.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace mlir::commsched::cost {

/// How the runtime carries out a collective.
enum class ImplementationMethod : uint8_t {
  /// Kernels of NCCL.
  Nccl,
  /// Copy engines, which take no multiprocessors (NCCL's zero-CTA policy).
  CopyEngine,
  /// Kernels of NCCL on symmetric memory.
  Symmetric
};

/// "nccl", "copy-engine" or "symmetric".
llvm::StringRef stringifyImplementationMethod(ImplementationMethod method);
/// None for other names.
std::optional<ImplementationMethod>
symbolizeImplementationMethod(llvm::StringRef name);

/// A set of kinds of collectives.
class CollectiveKinds {
public:
  static CollectiveKinds all();
  static CollectiveKinds none() { return CollectiveKinds(0); }
  /// Those that NCCL 2.28 carries out by the method.
  static CollectiveKinds of(ImplementationMethod method);

  void add(CollectiveKind kind) { bits |= bit(kind); }
  bool has(CollectiveKind kind) const { return (bits & bit(kind)) != 0; }
  bool contains(CollectiveKinds other) const {
    return (other.bits & ~bits) == 0;
  }
  /// "all_gather, all_to_all".
  std::string toString() const;

private:
  explicit CollectiveKinds(uint32_t bits) : bits(bits) {}
  static uint32_t bit(CollectiveKind kind) {
    return uint32_t(1) << static_cast<uint32_t>(kind);
  }

  uint32_t bits;
};

struct Implementation {
  /// A time that grows linearly with the bytes that a rank receives.
  struct LinearTime {
    double latencyUs;
    double bandwidthGBs;
  };

  std::string name;
  ImplementationMethod method = ImplementationMethod::Nccl;
  /// The most channels (thread blocks) that NCCL may use; 0: as NCCL decides.
  int32_t channels = 0;
  /// By which fraction of its own time computation takes longer beside it.
  double tax = 0;
  /// The time, unless a profile has it; none: that of NCCL's model.
  std::optional<LinearTime> linear;
  CollectiveKinds collectives = CollectiveKinds::all();
  /// The sizes of the full buffer that it is chosen for, both included.
  int64_t minBytes = 0;
  int64_t maxBytes = std::numeric_limits<int64_t>::max();
  /// The most nodes that a group may span.
  int32_t maxNodes = std::numeric_limits<int32_t>::max();
  /// Of implementations with one stream, no two collectives of a group are in
  /// flight together.
  std::string stream;

  /// NCCL as it is without any option.
  static Implementation makeDefault();

  /// Why it cannot carry out the collective, such as "takes groups on at most 1
  /// node, not on 4"; none if it can.
  std::optional<std::string> getObstacle(const CollectiveQuery &query) const;
  /// Whether it may be chosen for a full buffer of this size.
  bool isFor(int64_t bytes) const {
    return minBytes <= bytes && bytes <= maxBytes;
  }
};

/// The implementations of a target. The first is always `nccl`, which carries
/// out all collectives that name no other.
class Implementations {
public:
  static constexpr llvm::StringLiteral defaultName = "nccl";
  /// The largest tax: a thousand times as long.
  static constexpr double mostTax = 999;

  Implementations() : list{Implementation::makeDefault()} {}

  /// Reads `{"copy-engine": {"tax": 0.02, "latency_us": 20, "bandwidth_gb_s":
  /// 300, "max_nodes": 1}, ...}`. Fails with one line of text that names the
  /// implementation and its field.
  static llvm::Expected<Implementations> parse(const llvm::json::Value &value);

  /// Takes over those of `other`, in place of those with the same names.
  void add(const Implementations &other);

  /// Whether any was read: a target without a list has NCCL only, which does
  /// not affect computation.
  bool isListed() const { return listed; }
  llvm::ArrayRef<Implementation> get() const { return list; }
  const Implementation &get(int32_t index) const { return list[index]; }
  /// The index of the implementation with this name.
  std::optional<int32_t> find(llvm::StringRef name) const;
  /// "nccl, copy-engine".
  std::string listNames() const;

private:
  std::vector<Implementation> list;
  bool listed = false;
  /// Whether `nccl` was read, too.
  bool listsDefault = false;
};

/// Nanoseconds of `query` by a linear time: the latency, and for each rank what
/// it receives over the bandwidth: (n - 1) / n of the full buffer, twice that
/// for an all_reduce. Nothing for a group of one and for no bytes.
int64_t computeLinearTimeNs(const Implementation::LinearTime &linear,
                            const CollectiveQuery &query);

/// NcclModel::getShareableNs() for a linear time.
double getShareableNs(const Implementation::LinearTime &linear,
                      const CollectiveQuery &query);

} // namespace mlir::commsched::cost

#endif // COMMSCHED_COSTMODEL_IMPLEMENTATIONS_H
