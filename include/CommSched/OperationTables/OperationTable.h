//===- OperationTable.h - Interfaces by operation name ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A table describes operations of other dialects by their names: traits,
// effects, collectives, waits, costs, aliases. docs/guide/operation-tables.md
// describes the file format.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_OPERATIONTABLES_OPERATIONTABLE_H
#define COMMSCHED_OPERATIONTABLES_OPERATIONTABLE_H

#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "CommSched/Support/Result.h"
#include "mlir/Support/LLVM.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace mlir::commsched {

/// Traits that a table gives to an operation of a dialect by name. A linked
/// dialect has traits of its own, which a table does not change.
struct OperationTraits {
  bool isTerminator = false;
  bool isReturn = false;
  bool isElementwise = false;
  bool isIsolated = false;
  bool hasRecursiveEffects = false;
  /// The attribute with the value of a constant; empty for other operations.
  std::string constantAttr;
};

/// Consecutive operands: `count` of them, or all that follow if it is -1.
struct OperandSelection {
  int64_t first = 0;
  int64_t count = -1;
};

/// Where a table finds a number, a name or a list: in an attribute, in a
/// constant operand, or in the table itself.
struct ValueSource {
  /// The name of an attribute, inherent or discardable; may be empty.
  std::string attribute;
  /// The number of an operand, or -1.
  int64_t operand = -1;
  /// A value that all operations have.
  std::optional<int64_t> number;

  explicit operator bool() const {
    return !attribute.empty() || operand >= 0 || number;
  }
};

/// What an operation does besides computing its results.
struct EffectEntry {
  enum class Kind { None, Communication, Random, Host, Memory, Unknown };
  Kind kind = Kind::Unknown;
  /// The operands whose memory is read and written (Kind::Memory).
  std::vector<int64_t> reads, writes;
  /// If not empty, the effects are those only while this boolean attribute is
  /// absent or false, and unknown otherwise.
  std::string unlessAttr;
};

/// How the members of a group are written.
enum class GroupForm {
  /// A matrix of ranks with one group in each row; -1 fills short rows.
  Rows,
  /// A matrix of sources and targets. All devices are one group.
  Pairs,
  /// A name, with the size elsewhere or in a `commsched.group` of this name.
  Name,
};

/// A collective, asynchronous or blocking.
struct CollectiveEntry {
  /// None if the first operation of the first region is the collective and this
  /// operation makes it asynchronous.
  std::optional<CollectiveKind> kind;
  ValueSource group;
  GroupForm groupForm = GroupForm::Rows;
  /// Attributes whose presence makes another group of the same ranks.
  std::vector<std::string> groupModes;
  ValueSource groupSize;
  /// Where the reduction is: the number of a region with one operation, an
  /// attribute or operand with a name, or always `reduction`.
  std::optional<ReductionKind> reduction;
  int64_t reductionRegion = -1;
  ValueSource reductionName;
  /// The result that is the future; -1 for a blocking collective.
  int64_t future = -1;
  OperandSelection sent;
  OperandSelection destinations = {0, 0};
  /// Whether one operation may transfer several values; then the type of its
  /// future, with `$results` for the delivered types, and its wait.
  bool isVariadic = false;
  std::string futureType;
  std::string wait;
  /// Attributes in which merged collectives may differ.
  std::vector<std::string> ignored;
};

/// How a cost follows from shapes and attributes.
enum class CostRule {
  /// Nothing is computed or moved.
  Free,
  /// Operands are read and results written.
  Bytes,
  /// Results are written, and nothing is read.
  Results,
  /// Reads as much of the first operand as the results hold.
  Selection,
  /// Reads `operand` and writes as much, in place.
  Update,
  /// Arithmetic for each element of the first result.
  Elementwise,
  /// Arithmetic for each element of the first operand.
  Reduction,
  /// Arithmetic for each element of a result and of a window.
  Window,
  /// A product with dimension numbers, as `stablehlo.dot_general`.
  Contraction,
  /// A product of the last dimension of the first operand and the one before
  /// the last (or only one) of the second: `stablehlo.dot`, matrix products.
  MatrixProduct,
  /// A convolution with dimension numbers, as `stablehlo.convolution`, or with
  /// the channels of the result first in the weights.
  Convolution,
  /// Attention: two products for each key, which are rows of operand 1.
  Attention,
  Sort,
  Fft,
  Cholesky,
  TriangularSolve,
};

