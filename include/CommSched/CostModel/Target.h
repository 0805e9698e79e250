//===- Target.h - Descriptions of machines ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A target is a flat list of named numbers: what one accelerator computes and
// moves, and what its links carry. One table (`targetFields`) names every
// member; parsing a user's specification, printing it and the documentation
// all go through that table.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_COSTMODEL_TARGET_H
#define COMMSCHED_COSTMODEL_TARGET_H

#include "CommSched/CostModel/Implementations.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <optional>
#include <string>

namespace mlir::commsched::cost {

/// The element types that have a peak rate of their own.
enum class ElementKind : uint8_t { F64, F32, F16, BF16, F8, I8 };

/// Numbers are doubles so that one table can name them all; fields marked
/// integral in `targetFields` hold whole numbers, and flags hold 0 or 1.
/// GB/s is 1e9 bytes a second, TFLOP/s is 1e12 operations a second.
struct Target {
  /// The preset's name, or whatever the user calls the machine.
  std::string name = "custom";

  // Compute. A peak of 0 means that the type has no rate of its own: it runs
  // at the rate of the next wider type that has one.
  double peakTflopsF64 = 0;
  /// Full f32 precision, as PyTorch multiplies by default. A program that
  /// allows TF32 overrides this field with the TF32 rate.
  double peakTflopsF32 = 19.5;
  double peakTflopsF16 = 0;
  double peakTflopsBF16 = 0;
  double peakTflopsF8 = 0;
  double peakTopsI8 = 0;
  double memoryGBs = 1000;
  /// Fractions of the peaks that real kernels reach.
  double computeEfficiency = 1;
  double memoryEfficiency = 1;
  double kernelLaunchNs = 0;
  /// Multiprocessors that compute at the same time; 0: unknown, and then
  /// nothing is quantized (see ProductWaves.h).
  double multiprocessors = 0;

  // Links, in the terms of NCCL's tuning model.
  /// 70 Volta, 80 Ampere, 90 Hopper, 100 Blackwell; others round down.
  double computeCapability = 80;
  /// 1: NVLink inside a node, 0: PCI.
  double nvlink = 1;
  /// Channels of the ring and tree inside one node, and what one carries.
  double intraChannels = 12;
  double intraChannelGBs = 20;
  /// NVLink bandwidth of one accelerator in one direction; bounds NVLS.
  double nvlinkGBs = 240;
  /// 1: the switch multicasts and reduces (NVLink SHARP).
  double nvls = 0;
  /// Fraction of the link that NVLS reaches.
  double nvlsEfficiency = 0.85;
  /// Network bandwidth of one accelerator in one direction.
  double nicGBs = 25;
  /// Channels that a rank drives across the network.
  double netChannelsPerRank = 2;
  /// Latency of one network hop, beyond NCCL's own constants.
  double netLatencyUs = 0;
  /// Fraction of `nicGBs` that a collective reaches.
  double netEfficiency = 1;
  /// 1: AMD host CPU, 0: Intel or another.
  double amdCpu = 0;
  /// 1: the LL128 protocol is allowed inside a node / across the network.
  double ll128 = 1;
  double ll128Network = 1;
  /// 1: PAT is allowed where one rank of the group sits on each node.
  double pat = 1;
  /// 1: the network's switches reduce (SHARP): NVLS spans nodes.
  double collnet = 0;

  // Transfers between the device and its host.
  /// Bandwidth of one accelerator's link to its host in one direction. Both
  /// directions reach it at the same time.
  double hostGBs = 25;
  /// Time that each copied tensor takes beyond its bytes.
  double hostLatencyUs = 10;

  // Costs of collectives that NCCL's model does not include.
  /// Launch and the skew between ranks, added to every collective.
  double collectiveLaunchUs = 0;
  /// Rate at which a rank copies, and reduces, its own share of the buffer:
  /// the ring's first and last step, which NCCL's model does not count. 0:
  /// free.
  double localCopyGBs = 0;
  double localReduceGBs = 0;
  /// The first bytes of a message that travel at half speed while the pipeline
  /// fills: in NVLS and point to point inside a node; and across nodes, for
  /// each doubling of the number of nodes.
  double fillBytes = 0;
  double netFillBytes = 0;

  // What operations that run at once take from each other.
  /// 1: groups that share more than one device are never in flight together.
  double exclusiveGroups = 0;
  /// 1: groups share the bandwidth of links, and with groups across nodes so do
  /// transfers to and from the host.
  double linkSharing = 0;
  double linkSharingD2h = 0;
  double linkSharingH2d = 0;
  /// By which part of its own time a computation takes longer beside a
  /// collective in flight. Copy engines carry out transfers to and from the
  /// host, which slow nothing down.
  double computeSlowdown = 0;

  /// By how many percent longer than they are collectives are taken to be, in
  /// case that times are off; -1: as the profile says.
  double slackPercent = -1;

  /// How collectives can be carried out. Not one of the numbers.
  Implementations implementations;

  bool sharesLinks() const {
    return linkSharing != 0 || linkSharingD2h != 0 || linkSharingH2d != 0 ||
           implementations.isListed();
  }

  /// Peak rate in operations a second, before `computeEfficiency`. Falls back
  /// to wider types as described above; never 0.
  double peakFlops(ElementKind kind) const;

  /// Sets the field called `key`. Errors on an unknown key and on a value
  /// outside the field's range; the target is then unchanged.
  llvm::Error setField(llvm::StringRef key, double value);

  /// The value of the field called `key`; nothing for an unknown key.
  std::optional<double> getField(llvm::StringRef key) const;
};

/// One row of the table that names the fields.
struct TargetField {
  llvm::StringLiteral key;
  double Target::*member;
  /// The accepted range, both ends included.
  double minimum;
  double maximum;
  bool integral;
  llvm::StringLiteral description;
};

/// Every field, in the order in which they are printed.
llvm::ArrayRef<TargetField> targetFields();

/// The names that `getTargetPreset` knows: a100, h100, h200, gh200, b200.
llvm::ArrayRef<llvm::StringLiteral> targetPresetNames();

/// A named machine; nothing for an unknown name.
std::optional<Target> getTargetPreset(llvm::StringRef name);

/// The nearest whole nanosecond, halves up, within [0, INT64_MAX]: how all cost
/// models turn a floating-point time into an integer.
int64_t roundToNs(double nanoseconds);

/// The time in nanoseconds of an operation that does not communicate, by the
/// roofline model:
///   launch + max(flops / (peak * efficiency), bytes / (bandwidth *
///   efficiency))
/// `bytesMoved` counts what is read plus what is written. An operation with
/// neither flops nor bytes is free (a view), without a launch; any other has as
/// many as it has kernels. Negative counts are taken as 0; a result that does
/// not fit saturates at INT64_MAX.
int64_t computeTimeNs(const Target &target, double flops, ElementKind kind,
                      int64_t bytesMoved, int64_t kernels = 1);

/// bytes / (bandwidth * efficiency) of that, in nanoseconds.
double computeMemoryNs(const Target &target, int64_t bytesMoved);

} // namespace mlir::commsched::cost

#endif // COMMSCHED_COSTMODEL_TARGET_H
