//===- ProgramTest.cpp - Tests of program descriptions --------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Core/Program.h"

#include "../StatusText.h"

#include <gtest/gtest.h>

using namespace commsched::runtime;

/// A description with one group of 4 and the given site.
static std::string withSite(const std::string &site) {
  return R"({"version": 1, "groups": [{"name": "dp", "size": 4}], "sites": [)" +
         site + "]}";
}

static std::string parseError(const std::string &json) {
  Program program;
  return toText(parseProgram(json, program));
}

/// The error of a program whose only site is `site`.
static std::string siteError(const std::string &site) {
  std::string error = parseError(withSite(site));
  const std::string prefix = "program description: sites[0]";
  if (error.compare(0, prefix.size(), prefix) != 0)
    return error;
  return error.substr(prefix.size());
}

TEST(Program, ReadsEverything) {
  Program program;
  ASSERT_EQ(parseProgram(R"({
    "version": 1,
    "groups": [{"name": "dp", "size": 4, "stride": 2},
               {"name": "odd", "size": 2, "ranks": [[0, 3], [1, 2]]}],
    "sites": [
      {"name": "ag", "location": "step.mlir:7:8", "kind": "all_gather",
       "group": 0, "runtime_ns": 52000,
       "tensors": [{"type": "bf16", "inputs": 512, "outputs": 2048},
                   {"type": "bytes<3>", "inputs": 0, "outputs": 0}]},
      {"name": "s", "kind": "send", "group": 1, "peer": 1, "tag": 7,
       "tensors": [{"type": "i32", "inputs": 5}]},
      {"name": "x", "kind": "all_to_all", "group": 1,
       "tensors": [{"type": "i8", "inputs": 4, "outputs": 5}],
       "output_splits": [[2, 3]]},
      {"name": "p", "kind": "permute", "group": 0, "pairs": [[0, 3], [3, 0]],
       "tensors": [{"type": "f32", "inputs": 1, "outputs": 1}]},
      {"name": "r", "kind": "all_reduce", "group": 0, "reduction": "avg",
       "tensors": [{"type": "f32", "inputs": 1, "outputs": 1}]},
      {"name": "b", "kind": "barrier", "group": 0}],
    "operators": [{"name": "aten.mm", "location": "step.mlir:9:8",
                   "inputs": [{"type": "bf16", "elements": 2048}],
                   "outputs": [{"type": "bf16", "elements": 512}]}],
    "host_code": "linalg.matmul at step.mlir:11:8"})",
                         program),
            Status());
  ASSERT_EQ(program.groups.size(), 2u);
  EXPECT_EQ(program.groups[0].stride, 2);
  EXPECT_EQ(program.groups[1].ranks[1], (std::vector<int32_t>{1, 2}));
  ASSERT_EQ(program.sites.size(), 6u);
  const Site &gather = program.sites[0];
  EXPECT_EQ(gather.location, "step.mlir:7:8");
  EXPECT_EQ(gather.runtimeNs, 52000);
  EXPECT_EQ(gather.tensors[0].outputs, 2048);
  EXPECT_EQ(gather.tensors[1].element.bytes, 3);
  EXPECT_EQ(program.sites[1].peer, 1);
  EXPECT_EQ(program.sites[1].tag, 7);
  EXPECT_EQ(program.sites[1].runtimeNs, -1);
  // The side without a list is split evenly.
  EXPECT_TRUE(isUnevenAllToAll(program.sites[2]));
  EXPECT_EQ(program.sites[2].tensors[0].inputSplits,
            (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(program.sites[3].pairs[0], (std::pair<int32_t, int32_t>(0, 3)));
  EXPECT_EQ(program.sites[4].reduction, COMMSCHED_AVG);
  EXPECT_EQ(program.sites[5].index, 5);
  EXPECT_EQ(program.operators[0].inputs[0].elements, 2048);
  EXPECT_EQ(program.hostCode, "linalg.matmul at step.mlir:11:8");
}

TEST(Program, DocumentErrors) {
  EXPECT_NE(parseError("{").find("program description: "), std::string::npos);
  EXPECT_NE(parseError("{").find("parse error"), std::string::npos);
  EXPECT_EQ(parseError("[]"),
            "program description: expected an object, got array");
  EXPECT_EQ(parseError("{}"), "program description: 'version' is missing");
  EXPECT_EQ(parseError(R"({"version": 2})"),
            "program description: 'version': 2 is not in [1, 1]");
  EXPECT_EQ(parseError(R"({"version": 1.0})"),
            "program description: 'version': expected an integer, got 1.0");
  EXPECT_EQ(parseError(R"({"version": 1, "site": []})"),
            "program description: unknown key 'site'");
  EXPECT_EQ(parseError(R"({"version": 1, "sites": {}})"),
            "program description: 'sites' is no array, but {}");
  EXPECT_EQ(parseError(R"({"version": 1, "host_code": 3})"),
            "program description: 'host_code' is no string, but 3");
  EXPECT_EQ(parseError(R"({"version": 18446744073709551615})"),
            "program description: 'version': 18446744073709551615 is not in "
            "[1, 1]");
}

TEST(Program, GroupErrors) {
  auto groupError = [](const std::string &groups) {
    return parseError(R"({"version": 1, "groups": [)" + groups + "]}");
  };
  const std::string prefix = "program description: groups[0] 'a': ";
  EXPECT_EQ(groupError(R"({"name": "a"})"), prefix + "'size' is missing");
  EXPECT_EQ(groupError(R"({"name": "a", "size": 0})"),
            prefix + "'size': 0 is not in [1, 16777216]");
  EXPECT_EQ(groupError(R"({"name": "a", "size": 2, "stride": 0})"),
            prefix + "'stride': 0 is not in [1, 16777216]");
  EXPECT_EQ(
      groupError(R"({"name": "a", "size": 1, "stride": 1, "ranks": [[0]]})"),
      prefix + "has both 'stride' and 'ranks'");
  EXPECT_EQ(groupError(R"({"name": "a", "size": 1, "ranks": []})"),
            prefix + "'ranks' has no row");
  EXPECT_EQ(groupError(R"({"name": "a", "size": 2, "ranks": [[0, 1], [2]]})"),
            prefix + "ranks[1]: lists 1 ranks, but 'size' is 2");
  EXPECT_EQ(
      groupError(R"({"name": "a", "size": 2, "ranks": [[0, 1], [2, 0]]})"),
      prefix + "ranks[1]: rank 0 is listed twice");
  EXPECT_EQ(groupError(R"({"name": "a", "size": 1}, {"name": "a", "size": 2})"),
            "program description: groups[1] 'a': another group has this name");
}

TEST(Program, Implementations) {
  Program program;
  ASSERT_EQ(parseProgram(R"({"version": 1, "groups": [
    {"name": "dp", "size": 4},
    {"name": "dp", "size": 4,
     "implementation": {"name": "nccl-4", "method": "nccl", "channels": 4}},
    {"name": "dp", "size": 4,
     "implementation": {"name": "second", "method": "nccl",
                        "stream": "nccl"}},
    {"name": "tp", "size": 2,
     "implementation": {"name": "ce", "method": "copy-engine"}},
    {"name": "tp", "size": 2,
     "implementation": {"name": "sym", "method": "symmetric"}}]})",
                         program),
            Status());
  ASSERT_EQ(program.groups.size(), 5u);
  EXPECT_EQ(program.groups[0].implementation, std::nullopt);
  EXPECT_EQ(program.groups[1].implementation,
            (Implementation{"nccl-4", Method::Nccl, 4, "nccl-4"}));
  EXPECT_EQ(program.groups[2].implementation,
            (Implementation{"second", Method::Nccl, 0, "nccl"}));
  EXPECT_EQ(program.groups[3].implementation,
            (Implementation{"ce", Method::CopyEngine, 0, "ce"}));
  EXPECT_EQ(program.groups[4].implementation,
            (Implementation{"sym", Method::Symmetric, 0, "sym"}));
}

