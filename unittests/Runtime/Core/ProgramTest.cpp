//===- ProgramTest.cpp - Tests of program descriptions --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Core/Program.h"
#include "../StatusText.h"

#include <gtest/gtest.h>

using namespace commsched::runtime;

static std::string parseError(const std::string &json) {
  Program program;
  return toText(parseProgram(json, program));
}

static std::string replaceAll(std::string text, const std::string &what,
                              const std::string &by) {
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos;
       at += by.size())
    text.replace(at, what.size(), by);
  return text;
}

/// A text of JSON with ' for ", and the error behind the place.
using ErrorCase = std::pair<const char *, const char *>;

/// Expects the errors of `cases`, each of which stands for % in `around`, and
/// whose errors begin with the `place` in the description.
static void expectErrors(const std::string &around, const std::string &place,
                         const std::vector<ErrorCase> &cases) {
  for (const auto &[text, error] : cases)
    EXPECT_EQ(parseError(replaceAll(replaceAll(around, "%", text), "'", "\"")),
              "program description: " + place + error)
        << text;
}

static const char *const aroundGroups = "{'version': 1, 'groups': [%]}";
static const char *const aroundSites =
    "{'version': 1, 'groups': [{'name': 'dp', 'size': 4}], 'sites': [%]}";

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
  expectErrors(
      "%", "",
      {{"[]", "expected an object, got array"},
       {"{}", "'version' is missing"},
       {"{'version': 2}", "version: 2 is not in [1, 1]"},
       {"{'version': 1.0}", "version: expected an integer, got 1.0"},
       {"{'version': 1, 'site': []}", "unknown key 'site'"},
       {"{'version': 1, 'sites': {}}", "sites: expected an array, got object"},
       {"{'version': 1, 'host_code': 3}",
        "host_code: expected a string, got 3"},
       {"{'version': 18446744073709551615}",
        "version: 18446744073709551615 is not in [1, 1]"},
       {"{'version': 1, 'operators': [{'name': 'mm', 'outputs': "
        "[{'type': 'f32'}]}]}",
        "operators[0] 'mm': outputs[0]: 'elements' is missing"}});
}

TEST(Program, GroupErrors) {
  expectErrors(aroundGroups, "groups[1] 'a': ",
               {{"{'name': 'a', 'size': 1}, {'name': 'a', 'size': 2}",
                 "another group has this name"}});
  expectErrors(
      "{'version': 1, 'groups': [{'name': 'a'%}]}", "groups[0] 'a': ",
      {{"", "'size' is missing"},
       {", 'size': 0", "size: 0 is not in [1, 16777216]"},
       {", 'size': 2, 'stride': 0", "stride: 0 is not in [1, 16777216]"},
       {", 'size': 1, 'stride': 1, 'ranks': [[0]]",
        "has both 'stride' and 'ranks'"},
       {", 'size': 1, 'ranks': []", "'ranks' has no row"},
       {", 'size': 2, 'ranks': [[0, 1], [2]]",
        "ranks[1]: lists 1 ranks, but 'size' is 2"},
       {", 'size': 2, 'ranks': [[0, 1], [2, 0]]",
        "ranks[1]: rank 0 is listed twice"}});
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
  expectErrors(
      "{'version': 1, 'groups': [{'name': 'a', 'size': 2, 'implementation': "
      "%}]}",
      "groups[0] 'a': implementation: ",
      {{"3", "expected an object, got 3"},
       {"{}", "'name' is missing"},
       {"{'name': ''}", "'name' is empty"},
       {"{'name': 'x'}", "'method' is missing"},
       {"{'name': 'x', 'method': 'nvls'}",
        "unknown method 'nvls': it is nccl, copy-engine or symmetric"},
       {"{'name': 'x', 'method': 'nccl', 'tax': 1}", "unknown key 'tax'"},
       {"{'name': 'x', 'method': 'nccl', 'channels': -1}",
        "channels: -1 is not in [0, 2147483647]"},
       {"{'name': 'x', 'method': 'copy-engine', 'channels': 4}",
        "method 'copy-engine' has no 'channels'"},
       {"{'name': 'x', 'method': 'nccl', 'stream': ''}", "'stream' is empty"}});

  const std::string plain = "{'name': 'a', 'size': 2}, ";
  const std::string more =
      "'implementation': {'name': 'x', 'method': 'symmetric'}}";
  const std::string same = "{'name': 'a', 'size': 2, " + more;
  const std::string other = "{'name': 'a', 'size': 4, " + more;
  EXPECT_EQ(parseError(replaceAll(replaceAll(aroundGroups, "%", plain + same),
                                  "'", "\"")),
            "no error");
  expectErrors(aroundGroups, "groups[2] 'a': ",
               {{(plain + same + "," + same).c_str(),
                 "another group has this name and this implementation"}});
  expectErrors(
      aroundGroups, "groups[1] 'a': ",
      {{(plain + other).c_str(), "groups[0] has this name, but other ranks"}});
}

