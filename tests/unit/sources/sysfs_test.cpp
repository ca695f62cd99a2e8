// SPDX-License-Identifier: Apache-2.0
#include "sources/sysfs.hpp"

#include <catch2/catch.hpp>
#include <cerrno>

#include "support/tree.hpp"

using namespace rdmend;
using namespace rdmend::sources;

TEST_CASE("a file is read without its line end, again and again through one descriptor") {
  const test::Tree tree;
  tree.file("state", " 4: ACTIVE ");
  const auto dir = open_dir(AT_FDCWD, tree.path());
  REQUIRE(dir);
  KeptFile state("state");
  CHECK(state.read(dir->get()).value() == "4: ACTIVE");
  tree.file("state", "1: DOWN");
  CHECK(state.read(dir->get()).value() == "1: DOWN");
}

TEST_CASE("what is not there is an error with its number, and no more than that") {
  const test::Tree tree;
  const auto dir = open_dir(AT_FDCWD, tree.path());
  REQUIRE(dir);
  CHECK(KeptFile("none").read(dir->get()).error().code == ENOENT);
  CHECK(list_dir(dir->get(), "none").error().code == ENOENT);
  CHECK(link_name(dir->get(), "none").error().code == ENOENT);
  CHECK(open_dir(dir->get(), "none").error().message == "none: No such file or directory");
  tree.files("directory", {});
  CHECK(read_file(dir->get(), "directory").error().code == EISDIR);
}

TEST_CASE("a file may be as long as it likes: a page of it is read") {
  const test::Tree tree;
  tree.file("long", std::string(100'000, 'x'));
  const auto dir = open_dir(AT_FDCWD, tree.path());
  CHECK(read_file(dir->get(), "long").value().size() == kMostFileBytes);
}

TEST_CASE("a directory is listed in order, hidden names left out, at most so many") {
  const test::Tree tree;
  tree.files("d", {{"b", ""}, {"a", ""}, {".hidden", ""}});
  const auto dir = open_dir(AT_FDCWD, tree.path());
  CHECK(list_dir(dir->get(), "d").value() == std::vector<std::string>{"a", "b"});
  for (std::size_t i = 0; i < kMostDirEntries + 10; ++i) tree.file("many/" + std::to_string(i), "");
  CHECK(list_dir(dir->get(), "many").value().size() == kMostDirEntries);
}

TEST_CASE("a link gives the last part of its target") {
  const test::Tree tree;
  tree.link("driver", "../../bus/pci/drivers/mlx5_core");
  const auto dir = open_dir(AT_FDCWD, tree.path());
  CHECK(link_name(dir->get(), "driver").value() == "mlx5_core");
}

TEST_CASE("numbers fill their text or are none") {
  CHECK(parse_number("18446744073709551615") == 18446744073709551615ULL);
  CHECK(parse_number("0x2a") == 42);
  for (const char* text : {"", "0x", "-1", "+1", " 1", "1 ", "1.5", "12a", "18446744073709551616", "N/A (no PMA)"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_number(text));
  }
}
