//===- Target.cpp - Machine descriptions and the roofline model -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/CostModel/Target.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include "llvm/Support/ScopedPrinter.h"
#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>

using namespace mlir::commsched;
using namespace mlir::commsched::cost;
using llvm::StringLiteral;

static constexpr double unbounded = 1e9;

static constexpr TargetField fieldTable[] = {
    {"peak_tflops_f64", &Target::peakTflopsF64, 0, unbounded, false,
     "dense f64 rate, TFLOP/s; 0: 1/64 of f32"},
    {"peak_tflops_f32", &Target::peakTflopsF32, 1e-6, unbounded, false,
     "dense f32 rate, TFLOP/s, without TF32"},
    {"peak_tflops_f16", &Target::peakTflopsF16, 0, unbounded, false,
     "dense f16 rate, TFLOP/s; 0: as f32"},
    {"peak_tflops_bf16", &Target::peakTflopsBF16, 0, unbounded, false,
     "dense bf16 rate, TFLOP/s; 0: as f16"},
    {"peak_tflops_f8", &Target::peakTflopsF8, 0, unbounded, false,
     "dense 8-bit float rate, TFLOP/s; 0: as bf16"},
    {"peak_tops_i8", &Target::peakTopsI8, 0, unbounded, false,
     "dense 8-bit integer rate, TOP/s; 0: as f32"},
    {"memory_gb_s", &Target::memoryGBs, 1e-6, unbounded, false,
     "memory bandwidth, GB/s"},
    {"compute_efficiency", &Target::computeEfficiency, 1e-3, 1, false,
     "fraction of the peak rate that kernels reach"},
    {"memory_efficiency", &Target::memoryEfficiency, 1e-3, 1, false,
     "fraction of the memory bandwidth that kernels reach"},
    {"kernel_launch_ns", &Target::kernelLaunchNs, 0, unbounded, false,
     "added to every operation that computes or moves bytes, ns"},
    {"multiprocessors", &Target::multiprocessors, 0, 1 << 20, true,
     "tiles of a product that are computed at the same time; 0: unknown"},
    {"compute_capability", &Target::computeCapability, 70, 999, true,
     "70 Volta, 80 Ampere, 90 Hopper, 100 Blackwell"},
    {"nvlink", &Target::nvlink, 0, 1, true, "1: NVLink inside a node, 0: PCI"},
    {"intra_channels", &Target::intraChannels, 1, 1024, true,
     "channels of ring and tree inside a node"},
    {"intra_channel_gb_s", &Target::intraChannelGBs, 1e-6, unbounded, false,
     "bandwidth of one such channel, GB/s"},
    {"nvlink_gb_s", &Target::nvlinkGBs, 0, unbounded, false,
     "NVLink bandwidth per accelerator and direction, GB/s"},
    {"nvls", &Target::nvls, 0, 1, true,
     "1: the NVLink switch multicasts and reduces"},
    {"nvls_efficiency", &Target::nvlsEfficiency, 1e-3, 1, false,
     "fraction of the link that NVLS reaches"},
    {"nic_gb_s", &Target::nicGBs, 1e-6, unbounded, false,
     "network bandwidth per accelerator and direction, GB/s"},
    {"net_channels_per_rank", &Target::netChannelsPerRank, 1, 64, true,
     "channels that a rank drives across the network"},
    {"net_latency_us", &Target::netLatencyUs, 0, unbounded, false,
     "latency of a network hop beyond NCCL's constants, us"},
    {"net_efficiency", &Target::netEfficiency, 1e-3, 1, false,
     "fraction of nic_gb_s that collectives reach"},
    {"host_gb_s", &Target::hostGBs, 1e-6, unbounded, false,
     "bandwidth to the host per accelerator and direction, GB/s"},
    {"host_latency_us", &Target::hostLatencyUs, 0, unbounded, false,
     "time of a copied tensor beyond its bytes, us"},
    {"amd_cpu", &Target::amdCpu, 0, 1, true,
     "1: AMD host CPU, 0: Intel or another"},
    {"ll128", &Target::ll128, 0, 1, true,
     "1: protocol LL128 allowed (needs NVLink)"},
    {"ll128_network", &Target::ll128Network, 0, 1, true,
     "1: protocol LL128 allowed between nodes too"},
    {"pat", &Target::pat, 0, 1, true,
     "1: PAT allowed with one rank of the group a node"},
    {"collnet", &Target::collnet, 0, 1, true,
     "1: the network's switches reduce, so NVLS spans nodes"},
    {"collective_launch_us", &Target::collectiveLaunchUs, 0, unbounded, false,
     "launch and rank skew, added to every collective, us"},
    {"local_copy_gb_s", &Target::localCopyGBs, 0, unbounded, false,
     "rate of copying the rank's own share, GB/s; 0: free"},
    {"local_reduce_gb_s", &Target::localReduceGBs, 0, unbounded, false,
     "rate of reducing the rank's own share, GB/s; 0: free"},
    {"fill_bytes", &Target::fillBytes, 0, unbounded, true,
     "first bytes at half speed, NVLS and point to point inside a node"},
    {"net_fill_bytes", &Target::netFillBytes, 0, unbounded, true,
     "first bytes at half speed across nodes, for each doubling of nodes"},
    {"exclusive_groups", &Target::exclusiveGroups, 0, 1, true,
     "1: groups that share more than one device are never in flight together"},
    {"link_sharing", &Target::linkSharing, 0, 1, true,
     "1: groups on the same link share its bandwidth"},
    {"link_sharing_d2h", &Target::linkSharingD2h, 0, 1, true,
     "1: so do transfers to the host, with groups across nodes"},
    {"link_sharing_h2d", &Target::linkSharingH2d, 0, 1, true,
     "1: so do transfers from the host, with groups across nodes"},
    {"compute_slowdown", &Target::computeSlowdown, 0, 999, false,
     "by which part of its time computation takes longer beside a collective"},
    {"slack_percent", &Target::slackPercent, -1, 1000, true,
     "what collectives are taken to be longer; -1: as the profile says, else "
     "40"},
};

