//===- OutputFile.cpp - Files written whole or not at all -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Support/OutputFile.h"

#include "llvm/ADT/Twine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir::commsched;

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

OutputFile::OutputFile(llvm::StringRef path) {
  if (path == "-")
    stream = &llvm::outs();
  else
    open(path);
}

void OutputFile::open(llvm::StringRef path) {
  llvm::sys::fs::file_status status;
  // A new file has no status.
  (void)llvm::sys::fs::status(path, status);
  if (status.type() == llvm::sys::fs::file_type::directory_file) {
    error = make_error_code(std::errc::is_a_directory);
    return;
  }
  if (isWrittenInPlace(status)) {
    device.emplace(path, error, llvm::sys::fs::CD_OpenExisting);
    stream = &*device;
    return;
  }
  if (!exists(status) || llvm::sys::fs::real_path(path, target))
    target = path;
  // Not TempFile, which replaces every % of the path.
  std::string name =
      (target + "." + llvm::Twine(llvm::sys::Process::getProcessId()) + ".tmp")
          .str();
  // Removes the file unless it is kept, also on a signal.
  part.emplace(name, error, llvm::sys::fs::OF_None);
  stream = &part->os();
}

void OutputFile::takeStreamError() {
  if (!error)
    error = stream->error();
  // Otherwise its destructor ends the program.
  stream->clear_error();
}

std::error_code OutputFile::keep() {
  if (error)
    return error;
  stream->flush();
  takeStreamError();
  if (error || !part)
    return error;
  stream->close();
  takeStreamError();
  if (!error)
    error = llvm::sys::fs::rename(part->getFilename(), target);
  if (!error)
    part->keep();
  return error;
}

OutputFile::~OutputFile() {
  // What was not kept may have failed, too.
  if (stream && !error) {
    stream->flush();
    takeStreamError();
  }
}
