//===- ProgramSites.h - What the runtime tells times of ---------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The collectives and emulated operators of a lowered program as its
// description lists them, and which operations of the program before lowering
// they come from.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TOOLS_COMMSCHED_RUN_PROGRAMSITES_H
#define COMMSCHED_TOOLS_COMMSCHED_RUN_PROGRAMSITES_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace mlir::commsched::run {

/// A collective. Its index is what the runtime's records have.
struct Site {
  std::string name;
  std::string location;
  std::string kind;
  std::string group;
};

/// An emulated operator, likewise.
struct Operator {
  std::string name;
  std::string location;
};

struct ProgramSites {
  std::vector<Site> sites;
  std::vector<Operator> operators;
  std::vector<std::string> groups;

  /// Reads the text that commsched_load_program takes.
  static llvm::Expected<ProgramSites> parse(StringRef description);
};

/// Operations, as they were before lowering, and their indices.
struct SiteMap {
  llvm::DenseMap<Operation *, int32_t> sites;
  llvm::DenseMap<Operation *, int32_t> operators;

  /// Finds the operations of `module` by name and location. What lowering has
  /// dropped or copied has no index.
  SiteMap(ModuleOp module, const ProgramSites &program);

  /// The index, or -1.
  static int32_t lookup(const llvm::DenseMap<Operation *, int32_t> &map,
                        Operation *op);
};

} // namespace mlir::commsched::run

#endif // COMMSCHED_TOOLS_COMMSCHED_RUN_PROGRAMSITES_H
