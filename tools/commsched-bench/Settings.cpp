//===- Settings.cpp - What is to be measured ------------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Settings.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"

namespace commsched::bench {

static llvm::Error fail(const llvm::Twine &text) {
  return llvm::createStringError(text);
}

llvm::Expected<int64_t> parseBytes(llvm::StringRef text,
                                   llvm::StringRef option) {
  llvm::StringRef digits = text;
  int64_t unit = 1;
  if (digits.consume_back("K"))
    unit = int64_t(1) << 10;
  else if (digits.consume_back("M"))
    unit = int64_t(1) << 20;
  else if (digits.consume_back("G"))
    unit = int64_t(1) << 30;
  int64_t number = 0;
  constexpr int64_t most = int64_t(1) << 40;
  if (digits.getAsInteger(10, number) || number < 1 || number > most / unit)
    return fail(option +
                " must be a number of bytes from 1 to 1024G, with K, "
                "M or G for powers of 1024, not '" +
                text + "'");
  return number * unit;
}

llvm::Expected<std::vector<int64_t>> makeSizes(int64_t minimum, int64_t maximum,
                                               int64_t factor) {
  if (factor < 2)
    return fail("--factor must be at least 2, not " + llvm::Twine(factor));
  if (minimum > maximum)
    return fail("--min-bytes is " + llvm::Twine(minimum) +
                ", but --max-bytes is only " + llvm::Twine(maximum));
  std::vector<int64_t> sizes = {minimum};
  while (sizes.back() <= maximum / factor)
    sizes.push_back(sizes.back() * factor);
  return sizes;
}

/// `options` are the names that there are; `result` takes each one's place in
/// them.
static llvm::Error parseNames(llvm::ArrayRef<std::string> names,
                              llvm::StringRef what,
                              llvm::ArrayRef<llvm::StringRef> options,
                              std::vector<size_t> &result) {
  for (const std::string &name : names) {
    const llvm::StringRef *found = llvm::find(options, name);
    if (found == options.end())
      return fail("unknown " + what + " '" + name + "'; there are " +
                  llvm::join(options, ", "));
    size_t index = found - options.begin();
    if (llvm::is_contained(result, index))
      return fail(what + " '" + name + "' is given twice");
    result.push_back(index);
  }
  return llvm::Error::success();
}

/// Reads names of `values`, each of which `getName` names.
template <typename T, typename GetName>
static llvm::Expected<std::vector<T>>
parseList(llvm::ArrayRef<std::string> names, llvm::StringRef what,
          const std::vector<T> &values, GetName getName) {
  std::vector<llvm::StringRef> options;
  for (const T &value : values)
    options.push_back(getName(value));
  std::vector<size_t> indices;
  if (llvm::Error error = parseNames(names, what, options, indices))
    return error;
  std::vector<T> result;
  for (size_t index : indices)
    result.push_back(values[index]);
  return result;
}

llvm::Expected<std::vector<Operation>>
parseOperations(llvm::ArrayRef<std::string> names) {
  return parseList<Operation>(names, "collective", getOperations().vec(),
                              stringifyOperation);
}

llvm::Expected<std::vector<const Element *>>
parseElements(llvm::ArrayRef<std::string> names) {
  std::vector<const Element *> all;
  for (const Element &element : getElements())
    all.push_back(&element);
  return parseList<const Element *>(
      names, "type", all, [](const Element *element) { return element->name; });
}

llvm::StringRef stringifyReduction(commsched_reduction reduction) {
  static constexpr llvm::StringRef names[] = {"sum", "avg",  "prod", "min",
                                              "max", "band", "bor",  "bxor"};
  return names[reduction];
}

llvm::Expected<std::vector<commsched_reduction>>
parseReductions(llvm::ArrayRef<std::string> names) {
  return parseList<commsched_reduction>(
      names, "reduction",
      {COMMSCHED_SUM, COMMSCHED_AVG, COMMSCHED_PROD, COMMSCHED_MIN,
       COMMSCHED_MAX, COMMSCHED_BAND, COMMSCHED_BOR, COMMSCHED_BXOR},
      stringifyReduction);
}

llvm::Expected<std::vector<GroupShape>>
parseGroups(llvm::ArrayRef<std::string> names) {
  std::vector<GroupShape> groups;
  for (const std::string &name : names) {
    GroupShape group;
    group.name = name;
    auto [kind, size] = llvm::StringRef(name).split(':');
    bool known = name == "world" || kind == "rows" || kind == "columns";
    if (!known)
      return fail("unknown group '" + name +
                  "'; there are world, rows:SIZE, columns:SIZE");
    if (name != "world") {
      group.kind =
          kind == "rows" ? GroupShape::Kind::Rows : GroupShape::Kind::Columns;
      if (size.getAsInteger(10, group.size) || group.size < 1)
        return fail("group '" + name +
                    "' needs a positive number of ranks, as in " + kind + ":2");
    }
    if (llvm::any_of(groups,
                     [&](const GroupShape &g) { return g.name == name; }))
      return fail("group '" + name + "' is given twice");
    groups.push_back(std::move(group));
  }
  return groups;
}

} // namespace commsched::bench