TEST(Program, ImplementationErrors) {
  auto getError = [](const std::string &implementation) {
    return parseError(
        R"({"version": 1, "groups": [{"name": "a", "size": 2,
            "implementation": )" +
        implementation + "}]}");
  };
  const std::string prefix =
      "program description: groups[0] 'a': 'implementation': ";
  EXPECT_EQ(getError("3"), prefix + "expected an object, got number");
  EXPECT_EQ(getError("{}"), prefix + "'name' is missing");
  EXPECT_EQ(getError(R"({"name": ""})"), prefix + "'name' is empty");
  EXPECT_EQ(getError(R"({"name": "x"})"), prefix + "'method' is missing");
  EXPECT_EQ(getError(R"({"name": "x", "method": "nvls"})"),
            prefix + "unknown method 'nvls': it is nccl, copy-engine or "
                     "symmetric");
  EXPECT_EQ(getError(R"({"name": "x", "method": "nccl", "tax": 1})"),
            prefix + "unknown key 'tax'");
  EXPECT_EQ(getError(R"({"name": "x", "method": "nccl", "channels": -1})"),
            prefix + "'channels': -1 is not in [0, 2147483647]");
  EXPECT_EQ(
      getError(R"({"name": "x", "method": "copy-engine", "channels": 4})"),
      prefix + "method 'copy-engine' has no 'channels'");
  EXPECT_EQ(getError(R"({"name": "x", "method": "nccl", "stream": ""})"),
            prefix + "'stream' is empty");

  auto groupError = [](const std::string &groups) {
    return parseError(
        R"({"version": 1, "groups": [{"name": "a", "size": 2}, )" + groups +
        "]}");
  };
  const std::string more =
      R"("implementation": {"name": "x", "method": "symmetric"}})";
  const std::string same = R"({"name": "a", "size": 2, )" + more;
  EXPECT_EQ(groupError(same), "no error");
  EXPECT_EQ(groupError(same + "," + same),
            "program description: groups[2] 'a': another group has this name "
            "and this implementation");
  EXPECT_EQ(groupError(R"({"name": "a", "size": 4, )" + more),
            "program description: groups[1] 'a': groups[0] has this name, but "
            "other ranks");
}