TEST(Program, SiteErrors) {
  expectErrors(aroundSites, "sites[0]",
               {{"3", ": expected an object, got 3"},
                {"{'kind': 'barrier', 'group': 0}", ": 'name' is missing"},
                {"{'name': 's', 'grop': 0}", ": unknown key 'grop'"},
                {"{'name': 's', 'kind': 'gather', 'group': 0}",
                 " 's': unknown kind 'gather'"},
                {"{'name': 's', 'kind': 'barrier', 'group': 1}",
                 " 's': group: 1 is not in [0, 0]"},
                {"{'name': 's', 'kind': 'all_gather', 'group': 0}",
                 " 's': all_gather needs 'tensors'"}});
  expectErrors(
      replaceAll(aroundSites, "%",
                 "{'name': 's', 'group': 0, 'kind': %, 'tensors': [{'type': "
                 "'f32', 'inputs': 8, 'outputs': 8}]}"),
      "sites[0] 's': ",
      {{"'all_reduce'", "all_reduce needs a 'reduction'"},
       {"'all_reduce', 'reduction': 'add'", "unknown reduction 'add'"},
       {"'all_gather', 'reduction': 'sum'", "all_gather has no 'reduction'"},
       {"'broadcast'", "broadcast needs a 'peer'"},
       {"'broadcast', 'peer': 4", "peer: 4 is not in [0, 3]"},
       {"'all_to_all', 'peer': 1", "all_to_all has no 'peer'"},
       {"'all_to_all', 'tag': 1", "all_to_all has no 'tag'"},
       {"'barrier'", "a barrier has no 'tensors'"},
       {"'permute'", "'pairs' is missing"},
       {"'send', 'peer': 0, 'pairs': []", "only permute has 'pairs'"},
       {"'permute', 'pairs': [[0]]",
        "pairs[0]: a pair has a source and a target"},
       {"'permute', 'pairs': [[0, 4]]", "pairs[0][1]: 4 is not in [0, 3]"},
       {"'permute', 'pairs': [[0, 1], [0, 2]]",
        "rank 0 is the source of two pairs"},
       {"'permute', 'pairs': [[1, 0], [2, 0]]",
        "rank 0 is the target of two pairs"}});
}

TEST(Program, TensorErrors) {
  std::string aroundTensor = replaceAll(
      aroundSites, "%",
      "{'name': 's', 'group': 0, 'kind': 'all_gather', 'tensors': [{%}]}");
  expectErrors(aroundTensor, "sites[0] 's': tensors[0]: ",
               {{"'inputs': 1", "'type' is missing"},
                {"'type': 'i7'", "unknown element type 'i7'"},
                {"'type': 'i8', 'inputs': -1",
                 "inputs: -1 is not in [0, 281474976710656]"}});
  expectErrors(
      replaceAll(aroundSites, "%",
                 "{'name': 's', 'group': 0, 'kind': %, 'type': 'i8'}]}"),
      "sites[0] 's': tensor 0: ",
      {{"'all_gather', 'tensors': [{'inputs': 2, 'outputs': 7",
        "'outputs' is 7, but all_gather of 'inputs' = 2 on 4 ranks gives 8"},
       {"'reduce_scatter', 'reduction': 'sum', 'tensors': [{'inputs': 6, "
        "'outputs': 2",
        "4 ranks do not divide 'inputs' = 6"},
       {"'reduce_scatter', 'reduction': 'sum', 'tensors': [{'inputs': 8, "
        "'outputs': 8",
        "'outputs' is 8, but reduce_scatter of 'inputs' = 8 on 4 ranks gives "
        "2"},
       {"'all_reduce', 'reduction': 'avg', 'tensors': [{'inputs': 1, "
        "'outputs': 1",
        "reduction 'avg' is not defined for type 'i8'"},
       {"'all_to_all', 'tensors': [{'inputs': 5, 'outputs': 5",
        "4 ranks do not divide 'inputs' = 5"},
       {"'send', 'peer': 0, 'tensors': [{'inputs': 5, 'outputs': 5",
        "a send has no 'outputs', but 5"},
       {"'recv', 'peer': 0, 'tensors': [{'inputs': 5, 'outputs': 5",
        "a recv has no 'inputs', but 5"}});
}

