// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/catch.hpp>

#include "yaml/document.hpp"

using namespace rdmend;

namespace {

// The value of key `k`, in which a '^' marks a character: the place of the mark must be found again in the source, where it
// is the only '^' too.
void check_mark(const std::string& source) {
  INFO(source);
  Diagnostics diagnostics;
  const auto root = yaml::parse("f", source, diagnostics);
  REQUIRE(root);
  const yaml::Node* map = root->kind == yaml::Node::Kind::list ? &root->items.at(0) : &*root;
  const yaml::Node& scalar = map->find("k")->value;
  const auto in_text = scalar.text.find('^');
  REQUIRE(in_text != std::string::npos);
  const auto position = [](const std::string& text, std::size_t at) {
    const auto before = text.substr(0, at);
    const auto last = before.rfind('\n');
    return Position{static_cast<std::uint32_t>(std::count(before.begin(), before.end(), '\n')) + 1,
                    static_cast<std::uint32_t>(at - (last == std::string::npos ? 0 : last + 1)) + 1};
  };
  CHECK(yaml::locate(source, scalar, position(scalar.text, in_text)) == position(source, source.find('^')));
}

}  // namespace

TEST_CASE("a character of a scalar is found in the file, whatever the scalar's style") {
  for (const std::string source : {
           "k: ^abc",
           "k: ab^c  # note",
           "- k: abc\n    d ^ e\n  z: 1\n",
           "k: abc\n\n\n  d^e\n",
           "k: a\n   b   \n   c ^\nz: 1\n",
           "k: 'it''s ^ here'",
           "k: 'two\n  lines ^'",
           "k: 'two\n\n  para''s ^'",
           "k: \"tab\\t^\"",
           "k: \"\\u00e9\\x41\\U0001F600\\L ^\"",
           "k: \"a\\\"b\\\\ ^\"",
           "k: \"line \\\n   joined ^\"",
           "k: \"one\n  two ^\"",
           "k: !!str \"a ^\"",
           "k: &anchor a ^",
           "k: |\n  first\n  sec^ond\n",
           "- k: |\n    first\n     deeper ^\n  z: 1\n",
           "k: |\n\n\n  first\n\n  sec^ond\n",
           "k: |-\n  first ^\n\nz: 1\n",
           "k: |2\n   one\n  two ^\n",
           "k: | # a note\n  one\n  two ^\n",
           "k: >\n  first\n  sec^ond\n",
           "k: >-\n  first\n\n  sec\n  th^ird\n",
           "k: >\n  first\n    deeper\n    and ^\n  back\n",
           "k: >\n  first\n    deeper\n\n  back ^\n",
           "k: >\n\n  first\n\n\n  back ^\n",
           "k: >\n  first\n  ^\n",
           "k: \"caf\xc3\xa9 ^\"",
           "k: |\r\n  first\r\n  sec^ond\r\n",
       })
    check_mark(source);
}

TEST_CASE("a place behind the end of the text is the end") {
  Diagnostics diagnostics;
  const std::string source = "k: abc\n";
  const auto root = yaml::parse("f", source, diagnostics);
  CHECK(yaml::locate(source, root->find("k")->value, {1, 4}) == Position{1, 7});
  CHECK(yaml::locate(source, root->find("k")->value, {9, 9}) == Position{1, 7});
}
