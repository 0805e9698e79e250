//===- Inputs.cpp - What programs are given -------------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Inputs.h"
#include "Npy.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <cstring>

using namespace mlir;
using namespace mlir::commsched::run;

std::string mlir::commsched::run::replaceRank(StringRef path, int32_t rank) {
  SmallVector<StringRef> parts;
  path.split(parts, "%r");
  return llvm::join(parts, std::to_string(rank));
}

//===----------------------------------------------------------------------===//
// Made up
//===----------------------------------------------------------------------===//

/// SplitMix64: the `index`-th of a sequence of well-mixed numbers.
static uint64_t mix(uint64_t seed, uint64_t index) {
  uint64_t z = seed + (index + 1) * 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

/// The values that arguments are made of, as the bytes of elements.
static std::vector<Bytes> getPalette(const ElementFormat &format) {
  std::vector<Bytes> palette;
  auto add = [&](double value) {
    palette.emplace_back(format.bytes);
    writeNumber(format, value, palette.back().data());
  };
  switch (format.numberClass) {
  case NumberClass::Bool:
    add(0);
    add(1);
    break;
  case NumberClass::Signed:
  case NumberClass::Unsigned:
    // Not negative, for they may be positions.
    for (int number = 0; number < 8; ++number)
      add(number);
    break;
  case NumberClass::Float:
  case NumberClass::Complex:
    for (int number = -8; number <= 8; ++number)
      add(number / 8.0);
    break;
  }
  return palette;
}

static Bytes makeUp(uint64_t seed, const ValueType &type) {
  std::vector<Bytes> palette = getPalette(type.element);
  int64_t bytes = type.element.bytes;
  // Parts of complex numbers are drawn one by one.
  if (type.element.numberClass == NumberClass::Complex)
    bytes /= 2;
  Bytes value(type.getNumBytes());
  for (size_t at = 0, index = 0; at < value.size(); at += bytes, ++index)
    std::memcpy(&value[at], palette[mix(seed, index) % palette.size()].data(),
                bytes);
  return value;
}

//===----------------------------------------------------------------------===//
// Choosing
//===----------------------------------------------------------------------===//

/// The file of the argument; empty if it has none.
static std::string findFile(const InputSettings &settings, unsigned index,
                            int32_t rank) {
  auto file = settings.files.find(index);
  if (file != settings.files.end())
    return replaceRank(file->second, rank);
  if (settings.directory.empty())
    return "";
  std::string name = "arg" + std::to_string(index) + ".npy";
  SmallString<128> path(settings.directory);
  llvm::sys::path::append(path, "rank" + Twine(rank), name);
  if (llvm::sys::fs::exists(path))
    return path.str().str();
  path = settings.directory;
  llvm::sys::path::append(path, name);
  return llvm::sys::fs::exists(path) ? path.str().str() : "";
}

llvm::Expected<Bytes>
mlir::commsched::run::makeInput(const InputSettings &settings,
                                const ValueType &type, unsigned index,
                                int32_t rank) {
  std::string file = findFile(settings, index, rank);
  if (file.empty()) {
    uint64_t ofRank = mix(settings.seed, settings.sameOnAllRanks ? 0 : rank);
    return makeUp(mix(ofRank, index), type);
  }
  llvm::Expected<Bytes> value = readNpy(file, type);
  if (!value)
    return llvm::createStringError("argument " + Twine(index) + ": " +
                                   llvm::toString(value.takeError()));
  return value;
}