TEST(Program, SplitErrors) {
  expectErrors(
      replaceAll(aroundSites, "%",
                 "{'name': 's', 'kind': 'all_to_all', 'group': 0, %, "
                 "'tensors': [{'type': 'i8', 'inputs': 8, 'outputs': 9}]}"),
      "sites[0] 's': ",
      {{"'input_splits': [1, 2, 3, 2]",
        "input_splits[0]: expected an array, got 1"},
       {"'input_splits': []", "'input_splits' has 0 lists for 1 tensors"},
       {"'input_splits': [[1, 2, 3, 2]]",
        "4 ranks do not divide 'outputs' = 9, and no splits say how"},
       {"'input_splits': [[1, 2, 3]], 'output_splits': [[1, 2, 3, 3]]",
        "tensor 0: input_splits has 3 entries for 4 ranks"},
       {"'output_splits': [[1, 2, 3, 4]]",
        "tensor 0: output_splits adds up to 10, but 'outputs' is 9"},
       {"'output_splits': [[1, 2, -3, 4]]",
        "output_splits[0][2]: -3 is not in [0, 281474976710656]"}});
  expectErrors(aroundSites, "sites[0] 's': ",
               {{"{'name': 's', 'kind': 'barrier', 'group': 0, "
                 "'input_splits': []}",
                 "only all_to_all has splits"}});
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
            where + "input_splits: expected an array, got \"value\"");
  EXPECT_EQ(parse(R"("output_splits": "values")", R"("row": 4, "outputs": 12)",
                  program),
            where + "tensor 0: 'outputs' is 12, but 'output_splits' are "
                    "values");
  EXPECT_EQ(parse(R"("input_splits": "values", "output_splits": [[8, 3]])",
                  R"("row": 4, "outputs": 11)", program),
            where + "tensor 0: output_splits has 3 elements for a rank, but a "
                    "row has 4");
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

using Splits = std::vector<int64_t>;

static std::string add(const char *side, const Splits &splits, int64_t &rows) {
  return toText(addSplits(side, splits.data(),
                          static_cast<int64_t>(splits.size()), rows));
}

TEST(Splits, AddUp) {
  int64_t rows = 0;
  EXPECT_EQ(add("input", {3, 0, 5}, rows), "no error");
  EXPECT_EQ(rows, 8);
  EXPECT_EQ(add("output", {0, 0}, rows), "no error");
  EXPECT_EQ(rows, 0);
  EXPECT_EQ(add("output", {3, -2, 5}, rows),
            "the output split of rank 1 of the group is -2, which is negative");
  int64_t most = int64_t(1) << 48;
  EXPECT_EQ(add("input", {most, 0}, rows), "no error");
  EXPECT_EQ(add("input", {most, 1}, rows),
            "the input splits add up to more than 281474976710656 rows");
  EXPECT_EQ(add("input", {INT64_MAX, INT64_MAX}, rows),
            "the input splits add up to more than 281474976710656 rows");
}

namespace {
/// An all_to_all of two tensors on two ranks, with rows of 4 and of 0 elements.
struct ResolveTest : ::testing::Test {
  ResolveTest() {
    site.kind = COMMSCHED_ALL_TO_ALL;
    site.inputSplitsAreValues = site.outputSplitsAreValues = true;
    site.tensors.resize(2);
    site.tensors[0].rowElements = 4;
  }

  std::string resolve(const RowSplits &input, const RowSplits &output) {
    return toText(resolveTensors(site, 2, input, output, tensors));
  }

  Splits sent = {3, 5}, received = {0, 2};
  Site site;
  std::vector<Tensor> tensors;
};
} // namespace

TEST_F(ResolveTest, RowsBecomeElements) {
  EXPECT_EQ(resolve({8, sent.data()}, {2, received.data()}), "no error");
  EXPECT_EQ(tensors[0].inputs, 32);
  EXPECT_EQ(tensors[0].inputSplits, (Splits{12, 20}));
  EXPECT_EQ(tensors[0].outputs, 8);
  EXPECT_EQ(tensors[0].outputSplits, (Splits{0, 8}));
  EXPECT_EQ(tensors[1].inputs, 0);
  EXPECT_EQ(tensors[1].inputSplits, (Splits{0, 0}));
}

TEST_F(ResolveTest, ListedSideStays) {
  site.inputSplitsAreValues = false;
  site.tensors[0].inputs = 8;
  site.tensors[0].inputSplits = {4, 4};
  EXPECT_EQ(resolve({}, {2, received.data()}), "no error");
  EXPECT_EQ(tensors[0].inputs, 8);
  EXPECT_EQ(tensors[0].inputSplits, (Splits{4, 4}));
  EXPECT_EQ(tensors[0].outputSplits, (Splits{0, 8}));
}

TEST_F(ResolveTest, Errors) {
  EXPECT_EQ(resolve({7, sent.data()}, {2, received.data()}),
            "the input splits add up to 8 rows, but the input has 7");
  EXPECT_EQ(resolve({8, sent.data()}, {3, received.data()}),
            "the output splits add up to 2 rows, but the output has 3");
  EXPECT_EQ(resolve({8, nullptr}, {2, received.data()}),
            "the input splits are values, but null is given");
  site.tensors[1].rowElements = int64_t(1) << 46;
  EXPECT_EQ(resolve({8, sent.data()}, {2, received.data()}),
            "the input has 8 rows of 70368744177664 elements, more than fit a "
            "buffer");
}
