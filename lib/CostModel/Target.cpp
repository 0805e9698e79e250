//===- Target.cpp - the machine that costs are estimated for ----*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/CostModel/Target.h"

#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <initializer_list>

using llvm::StringLiteral;

namespace mlir::commsched::cost {

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
};

llvm::ArrayRef<TargetField> targetFields() { return fieldTable; }

static const TargetField *findField(llvm::StringRef key) {
  for (const TargetField &field : fieldTable)
    if (field.key == key)
      return &field;
  return nullptr;
}

/// Six significant digits: enough for every bound of the table.
static std::string formatNumber(double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%g", value);
  return text;
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

} // namespace mlir::commsched::cost
