//===- OutputFile.h - Files written whole or not at all ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_SUPPORT_OUTPUTFILE_H
#define COMMSCHED_SUPPORT_OUTPUTFILE_H

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/ToolOutputFile.h"
#include <optional>
#include <system_error>

namespace mlir::commsched {

/// An output of a tool: `-` is standard output. A file is written beside its
/// path and replaces what is there when it is kept, so that nobody sees a
/// partial one; without that, or if the process ends before, nothing is left.
/// Of a link, what it leads to is replaced. A device or a pipe is written as it
/// is. Unlike llvm::writeToOutput() this takes every character of a path,
/// percent signs too, as it is.
class OutputFile {
public:
  explicit OutputFile(llvm::StringRef path);
  OutputFile(const OutputFile &) = delete;
  OutputFile &operator=(const OutputFile &) = delete;
  ~OutputFile();

  /// Why the output cannot be written.
  std::error_code getError() const { return error; }

  /// Where to write, if there is no error.
  llvm::raw_ostream &os() { return *stream; }

  /// Ends the output. Returns the first error of opening and writing it, such
  /// as a full disk.
  std::error_code keep();

private:
  void open(llvm::StringRef path);
  void takeStreamError();

  std::error_code error;
  llvm::raw_fd_ostream *stream = nullptr;
  /// The file beside the path, and what it replaces.
  std::optional<llvm::ToolOutputFile> part;
  llvm::SmallString<128> target;
  /// A device or a pipe.
  std::optional<llvm::raw_fd_ostream> device;
};

} // namespace mlir::commsched

#endif // COMMSCHED_SUPPORT_OUTPUTFILE_H
