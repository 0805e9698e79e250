//===- Mutations.h - Mutations of structured text ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Mutations of MLIR and JSON that keep most of their syntax: they work on lines
// and tokens, and replace a token by one of the same kind. Plain bytes that
// change would hardly get past a parser.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_FUZZ_MUTATIONS_H
#define COMMSCHED_FUZZ_MUTATIONS_H

#include <random>
#include <string>
#include <string_view>

namespace commsched::fuzz {

/// The source of randomness; the same numbers on every machine.
using Random = std::mt19937;

/// Returns `text` after one to four mutations: numbers become others or limits
/// of their types; names, types and strings become others of the text; lines
/// are removed, doubled and exchanged; attributes of the dialect are added.
std::string mutate(std::string_view text, Random &random);

/// Returns the lines of `text` with the first line, which says what is done
/// with the others, of `other`, or a part of the lines of both.
std::string crossOver(std::string_view text, std::string_view other,
                      Random &random);

} // namespace commsched::fuzz

#endif // COMMSCHED_FUZZ_MUTATIONS_H
