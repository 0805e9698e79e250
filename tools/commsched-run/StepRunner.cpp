//===- StepRunner.cpp - Calls of a step on one rank -----------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepRunner.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::commsched::run;

//===----------------------------------------------------------------------===//
// Values in memory of the runtime
//===----------------------------------------------------------------------===//

/// A value with undefined content; none where the runtime knows an error.
static std::optional<DeviceValue> allocateValue(const ValueType &type) {
  DeviceValue value;
  if (type.isScalar) {
    value.scalar.resize(type.element.bytes);
    return value;
  }
  auto *allocate = type.isOnHost ? commsched_allocate_host : commsched_allocate;
  void *buffer = allocate(type.getNumBytes(), /*alignment=*/0);
  if (!buffer)
    return std::nullopt;
  value.buffer = std::shared_ptr<void>(buffer, commsched_release);
  value.data = static_cast<char *>(buffer);
  return value;
}

/// Gives the value the content `bytes`; false likewise.
static bool upload(DeviceValue &value, const Bytes &bytes) {
  if (value.buffer)
    return commsched_upload(value.data, bytes.data(),
                            static_cast<int64_t>(bytes.size())) == 0;
  value.scalar = bytes;
  return true;
}

/// The content of the value; none likewise.
static std::optional<Bytes> download(const ValueType &type,
                                     const DeviceValue &value) {
  if (!value.buffer)
    return value.scalar;
  Bytes bytes(type.getNumBytes());
  if (commsched_download(bytes.data(), value.data,
                         static_cast<int64_t>(bytes.size())))
    return std::nullopt;
  return bytes;
}