llvm::ArrayRef<TargetField> cost::targetFields() { return fieldTable; }

static const TargetField *findField(llvm::StringRef key) {
  for (const TargetField &field : fieldTable)
    if (field.key == key)
      return &field;
  return nullptr;
}

/// Six significant digits: enough for every bound of the table.
static std::string formatNumber(double value) {
  return llvm::to_string(llvm::format("%g", value));
}

llvm::Error Target::setField(llvm::StringRef key, double value) {
  const TargetField *field = findField(key);
  if (!field)
    return llvm::createStringError("unknown target field '" + key + "'");
  if (field->integral && value != std::floor(value))
    return llvm::createStringError("target field '" + key +
                                   "' must be a whole number, got " +
                                   formatNumber(value));
  // Written so that NaN fails too.
  if (!(value >= field->minimum && value <= field->maximum))
    return llvm::createStringError(
        "target field '" + key + "' must be between " +
        formatNumber(field->minimum) + " and " + formatNumber(field->maximum) +
        ", got " + formatNumber(value));
  this->*field->member = value;
  return llvm::Error::success();
}

std::optional<double> Target::getField(llvm::StringRef key) const {
  const TargetField *field = findField(key);
  if (!field)
    return std::nullopt;
  return this->*field->member;
}

double Target::peakFlops(ElementKind kind) const {
  // The first rate that the machine has, of the type or of a wider one.
  auto firstOf = [&](std::initializer_list<double> rates) {
    for (double rate : rates)
      if (rate > 0)
        return rate * 1e12;
    return peakTflopsF32 * 1e12;
  };
  switch (kind) {
  case ElementKind::F64:
    return firstOf({peakTflopsF64, peakTflopsF32 / 64});
  case ElementKind::F32:
    return firstOf({});
  case ElementKind::F16:
    return firstOf({peakTflopsF16});
  case ElementKind::BF16:
    return firstOf({peakTflopsBF16, peakTflopsF16});
  case ElementKind::F8:
    return firstOf({peakTflopsF8, peakTflopsBF16, peakTflopsF16});
  case ElementKind::I8:
    return firstOf({peakTopsI8});
  }
  llvm_unreachable("unknown element kind");
}