struct CostEntry {
  CostRule rule = CostRule::Bytes;
  /// The attribute that the rule reads, if it reads one.
  std::string attribute;
  int64_t operand = 0;
  /// Floating-point operations for each element; those of the region's body if
  /// it is negative.
  double flops = 1;
};

/// How often regions run.
struct RegionEntry {
  RegionUse use = RegionUse::Unknown;
  /// Whether trip counts follow from the first region, a comparison of an
  /// argument with a constant, and the second, which adds a constant to it.
  std::string compare, add, direction;
};

/// What a table says about one operation.
struct OperationEntry {
  /// The full name, such as "stablehlo.add".
  std::string name;
  /// The entry holds for operations whose string attribute `whereAttr` is one
  /// of `whereValues`; for all if it is empty.
  std::string whereAttr;
  std::vector<std::string> whereValues;

  OperationTraits traits;
  EffectEntry effects;
  std::optional<CollectiveEntry> collective;
  /// The operand that is the future, of a wait.
  std::optional<int64_t> waitedFuture;
  /// For each result the operand whose storage it uses, or -1. The last number
  /// holds for all results that follow; -2 is the operand of the same number.
  std::vector<int64_t> aliases;
  /// Whether a result uses the storage only if the operand has no other use.
  bool aliasesInPlace = false;
  std::optional<CostEntry> cost;
  std::optional<OperatorClass> operatorClass;
  std::optional<RegionEntry> regions;
  /// The texts of rules (CommSched/Interfaces/SplitRule.h), of which the first
  /// that fits the types of an operation is its rule.
  std::vector<std::string> splits;
  /// Every dimension can be split, as of any elementwise operation.
  bool splitsElementwise = false;
};

/// A type of a dialect that stands for a tensor.
struct TensorTypeEntry {
  /// The name behind the namespace, such as "vtensor".
  std::string name;
  /// Whether the parameters are `<[2,3],f32>` instead of `<2x3xf32>`.
  bool isList = false;
};

/// A table of operations.
class OperationTable {
public:
  /// Parses `text`, the content of `fileName`. The error names the file, the
  /// operation and the field.
  static Result<std::shared_ptr<const OperationTable>>
  parse(StringRef text, StringRef fileName);

  /// Reads and parses the file `path`.
  static Result<std::shared_ptr<const OperationTable>> read(StringRef path);

  /// The namespaces that the table describes.
  ArrayRef<std::string> getDialects() const { return dialects; }
  ArrayRef<OperationEntry> getEntries() const { return entries; }
  ArrayRef<TensorTypeEntry> getTensorTypes() const { return tensorTypes; }

  /// The classes of operators that `commsched.compute` names.
  const llvm::StringMap<OperatorClass> &getOperators() const {
    return operators;
  }

  /// The reduction that one operation named `name` in a region makes.
  std::optional<ReductionKind> getReduction(StringRef name) const;

  /// Attributes of the module whose product is the number of devices.
  ArrayRef<std::string> getDevices() const { return devices; }

  /// The names, behind the namespace, of types whose values can change.
  ArrayRef<std::string> getMutableTypes() const { return mutableTypes; }

  /// Whether operations that the table does not describe, or whose attributes
  /// it cannot read, are barriers. They are errors otherwise.
  bool isLenient() const { return lenient; }

private:
  friend class TableReader;
  std::vector<std::string> dialects;
  std::vector<OperationEntry> entries;
  std::vector<TensorTypeEntry> tensorTypes;
  llvm::StringMap<ReductionKind> reductions;
  llvm::StringMap<OperatorClass> operators;
  std::vector<std::string> devices;
  std::vector<std::string> mutableTypes;
  bool lenient = false;
};

/// Gives the operations of `table` their interfaces whenever a context loads
/// their dialect, linked or by name. A table that is registered later replaces
/// what earlier ones say about an operation. Interfaces that an operation
/// implements itself stay as they are.
void registerOperationTable(DialectRegistry &registry,
                            std::shared_ptr<const OperationTable> table);

/// Registers the tables that CommSched contains: StableHLO with CHLO, Shardy,
/// the torch dialect, and the operators of PyTorch that `commsched.compute`
/// names.
void registerEmbeddedTables(DialectRegistry &registry);

/// Registers the dialects of the embedded tables by name, and mhlo and vhlo,
/// so that a program that links none of them reads their generic form. Real
/// dialects have to be registered before.
void registerEmbeddedDialects(DialectRegistry &registry);

} // namespace mlir::commsched

#endif // COMMSCHED_OPERATIONTABLES_OPERATIONTABLE_H
