//===- Invocation.cpp - The buffers of one rank for one program -----------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Invocation.h"
#include "CommSched/Runtime/Runtime.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Support/MathExtras.h"

#include <cstring>

using namespace mlir;
using namespace mlir::commsched::run;

namespace {

// The layout of descriptors, in words.
enum DescriptorWord : size_t { Allocated, Aligned, Offset, Sizes };

} // namespace

static size_t getDescriptorWords(const ValueType &type) {
  return Sizes + 2 * type.shape.size();
}

static std::vector<int64_t> makeDescriptor(const ValueType &type,
                                           void *buffer) {
  std::vector<int64_t> words(getDescriptorWords(type));
  words[Allocated] = words[Aligned] = reinterpret_cast<int64_t>(buffer);
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

Invocation::Invocation(const Program &program, std::vector<Bytes> inputs)
    : program(program), inputs(std::move(inputs)),
      buffers(program.getSignature().arguments.size()),
      descriptors(program.getSignature().arguments.size()) {
  size_t size = 0;
  for (const ValueType &type : program.getSignature().results) {
    auto [bytes, alignment] = getResultLayout(type);
    size = llvm::alignTo(size, alignment);
    resultOffsets.push_back(size);
    size += bytes;
  }
  results.resize(llvm::divideCeil(size, sizeof(int64_t)));
}

Invocation::~Invocation() {
  for (void *buffer : buffers)
    if (buffer)
      commsched_release(buffer);
}

bool Invocation::allocate() {
  const Signature &signature = program.getSignature();
  for (auto [index, argument] : llvm::enumerate(signature.arguments)) {
    if (argument.type.storage == run::Storage::Scalar)
      continue;
    buffers[index] =
        commsched_allocate(argument.type.getNumBytes(), /*alignment=*/0);
    if (!buffers[index])
      return false;
    descriptors[index] = makeDescriptor(argument.type, buffers[index]);
  }
  return true;
}

bool Invocation::restore() {
  for (auto [buffer, input] : llvm::zip_equal(buffers, inputs))
    if (buffer && commsched_upload(buffer, input.data(),
                                   static_cast<int64_t>(input.size())))
      return false;
  return true;
}

void Invocation::call() {
  const Signature &signature = program.getSignature();
  bool returned = isReturned(signature);
  pointers.clear();
  packed.clear();
  pointers.reserve(signature.arguments.size() + 1);
  auto pass = [&](void *pointer) {
    pointers.push_back(pointer);
    packed.push_back(&pointers.back());
  };
  if (!signature.results.empty() && !returned)
    pass(results.data());
  for (auto [index, descriptor] : llvm::enumerate(descriptors)) {
    bool scalar =
        signature.arguments[index].type.storage == run::Storage::Scalar;
    if (scalar)
      packed.push_back(inputs[index].data());
    else
      pass(descriptor.data());
  }
  if (returned)
    packed.push_back(results.data());
  program.call(packed.data());
}

bool Invocation::takeOutputs(Outputs &outputs) {
  const Signature &signature = program.getSignature();
  auto download = [](const ValueType &type, const char *buffer) {
    Bytes bytes(type.getNumBytes());
    bool failed = commsched_download(bytes.data(), buffer,
                                     static_cast<int64_t>(bytes.size()));
    return failed ? std::nullopt : std::optional(std::move(bytes));
  };
  const char *all = reinterpret_cast<const char *>(results.data());
  for (auto [type, offset] :
       llvm::zip_equal(signature.results, resultOffsets)) {
    if (type.storage == run::Storage::Scalar) {
      outputs.results.emplace_back(all + offset,
                                   all + offset + type.element.bytes);
      continue;
    }
    const auto *words = reinterpret_cast<const int64_t *>(all + offset);
    std::optional<Bytes> bytes =
        download(type, reinterpret_cast<const char *>(words[Aligned]) +
                           words[Offset] * type.element.bytes);
    if (!bytes)
      return false;
    outputs.results.push_back(std::move(*bytes));
  }
  for (auto [argument, buffer] :
       llvm::zip_equal(signature.arguments, buffers)) {
    Bytes &kept = outputs.arguments.emplace_back();
    if (argument.type.storage != run::Storage::MemRef || argument.scratch)
      continue;
    std::optional<Bytes> bytes =
        download(argument.type, static_cast<const char *>(buffer));
    if (!bytes)
      return false;
    kept = std::move(*bytes);
  }
  releaseResults();
  return true;
}

void Invocation::releaseResults() {
  // Two results may be one buffer.
  llvm::SmallPtrSet<void *, 8> released;
  const char *all = reinterpret_cast<const char *>(results.data());
  for (auto [type, offset] :
       llvm::zip_equal(program.getSignature().results, resultOffsets)) {
    if (type.storage == run::Storage::Scalar)
      continue;
    const auto *words = reinterpret_cast<const int64_t *>(all + offset);
    void *buffer = reinterpret_cast<void *>(words[Allocated]);
    if (released.insert(buffer).second)
      commsched_release(buffer);
  }
}
