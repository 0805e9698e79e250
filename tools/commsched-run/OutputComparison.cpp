//===- OutputComparison.cpp - Comparison of outputs -----------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OutputComparison.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "llvm/Support/InterleavedRange.h"

#include <cstring>

using namespace mlir;
using namespace mlir::commsched::run;

/// What two programs that are compared must have in common, in words; those
/// with equally many arguments and results have equally many facts.
static std::vector<std::string> listFacts(const StepPlan &plan) {
  std::vector<std::string> facts;
  auto addNumber = [&](const char *what, size_t number) {
    facts.push_back(std::to_string(number) + " " + what +
                    (number == 1 ? "" : "s"));
  };
  auto addType = [&](const char *what, size_t index, const ValueType &type,
                     const char *more) {
    facts.push_back(std::string(what) + " " + std::to_string(index) +
                    " of type " + type.text + more);
  };
  addNumber("argument", plan.signature.arguments.size());
  addNumber("result", plan.signature.results.size());
  for (auto [index, argument] : llvm::enumerate(plan.signature.arguments))
    addType("argument", index, argument.type,
            plan.isFed[index]     ? " from the previous repetition"
            : plan.isInput[index] ? " that is new in each repetition"
                                  : "");
  for (auto [index, type] : llvm::enumerate(plan.signature.results))
    addType("result", index, type,
            plan.isCarried[index] ? " for the next repetition" : "");
  return facts;
}

llvm::Error
mlir::commsched::run::checkComparable(const CompiledProgram &left,
                                      const CompiledProgram &right) {
  auto describe = [](const CompiledProgram &program, const std::string &fact) {
    return "@" + program.plan.signature.name + " of '" + program.path +
           "' has " + fact;
  };
  std::vector<std::string> a = listFacts(left.plan), b = listFacts(right.plan);
  auto [first, second] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  if (first == a.end())
    return llvm::Error::success();
  return llvm::createStringError("cannot compare: " + describe(left, *first) +
                                 ", but " + describe(right, *second));
}

/// Adds what differs in one output.
static void compare(Difference &difference, int64_t repetition, int64_t index,
                    const ElementFormat &format, const Bytes &left,
                    const Bytes &right, std::optional<double> tolerance) {
  int64_t numElements = static_cast<int64_t>(left.size()) / format.bytes;
  difference.numElements += numElements;
  if (left == right)
    return;
  for (int64_t element = 0; element < numElements; ++element) {
    const char *a = &left[element * format.bytes];
    const char *b = &right[element * format.bytes];
    if (areEqual(format, a, b, tolerance))
      continue;
    if (difference.numDifferent++ != 0)
      continue;
    difference.repetition = repetition;
    difference.index = index;
    difference.element = element;
    std::memcpy(difference.left.data(), a, format.bytes);
    std::memcpy(difference.right.data(), b, format.bytes);
  }
}

Difference
mlir::commsched::run::compareOutputs(const StepPlan &plan, const Outputs &left,
                                     const Outputs &right,
                                     std::optional<double> tolerance) {
  Difference difference;
  for (const auto &[place, bytes] : left.results) {
    auto [repetition, result] = place;
    compare(difference, repetition, result,
            plan.signature.results[result].element, bytes,
            right.results.at(place), tolerance);
  }
  for (size_t index = 0; index < left.arguments.size(); ++index)
    compare(difference, /*repetition=*/-1, index,
            plan.signature.arguments[index].type.element, left.arguments[index],
            right.arguments[index], tolerance);
  return difference;
}

std::string
mlir::commsched::run::describeComparison(const CompiledProgram &left,
                                         const CompiledProgram &right,
                                         ArrayRef<Difference> ranks) {
  int64_t numElements = 0, numDifferent = 0;
  for (const Difference &rank : ranks) {
    numElements += rank.numElements;
    numDifferent += rank.numDifferent;
  }
  std::string text;
  llvm::raw_string_ostream os(text);
  if (numDifferent == 0) {
    os << "equal: all " << numElements << " elements on " << ranks.size()
       << (ranks.size() == 1 ? " rank" : " ranks");
    return text;
  }
  const auto *first = llvm::find_if(
      ranks, [](const Difference &rank) { return rank.numDifferent != 0; });
  const StepPlan &plan = right.plan;
  bool isResult = first->repetition >= 0;
  const ValueType &type = isResult
                              ? plan.signature.results[first->index]
                              : plan.signature.arguments[first->index].type;
  auto format = [&](const std::array<int64_t, 2> &bytes) {
    return formatElement(type.element,
                         reinterpret_cast<const char *>(bytes.data()));
  };
  os << "different: " << (isResult ? "result " : "argument ") << first->index
     << llvm::interleaved_array(
            delinearize(first->element, computeStrides(type.shape)));
  if (isResult && plan.repetitions)
    os << " of repetition " << first->repetition;
  os << " on rank " << first - ranks.begin() << " is " << format(first->left)
     << " in '" << left.path << "', but " << format(first->right) << " in '"
     << right.path << "'; " << numDifferent << " of " << numElements
     << " elements differ";
  return text;
}
