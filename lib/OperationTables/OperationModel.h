//===- OperationModel.h - What tables say about an operation ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_OPERATIONTABLES_OPERATIONMODEL_H
#define COMMSCHED_LIB_OPERATIONTABLES_OPERATIONMODEL_H

#include "CommSched/OperationTables/OperationTable.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/DialectInterface.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/RWMutex.h"

namespace mlir::commsched::detail {

/// An entry and the table that it is in.
struct Description {
  const OperationEntry *entry = nullptr;
  const OperationTable *table = nullptr;
};

/// What all tables of a context say about the operations of one name.
class OperationModel {
public:
  explicit OperationModel(MLIRContext *context) : context(context) {}

  /// Adds an entry. The last one that describes an operation counts.
  void add(const Description &description);

  /// What is said about `op`; null pointers if nothing is. Takes one look-up in
  /// a map if descriptions depend on an attribute, and none otherwise.
  Description find(Operation *op) const;

  /// The traits of the operation, which depend on no attribute.
  const OperationTraits &getTraits() const;

  /// Reports what the table says about `op` and the operation does not have.
  LogicalResult verify(Operation *op) const;

private:
  MLIRContext *context;
  Description general;
  StringAttr whereAttr;
  DenseMap<Attribute, Description> conditional;
};

/// Reads the text of the types that tables name.
class TensorTypes : public TensorTypeDialectInterface {
public:
  explicit TensorTypes(Dialect *dialect)
      : TensorTypeDialectInterface(dialect) {}

  /// Adds the types of a table, which replace those of the same names.
  void add(ArrayRef<TensorTypeEntry> added);

  ShapedType getTensorType(Type type) const final;

private:
  ShapedType parse(Type type) const;

  SmallVector<TensorTypeEntry> entries;
  mutable llvm::sys::SmartRWMutex<true> mutex;
  mutable DenseMap<Type, ShapedType> known;
};

/// The models of the operations of one dialect.
class DialectModels : public DialectInterface::Base<DialectModels> {
public:
  explicit DialectModels(Dialect *dialect) : Base(dialect) {}

  /// Adds the entries of `table` that describe operations of the dialect.
  void add(std::shared_ptr<const OperationTable> table);

private:
  void addTypes(ArrayRef<TensorTypeEntry> added);

  llvm::StringMap<std::unique_ptr<OperationModel>> models;
  /// An interface of the dialect, once a table has types.
  TensorTypes *types = nullptr;
  /// Keeps the entries alive as long as the context.
  SmallVector<std::shared_ptr<const OperationTable>, 1> tables;
};

/// Gives the operations called `name` the interfaces that `entry` needs, with
/// `model` behind them, unless they have implementations already.
void attachModels(RegisteredOperationName name, const OperationEntry &entry,
                  const OperationModel &model);
void attachCollectiveModels(RegisteredOperationName name,
                            const OperationEntry &entry);
void attachCostModels(RegisteredOperationName name,
                      const OperationEntry &entry);

/// The model that is being attached by this thread. MLIR constructs models
/// without arguments.
const OperationModel *&getAttachedModel();

/// The base of the interfaces' models.
struct ModelBase {
  ModelBase() : model(getAttachedModel()) {}

  const OperationEntry *find(Operation *op) const {
    return model->find(op).entry;
  }

  const OperationModel *model;
};

/// The attribute or constant operand of `op` that `source` names; null if there
/// is none.
Attribute getSourceValue(Operation *op, const ValueSource &source);
/// The same as a number, or the number of the table.
std::optional<int64_t> getSourceNumber(Operation *op,
                                       const ValueSource &source);

/// Whether the operands of `selection` exist.
bool hasOperands(Operation *op, const OperandSelection &selection);
OperandRange getOperands(Operation *op, const OperandSelection &selection);

/// Whether `op`, which `entry` calls a collective, has all that the entry
/// needs; the reason if not.
Status checkCollective(Operation *op, const Description &description);

/// The types that a future of type `type` delivers, whose text is
/// `futureType` with `$results` for them; none if it has another form.
std::optional<SmallVector<Type>> parseDelivered(Type type,
                                                StringRef futureType);

/// The text of `type` behind its namespace: `vtensor<[2],f32>`.
std::string getTypeText(Type type);

} // namespace mlir::commsched::detail

#endif // COMMSCHED_LIB_OPERATIONTABLES_OPERATIONMODEL_H
