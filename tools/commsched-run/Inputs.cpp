//===- Inputs.cpp - Inputs and outputs of programs ------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Inputs.h"

#include "CommSched/Support/OutputFile.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InterleavedRange.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/ScopedPrinter.h"
#include "llvm/Support/raw_ostream.h"

#include <cstring>

using namespace mlir;
using namespace mlir::commsched::run;

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

llvm::Error
mlir::commsched::run::writeFile(StringRef path,
                                function_ref<void(raw_ostream &)> print) {
  auto fail = [&](const std::string &reason) {
    return llvm::createStringError("cannot write '" + path + "': " + reason);
  };
  StringRef directory = llvm::sys::path::parent_path(path);
  if (!directory.empty())
    if (std::error_code code = llvm::sys::fs::create_directories(directory))
      return fail(code.message());
  OutputFile file(path);
  if (!file.getError())
    print(file.os());
  if (std::error_code code = file.keep())
    return fail(code.message());
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// NumPy arrays
//===----------------------------------------------------------------------===//

static constexpr StringLiteral magic = "\x93NUMPY";
/// The data begins at a multiple of this.
static constexpr size_t alignment = 64;

/// The kind of NumPy's type that stands for the format.
static char getKind(const ElementFormat &format) {
  if (format.type.isInteger(1))
    return 'b';
  if (isa<ComplexType>(format.type))
    return 'c';
  if (isa<Float16Type, Float32Type, Float64Type>(format.type))
    return 'f';
  return format.part || format.type.isUnsignedInteger() ? 'u' : 'i';
}

static std::string getDescription(const ElementFormat &format) {
  return (Twine(format.bytes == 1 ? "|" : "<") + Twine(getKind(format)) +
          Twine(format.bytes))
      .str();
}

/// A Python tuple.
static std::string getShapeText(ArrayRef<int64_t> shape) {
  return llvm::to_string(
      llvm::interleaved(shape, ", ", "(", shape.size() == 1 ? ",)" : ")"));
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

llvm::Error mlir::commsched::run::writeNpy(StringRef path,
                                           const ValueType &type,
                                           const Bytes &bytes) {
  std::string header =
      "{'descr': '" + getDescription(type.element) +
      "', 'fortran_order': False, 'shape': " + getShapeText(type.shape) + ", }";
  size_t prefix = magic.size() + 4;
  header.append(alignment - 1 - (prefix + header.size()) % alignment, ' ');
  header += '\n';
  char sizes[4] = {1, 0, 0, 0};
  llvm::support::endian::write16le(sizes + 2,
                                   static_cast<uint16_t>(header.size()));

  return writeFile(path, [&](raw_ostream &os) {
    os << magic;
    os.write(sizes, sizeof(sizes));
    os << header;
    os.write(bytes.data(), bytes.size());
  });
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// Whether an array of that description has the elements of the format.
static bool matches(StringRef description, const ElementFormat &format) {
  if (description.size() < 3)
    return false;
  char order = description[0], kind = description[1];
  int64_t size = 0;
  if (description.drop_front(2).getAsInteger(10, size) || size != format.bytes)
    return false;
  // Arrays of ml_dtypes come as opaque elements.
  bool isOpaque = kind == 'V' && format.part && getKind(format) == 'u';
  if (size > 1 && order != '<')
    return isOpaque && order == '|';
  return isOpaque || kind == getKind(format);
}

/// Splits a file into its header and its data.
static bool splitFile(StringRef file, StringRef &header, StringRef &data) {
  if (!file.consume_front(magic) || file.size() < 4)
    return false;
  unsigned version = static_cast<unsigned char>(file[0]);
  file = file.drop_front(2);
  size_t size = 0;
  if (version == 1) {
    size = llvm::support::endian::read16le(file.data());
    file = file.drop_front(2);
  } else if (version == 2 && file.size() >= 4) {
    size = llvm::support::endian::read32le(file.data());
    file = file.drop_front(4);
  } else {
    return false;
  }
  if (file.size() < size)
    return false;
  header = file.take_front(size);
  data = file.drop_front(size);
  return true;
}

/// The first group of `pattern` in `header`; empty if there is none.
static StringRef findGroup(StringRef pattern, StringRef header) {
  SmallVector<StringRef, 2> groups;
  return llvm::Regex(pattern).match(header, &groups) ? groups[1] : StringRef();
}

static bool parseShape(StringRef text, SmallVectorImpl<int64_t> &shape) {
  SmallVector<StringRef> sizes;
  text.split(sizes, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef size : sizes) {
    if (size.trim().empty())
      continue;
    if (size.trim().getAsInteger(10, shape.emplace_back()))
      return false;
  }
  return true;
}

static llvm::Expected<Bytes> parseNpy(StringRef file, const ValueType &type) {
  StringRef header, data;
  if (!splitFile(file, header, data))
    return llvm::createStringError("is not a .npy file of version 1.0 or 2.0");
  StringRef description = findGroup("'descr': *'([^']*)'", header);
  StringRef fortran = findGroup("'fortran_order': *(True|False)", header);
  SmallVector<int64_t> shape;
  if (description.empty() || fortran.empty() ||
      !llvm::Regex("'shape': *\\(").match(header) ||
      !parseShape(findGroup("'shape': *\\(([^)]*)\\)", header), shape))
    return llvm::createStringError(
        "has a header without 'descr', 'fortran_order' and 'shape' of an array "
        "of numbers");
  if (fortran == "True" && shape.size() > 1)
    return llvm::createStringError(
        "is in column-major order; save numpy.ascontiguousarray of it");
  if (!matches(description, type.element) || shape != type.shape)
    return llvm::createStringError(
        "holds an array '" + description + "' of shape " + getShapeText(shape) +
        ", but " + type.text + " needs '" + getDescription(type.element) +
        "' of shape " + getShapeText(type.shape));
  if (data.size() != static_cast<size_t>(type.getNumBytes()))
    return llvm::createStringError("has " + Twine(data.size()) +
                                   " bytes of data, but its header says " +
                                   Twine(type.getNumBytes()));
  return Bytes(data.begin(), data.end());
}

llvm::Expected<Bytes> mlir::commsched::run::readNpy(StringRef path,
                                                    const ValueType &type) {
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> buffer =
      llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                  /*RequiresNullTerminator=*/false);
  if (!buffer)
    return llvm::createStringError("cannot read '" + path +
                                   "': " + buffer.getError().message());
  llvm::Expected<Bytes> bytes = parseNpy((*buffer)->getBuffer(), type);
  if (!bytes)
    return llvm::createStringError("'" + path + "' " +
                                   llvm::toString(bytes.takeError()));
  return bytes;
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

static std::string replaceMark(StringRef path, StringRef mark, int64_t number) {
  return llvm::join(llvm::split(path, mark), std::to_string(number));
}

std::string mlir::commsched::run::replaceRank(StringRef path, int32_t rank) {
  return replaceMark(path, "%r", rank);
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
  // Integers are not negative, for they may be positions.
  int first = format.part ? -8 : 0;
  int last = format.part ? 8 : format.type.isInteger(1) ? 1 : 7;
  std::vector<Bytes> palette;
  for (int number = first; number <= last; ++number) {
    palette.emplace_back(format.bytes);
    writeNumber(format, format.part ? number / 8.0 : number,
                palette.back().data());
  }
  return palette;
}

static Bytes makeUp(uint64_t seed, const ValueType &type) {
  std::vector<Bytes> palette = getPalette(type.element);
  // Parts of complex numbers are drawn one by one.
  int64_t bytes = type.element.bytes;
  if (isa<ComplexType>(type.element.type))
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

/// "%i" in a path is the repetition.
static constexpr StringLiteral repetitionMark = "%i";

static std::string replaceRepetition(StringRef path, int64_t repetition) {
  return replaceMark(path, repetitionMark, repetition);
}

/// The paths at which the argument may have a file, with their marks: those of
/// one repetition before those of all.
static std::vector<std::string> getPatterns(const InputSettings &settings,
                                            unsigned index) {
  if (auto file = settings.files.find(index); file != settings.files.end())
    return {file->second};
  if (settings.directory.empty())
    return {};
  std::vector<std::string> patterns;
  for (const char *folder :
       {"/rank%r/iteration%i/", "/iteration%i/", "/rank%r/", "/"})
    patterns.push_back(settings.directory + folder + "arg" +
                       std::to_string(index) + ".npy");
  return patterns;
}

/// The file of the argument, or, with `onlyOwn`, that of the repetition; empty
/// if it has none.
static std::string findFile(const InputSettings &settings, unsigned index,
                            int32_t rank, int64_t repetition,
                            bool onlyOwn = false) {
  for (const std::string &pattern : getPatterns(settings, index)) {
    bool isOwn = StringRef(pattern).contains(repetitionMark);
    std::string path =
        replaceRepetition(replaceRank(pattern, rank), repetition);
    bool isNamed = !onlyOwn && settings.files.count(index);
    if ((isOwn || !onlyOwn) && (isNamed || llvm::sys::fs::exists(path)))
      return path;
  }
  return "";
}

llvm::Expected<Bytes>
mlir::commsched::run::makeInput(const InputSettings &settings,
                                const ValueType &type, unsigned index,
                                int32_t rank, int64_t repetition) {
  std::string file = findFile(settings, index, rank, repetition);
  if (file.empty()) {
    uint64_t ofRank = mix(settings.seed, settings.sameOnAllRanks ? 0 : rank);
    uint64_t ofArgument = mix(ofRank, index);
    return makeUp(repetition == 0 ? ofArgument : mix(ofArgument, repetition),
                  type);
  }
  llvm::Expected<Bytes> value = readNpy(file, type);
  if (!value)
    return llvm::createStringError("argument " + Twine(index) + ": " +
                                   llvm::toString(value.takeError()));
  return value;
}

llvm::Error
mlir::commsched::run::checkInputFiles(const InputSettings &settings,
                                      unsigned index, int32_t rank,
                                      std::optional<int64_t> repetitions) {
  auto file = settings.files.find(index);
  bool isNamed = file != settings.files.end();
  std::string pattern = isNamed ? file->second
                                : settings.directory + "/iteration%i/arg" +
                                      std::to_string(index) + ".npy";
  auto numbers = llvm::seq<int64_t>(0, repetitions.value_or(1));
  auto isThere = [&](int64_t number) {
    return !findFile(settings, index, rank, number, /*onlyOwn=*/true).empty();
  };
  bool hasOwn = (isNamed && StringRef(pattern).contains(repetitionMark)) ||
                llvm::any_of(numbers, isThere);
  auto missing = llvm::find_if_not(numbers, isThere);
  if (!hasOwn || (repetitions && missing == numbers.end()))
    return llvm::Error::success();
  if (!repetitions)
    return llvm::createStringError(
        "argument " + Twine(index) + ": '" + pattern +
        "' is of a single repetition, but the argument is not an input that "
        "each repetition has anew");
  return llvm::createStringError(
      "argument " + Twine(index) + ": there is no '" +
      replaceRepetition(replaceRank(pattern, rank), *missing) +
      "' for repetition " + Twine(*missing) + " of " + Twine(*repetitions));
}
