//===- StepRunner.cpp - Calls of a step on one rank -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CompiledProgram.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/InterleavedRange.h"
#include "llvm/Support/MathExtras.h"

#include <cstring>

using namespace mlir;
using namespace mlir::commsched::run;

//===----------------------------------------------------------------------===//
// Values in memory of the runtime
//===----------------------------------------------------------------------===//

/// Makes `value` one with undefined content.
static LogicalResult allocate(const ValueType &type, DeviceValue &value) {
  value = DeviceValue();
  if (type.isScalar) {
    value.scalar.resize(type.element.bytes);
    return success();
  }
  auto *allocate = type.isOnHost ? commsched_allocate_host : commsched_allocate;
  value.buffer = std::shared_ptr<void>(
      allocate(type.getNumBytes(), /*alignment=*/0), commsched_release);
  value.data = static_cast<char *>(value.buffer.get());
  return success(value.data != nullptr);
}

/// Gives the value the content `bytes`.
static LogicalResult upload(DeviceValue &value, const Bytes &bytes) {
  if (value.buffer)
    return success(commsched_upload(value.data, bytes.data(), bytes.size()) ==
                   0);
  value.scalar = bytes;
  return success();
}

/// Copies the content of the value to `bytes`.
static LogicalResult download(const ValueType &type, const DeviceValue &value,
                              Bytes &bytes) {
  bytes = value.scalar;
  if (!value.buffer)
    return success();
  bytes.resize(type.getNumBytes());
  return success(commsched_download(bytes.data(), value.data, bytes.size()) ==
                 0);
}

/// Makes `value` one of its own with the same content.
static LogicalResult separate(const ValueType &type, DeviceValue &value) {
  DeviceValue copy;
  if (!value.buffer)
    return success();
  if (failed(allocate(type, copy)))
    return failure();
  int64_t bytes = type.getNumBytes();
  if (bytes != 0 &&
      commsched_copy(copy.data, /*target_type=*/-1, bytes, value.data,
                     /*source_type=*/-1, bytes, /*rows=*/1, bytes))
    return failure();
  value = std::move(copy);
  return success();
}

//===----------------------------------------------------------------------===//
// Calls of compiled code
//===----------------------------------------------------------------------===//

/// A memref as it is passed: allocated and aligned pointer, offset, sizes,
/// strides.
using Descriptor = std::vector<int64_t>;
enum DescriptorWord : size_t { Allocated, Aligned, Offset, Sizes };

static Descriptor makeDescriptor(const ValueType &type,
                                 const DeviceValue &value) {
  Descriptor words = {reinterpret_cast<int64_t>(value.buffer.get()),
                      reinterpret_cast<int64_t>(value.data), /*offset=*/0};
  llvm::append_range(words, type.shape);
  llvm::append_range(words, computeStrides(type.shape));
  return words;
}

/// Size and alignment of a result in the struct of all.
static std::pair<size_t, size_t> getResultLayout(const ValueType &type) {
  if (!type.isScalar)
    return {(Sizes + 2 * type.shape.size()) * sizeof(int64_t),
            alignof(int64_t)};
  size_t bytes = type.element.bytes;
  return {bytes, isa<ComplexType>(type.element.type) ? bytes / 2 : bytes};
}

/// Takes the results out of the struct of all.
static std::vector<DeviceValue> takeResults(const PlannedFunction &function,
                                            ArrayRef<size_t> offsets,
                                            const char *all) {
  std::vector<DeviceValue> values;
  // Two results may be one buffer.
  llvm::DenseMap<void *, std::shared_ptr<void>> owners;
  for (auto [taken, offset] : llvm::zip_equal(function.results, offsets)) {
    const ValueType &type = taken.type;
    DeviceValue &value = values.emplace_back();
    const char *result = all + offset;
    if (type.isScalar) {
      value.scalar.assign(result, result + type.element.bytes);
      continue;
    }
    const auto *words = reinterpret_cast<const int64_t *>(result);
    void *buffer = reinterpret_cast<void *>(words[Allocated]);
    std::shared_ptr<void> &owner = owners[buffer];
    if (!owner)
      owner = std::shared_ptr<void>(buffer, commsched_release);
    value.buffer = owner;
    value.data = reinterpret_cast<char *>(words[Aligned]) +
                 words[Offset] * type.element.bytes;
  }
  return values;
}