/// A value of its own with the same content; none likewise.
static std::optional<DeviceValue> copyValue(const ValueType &type,
                                            const DeviceValue &value) {
  std::optional<DeviceValue> copy = allocateValue(type);
  if (!copy || !copy->buffer)
    return value.buffer ? copy : value;
  int64_t bytes = type.getNumBytes();
  if (bytes != 0 &&
      commsched_copy(copy->data, /*target_type=*/-1, bytes, value.data,
                     /*source_type=*/-1, bytes, /*rows=*/1, bytes))
    return std::nullopt;
  return copy;
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
static std::vector<DeviceValue> takeResults(const Signature &signature,
                                            ArrayRef<size_t> offsets,
                                            const char *all) {
  std::vector<DeviceValue> values;
  // Two results may be one buffer.
  llvm::DenseMap<void *, std::shared_ptr<void>> owners;
  for (auto [type, offset] : llvm::zip_equal(signature.results, offsets)) {
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
callFunction(void (*code)(void **), const Signature &signature,
             std::vector<DeviceValue> &arguments) {
  // The struct of all results, and where each of them lies in it.
  std::vector<size_t> offsets;
  size_t size = 0;
  for (const ValueType &type : signature.results) {
    auto [bytes, alignment] = getResultLayout(type);
    size = llvm::alignTo(size, alignment);
    offsets.push_back(size);
    size += bytes;
  }
  std::vector<int64_t> results(llvm::divideCeil(size, sizeof(int64_t)));

  // Addresses of scalars, and of the words of descriptors.
  std::vector<Descriptor> descriptors;
  std::vector<void *> packed;
  for (auto [argument, value] :
       llvm::zip_equal(signature.arguments, arguments)) {
    if (argument.type.isScalar) {
      packed.push_back(value.scalar.data());
      continue;
    }
    descriptors.push_back(makeDescriptor(argument.type, value));
    for (int64_t &word : descriptors.back())
      packed.push_back(&word);
  }
  packed.push_back(results.data());
  code(packed.data());
  return takeResults(signature, offsets,
                     reinterpret_cast<const char *>(results.data()));
}

//===----------------------------------------------------------------------===//
// Data
//===----------------------------------------------------------------------===//

StepRunner::StepRunner(const CompiledProgram &program,
                       const InputSettings &inputs, int32_t rank)
    : program(program), plan(program.plan), inputs(inputs), rank(rank),
      initial(plan.signature.arguments.size()),
      shared(plan.signature.arguments.size()) {}

/// Whether the data of an argument of a function is in one storage for all
/// calls. A tensor that the function may overwrite is not.
bool StepRunner::isShared(const PlannedFunction &function,
                          size_t argument) const {
  const Operand &operand = function.operands[argument];
  const Argument &type = function.signature.arguments[argument];
  return !operand.fedBy && !plan.isInput[operand.argument] &&
         !plan.isFed[operand.argument] &&
         (type.type.isMemRef || !type.isFreeable);
}

llvm::Expected<Bytes> StepRunner::readInput(unsigned argument,
                                            int64_t repetition) const {
  return makeInput(inputs, plan.signature.arguments[argument].type, argument,
                   rank, plan.isInput[argument] ? repetition : 0);
}

llvm::Error StepRunner::readInputs() {
  for (unsigned argument = 0; argument < initial.size(); ++argument) {
    std::optional<int64_t> ownFiles;
    if (plan.isInput[argument])
      ownFiles = plan.repetitions;
    if (plan.repetitions)
      if (llvm::Error error = checkInputFiles(inputs, argument, rank, ownFiles))
        return error;
    llvm::Expected<Bytes> input = readInput(argument, 0);
    if (!input)
      return input.takeError();
    if (!plan.isInput[argument])
      initial[argument] = std::move(*input);
  }
  return llvm::Error::success();
}

llvm::Error StepRunner::allocate() {
  for (const PlannedFunction &function : plan.functions)
    for (size_t index = 0; index < function.operands.size(); ++index) {
      unsigned argument = function.operands[index].argument;
      if (!isShared(function, index) || shared[argument])
        continue;
      std::optional<DeviceValue> value =
          allocateValue(plan.signature.arguments[argument].type);
      if (!value)
        return getRuntimeError();
      shared[argument] = std::move(*value);
    }
  return llvm::Error::success();
}

/// Adds the data that a call takes; nothing at the place of other arguments.
llvm::Error StepRunner::stage(int64_t index) {
  PlannedCall call = plan.getCall(index);
  const PlannedFunction &function = plan.functions[call.function];
  std::vector<DeviceValue> values(function.operands.size());
  for (auto [number, operand] : llvm::enumerate(function.operands)) {
    if (operand.fedBy && index != 0)
      continue;
    unsigned argument = operand.argument;
    if (isShared(function, number)) {
      values[number] = shared[argument];
      continue;
    }
    Bytes made;
    if (plan.isInput[argument]) {
      llvm::Expected<Bytes> input =
          readInput(argument, call.firstTaken + operand.repetition);
      if (!input)
        return input.takeError();
      made = std::move(*input);
    }
    std::optional<DeviceValue> value =
        allocateValue(plan.signature.arguments[argument].type);
    if (!value ||
        !upload(*value, plan.isInput[argument] ? made : initial[argument]))
      return getRuntimeError();
    values[number] = std::move(*value);
  }
  staged.push_back(std::move(values));
  return llvm::Error::success();
}

llvm::Error StepRunner::restore(bool all) {
  staged.clear();
  for (auto [value, bytes] : llvm::zip_equal(shared, initial))
    if (value && !upload(value, bytes))
      return getRuntimeError();
  int64_t numCalls = all ? plan.getNumCalls() : 1;
  for (int64_t index = 0; index < numCalls; ++index)
    if (llvm::Error error = stage(index))
      return error;
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// The calls of a run
//===----------------------------------------------------------------------===//

/// Completes the data of a call by what the call before returned, and releases
/// what it does not take.
llvm::Error StepRunner::takeOperands(int64_t index,
                                     std::vector<DeviceValue> &arguments) {
  const PlannedFunction &function =
      plan.functions[plan.getCall(index).function];
  if (index != 0)
    for (auto [argument, operand] :
         llvm::zip_equal(arguments, function.operands))
      if (operand.fedBy)
        argument = last.results[*operand.fedBy];
  last.results.clear();
  // What the function may overwrite must not be anything else.
  for (auto [argument, operand, type] : llvm::zip_equal(
           arguments, function.operands, function.signature.arguments)) {
    if (!type.isFreeable || !operand.fedBy || argument.buffer.use_count() <= 1)
      continue;
    std::optional<DeviceValue> copy = copyValue(type.type, argument);
    if (!copy)
      return getRuntimeError();
    argument = std::move(*copy);
  }
  return llvm::Error::success();
}

llvm::Error StepRunner::run(Outputs *outputs) {
  for (int64_t index = 0, end = plan.getNumCalls(); index < end; ++index) {
    if (outputs && index != 0)
      if (llvm::Error error = keepResults(*outputs))
        return error;
    if (staged.empty())
      if (llvm::Error error = stage(index))
        return error;
    std::vector<DeviceValue> arguments = std::move(staged.front());
    staged.pop_front();
    if (llvm::Error error = takeOperands(index, arguments))
      return error;
    PlannedCall call = plan.getCall(index);
    last = {call,
            callFunction(program.code[call.function],
                         plan.functions[call.function].signature, arguments)};
    if (llvm::Error error = getRuntimeError())
      return error;
  }
  return llvm::Error::success();
}

/// Keeps the results of the last call.
llvm::Error StepRunner::keepResults(Outputs &outputs) {
  const PlannedFunction &function = plan.functions[last.call.function];
  for (auto [type, returned, value] : llvm::zip_equal(
           function.signature.results, function.returned, last.results)) {
    if (!returned)
      continue;
    int64_t repetition = last.call.firstReturned + returned->repetition;
    if (!plan.isKept(returned->result, repetition))
      continue;
    std::optional<Bytes> bytes = download(type, value);
    if (!bytes)
      return getRuntimeError();
    outputs.results[{repetition, returned->result}] = std::move(*bytes);
  }
  return llvm::Error::success();
}

llvm::Error StepRunner::finish(Outputs *outputs) {
  if (outputs) {
    if (llvm::Error error = keepResults(*outputs))
      return error;
    for (auto [argument, value] :
         llvm::zip_equal(plan.signature.arguments, shared)) {
      Bytes &kept = outputs->arguments.emplace_back();
      if (!argument.type.isMemRef || argument.scratch || !value)
        continue;
      std::optional<Bytes> bytes = download(argument.type, value);
      if (!bytes)
        return getRuntimeError();
      kept = std::move(*bytes);
    }
  }
  last.results.clear();
  return llvm::Error::success();
}
