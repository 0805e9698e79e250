//===- FieldReader.h - Reads what tables say of operations ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_OPERATIONTABLES_FIELDREADER_H
#define COMMSCHED_LIB_OPERATIONTABLES_FIELDREADER_H

#include "CommSched/OperationTables/OperationTable.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/JSON.h"

#include <functional>

namespace mlir::commsched::detail {

/// Reads JSON of a known structure, and the fields of one operation. Functions
/// return false after an error; the first error is kept, and names the place: a
/// file, an item and a field.
class FieldReader {
public:
  using Value = llvm::json::Value;

  /// A field of an object and the function that reads its value.
  struct Field {
    StringRef name;
    std::function<bool(const Value &)> read;
  };

  explicit FieldReader(StringRef fileName) : fileName(fileName) {}

  bool fail(const Twine &message);
  const std::string &getError() const { return error; }

  /// Names what is read, for errors: `operation 'my.add'`.
  void setItem(const Twine &name) {
    item = name.str();
    path.clear();
  }

  /// Reads the fields of an object, all of which are optional. Other fields are
  /// errors.
  bool readObject(const Value &value, ArrayRef<Field> fields);
  /// Reads the elements of an array with `read`; `what` they are is for errors.
  bool readArray(const Value &value, StringRef what,
                 function_ref<bool(const Value &)> read);
  /// Reads all fields of an object with `read`.
  bool readMap(const Value &value,
               function_ref<bool(StringRef, const Value &)> read);

  bool read(const Value &value, bool &result);
  /// A number that is at least `least`.
  bool read(const Value &value, int64_t &result, int64_t least = 0);
  /// A text that is not empty.
  bool read(const Value &value, std::string &result);
  /// Numbers, or texts.
  template <typename T> bool read(const Value &value, std::vector<T> &result) {
    return readArray(value, std::is_same_v<T, int64_t> ? "numbers" : "texts",
                     [&](const Value &element) {
                       return read(element, result.emplace_back());
                     });
  }

  /// One of several names.
  template <typename T>
  bool readName(const Value &value, ArrayRef<std::pair<StringLiteral, T>> names,
                T &result) {
    std::optional<StringRef> text = value.getAsString();
    for (const auto &[name, known] : names)
      if (text == StringRef(name)) {
        result = known;
        return true;
      }
    std::string expected;
    for (const auto &[name, known] : names)
      expected += (expected.empty() ? "'" : ", '") + name.str() + "'";
    return fail("expected one of " + expected + ", not " + describe(value));
  }

  /// A field that `read` reads into `result`.
  template <typename T> Field field(StringRef name, T &result) {
    return {name, [&](const Value &value) { return read(value, result); }};
  }
  /// A field that is one of several names. `names` has to live as long.
  template <typename T, size_t N>
  Field field(StringRef name, const std::pair<StringLiteral, T> (&names)[N],
              T &result) {
    return {name, [&](const Value &value) {
              return readName<T>(value, names, result);
            }};
  }

  /// `value` as text, for errors.
  static std::string describe(const Value &value);

  bool readTraits(const Value &value, OperationTraits &traits);
  bool readWhere(const Value &value, OperationEntry &entry);
  bool readEffects(const Value &value, EffectEntry &effects);
  bool readCollective(const Value &value, CollectiveEntry &collective);
  bool readReductionKind(const Value &value, ReductionKind &kind);
  bool readAlias(const Value &value, OperationEntry &entry);
  bool readCost(const Value &value, CostEntry &cost);
  bool readClass(const Value &value, OperatorClass &result);
  bool readSplit(const Value &value, OperationEntry &entry);
  bool readRegions(const Value &value, RegionEntry &regions);

private:
  bool readSource(const Value &value, ValueSource &source);
  bool readSelection(const Value &value, OperandSelection &selection);
  bool readKind(const Value &value, CollectiveEntry &collective);
  bool readReduction(const Value &value, CollectiveEntry &collective);
  bool checkCollective(const CollectiveEntry &collective);
  bool readFlops(const Value &value, CostEntry &cost);

  std::string fileName, item, error;
  /// The names of the fields that are being read, outermost first.
  SmallVector<std::string> path;
};

} // namespace mlir::commsched::detail

#endif // COMMSCHED_LIB_OPERATIONTABLES_FIELDREADER_H