TEST(Program, SiteErrors) {
  const std::string f32 =
      R"("tensors": [{"type": "f32", "inputs": 8, "outputs": 8}])";
  EXPECT_EQ(siteError("3"), ": expected an object, got number");
  EXPECT_EQ(siteError(R"({"kind": "barrier", "group": 0})"),
            ": 'name' is missing");
  EXPECT_EQ(siteError(R"({"name": "s", "grop": 0})"), ": unknown key 'grop'");
  EXPECT_EQ(siteError(R"({"name": "s", "kind": "gather", "group": 0})"),
            " 's': unknown kind 'gather'");
  EXPECT_EQ(siteError(R"({"name": "s", "kind": "barrier", "group": 1})"),
            " 's': 'group': 1 is not in [0, 0]");
  EXPECT_EQ(siteError(R"({"name": "s", "kind": "all_gather", "group": 0})"),
            " 's': all_gather needs 'tensors'");
  EXPECT_EQ(siteError(R"({"name": "s", "kind": "all_reduce", "group": 0, )" +
                      f32 + "}"),
            " 's': all_reduce needs a 'reduction'");
  EXPECT_EQ(siteError(R"({"name": "s", "kind": "all_reduce", "group": 0,
                          "reduction": "add", )" +
                      f32 + "}"),
            " 's': unknown reduction 'add'");
  EXPECT_EQ(siteError(R"({"name": "s", "kind": "all_gather", "group": 0,
                          "reduction": "sum", )" +
                      f32 + "}"),
            " 's': all_gather has no 'reduction'");
  EXPECT_EQ(siteError(R"({"name": "s", "kind": "broadcast", "group": 0, )" +
                      f32 + "}"),
            " 's': broadcast needs a 'peer'");
  EXPECT_EQ(siteError(R"({"name": "s", "kind": "broadcast", "group": 0,
                          "peer": 4, )" +
                      f32 + "}"),
            " 's': 'peer': 4 is not in [0, 3]");
  EXPECT_EQ(siteError(R"({"name": "s", "kind": "all_to_all", "group": 0,
                          "peer": 1, )" +
                      f32 + "}"),
            " 's': all_to_all has no 'peer'");
  EXPECT_EQ(siteError(R"({"name": "s", "kind": "all_to_all", "group": 0,
                          "tag": 1, )" +
                      f32 + "}"),
            " 's': all_to_all has no 'tag'");
  EXPECT_EQ(
      siteError(R"({"name": "s", "kind": "barrier", "group": 0, )" + f32 + "}"),
      " 's': a barrier has no 'tensors'");
  EXPECT_EQ(
      siteError(R"({"name": "s", "kind": "permute", "group": 0, )" + f32 + "}"),
      " 's': 'pairs' is missing");
  EXPECT_EQ(siteError(R"({"name": "s", "kind": "send", "group": 0, "peer": 0,
                          "pairs": [], )" +
                      f32 + "}"),
            " 's': only permute has 'pairs'");
  auto permuteError = [&](const std::string &pairs) {
    return siteError(
        R"({"name": "s", "kind": "permute", "group": 0, "pairs": )" + pairs +
        ", " + f32 + "}");
  };
  EXPECT_EQ(permuteError("[[0]]"),
            " 's': pairs[0]: a pair has a source and a target");
  EXPECT_EQ(permuteError("[[0, 4]]"), " 's': pairs[0][1]: 4 is not in [0, 3]");
  EXPECT_EQ(permuteError("[[0, 1], [0, 2]]"),
            " 's': rank 0 is the source of two pairs");
  EXPECT_EQ(permuteError("[[1, 0], [2, 0]]"),
            " 's': rank 0 is the target of two pairs");
}

