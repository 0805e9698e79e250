//===- PassSupport.cpp - Blocks, remarks and files of passes --------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PassSupport.h"
#include "CommSched/Analysis/Problem/CommunicationEffects.h"
#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mlir;
using namespace mlir::commsched;

SmallVector<Block *>
mlir::commsched::getBlocksWithCollectives(func::FuncOp function) {
  SmallVector<Block *> blocks;
  function.walk([&](Block *block) {
    // The block of an asynchronous collective is its definition.
    if (!isa<CollectiveOpInterface>(block->getParentOp()) &&
        llvm::any_of(*block, llvm::IsaPred<CollectiveOpInterface>))
      blocks.push_back(block);
  });
  return blocks;
}

FailureOr<bool>
mlir::commsched::rewriteBlocks(ArrayRef<Block *> blocks,
                               function_ref<FailureOr<bool>(Block &)> rewrite) {
  bool isChanged = false;
  for (Block *block : blocks) {
    FailureOr<bool> isBlockChanged = rewrite(*block);
    if (failed(isBlockChanged))
      return failure();
    isChanged |= *isBlockChanged;
  }
  return isChanged;
}

bool mlir::commsched::areRemarksEnabled(Operation *op) {
  return op->getContext()->getRemarkEngine() != nullptr;
}

remark::RemarkOpts mlir::commsched::makeRemark(StringRef name,
                                               StringRef function) {
  return remark::RemarkOpts::name(name)
      .category("commsched")
      .function(function);
}

remark::detail::InFlightRemark
mlir::commsched::remarkBlockKept(func::FuncOp function, Location location,
                                 const Twine &reason) {
  remark::detail::InFlightRemark remark =
      remark::missed(location, makeRemark("BlockKept", function.getSymName()));
  remark << ("not reordered: " + reason).str();
  return remark;
}

/// Writes everything to `os`, or says why that failed.
static std::error_code writeTo(llvm::raw_fd_ostream &os,
                               function_ref<void(raw_ostream &)> print) {
  print(os);
  os.flush();
  std::error_code error = os.error();
  // Otherwise its destructor ends the program.
  os.clear_error();
  return error;
}

/// Whether the path leads to something that cannot be replaced by a file: a
/// device or a pipe.
static bool isWrittenInPlace(const llvm::sys::fs::file_status &status) {
  switch (status.type()) {
  case llvm::sys::fs::file_type::block_file:
  case llvm::sys::fs::file_type::character_file:
  case llvm::sys::fs::file_type::fifo_file:
  case llvm::sys::fs::file_type::socket_file:
    return true;
  default:
    return false;
  }
}

/// Writes a new file beside `path` and then gives it that name, so that there
/// is no partial file at any time.
static std::error_code replaceFile(StringRef path,
                                   function_ref<void(raw_ostream &)> print) {
  // Not TempFile, which replaces every % of the path.
  std::string part =
      (path + "." + Twine(llvm::sys::Process::getProcessId()) + ".tmp").str();
  std::error_code error;
  // Removes the file unless it is kept, also on a signal.
  llvm::ToolOutputFile file(part, error, llvm::sys::fs::OF_None);
  if (error)
    return error;
  auto closeAfter = [&](raw_ostream &os) {
    print(os);
    file.os().close();
  };
  if ((error = writeTo(file.os(), closeAfter)) ||
      (error = llvm::sys::fs::rename(part, path)))
    return error;
  file.keep();
  return error;
}

static std::error_code writeFile(StringRef path,
                                 function_ref<void(raw_ostream &)> print) {
  if (path == "-")
    return writeTo(llvm::outs(), print);
  llvm::sys::fs::file_status status;
  // A new file has no status.
  (void)llvm::sys::fs::status(path, status);
  if (status.type() == llvm::sys::fs::file_type::directory_file)
    return make_error_code(std::errc::is_a_directory);
  if (isWrittenInPlace(status)) {
    std::error_code error;
    llvm::raw_fd_ostream os(path, error, llvm::sys::fs::CD_OpenExisting);
    return error ? error : writeTo(os, print);
  }
  // Of a link, what it leads to is replaced.
  SmallString<128> target;
  if (!exists(status) || llvm::sys::fs::real_path(path, target))
    target = path;
  return replaceFile(target, print);
}

LogicalResult
mlir::commsched::writeOutputFile(Location loc, StringRef path, StringRef what,
                                 function_ref<void(raw_ostream &)> print) {
  if (std::error_code error = writeFile(path, print))
    return emitError(loc, "cannot write ")
           << what << " to '" << path << "': " << error.message();
  return success();
}

void mlir::commsched::remarkBarriers(func::FuncOp function, Block &block) {
  for (Operation &op : block.without_terminator()) {
    // Other operations with unknown effects belong to linked dialects, whose
    // authors say what they do.
    if (op.isRegistered() && !isa<KnownEffectsOpInterface>(op))
      continue;
    if (hasUnknownMemoryEffects(&op))
      remark::analysis(op.getLoc(),
                       makeRemark("Barrier", function.getSymName()))
          << (describe(&op) + " is a barrier: its effects are not known");
  }
}
