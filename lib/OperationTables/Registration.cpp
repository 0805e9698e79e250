//===- Registration.cpp - Registration of tables and their dialects -------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EmbeddedTables.h"
#include "NamedOperation.h"

#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "CommSched/OperationTables/NamedDialects.h"
#include "CommSched/OperationTables/OperationTable.h"
#include "mlir/IR/DialectRegistry.h"
#include "llvm/Support/ErrorHandling.h"

using namespace mlir;
using namespace mlir::commsched;

namespace {
/// An operation without effects.
struct NoEffects
    : MemoryEffectOpInterface::ExternalModel<NoEffects, Operation *> {
  void getEffects(Operation *,
                  SmallVectorImpl<MemoryEffects::EffectInstance> &) const {}
};

/// An operation that draws random numbers from a hidden state.
struct RandomEffects
    : MemoryEffectOpInterface::ExternalModel<RandomEffects, Operation *> {
  void
  getEffects(Operation *,
             SmallVectorImpl<MemoryEffects::EffectInstance> &effects) const {
    effects.emplace_back(MemoryEffects::Write::get(),
                         RandomStateResource::get());
  }
};

/// An operation that communicates with whomever.
struct CommunicationEffects
    : MemoryEffectOpInterface::ExternalModel<CommunicationEffects,
                                             Operation *> {
  void
  getEffects(Operation *,
             SmallVectorImpl<MemoryEffects::EffectInstance> &effects) const {
    effects.emplace_back(MemoryEffects::Write::get(),
                         CommunicationResource::get());
  }
};

/// Applies a table to one dialect when a context loads it.
class TableExtension : public DialectExtensionBase {
public:
  TableExtension(StringRef dialect, std::shared_ptr<const OperationTable> table)
      : DialectExtensionBase({dialect}), table(std::move(table)) {}

  void apply(MLIRContext *context,
             MutableArrayRef<Dialect *> dialects) const override;
  std::unique_ptr<DialectExtensionBase> clone() const override {
    return std::make_unique<TableExtension>(*this);
  }

private:
  std::shared_ptr<const OperationTable> table;
};
} // namespace

static void attachModels(RegisteredOperationName name,
                         const OperationEntry &entry) {
  switch (entry.effect) {
  case OperationEffect::None:
    name.attachInterface<NoEffects>();
    break;
  case OperationEffect::Random:
    name.attachInterface<RandomEffects>();
    break;
  case OperationEffect::Communication:
    name.attachInterface<CommunicationEffects>();
    break;
  case OperationEffect::Unknown:
    break;
  }
}

void TableExtension::apply(MLIRContext *context,
                           MutableArrayRef<Dialect *> dialects) const {
  Dialect *dialect = dialects.front();
  for (const OperationEntry &entry : table->getEntries()) {
    if (StringRef(entry.name).split('.').first != dialect->getNamespace())
      continue;
    if (isNamedDialect(dialect) &&
        !RegisteredOperationName::lookup(entry.name, context))
      NamedOperation::insert(*dialect, entry.name, entry.traits);
    if (auto name = RegisteredOperationName::lookup(entry.name, context))
      attachModels(*name, entry);
  }
}

void mlir::commsched::registerOperationTable(
    DialectRegistry &registry, std::shared_ptr<const OperationTable> table) {
  for (const std::string &dialect : table->getDialects())
    // The address of the name identifies the extension as long as it exists.
    registry.addExtension(
        TypeID::getFromOpaquePointer(static_cast<const void *>(&dialect)),
        std::make_unique<TableExtension>(dialect, table));
}

void mlir::commsched::registerEmbeddedTables(DialectRegistry &registry) {
  for (const detail::EmbeddedTable &file : detail::getEmbeddedTables()) {
    Result<std::shared_ptr<const OperationTable>> table =
        OperationTable::parse(file.text, (file.dialect + ".json").str());
    if (!table)
      llvm::report_fatal_error(StringRef(table.error()));
    registerOperationTable(registry, *table);
  }
}

void mlir::commsched::registerEmbeddedDialects(DialectRegistry &registry) {
  SmallVector<StringRef> names = {"mhlo", "vhlo"};
  for (const detail::EmbeddedTable &file : detail::getEmbeddedTables())
    names.push_back(file.dialect);
  registerNamedDialects(registry, names);
}