TEST(Program, TensorErrors) {
  auto tensorError = [&](const std::string &kind, const std::string &tensor) {
    return siteError(R"({"name": "s", "group": 0, "kind": )" + kind +
                     R"(, "tensors": [{)" + tensor + "}]}");
  };
  EXPECT_EQ(tensorError(R"("all_gather")", R"("inputs": 1)"),
            " 's': tensors[0]: 'type' is missing");
  EXPECT_EQ(tensorError(R"("all_gather")", R"("type": "i7")"),
            " 's': tensors[0]: unknown element type 'i7'");
  EXPECT_EQ(tensorError(R"("all_gather")", R"("type": "i8", "inputs": -1)"),
            " 's': tensors[0]: 'inputs': -1 is not in [0, 281474976710656]");
  EXPECT_EQ(tensorError(R"("all_gather")",
                        R"("type": "i8", "inputs": 2, "outputs": 7)"),
            " 's': tensor 0: 'outputs' is 7, but all_gather of 'inputs' = 2 "
            "on 4 ranks gives 8");
  EXPECT_EQ(tensorError(R"("reduce_scatter", "reduction": "sum")",
                        R"("type": "i8", "inputs": 6, "outputs": 2)"),
            " 's': tensor 0: 4 ranks do not divide 'inputs' = 6");
  EXPECT_EQ(tensorError(R"("reduce_scatter", "reduction": "sum")",
                        R"("type": "i8", "inputs": 8, "outputs": 8)"),
            " 's': tensor 0: 'outputs' is 8, but reduce_scatter of 'inputs' = "
            "8 on 4 ranks gives 2");
  EXPECT_EQ(tensorError(R"("all_reduce", "reduction": "avg")",
                        R"("type": "i8", "inputs": 1, "outputs": 1)"),
            " 's': tensor 0: reduction 'avg' is not defined for type 'i8'");
  EXPECT_EQ(tensorError(R"("all_to_all")",
                        R"("type": "i8", "inputs": 5, "outputs": 5)"),
            " 's': tensor 0: 4 ranks do not divide 'inputs' = 5");
  EXPECT_EQ(tensorError(R"("send", "peer": 0)",
                        R"("type": "i8", "inputs": 5, "outputs": 5)"),
            " 's': tensor 0: a send has no 'outputs', but 5");
  EXPECT_EQ(tensorError(R"("recv", "peer": 0)",
                        R"("type": "i8", "inputs": 5, "outputs": 5)"),
            " 's': tensor 0: a recv has no 'inputs', but 5");
}

TEST(Program, SplitErrors) {
  auto splitError = [&](const std::string &splits) {
    return siteError(R"({"name": "s", "kind": "all_to_all", "group": 0, )" +
                     splits +
                     R"(, "tensors": [{"type": "i8", "inputs": 8,
                                       "outputs": 9}]})");
  };
  EXPECT_EQ(splitError(R"("input_splits": [1, 2, 3, 2])"),
            " 's': input_splits[0]: expected an array, got 1");
  EXPECT_EQ(splitError(R"("input_splits": [])"),
            " 's': 'input_splits' has 0 lists for 1 tensors");
  EXPECT_EQ(splitError(R"("input_splits": [[1, 2, 3, 2]])"),
            " 's': 4 ranks do not divide 'outputs' = 9, and no splits say how");
  EXPECT_EQ(splitError(R"("input_splits": [[1, 2, 3]],
                          "output_splits": [[1, 2, 3, 3]])"),
            " 's': tensor 0: input_splits has 3 entries for 4 ranks");
  EXPECT_EQ(splitError(R"("output_splits": [[1, 2, 3, 4]])"),
            " 's': tensor 0: output_splits adds up to 10, but 'outputs' is 9");
  EXPECT_EQ(splitError(R"("output_splits": [[1, 2, -3, 4]])"),
            " 's': output_splits[0][2]: -3 is not in [0, 281474976710656]");
  EXPECT_EQ(siteError(R"({"name": "s", "kind": "barrier", "group": 0,
                          "input_splits": []})"),
            " 's': only all_to_all has splits");
}