//===----------------------------------------------------------------------===//
// Presets
//
// Peak rates and memory bandwidths are the dense figures of NVIDIA's data
// sheets: "NVIDIA A100 Tensor Core GPU" (80 GB SXM), "NVIDIA H100 Tensor Core
// GPU" (SXM), "NVIDIA H200 Tensor Core GPU" (SXM), "NVIDIA GH200 Grace Hopper
// Superchip" (96 GB HBM3) and "NVIDIA HGX B200". Where a sheet gives a rate
// with sparsity, half of it is taken.
//
// compute_efficiency is the largest bf16 matrix product rate that was measured
// on the machine, over its peak: the table "Maximum Achievable Matmul FLOPS" of
// https://github.com/stas00/ml-engineering (compute/accelerator).
//
// memory_efficiency, nine tenths, is an assumption; kernel_launch_ns is what
// XLA's GPU roofline charges for a kernel.
//
// multiprocessors are those of the product, not of the full die: 108 (A100),
// 132 (SXM Hoppers) and 148 (B200), as in NVIDIA's architecture whitepapers and
// as cudaDeviceProp::multiProcessorCount reports them.
//
// Channels inside a node are what NCCL's graph search finds on the machine's
// NVSwitch board from the link rates of its src/graph/topo.h: 12 x 20 on 240,
// 12 x 30 on 370.8, and 16 x 45 on 721.8 GB/s. NIC rates are one 200 Gb/s
// (A100), 400 Gb/s (Hopper, Blackwell) port for each GPU as NCCL counts it, and
// the 200 Gb/s Slingshot port of an Alps node for GH200.
//
// host_gb_s is what copies to and from pinned memory reach over PCIe x16: 55 in
// generation 5 (55.6 in "NVIDIA NVbandwidth" of NVIDIA's technical blog), half
// of it in generation 4 (A100). For GH200 it is the rate of NVLink-C2C in
// "NVIDIA Grace Hopper Superchip", 450 in each direction; measurements reach
// 375 to the device and 297 from it ("Harnessing Integrated CPU-GPU System
// Memory for HPC: a first look into Grace Hopper", arXiv 2407.07850).
// host_latency_us is an assumption.
//
// collective_launch_us, nvls_efficiency, local_copy_gb_s, local_reduce_gb_s,
// fill_bytes and net_fill_bytes, and GH200's net_latency_us and net_efficiency,
// are fitted, once a machine, to the tables in data/cost-tables;
// docs/guide/cost-model.md says which and how well that holds elsewhere.
//
//===----------------------------------------------------------------------===//

/// The terms that all machines share and that no data sheet gives. Those of
/// collectives were fitted on the public table of h100; a machine with a table
/// of its own overrides them.
static Target makeMachine() {
  Target t;
  t.memoryEfficiency = 0.9;
  t.kernelLaunchNs = 1000;
  t.collectiveLaunchUs = 12;
  t.localCopyGBs = 1100;
  t.localReduceGBs = 424;
  t.fillBytes = 12 << 20;
  t.netFillBytes = 64 << 20;
  return t;
}

static Target makeA100() {
  Target t = makeMachine();
  t.peakTflopsF64 = 19.5;
  t.peakTflopsF32 = 19.5;
  t.peakTflopsF16 = t.peakTflopsBF16 = 312;
  t.peakTopsI8 = 624;
  t.memoryGBs = 2039;
  t.computeEfficiency = 0.869;
  t.multiprocessors = 108;
  t.computeCapability = 80;
  t.intraChannels = 12;
  t.intraChannelGBs = 20;
  t.nvlinkGBs = 240;
  t.nicGBs = 24;
  t.hostGBs = 25;
  return t;
}

