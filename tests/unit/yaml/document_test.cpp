// SPDX-License-Identifier: Apache-2.0
#include "yaml/document.hpp"

#include <catch2/catch.hpp>

using namespace rdmend;

namespace {

std::string faults(const std::string& source) {
  Diagnostics diagnostics;
  yaml::parse("f", source, diagnostics);
  return diagnostics.text();
}

}  // namespace

TEST_CASE("a document keeps the position of every key and value") {
  Diagnostics diagnostics;
  const auto root = yaml::parse("f", "a: 1\nb:\n- x\n- {c: \"y\"}\nd:\ne: ~\n", diagnostics);
  REQUIRE(root);
  REQUIRE(diagnostics.text().empty());
  CHECK(root->find("a")->value.text == "1");
  CHECK(root->find("a")->value.plain);
  CHECK(root->find("a")->value.at == Position{1, 4});
  const auto& list = root->find("b")->value;
  CHECK(list.items[0].at == Position{3, 3});
  CHECK(list.items[1].find("c")->at == Position{4, 4});
  CHECK(list.items[1].find("c")->value.at == Position{4, 7});
  CHECK_FALSE(list.items[1].find("c")->value.plain);
  CHECK(root->find("d")->value.kind == yaml::Node::Kind::null);
  CHECK(root->find("d")->value.at == Position{5, 1});  // nothing is there: the key's own place
  CHECK(root->find("e")->value.at == Position{6, 4});
}

TEST_CASE("aliases and merge keys are resolved") {
  Diagnostics diagnostics;
  const auto root = yaml::parse("f", "base: &b {x: 1, y: 2}\nsame: *b\nmore: {<<: *b, y: 3}\nboth: {<<: [*b, {z: 4}]}\n", diagnostics);
  REQUIRE(root);
  CHECK(root->find("same")->value.find("x")->value.text == "1");
  CHECK(root->find("more")->value.find("x")->value.text == "1");
  CHECK(root->find("more")->value.find("y")->value.text == "3");
  CHECK(root->find("both")->value.find("z")->value.text == "4");
}

TEST_CASE("faults of the text are told where they are") {
  CHECK(faults("a: 1\na: 2\n") == "f:2:1: error: duplicate key 'a'; it stands already at line 1\n");
  CHECK(faults("a: [1, 2\nb: 3\n").starts_with("f:2:"));
  CHECK(faults("a: \"x\n") == "f:1:4: error: not valid YAML: the quote is never closed\n");
  CHECK(faults("? [a]\n: 1\n") == "f:1:3: error: a key must be a word, not a list\n");
  CHECK(faults("a: 1\n---\nb: 2\n") == "f:3:1: error: a second document ('---'); one file holds one document\n");
  CHECK(faults("a: *nobody\n").starts_with("f:1:"));
  CHECK(faults("a: {<<: 3}\n") == "f:1:9: error: '<<' merges maps, this is a single value\n");
  CHECK(faults("\xff\xfe" "a") == "f: error: the file is UTF-16, not UTF-8\n");
  CHECK(faults(std::string("a\0b", 3)) == "f:1:2: error: a zero byte: this is not a text file\n");
  CHECK(faults("\xef\xbb\xbf" "a: 1\n") == "f: error: the file begins with a byte order mark, which UTF-8 does not need\n");
  CHECK(faults("a: 1\nb: \xe9\n") == "f:2:4: error: a byte that is not UTF-8\n");
  CHECK(faults("a: \"\\N\"\n") == "f:1:4: error: an escape that is no character of UTF-8\n");
  CHECK(faults("a: 'it''s\n") == "f:1:4: error: not valid YAML: the quote is never closed\n");
  CHECK(faults("a: \"it\\\"s\n") == "f:1:4: error: not valid YAML: the quote is never closed\n");
  CHECK(faults("").empty());
}

TEST_CASE("hostile documents are refused, not suffered") {
  CHECK(faults(std::string(yaml::kMostBytes + 1, '#')) == "f: error: the file is larger than 1048576 bytes\n");
  CHECK(faults(std::string(65, '[') + std::string(65, ']')) == "f:1:65: error: nested deeper than 64 levels\n");
  CHECK_FALSE(faults(std::string(900'000, '[')).empty());
  CHECK_FALSE(faults(std::string(500'000, '{')).empty());
  std::string dashes;
  for (int i = 0; i < 300'000; ++i) dashes += "- ";
  CHECK_FALSE(faults(dashes).empty());

  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int j = 0; j < 10; ++j) bomb += (j > 0 ? ", *a" : "*a") + std::to_string(i - 1);
    bomb += "]\n";
  }
  CHECK(faults(bomb).find("more than 100000 values, aliases counted each time they are used") != std::string::npos);
  CHECK(faults("a: &a [*a]\n") == "f:1:8: error: an alias inside the node that it names\n");
}