TEST(Program, SplitsOfValues) {
  auto parse = [&](const std::string &splits, const std::string &tensor,
                   Program &program) {
    return toText(parseProgram(
        R"({"version": 1, "groups": [{"name": "dp", "size": 2}], "sites": [
             {"name": "s", "kind": "all_to_all", "group": 0, )" +
            splits + R"(, "tensors": [{"type": "i8", )" + tensor + "}]}]}",
        program));
  };
  Program program;
  EXPECT_EQ(parse(R"("input_splits": "values", "output_splits": [[8, 4]])",
                  R"("row": 4, "outputs": 12)", program),
            "no error");
  const Site &site = program.sites[0];
  EXPECT_TRUE(site.inputSplitsAreValues);
  EXPECT_FALSE(site.outputSplitsAreValues);
  // There is nothing to compare between ranks before they run.
  EXPECT_FALSE(isUnevenAllToAll(site));
  EXPECT_EQ(site.tensors[0].rowElements, 4);
  EXPECT_EQ(site.tensors[0].outputSplits, (std::vector<int64_t>{8, 4}));

  const std::string where = "program description: sites[0] 's': ";
  EXPECT_EQ(parse(R"("input_splits": "value")", R"("row": 4)", program),
            where + "'input_splits' is no array, but \"value\"");
  EXPECT_EQ(parse(R"("output_splits": "values")", R"("row": 4, "outputs": 12)",
                  program),
            where + "tensor 0: 'outputs' is 12, but 'output_splits' are "
                    "values");
  EXPECT_EQ(parse(R"("input_splits": "values", "output_splits": [[8, 3]])",
                  R"("row": 4, "outputs": 11)", program),
            where + "tensor 0: output_splits has 3 elements for a rank, but a "
                    "row has 4");
}

TEST(Program, OperatorErrors) {
  EXPECT_EQ(parseError(R"({"version": 1, "operators": [{"name": "mm",
                           "outputs": [{"type": "f32"}]}]})"),
            "program description: operators[0] 'mm': outputs[0]: 'elements' is "
            "missing");
}

static GroupDescription makeGroup(int64_t size, int64_t stride) {
  GroupDescription group;
  group.name = "dp";
  group.size = size;
  group.stride = stride;
  return group;
}

static std::string expandError(const GroupDescription &group,
                               int64_t numRanks) {
  Rows rows;
  return toText(expandGroup(group, numRanks, rows));
}

TEST(Groups, RowsOfConsecutiveAndStridedRanks) {
  Rows rows;
  ASSERT_EQ(expandGroup(makeGroup(2, 1), 4, rows), Status());
  EXPECT_EQ(rows, (Rows{{0, 1}, {2, 3}}));
  ASSERT_EQ(expandGroup(makeGroup(2, 2), 8, rows), Status());
  EXPECT_EQ(rows, (Rows{{0, 2}, {1, 3}, {4, 6}, {5, 7}}));
  ASSERT_EQ(expandGroup(makeGroup(1, 1), 2, rows), Status());
  EXPECT_EQ(rows, (Rows{{0}, {1}}));
}

TEST(Groups, RowsAsListed) {
  GroupDescription group = makeGroup(2, 1);
  group.ranks = {{3, 0}};
  Rows rows;
  ASSERT_EQ(expandGroup(group, 4, rows), Status());
  EXPECT_EQ(rows, (Rows{{3, 0}}));
  EXPECT_EQ(expandError(group, 3), "group 'dp' names rank 3, but 3 run");
}

TEST(Groups, RanksThatDoNotRun) {
  EXPECT_EQ(expandError(makeGroup(64, 1), 4),
            "group 'dp' has 64 ranks, but 4 run");
  EXPECT_EQ(expandError(makeGroup(3, 1), 4),
            "group 'dp' takes 3 ranks in steps of 1, thus multiples of 3 "
            "ranks, but 4 run");
  EXPECT_EQ(expandError(makeGroup(2, 4), 4),
            "group 'dp' takes 2 ranks in steps of 4, thus multiples of 8 "
            "ranks, but 4 run");
}