static Target makeH100() {
  Target t = makeMachine();
  t.peakTflopsF64 = 67;
  t.peakTflopsF32 = 67;
  t.peakTflopsF16 = t.peakTflopsBF16 = 989.4;
  t.peakTflopsF8 = t.peakTopsI8 = 1978.9;
  t.memoryGBs = 3350;
  t.computeEfficiency = 0.803;
  t.multiprocessors = 132;
  t.computeCapability = 90;
  t.intraChannels = 12;
  t.intraChannelGBs = 30;
  t.nvlinkGBs = 370.8;
  t.nvls = 1;
  t.nvlsEfficiency = 0.72;
  t.nicGBs = 48;
  t.hostGBs = 55;
  return t;
}

static Target makeH200() {
  Target t = makeH100();
  t.memoryGBs = 4800;
  t.nvlsEfficiency = 0.85;
  return t;
}

static Target makeGH200() {
  Target t = makeH100();
  t.memoryGBs = 4000;
  t.computeEfficiency = 0.838;
  // Four superchips of a node are wired pairwise, without a switch, and their
  // NICs hang off the CPUs.
  t.nvls = 0;
  t.ll128Network = 0;
  t.nicGBs = 25;
  t.hostGBs = 450;
  t.netLatencyUs = 3;
  t.netEfficiency = 0.93;
  t.localCopyGBs = 0;
  t.localReduceGBs = 1100;
  t.netFillBytes = 15 << 20;
  return t;
}

static Target makeB200() {
  Target t = makeMachine();
  t.peakTflopsF64 = 37;
  t.peakTflopsF32 = 75;
  t.peakTflopsF16 = t.peakTflopsBF16 = 2250;
  t.peakTflopsF8 = t.peakTopsI8 = 4500;
  t.memoryGBs = 7700;
  t.computeEfficiency = 0.776;
  t.multiprocessors = 148;
  t.computeCapability = 100;
  t.intraChannels = 16;
  t.intraChannelGBs = 45;
  t.nvlinkGBs = 721.8;
  t.nvls = 1;
  t.nvlsEfficiency = 0.54;
  t.nicGBs = 48;
  t.hostGBs = 55;
  t.collectiveLaunchUs = 20;
  return t;
}

static constexpr llvm::StringLiteral presetNames[] = {"a100", "h100", "h200",
                                                      "gh200", "b200"};
static constexpr Target (*presetMakers[])() = {makeA100, makeH100, makeH200,
                                               makeGH200, makeB200};

llvm::ArrayRef<llvm::StringLiteral> cost::targetPresetNames() {
  return presetNames;
}

std::optional<Target> cost::getTargetPreset(llvm::StringRef name) {
  for (auto [preset, make] : llvm::zip_equal(presetNames, presetMakers))
    if (name == preset) {
      Target target = make();
      target.name = name.str();
      return target;
    }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Times
//===----------------------------------------------------------------------===//

int64_t cost::roundToNs(double nanoseconds) {
  // 2^63, the first double beyond the range.
  if (!(nanoseconds < 9223372036854775808.0))
    return std::numeric_limits<int64_t>::max();
  if (nanoseconds <= 0)
    return 0;
  return static_cast<int64_t>(std::floor(nanoseconds + 0.5));
}

double cost::computeMemoryNs(const Target &target, int64_t bytesMoved) {
  // GB/s is bytes a nanosecond.
  return static_cast<double>(std::max<int64_t>(bytesMoved, 0)) /
         (target.memoryGBs * target.memoryEfficiency);
}

int64_t cost::computeTimeNs(const Target &target, double flops,
                            ElementKind kind, int64_t bytesMoved,
                            int64_t kernels) {
  // Also what is not a number counts as none.
  if (!(flops > 0))
    flops = 0;
  if (flops == 0 && bytesMoved <= 0)
    return 0;
  double arithmeticNs =
      1e9 * flops / (target.peakFlops(kind) * target.computeEfficiency);
  double launchNs = target.kernelLaunchNs * static_cast<double>(kernels);
  return roundToNs(launchNs +
                   std::max(arithmeticNs, computeMemoryNs(target, bytesMoved)));
}
