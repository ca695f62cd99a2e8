// SPDX-License-Identifier: Apache-2.0
#include "rdmend/http_guard.hpp"

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <microhttpd.h>

#include "base/c_handle.hpp"
#include "rdmend/clients.hpp"

namespace rdmend::daemon {
namespace {

using MhdText = CHandle<char, MHD_free>;

// Of equal length whatever the texts are, so that a comparison of digests tells nothing by its time. A name has no ':'.
std::string digest(std::string_view name, std::string_view password) {
  const auto text = std::string(name) + ":" + std::string(password);
  std::string out(gnutls_hash_get_len(GNUTLS_DIG_SHA256), '\0');
  if (gnutls_hash_fast(GNUTLS_DIG_SHA256, text.data(), text.size(), out.data()) < 0) out.clear();
  return out;
}

// libmicrohttpd asks for a certificate and takes none for an answer: what was shown is judged here. A certificate that says
// what it is for must be for clients.
bool shows_trusted_certificate(MHD_Connection* connection) {
  const auto* info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
  if (info == nullptr || info->tls_session == nullptr) return false;
  gnutls_typed_vdata_st purpose{};
  purpose.type = GNUTLS_DT_KEY_PURPOSE_OID;
  purpose.data = reinterpret_cast<unsigned char*>(const_cast<char*>(GNUTLS_KP_TLS_WWW_CLIENT));
  unsigned status = 0;
  const int code = gnutls_certificate_verify_peers(static_cast<gnutls_session_t>(info->tls_session), &purpose, 1, &status);
  return code == GNUTLS_E_SUCCESS && status == 0;
}

}  // namespace

Guard::Guard(const config::Listen& how)
    : wants_certificate_(how.tls && !how.tls->client_ca.empty()),
      wants_password_(how.basic_auth.has_value()),
      expected_(how.basic_auth ? digest(how.basic_auth->username, how.basic_auth->password) : "") {}

bool Guard::knows_password(MHD_Connection* connection) const {
  char* password = nullptr;
  const MhdText name(MHD_basic_auth_get_username_password(connection, &password));
  const MhdText owned(password);
  const auto given = digest(name ? name.get() : "", owned ? owned.get() : "");
  return given.size() == expected_.size() && !given.empty() && gnutls_memcmp(given.data(), expected_.data(), given.size()) == 0;
}

void Guard::tell(const Client* client, Instant now, std::string_view why) {
  const auto source = client == nullptr ? "unknown" : client->source;
  const auto more = limiter_.admit(source, now);
  if (more >= 0) log::warning("http", "a request was refused", {{"why", std::string(why)}, {"source", source}, {"more", std::to_string(more)}});
}

std::optional<Guard::Refusal> Guard::refuse(MHD_Connection* connection, Client* client, Instant now) {
  if (wants_certificate_ && (client == nullptr || !client->certified)) {
    const bool trusted = shows_trusted_certificate(connection);
    if (client != nullptr) client->certified = trusted;
    if (!trusted) {
      tell(client, now, "no certificate that client_ca has signed");
      return Refusal{403, "a client certificate is needed, signed by the authority that listen.tls.client_ca names\n"};
    }
  }
  if (!wants_password_ || knows_password(connection)) return std::nullopt;
  tell(client, now, "wrong or no password");
  return Refusal{401, "a user name and password are needed\n"};
}

}  // namespace rdmend::daemon
