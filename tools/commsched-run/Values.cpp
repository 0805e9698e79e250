//===- Values.cpp - Values of arguments and results -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Values.h"

#include "CommSched/Dialect/CommSchedDialect.h"
#include "CommSched/Support/OutputFile.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/InterleavedRange.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/ScopedPrinter.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <cstring>

using namespace mlir;
using namespace mlir::commsched::run;

//===----------------------------------------------------------------------===//
// From MLIR's types
//===----------------------------------------------------------------------===//

/// No bytes for what is no number of 1, 2, 4 or 8 bytes, or no two floats of 4
/// or 8.
static ElementFormat getFormat(Type type) {
  if (isa<IndexType>(type))
    return {type, 8, {}};
  if (type.isInteger(1))
    return {type, 1, {}};
  auto complex = dyn_cast<ComplexType>(type);
  Type number = complex ? complex.getElementType() : type;
  if (!number.isIntOrFloat() || (complex && !isa<FloatType>(number)))
    return {};
  unsigned width = number.getIntOrFloatBitWidth();
  if (width < (complex ? 32 : 8) || width > 64 || !llvm::isPowerOf2_32(width))
    return {};
  return {type, width / (complex ? 4 : 8), dyn_cast<FloatType>(number)};
}

static bool hasRepresentableSize(ArrayRef<int64_t> shape, int64_t bytes) {
  for (int64_t size : shape)
    if (llvm::MulOverflow(bytes, size, bytes))
      return false;
  return true;
}

llvm::Expected<ValueType> mlir::commsched::run::getValueType(Type type) {
  ValueType value;
  llvm::raw_string_ostream(value.text) << type;
  auto fail = [&](const Twine &reason) {
    return llvm::createStringError("has type " + value.text + ", " + reason);
  };

  Type elementType = type;
  if (auto shaped = dyn_cast<ShapedType>(type)) {
    if (!isa<RankedTensorType, MemRefType>(type))
      return fail("which is neither a ranked tensor nor a memref");
    if (!shaped.hasStaticShape())
      return fail("whose shape is dynamic: only programs of static shapes run");
    auto memref = dyn_cast<MemRefType>(type);
    if (memref && !memref.getLayout().isIdentity())
      return fail("whose elements do not lie one after the other");
    value.isScalar = false;
    value.isMemRef = bool(memref);
    value.shape.assign(shaped.getShape().begin(), shaped.getShape().end());
    value.isOnHost = isHostType(type);
    elementType = shaped.getElementType();
  }
  value.element = getFormat(elementType);
  if (value.element.bytes == 0)
    return fail("which does not consist of numbers of 1, 2, 4 or 8 bytes");
  if (!hasRepresentableSize(value.shape, value.element.bytes))
    return fail("which is too large");
  return value;
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

/// The bits of an integer, or of one part of a number.
static uint64_t loadBits(const char *source, int64_t bytes) {
  uint64_t bits = 0;
  std::memcpy(&bits, source, bytes);
  return bits;
}

static double loadDouble(FloatType type, const char *source) {
  unsigned width = type.getWidth();
  return llvm::APFloat(type.getFloatSemantics(),
                       llvm::APInt(width, loadBits(source, width / 8)))
      .convertToDouble();
}

void mlir::commsched::run::writeNumber(const ElementFormat &format,
                                       double value, char *element) {
  uint64_t bits = 0;
  int64_t bytes = format.bytes;
  if (FloatType part = format.part) {
    llvm::APFloat number(value);
    bool losesInfo = false;
    number.convert(part.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven,
                   &losesInfo);
    bits = number.bitcastToAPInt().getZExtValue();
    bytes = part.getWidth() / 8;
  } else if (format.type.isInteger(1)) {
    bits = value != 0;
  } else {
    bits = static_cast<int64_t>(value);
  }
  for (int64_t at = 0; at < format.bytes; at += bytes)
    std::memcpy(element + at, &bits, bytes);
}

static std::string formatFloat(FloatType type, const char *source) {
  // Digits that distinguish a value from its neighbours.
  int digits =
      static_cast<int>(1 + std::ceil(type.getFPMantissaWidth() * 0.30103));
  return llvm::to_string(
      llvm::format("%.*g", digits, loadDouble(type, source)));
}

std::string mlir::commsched::run::formatElement(const ElementFormat &format,
                                                const char *element) {
  if (isa<ComplexType>(format.type))
    return "(" + formatFloat(format.part, element) + ", " +
           formatFloat(format.part, element + format.bytes / 2) + ")";
  if (format.part)
    return formatFloat(format.part, element);
  if (format.type.isInteger(1))
    return *element ? "true" : "false";
  uint64_t bits = loadBits(element, format.bytes);
  if (format.type.isUnsignedInteger())
    return std::to_string(bits);
  return std::to_string(
      llvm::SignExtend64(bits, static_cast<unsigned>(format.bytes * 8)));
}

static bool areEqualFloats(FloatType type, const char *left, const char *right,
                           std::optional<double> tolerance) {
  if (std::memcmp(left, right, type.getWidth() / 8) == 0)
    return true;
  double a = loadDouble(type, left), b = loadDouble(type, right);
  if (std::isnan(a) || std::isnan(b))
    return std::isnan(a) && std::isnan(b);
  if (!tolerance)
    return false;
  if (std::isinf(a) || std::isinf(b))
    return a == b;
  double magnitude = std::max(std::abs(a), std::abs(b));
  return std::abs(a - b) <= *tolerance * (1 + magnitude);
}

bool mlir::commsched::run::areEqual(const ElementFormat &format,
                                    const char *left, const char *right,
                                    std::optional<double> tolerance) {
  FloatType part = format.part;
  if (!part)
    return std::memcmp(left, right, format.bytes) == 0;
  for (int64_t at = 0; at < format.bytes; at += part.getWidth() / 8)
    if (!areEqualFloats(part, left + at, right + at, tolerance))
      return false;
  return true;
}

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
  // The size of the header has two bytes in version 1, and four in version 2.
  size_t width = file[0] == 1 ? 2 : file[0] == 2 ? 4 : 0;
  file = file.drop_front(2);
  if (width == 0 || file.size() < width)
    return false;
  size_t size = width == 2 ? llvm::support::endian::read16le(file.data())
                           : llvm::support::endian::read32le(file.data());
  file = file.drop_front(width);
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

/// Reads the elements of a value of that type. Fails, with a text that names
/// the file and both types, when it holds an array of another type or shape.
static llvm::Expected<Bytes> readNpy(StringRef path, const ValueType &type) {
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

/// In a path, the repetition.
static constexpr StringLiteral repetitionMark = "%i";

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
        replaceMark(replaceRank(pattern, rank), repetitionMark, repetition);
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
      replaceMark(replaceRank(pattern, rank), repetitionMark, *missing) +
      "' for repetition " + Twine(*missing) + " of " + Twine(*repetitions));
}
