//===- TargetPresets.cpp - named machines -----------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
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
// Channels inside a node are what NCCL's graph search finds on the machine's
// NVSwitch board from the link rates of its src/graph/topo.h: 12 x 20 on 240,
// 12 x 30 on 370.8, and 16 x 45 on 721.8 GB/s. NIC rates are one 200 Gb/s
// (A100), 400 Gb/s (Hopper, Blackwell) port for each GPU as NCCL counts it, and
// the 200 Gb/s Slingshot port of an Alps node for GH200.
//
// collective_launch_us, nvls_efficiency, local_copy_gb_s, local_reduce_gb_s,
// fill_bytes and net_fill_bytes, and GH200's net_latency_us and net_efficiency,
// are fitted, once a machine, to the tables in data/cost-tables;
// docs/guide/cost-model.md says which and how well that holds elsewhere.
//
//===----------------------------------------------------------------------===//

#include "CommSched/CostModel/Target.h"

namespace mlir::commsched::cost {

static constexpr llvm::StringLiteral presetNames[] = {"a100", "h100", "h200",
                                                      "gh200", "b200"};

llvm::ArrayRef<llvm::StringLiteral> targetPresetNames() { return presetNames; }

/// What all machines share: terms that no data sheet gives. Those of
/// collectives were fitted on the public table of h100; a machine with a table
/// of its own overrides them.
static Target makeMachine(llvm::StringRef name) {
  Target t;
  t.name = name.str();
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
  Target t = makeMachine("a100");
  t.peakTflopsF64 = 19.5;
  t.peakTflopsF32 = 19.5;
  t.peakTflopsF16 = t.peakTflopsBF16 = 312;
  t.peakTopsI8 = 624;
  t.memoryGBs = 2039;
  t.computeEfficiency = 0.869;
  t.computeCapability = 80;
  t.intraChannels = 12;
  t.intraChannelGBs = 20;
  t.nvlinkGBs = 240;
  t.nicGBs = 24;
  return t;
}

static Target makeH100() {
  Target t = makeMachine("h100");
  t.peakTflopsF64 = 67;
  t.peakTflopsF32 = 67;
  t.peakTflopsF16 = t.peakTflopsBF16 = 989.4;
  t.peakTflopsF8 = t.peakTopsI8 = 1978.9;
  t.memoryGBs = 3350;
  t.computeEfficiency = 0.803;
  t.computeCapability = 90;
  t.intraChannels = 12;
  t.intraChannelGBs = 30;
  t.nvlinkGBs = 370.8;
  t.nvls = 1;
  t.nvlsEfficiency = 0.72;
  t.nicGBs = 48;
  return t;
}

static Target makeH200() {
  Target t = makeH100();
  t.name = "h200";
  t.memoryGBs = 4800;
  t.nvlsEfficiency = 0.85;
  return t;
}

static Target makeGH200() {
  Target t = makeH100();
  t.name = "gh200";
  t.memoryGBs = 4000;
  t.computeEfficiency = 0.838;
  // Four superchips of a node are wired pairwise, without a switch, and their
  // NICs hang off the CPUs.
  t.nvls = 0;
  t.ll128Network = 0;
  t.nicGBs = 25;
  t.netLatencyUs = 3;
  t.netEfficiency = 0.93;
  t.localCopyGBs = 0;
  t.localReduceGBs = 1100;
  t.netFillBytes = 15 << 20;
  return t;
}

static Target makeB200() {
  Target t = makeMachine("b200");
  t.peakTflopsF64 = 37;
  t.peakTflopsF32 = 75;
  t.peakTflopsF16 = t.peakTflopsBF16 = 2250;
  t.peakTflopsF8 = t.peakTopsI8 = 4500;
  t.memoryGBs = 7700;
  t.computeEfficiency = 0.776;
  t.computeCapability = 100;
  t.intraChannels = 16;
  t.intraChannelGBs = 45;
  t.nvlinkGBs = 721.8;
  t.nvls = 1;
  t.nvlsEfficiency = 0.54;
  t.nicGBs = 48;
  t.collectiveLaunchUs = 20;
  return t;
}

std::optional<Target> getTargetPreset(llvm::StringRef name) {
  if (name == "a100")
    return makeA100();
  if (name == "h100")
    return makeH100();
  if (name == "h200")
    return makeH200();
  if (name == "gh200")
    return makeGH200();
  if (name == "b200")
    return makeB200();
  return std::nullopt;
}

} // namespace mlir::commsched::cost
