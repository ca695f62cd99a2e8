// SPDX-License-Identifier: Apache-2.0
#include "config/tls_files.hpp"

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

#include <type_traits>

#include "base/c_handle.hpp"

namespace rdmend::config {
namespace {

using PrivateKey = CHandle<std::remove_pointer_t<gnutls_x509_privkey_t>, gnutls_x509_privkey_deinit>;
using Credentials = CHandle<std::remove_pointer_t<gnutls_certificate_credentials_t>, gnutls_certificate_free_credentials>;

// A view: gnutls takes a pointer that it does not write through.
gnutls_datum_t datum(const std::string& text) {
  return {reinterpret_cast<unsigned char*>(const_cast<char*>(text.data())), static_cast<unsigned>(text.size())};
}

}  // namespace

std::optional<std::string> certificate_fault(const std::string& pem) {
  gnutls_x509_crt_t* list = nullptr;
  unsigned count = 0;
  const auto data = datum(pem);
  const int code = gnutls_x509_crt_list_import2(&list, &count, &data, GNUTLS_X509_FMT_PEM, 0);
  if (code < 0) return code == GNUTLS_E_NO_CERTIFICATE_FOUND ? "there is no certificate in it" : gnutls_strerror(code);
  for (unsigned i = 0; i < count; ++i) gnutls_x509_crt_deinit(list[i]);
  gnutls_free(list);
  return std::nullopt;
}

std::optional<std::string> private_key_fault(const std::string& pem) {
  gnutls_x509_privkey_t made = nullptr;
  if (gnutls_x509_privkey_init(&made) < 0) return "out of memory";
  const PrivateKey key(made);
  const auto data = datum(pem);
  const int code = gnutls_x509_privkey_import2(key.get(), &data, GNUTLS_X509_FMT_PEM, nullptr, 0);
  if (code >= 0) return std::nullopt;
  if (code == GNUTLS_E_DECRYPTION_FAILED || pem.find("ENCRYPTED") != std::string::npos) return "it is protected by a passphrase, which nobody would be there to give";
  const bool none = code == GNUTLS_E_BASE64_UNEXPECTED_HEADER_ERROR || code == GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE;
  return none ? "there is no private key in it" : gnutls_strerror(code);
}

std::optional<std::string> pair_fault(const std::string& certificate, const std::string& key) {
  gnutls_certificate_credentials_t made = nullptr;
  if (gnutls_certificate_allocate_credentials(&made) < 0) return "out of memory";
  const Credentials credentials(made);
  const auto cert_data = datum(certificate);
  const auto key_data = datum(key);
  const int code = gnutls_certificate_set_x509_key_mem(credentials.get(), &cert_data, &key_data, GNUTLS_X509_FMT_PEM);
  if (code >= 0) return std::nullopt;
  return code == GNUTLS_E_CERTIFICATE_KEY_MISMATCH ? "it is not the key of the certificate" : gnutls_strerror(code);
}

}  // namespace rdmend::config
