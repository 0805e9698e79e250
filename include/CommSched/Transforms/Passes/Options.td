//===- Options.td - Options that passes share --------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Options of which the value is one of a list, and the options that several
// passes and pipelines have. Each is declared and described once.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TRANSFORMS_PASSES_OPTIONS_TD
#define COMMSCHED_TRANSFORMS_PASSES_OPTIONS_TD

include "mlir/IR/EnumAttr.td"
include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// A value of an option: its name in C++ and on the command line.
class OptionValue<string symbol, int value, string text, string meaning = "">
    : I32EnumCase<symbol, value, text> {
  string explanation = meaning;
}

/// The values of options of the C++ enum `name` in mlir::commsched.
class OptionValues<string name, list<OptionValue> values> {
  string type = "::mlir::commsched::" # name;
  string flags = "::llvm::cl::values(" # !interleave(
      !foreach(value, values,
               "clEnumValN(" # type # "::" # value.symbol # ", \"" # value.str #
                   "\", \"" # value.explanation # "\")"), ", ") # ")";
}

/// An enum of such values, which TableGen declares. `aliases` are further names
/// of them on the command line.
class OptionEnum<string name, string summary, list<OptionValue> values,
                 list<OptionValue> aliases = []>
    : I32Enum<name, summary, values>,
      OptionValues<name, !listconcat(values, aliases)> {
  let cppNamespace = "::mlir::commsched";
}

class EnumOption<string name, string argument, OptionValues values,
                 string default, string description, string flags = "">
    : Option<name, argument, values.type, values.type # "::" # default,
             description, flags # values.flags>;

//===----------------------------------------------------------------------===//
// What the module is priced by
//===----------------------------------------------------------------------===//

def LinkSharing : OptionEnum<"LinkSharing",
    "Which streams share the links of a rank.", [
      OptionValue<"None", 0, "false", "no link is shared">,
      OptionValue<"Groups", 1, "true", "groups share links">,
      OptionValue<"GroupsAndToHost", 2, "d2h",
                  "so do offloads, with groups across nodes">,
      OptionValue<"GroupsAndFromHost", 3, "h2d", "so do reloads">,
      OptionValue<"All", 4, "d2h,h2d", "so do both">,
    ], [
      OptionValue<"Groups", 1, "", "groups share links">,
      OptionValue<"All", 4, "h2d,d2h", "likewise">,
    ]>;

defvar costOptions = [
  Option<"target", "target", "std::string", /*default=*/"",
         "Preset of the device, instead of the module's: a100, h100, h200, "
         "gh200 or b200">,
  Option<"profile", "profile", "std::string", /*default=*/"",
         "JSON file of measured times, instead of the module's profile">,
];

/// How sure the times are, and what operations that run at once take from each
/// other.
defvar contentionOptions = [
  Option<"slack", "slack", "int32_t", /*default=*/"-1",
         "By how many percent longer than they are collectives are taken to be, "
         "in case that times are off, where that makes the step no longer than "
         "by a thousandth; -1: as the module says, else its profile, else 40">,
  Option<"exclusiveGroups", "exclusive-groups", "bool", /*default=*/"false",
         "Groups that share more than one device are never in flight together">,
  EnumOption<"linkSharing", "link-sharing", LinkSharing, "None",
             "Groups on the same link share its bandwidth; so do the transfers "
             "that are named: d2h, h2d or d2h,h2d",
             "::llvm::cl::ValueOptional, ">,
  Option<"computeSlowdown", "compute-slowdown", "double", /*default=*/"0.0",
         "The fraction of its own time that computation takes longer beside a "
         "collective in flight, such as 0.19">,
];

//===----------------------------------------------------------------------===//
// What is merged and split
//===----------------------------------------------------------------------===//

def BucketModeOption : OptionEnum<"BucketModeOption",
    "How the members of a bucket travel.", [
      OptionValue<"Copy", 0, "copy", "packed into one buffer">,
      OptionValue<"Coalesced", 1, "coalesced", "side by side in one launch">,
      OptionValue<"Auto", 2, "auto", "what the cost model says is cheaper">,
    ]>;

def ScheduleBuckets : OptionEnum<"ScheduleBuckets",
    "Which collectives commsched-schedule merges.", [
      OptionValue<"Auto", 0, "auto", "what makes the step shorter">,
      OptionValue<"GathersAndReductions", 1, "gathers-and-reductions",
                  "what makes the step shorter of all-gathers, reduce-scatters "
                  "and all-reduces">,
      OptionValue<"Off", 2, "off", "none">,
    ]>;

def ScheduleSplit : OptionEnum<"ScheduleSplit",
    "Which collectives commsched-schedule splits into chunks.", [
      OptionValue<"Auto", 0, "auto",
                  "what makes the step shorter and keeps every element">,
      OptionValue<"Sums", 1, "sums",
                  "also computation whose chunks are partial sums">,
      OptionValue<"Off", 2, "off", "none">,
    ]>;

defvar rewritingOptions = [
  EnumOption<"buckets", "buckets", ScheduleBuckets, "Auto",
             "Which collectives to merge: auto, gathers-and-reductions or off">,
  EnumOption<"mode", "mode", BucketModeOption, "Auto",
             "How members of a bucket travel: copy, coalesced or auto">,
  Option<"bitwise", "bitwise", "bool", /*default=*/"false",
         "Merge reductions of more than two ranks only in a way that leaves "
         "every element at its place of a message">,
  EnumOption<"split", "split", ScheduleSplit, "Auto",
             "Which collectives to split into chunks, with the computation "
             "around them: auto, sums or off">,
  Option<"maxChunks", "max-chunks", "int32_t", /*default=*/"8",
         "Largest number of chunks that a collective is split into, from 2 to "
         "8">,
];

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

class BudgetOption<string over>
    : Option<"memoryBudget", "memory-budget", "std::string",
             /*default=*/"\"5%\"",
             "Live bytes such as 68719476736, 64GiB or 640MB, or a percentage "
             "over " # over # " such as 5%">;

class ReservedBytes<string description>
    : Option<"reservedBytes", "reserved-bytes", "std::string",
             /*default=*/"\"0\"", description>;

def AllocatorModel : OptionEnum<"AllocatorModel",
    "The allocator of device memory that is modelled.", [
      OptionValue<"None", 0, "none", "none">,
      OptionValue<"PyTorch", 1, "pytorch", "PyTorch's caching allocator">,
      OptionValue<"PyTorchExpandable", 2, "pytorch-expandable",
                  "the same with expandable segments">,
    ]>;

def BudgetOn : OptionEnum<"BudgetOn", "The memory that a budget limits.", [
      OptionValue<"Live", 0, "live", "live bytes">,
      OptionValue<"Reserved", 1, "reserved", "what the allocator reserves">,
    ]>;

defvar reservedOptions = [
  EnumOption<"budgetOn", "budget-on", BudgetOn, "Live",
             "What a budget in bytes limits: live bytes (live), or what the "
             "allocator reserves (reserved)">,
  EnumOption<"allocator", "allocator", AllocatorModel, "PyTorch",
             "The allocator of budget-on=reserved: pytorch or "
             "pytorch-expandable">,
]<Option>;

defvar allocatorOptions = !listconcat(reservedOptions, [
  Option<"strict", "strict", "bool", /*default=*/"false",
         "Fail where what needs least is over the budget, or a time or a size "
         "is not known">,
]);

//===----------------------------------------------------------------------===//
// Partitions
//===----------------------------------------------------------------------===//

def CollectivePolicy : OptionValues<"partition::CollectivePolicy", [
      OptionValue<"Save", 0, "save", "keep them">,
      OptionValue<"Recompute", 1, "recompute", "gather them again">,
      OptionValue<"Cost", 2, "cost", "whichever is worth it">,
    ]>;

class CollectivesOption<string default>
    : EnumOption<"collectives", "collectives", CollectivePolicy, default,
                 "What becomes of gathered parameters: save, recompute or "
                 "cost">;

def QuantizeChoice : OptionEnum<"QuantizeChoice",
    "Whether saved activations may be kept in 8 bits.", [
      OptionValue<"Off", 0, "off", "never">,
      OptionValue<"Auto", 1, "auto",
                  "where that makes the step shorter than all else that fits">,
    ]>;

/// Of passes that choose partition and schedule together.
defvar fittingOptions = [
  Option<"hostMemory", "host-memory", "std::string", /*default=*/"\"0\"",
         "With bytes: pinned memory of the host that saved values may take, "
         "such as 512GiB">,
  EnumOption<"quantize", "quantize", QuantizeChoice, "Off",
             "With bytes: whether saved activations may be kept in 8 bits, "
             "which changes results: off or auto">,
  CollectivesOption<"Cost">,
];

class FrontierFile<string when>
    : Option<"frontier", "frontier", "std::string", /*default=*/"",
             when # "file for step time against peak memory, as JSON if it ends "
             "in .json and else as CSV; - is CSV on standard output">;

//===----------------------------------------------------------------------===//
// PyTorch Inductor's passes
//===----------------------------------------------------------------------===//

def InductorPass : OptionEnum<"InductorPass",
    "The passes that may stand in "
    "torch._inductor.config.reorder_for_compute_comm_overlap_passes, and "
    "simple_overlap, which has a switch of its own there.", [
      OptionValue<"SinkWaits", 0, "sink_waits">,
      OptionValue<"RaiseComms", 1, "raise_comms">,
      OptionValue<"ReorderComputeForOverlap", 2, "reorder_compute_for_overlap">,
      OptionValue<"ReorderCommunicationPreservingPeakMemory", 3,
                  "reorder_communication_preserving_peak_memory">,
      OptionValue<"SinkWaitsIterative", 4, "sink_waits_iterative">,
      OptionValue<"SimpleOverlap", 5, "simple_overlap">,
    ]>;

def InductorBuckets : OptionEnum<"InductorBuckets",
    "Which collectives of one kind PyTorch Inductor merges: the values of its "
    "bucket_*_fx options.", [
      OptionValue<"None", 0, "none", "None of them">,
      OptionValue<"All", 1, "all", "All that may be merged">,
      OptionValue<"OnlyFsdp", 2, "only_fsdp", "Those of sharded parameters">,
    ]>;

#endif // COMMSCHED_TRANSFORMS_PASSES_OPTIONS_TD
