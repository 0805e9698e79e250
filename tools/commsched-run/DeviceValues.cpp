//===- DeviceValues.cpp - Values between calls of functions ---------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceValues.h"

#include "CommSched/Runtime/Runtime.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::run;

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

std::optional<DeviceValue>
mlir::commsched::run::allocateValue(const ValueType &type) {
  DeviceValue value;
  if (type.storage == run::Storage::Scalar) {
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

bool mlir::commsched::run::upload(DeviceValue &value, const Bytes &bytes) {
  if (value.buffer)
    return commsched_upload(value.data, bytes.data(),
                            static_cast<int64_t>(bytes.size())) == 0;
  value.scalar = bytes;
  return true;
}

std::optional<Bytes> mlir::commsched::run::download(const ValueType &type,
                                                    const DeviceValue &value) {
  if (!value.buffer)
    return value.scalar;
  Bytes bytes(type.getNumBytes());
  if (commsched_download(bytes.data(), value.data,
                         static_cast<int64_t>(bytes.size())))
    return std::nullopt;
  return bytes;
}

std::optional<DeviceValue>
mlir::commsched::run::copyValue(const ValueType &type,
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
// Calls
//===----------------------------------------------------------------------===//

namespace {

/// A memref as it is passed: allocated and aligned pointer, offset, sizes,
/// strides.
using Descriptor = std::vector<int64_t>;

// The layout of descriptors, in words.
enum DescriptorWord : size_t { Allocated, Aligned, Offset, Sizes };

} // namespace

static size_t getDescriptorWords(const ValueType &type) {
  return Sizes + 2 * type.shape.size();
}

static Descriptor makeDescriptor(const ValueType &type,
                                 const DeviceValue &value) {
  Descriptor words(getDescriptorWords(type));
  words[Allocated] = reinterpret_cast<int64_t>(value.buffer.get());
  words[Aligned] = reinterpret_cast<int64_t>(value.data);
  size_t rank = type.shape.size();
  int64_t stride = 1;
  for (size_t dim = rank; dim-- > 0;) {
    words[Sizes + dim] = type.shape[dim];
    words[Sizes + rank + dim] = stride;
    stride *= type.shape[dim];
  }
  return words;
}

/// Size and alignment of a result in the struct of all.
static std::pair<size_t, size_t> getResultLayout(const ValueType &type) {
  if (type.storage != run::Storage::Scalar)
    return {getDescriptorWords(type) * sizeof(int64_t), alignof(int64_t)};
  size_t bytes = type.element.bytes;
  bool complex = type.element.numberClass == NumberClass::Complex;
  return {bytes, complex ? bytes / 2 : bytes};
}

/// Whether the C interface returns the only result rather than writing it where
/// its first argument points to.
static bool isReturned(const Signature &signature) {
  return signature.results.size() == 1 &&
         signature.results.front().storage == run::Storage::Scalar &&
         signature.results.front().element.numberClass != NumberClass::Complex;
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
    if (type.storage == run::Storage::Scalar) {
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

std::vector<DeviceValue>
mlir::commsched::run::callFunction(void (*code)(void **),
                                   const Signature &signature,
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

  // Addresses of descriptors, and of scalars.
  std::vector<Descriptor> descriptors;
  std::vector<void *> pointers, packed;
  descriptors.reserve(arguments.size());
  pointers.reserve(arguments.size() + 1);
  auto pass = [&](void *pointer) {
    pointers.push_back(pointer);
    packed.push_back(&pointers.back());
  };
  bool returned = isReturned(signature);
  if (!signature.results.empty() && !returned)
    pass(results.data());
  for (auto [argument, value] :
       llvm::zip_equal(signature.arguments, arguments)) {
    if (argument.type.storage == run::Storage::Scalar) {
      packed.push_back(value.scalar.data());
      continue;
    }
    descriptors.push_back(makeDescriptor(argument.type, value));
    pass(descriptors.back().data());
  }
  if (returned)
    packed.push_back(results.data());
  code(packed.data());
  return takeResults(signature, offsets,
                     reinterpret_cast<const char *>(results.data()));
}
