//===- Values.h - Values of arguments and results ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arguments and results of an entry function in host memory: scalars, and
// tensors or memrefs of static shape with dense elements in row-major order. A
// number is held as its bytes; floats of every format go through llvm::APFloat.
//
// The values of a program's arguments on one rank, which come from files or
// from a seed, and the files that the tool reads and writes. Floats made from a
// seed are eighths of small integers, so that sums of a few of them are exact
// in any order.
//
// NumPy files have the format version 1.0 (and 2.0 for reading), row-major and
// little endian. Element formats that NumPy lacks, such as bf16, are written as
// unsigned integers of the same bits; what NumPy saves for arrays of ml_dtypes,
// opaque elements of the same size, is read too.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TOOLS_COMMSCHED_RUN_VALUES_H
#define COMMSCHED_TOOLS_COMMSCHED_RUN_VALUES_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/Support/LLVM.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mlir::commsched::run {

/// One number in memory. Integers without a sign count as signed.
struct ElementFormat {
  Type type;
  int64_t bytes = 0;
  /// A float's own type, and that of both parts of a complex number; null for
  /// integers.
  FloatType part;
};

struct ValueType {
  bool isScalar = true;
  /// If not, whether it is a memref rather than a tensor.
  bool isMemRef = false;
  /// In the memory of the host, where offloads put it.
  bool isOnHost = false;
  ElementFormat element;
  /// Empty for scalars.
  SmallVector<int64_t> shape;
  /// As MLIR prints it.
  std::string text;

  int64_t getNumBytes() const {
    return ShapedType::getNumElements(shape) * element.bytes;
  }
};

/// The elements of a value, `getNumBytes()` of them.
using Bytes = std::vector<char>;

/// Fails, with the reason in words, for what cannot be passed: a dynamic shape,
/// a layout that is not row-major, an element that is no number of whole bytes.
llvm::Expected<ValueType> getValueType(Type type);

/// Writes `value` in the element's format, rounded to it; its imaginary part,
/// if any, too.
void writeNumber(const ElementFormat &format, double value, char *element);

/// An element with as many digits as identify it.
std::string formatElement(const ElementFormat &format, const char *element);

/// Whether two elements count as equal: the same bytes, both not a number, or
/// floats that differ by no more than `tolerance` times (1 + the larger
/// magnitude).
bool areEqual(const ElementFormat &format, const char *left, const char *right,
              std::optional<double> tolerance);

/// Writes what `print` prints to the file of that path; `-` is standard output.
/// Makes the directories that are missing. Errors name the file.
llvm::Error writeFile(StringRef path, function_ref<void(raw_ostream &)> print);

/// Writes the elements of a value of that type. The file appears when it is
/// complete.
llvm::Error writeNpy(StringRef path, const ValueType &type, const Bytes &bytes);

struct InputSettings {
  uint64_t seed = 0;
  /// All ranks are given what rank 0 is given.
  bool sameOnAllRanks = false;
  /// By the argument's index; "%r" in a path is the rank, "%i" the repetition.
  std::map<unsigned, std::string> files;
  /// The folder that may contain `rankR/argK.npy` or else `argK.npy`, each also
  /// in a folder `iterationI` of one repetition; empty for none.
  std::string directory;
};

/// `path` with the rank in place of each "%r".
std::string replaceRank(StringRef path, int32_t rank);

/// The value of argument `index` on `rank` in a repetition.
llvm::Expected<Bytes> makeInput(const InputSettings &settings,
                                const ValueType &type, unsigned index,
                                int32_t rank, int64_t repetition);

/// Fails if only some of the `repetitions` of an argument have a file, or if
/// there are files of single ones, but the argument is the same in all
/// (`repetitions` is none).
llvm::Error checkInputFiles(const InputSettings &settings, unsigned index,
                            int32_t rank, std::optional<int64_t> repetitions);

} // namespace mlir::commsched::run

#endif // COMMSCHED_TOOLS_COMMSCHED_RUN_VALUES_H