/// Calls compiled code. After an error the results mean nothing.
static std::vector<DeviceValue>
callFunction(const PlannedFunction &function,
             std::vector<DeviceValue> &arguments) {
  // The struct of all results, and where each of them lies in it.
  std::vector<size_t> offsets;
  size_t size = 0;
  for (const PlannedResult &result : function.results) {
    auto [bytes, alignment] = getResultLayout(result.type);
    size = llvm::alignTo(size, alignment);
    offsets.push_back(size);
    size += bytes;
  }
  std::vector<int64_t> results(llvm::divideCeil(size, sizeof(int64_t)));

  // Addresses of scalars, and of the words of descriptors.
  std::vector<Descriptor> descriptors;
  std::vector<void *> packed;
  for (auto [argument, value] :
       llvm::zip_equal(function.arguments, arguments)) {
    if (argument.type.isScalar) {
      packed.push_back(value.scalar.data());
      continue;
    }
    descriptors.push_back(makeDescriptor(argument.type, value));
    for (int64_t &word : descriptors.back())
      packed.push_back(&word);
  }
  packed.push_back(results.data());
  function.code(packed.data());
  return takeResults(function, offsets,
                     reinterpret_cast<const char *>(results.data()));
}

//===----------------------------------------------------------------------===//
// Data and calls of a run
//===----------------------------------------------------------------------===//

StepRunner::StepRunner(const StepPlan &plan, const InputSettings &inputs,
                       int32_t rank)
    : plan(plan), inputs(inputs), rank(rank),
      initial(plan.step.arguments.size()), shared(plan.step.arguments.size()) {}

/// Whether the data of an argument of a function is in one storage for all
/// calls. A tensor that the function may overwrite is not.
bool StepRunner::isShared(const Argument &argument) const {
  const Argument &ofStep = plan.step.arguments[argument.argument];
  return !argument.fedBy && !ofStep.isInput && !ofStep.fedBy &&
         (argument.type.isMemRef || !argument.isFreeable);
}

LogicalResult StepRunner::readInput(unsigned argument, int64_t repetition,
                                    Bytes &data) const {
  llvm::Expected<Bytes> made =
      makeInput(inputs, plan.step.arguments[argument].type, argument, rank,
                plan.step.arguments[argument].isInput ? repetition : 0);
  if (!made)
    return report(made.takeError());
  data = std::move(*made);
  return success();
}

LogicalResult StepRunner::readInputs() {
  for (unsigned argument = 0; argument < initial.size(); ++argument) {
    std::optional<int64_t> ownFiles;
    if (plan.step.arguments[argument].isInput)
      ownFiles = plan.repetitions;
    Bytes data;
    if ((plan.repetitions &&
         failed(report(checkInputFiles(inputs, argument, rank, ownFiles)))) ||
        failed(readInput(argument, 0, data)))
      return failure();
    if (!plan.step.arguments[argument].isInput)
      initial[argument] = std::move(data);
  }
  return success();
}

LogicalResult StepRunner::allocateShared() {
  for (const PlannedFunction &function : plan.functions)
    for (const Argument &argument : function.arguments)
      if (DeviceValue &value = shared[argument.argument];
          isShared(argument) && !value &&
          failed(allocate(argument.type, value)))
        return failure();
  return success();
}

/// Adds the data that a call takes; nothing at the place of other arguments.
LogicalResult StepRunner::stage(int64_t index) {
  PlannedCall call = plan.getCall(index);
  const std::vector<Argument> &arguments = call.function->arguments;
  std::vector<DeviceValue> values(arguments.size());
  for (auto [value, argument] : llvm::zip_equal(values, arguments)) {
    unsigned number = argument.argument;
    if (argument.fedBy && index != 0)
      continue;
    if (isShared(argument)) {
      value = shared[number];
      continue;
    }
    bool isInput = plan.step.arguments[number].isInput;
    Bytes made;
    if ((isInput &&
         failed(
             readInput(number, call.firstTaken + argument.repetition, made))) ||
        failed(allocate(argument.type, value)) ||
        failed(upload(value, isInput ? made : initial[number])))
      return failure();
  }
  staged.push_back(std::move(values));
  return success();
}

