// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>

namespace rdmend::config {

// What is wrong with PEM texts, before a server is started with them; nullopt when nothing is.
std::optional<std::string> certificate_fault(const std::string& pem);
std::optional<std::string> private_key_fault(const std::string& pem);
// Both being sound by themselves.
std::optional<std::string> pair_fault(const std::string& certificate, const std::string& key);

}  // namespace rdmend::config
