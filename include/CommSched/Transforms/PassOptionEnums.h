//===- PassOptionEnums.h - Enum values of pass options ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The enums of options of passes and pipelines, which TableGen declares, and
// the parser of those that are elements of list options.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TRANSFORMS_PASSOPTIONENUMS_H
#define COMMSCHED_TRANSFORMS_PASSOPTIONENUMS_H

#include "CommSched/Partition/Classification.h"
#include "CommSched/Partition/SavedValues.h"
#include "CommSched/Schedule/Allocator/CachingAllocator.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Support/LLVM.h"
#include <optional>

#include "CommSched/Transforms/PassOptionEnums.h.inc"

namespace mlir::commsched {

/// The largest size of a bucket unless an option says otherwise, in units of
/// 2^20 bytes: what PyTorch Inductor's bucketing passes take by default (torch
/// 2.13, bucketing.py, bucket_cap_mb_by_bucket_idx_default).
inline constexpr double defaultBucketCapMb = 2000;

/// What is wrong with such a size, as the end of an error message.
std::optional<std::string> findBucketCapError(double megabytes);

/// Returns how that allocator gets memory; none if none is modelled.
std::optional<schedule::SegmentKind> getSegmentKind(AllocatorModel model);

namespace detail {

/// Parses an element of a list option, of an enum up to the value `last`: the
/// parser that LLVM has for enums does not pass the option's values on to the
/// elements of a pass's list option.
template <typename Enum, unsigned last>
class ListElementParser : public llvm::cl::basic_parser<Enum> {
public:
  using llvm::cl::basic_parser<Enum>::basic_parser;

  bool parse(llvm::cl::Option &option, StringRef argName, StringRef text,
             Enum &value) {
    if (std::optional<Enum> known = symbolizeEnum<Enum>(text)) {
      value = *known;
      return false;
    }
    std::string names;
    for (unsigned index = 0; index <= last; ++index)
      names += (index == 0 ? "" : ", ") +
               stringifyEnum(static_cast<Enum>(index)).str();
    return option.error("'" + text + "' is none of " + names);
  }

  static void print(raw_ostream &os, Enum value) { os << stringifyEnum(value); }
};

} // namespace detail
} // namespace mlir::commsched

template <>
class llvm::cl::parser<mlir::commsched::ActivationType>
    : public mlir::commsched::detail::ListElementParser<
          mlir::commsched::ActivationType,
          mlir::commsched::getMaxEnumValForActivationType()> {
public:
  using ListElementParser::ListElementParser;
};

template <>
class llvm::cl::parser<mlir::commsched::InductorPass>
    : public mlir::commsched::detail::ListElementParser<
          mlir::commsched::InductorPass,
          mlir::commsched::getMaxEnumValForInductorPass()> {
public:
  using ListElementParser::ListElementParser;
};

template <>
class llvm::cl::parser<mlir::commsched::PeakMemoryOrder>
    : public mlir::commsched::detail::ListElementParser<
          mlir::commsched::PeakMemoryOrder,
          mlir::commsched::getMaxEnumValForPeakMemoryOrder()> {
public:
  using ListElementParser::ListElementParser;
};

#endif // COMMSCHED_TRANSFORMS_PASSOPTIONENUMS_H
