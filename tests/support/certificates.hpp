// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "support/command.hpp"
#include "support/temp_directory.hpp"

namespace rdmend::test {

// An authority and what it has signed, made with openssl in a directory of its own: ca.pem, ca.key; for each of server, client and
// twin (a second server) NAME.pem and NAME.key; locked.key (server.key with a passphrase); stranger.pem, stranger.key (of another authority).
class Certificates : public TempDirectory {
 public:
  Certificates() {
    run("req -x509 -subj /CN=authority -keyout ca.key -out ca.pem");
    run("req -x509 -subj /CN=stranger -keyout stranger.key -out stranger.pem");
    for (const std::string name : {"server", "twin"}) sign(name, "serverAuth");
    sign("client", "clientAuth");
    run("ec -in server.key -aes128 -passout pass:x -out locked.key", "");
  }

 private:
  void run(const std::string& arguments, const std::string& common = " -days 2 -nodes -newkey ec -pkeyopt ec_paramgen_curve:prime256v1") const {
    run_command("cd " + path() + " && openssl " + arguments + common + " > /dev/null 2>&1");
  }
  void sign(const std::string& name, const std::string& use) const {
    write(name + ".ext", "subjectAltName=IP:127.0.0.1,DNS:localhost\nextendedKeyUsage=" + use + "\n");
    run("req -subj /CN=" + name + " -keyout " + name + ".key -out " + name + ".csr", " -nodes -newkey ec -pkeyopt ec_paramgen_curve:prime256v1");
    run("x509 -req -days 2 -in " + name + ".csr -CA ca.pem -CAkey ca.key -CAcreateserial -extfile " + name + ".ext -out " + name + ".pem", "");
  }
};

}  // namespace rdmend::test