LogicalResult StepRunner::restore(bool all) {
  staged.clear();
  for (auto [value, bytes] : llvm::zip_equal(shared, initial))
    if (value && failed(upload(value, bytes)))
      return failure();
  int64_t numCalls = all ? plan.getNumCalls() : 1;
  for (int64_t index = 0; index < numCalls; ++index)
    if (failed(stage(index)))
      return failure();
  return success();
}

/// Completes the data of a call by what the call before returned, and releases
/// what it does not take.
LogicalResult StepRunner::takeOperands(int64_t index,
                                       std::vector<DeviceValue> &values) {
  const std::vector<Argument> &arguments =
      plan.getCall(index).function->arguments;
  if (index != 0)
    for (auto [value, argument] : llvm::zip_equal(values, arguments))
      if (argument.fedBy)
        value = last.results[*argument.fedBy];
  last.results.clear();
  // What the function may overwrite must not be anything else.
  for (auto [value, argument] : llvm::zip_equal(values, arguments))
    if (argument.isFreeable && argument.fedBy && value.buffer.use_count() > 1 &&
        failed(separate(argument.type, value)))
      return failure();
  return success();
}

LogicalResult StepRunner::run(Outputs *outputs) {
  for (int64_t index = 0, end = plan.getNumCalls(); index < end; ++index) {
    if ((outputs && index != 0 && failed(keepResults(*outputs))) ||
        (staged.empty() && failed(stage(index))))
      return failure();
    std::vector<DeviceValue> arguments = std::move(staged.front());
    staged.pop_front();
    if (failed(takeOperands(index, arguments)))
      return failure();
    PlannedCall call = plan.getCall(index);
    last = {call, callFunction(*call.function, arguments)};
    if (failed(checkRank()))
      return failure();
  }
  return success();
}

/// Keeps the results of the last call.
LogicalResult StepRunner::keepResults(Outputs &outputs) {
  for (auto [returned, value] :
       llvm::zip_equal(last.call.function->results, last.results)) {
    if (!returned.result)
      continue;
    int64_t repetition = last.call.firstReturned + returned.repetition;
    if (plan.isKept(*returned.result, repetition) &&
        failed(download(returned.type, value,
                        outputs.results[{repetition, *returned.result}])))
      return failure();
  }
  return success();
}

LogicalResult StepRunner::finish(Outputs *outputs) {
  if (outputs) {
    if (failed(keepResults(*outputs)))
      return failure();
    outputs->arguments.resize(shared.size());
    for (auto [argument, value, kept] :
         llvm::zip_equal(plan.step.arguments, shared, outputs->arguments))
      if (argument.type.isMemRef && !argument.scratch && value &&
          failed(download(argument.type, value, kept)))
        return failure();
  }
  last.results.clear();
  return success();
}

//===----------------------------------------------------------------------===//
// Comparison of outputs
//===----------------------------------------------------------------------===//

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
  addNumber("argument", plan.step.arguments.size());
  addNumber("result", plan.step.results.size());
  for (auto [index, argument] : llvm::enumerate(plan.step.arguments))
    addType("argument", index, argument.type,
            argument.fedBy     ? " from the previous repetition"
            : argument.isInput ? " that is new in each repetition"
                               : "");
  for (auto [index, result] : llvm::enumerate(plan.step.results))
    addType("result", index, result.type,
            result.isCarried ? " for the next repetition" : "");
  return facts;
}

llvm::Error
mlir::commsched::run::checkComparable(const CompiledProgram &left,
                                      const CompiledProgram &right) {
  auto describe = [](const CompiledProgram &program, const std::string &fact) {
    return "@" + program.plan.step.name + " of '" + program.path + "' has " +
           fact;
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
            plan.step.results[result].type.element, bytes,
            right.results.at(place), tolerance);
  }
  for (size_t index = 0; index < left.arguments.size(); ++index)
    compare(difference, /*repetition=*/-1, index,
            plan.step.arguments[index].type.element, left.arguments[index],
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
  const ValueType &type = isResult ? plan.step.results[first->index].type
                                   : plan.step.arguments[first->index].type;
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
