//===- Registration.cpp - Registration of tables and their dialects -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "EmbeddedTables.h"
#include "OperationModel.h"

#include "CommSched/Dialect/CommSchedDialect.h"
#include "CommSched/Dialect/NamedOperators.h"
#include "CommSched/OperationTables/NamedDialects.h"
#include "CommSched/OperationTables/OperationTable.h"
#include "mlir/IR/DialectRegistry.h"
#include "llvm/Support/ErrorHandling.h"

using namespace mlir;
using namespace mlir::commsched;

namespace {
/// Tells the commsched dialect the operators of a table.
class OperatorExtension
    : public DialectExtension<OperatorExtension, CommSchedDialect> {
public:
  explicit OperatorExtension(std::shared_ptr<const OperationTable> table)
      : table(std::move(table)) {}

  void apply(MLIRContext *, CommSchedDialect *dialect) const override {
    auto *classes = dialect->getRegisteredInterface<NamedOperators>();
    if (!classes)
      classes = &dialect->addInterface<NamedOperators>();
    for (const auto &entry : table->getOperators())
      classes->add(entry.getKey(), entry.getValue());
  }

private:
  std::shared_ptr<const OperationTable> table;
};

/// Applies a table to one dialect when a context loads it.
class TableExtension : public DialectExtensionBase {
public:
  TableExtension(StringRef dialect, std::shared_ptr<const OperationTable> table)
      : DialectExtensionBase(ArrayRef<StringRef>(dialect)),
        table(std::move(table)) {}

  void apply(MLIRContext *context,
             MutableArrayRef<Dialect *> dialects) const override;
  std::unique_ptr<DialectExtensionBase> clone() const override {
    return std::make_unique<TableExtension>(*this);
  }

private:
  std::shared_ptr<const OperationTable> table;
};
} // namespace

void TableExtension::apply(MLIRContext *,
                           MutableArrayRef<Dialect *> dialects) const {
  Dialect *dialect = dialects.front();
  auto *models =
      dialect->getRegisteredInterface<commsched::detail::DialectModels>();
  if (!models)
    models = &dialect->addInterface<commsched::detail::DialectModels>();
  models->add(table);
}

void mlir::commsched::registerOperationTable(
    DialectRegistry &registry, std::shared_ptr<const OperationTable> table) {
  for (const std::string &dialect : table->getDialects())
    // The address of the name identifies the extension as long as it exists.
    registry.addExtension(
        TypeID::getFromOpaquePointer(static_cast<const void *>(&dialect)),
        std::make_unique<TableExtension>(dialect, table));
  if (!table->getOperators().empty())
    registry.addExtension(TypeID::getFromOpaquePointer(table.get()),
                          std::make_unique<OperatorExtension>(table));
}

/// The embedded tables, which are parsed once in a process.
static ArrayRef<std::shared_ptr<const OperationTable>> getEmbedded() {
  static const auto parsed = [] {
    SmallVector<std::shared_ptr<const OperationTable>> tables;
    for (const commsched::detail::EmbeddedTable &file :
         commsched::detail::getEmbeddedTables()) {
      Result<std::shared_ptr<const OperationTable>> table =
          OperationTable::parse(file.text, (file.name + ".json").str());
      if (!table)
        llvm::report_fatal_error(StringRef(table.error()));
      tables.push_back(*table);
    }
    return tables;
  }();
  return parsed;
}

void mlir::commsched::registerEmbeddedTables(DialectRegistry &registry) {
  for (const std::shared_ptr<const OperationTable> &table : getEmbedded())
    registerOperationTable(registry, table);
}

void mlir::commsched::registerEmbeddedDialects(DialectRegistry &registry) {
  SmallVector<StringRef> names = {"vhlo"};
  for (const std::shared_ptr<const OperationTable> &table : getEmbedded())
    llvm::append_range(names, table->getDialects());
  registerNamedDialects(registry, names);
}
