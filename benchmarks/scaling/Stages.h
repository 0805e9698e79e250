//===- Stages.h - Stages of the scaling benchmark ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A stage is one measured step of the compiler: parsing a program, building its
// problem, or running one pass. Every run of a stage has its own context and
// program, as in a separate process.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_BENCHMARKS_SCALING_STAGES_H
#define COMMSCHED_BENCHMARKS_SCALING_STAGES_H

#include "Sample.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <functional>
#include <string>
#include <vector>

namespace mlir::commsched {

/// The program that is measured.
struct Program {
  std::string path;
  /// The same as MLIR bytecode: what most stages start from.
  std::string bytecode;
};

/// Reads and verifies the file, and keeps its bytecode. Emits an error when it
/// is no valid program. `numOps` is set to the operations of its functions.
FailureOr<Program> loadProgram(StringRef path, const DialectRegistry &registry,
                               int64_t &numOps);

/// The context and the program of one run of a stage.
class Fixture {
public:
  Fixture(const Program &program, const DialectRegistry &registry);

  MLIRContext *getContext() { return &context; }
  StringRef getPath() const { return program.path; }
  StringRef getBytecode() const { return program.bytecode; }

  /// The parsed program, not verified again.
  ModuleOp getModule();

  /// The block of the largest function of the program.
  Block &getBlock();

  /// Keeps a module until the run is over.
  void setModule(OwningOpRef<ModuleOp> parsed) { module = std::move(parsed); }

  /// Runs what the stage is about.
  void measure(llvm::function_ref<void()> body) { sample = takeSample(body); }

  const Sample &getSample() const { return sample; }

private:
  const Program &program;
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  Sample sample;
};

struct Stage {
  std::string name;
  /// Whether MLIR verifies the program after what is done to it.
  bool verified;
  std::function<LogicalResult(Fixture &)> run;
};

/// Reading and writing, building and solving problems, then every pipeline of
/// `pipelines` without and with the verifier.
std::vector<Stage> makeStages(ArrayRef<std::string> pipelines);

} // namespace mlir::commsched

#endif // COMMSCHED_BENCHMARKS_SCALING_STAGES_H
