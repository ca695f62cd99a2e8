// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

// This program's own write, pwrite, fsync, fdatasync, ftruncate, rename and unlink, which the libraries that it is linked
// with use too: calls that concern a journal's file can be made to fail, or be the last thing that the process does.
namespace rdmend::test {

enum class Call : std::uint8_t { write, sync, truncate, rename, unlink };
inline constexpr int kCalls = 5;

// The `count`-th call of `kind` from now on ends the process as kill -9 does.
enum class Moment : std::uint8_t { before, halfway, after };  // half-way of a write: half of its bytes
void kill_at(Call kind, std::uint32_t count, Moment moment);
// Calls since the last kill_at() or at all.
std::uint32_t calls(Call kind);

// Every such call fails with `error`, from now on; 0: none does.
void fail_calls(int error);
// Every such call waits until it is let go.
void hold_calls(bool held);

}  // namespace rdmend::test
