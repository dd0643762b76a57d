// OpenSSL 3.0 without what it has deprecated, and what Swift cannot import of it: function-like macros, variadic
// functions and 64-bit constants. Each shim has the name of what it stands for, behind `shim_`. No logic here.
#define OPENSSL_API_COMPAT 30000
#define OPENSSL_NO_DEPRECATED
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/sha.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

static const uint64_t shim_SSL_OP_NO_TICKET = SSL_OP_NO_TICKET;
static const uint64_t shim_SSL_OP_NO_RENEGOTIATION = SSL_OP_NO_RENEGOTIATION;
static const uint64_t shim_SSL_OP_CIPHER_SERVER_PREFERENCE = SSL_OP_CIPHER_SERVER_PREFERENCE;
static const uint64_t shim_SSL_OP_PRIORITIZE_CHACHA = SSL_OP_PRIORITIZE_CHACHA;
static const unsigned long shim_XN_FLAG_RFC2253 = XN_FLAG_RFC2253;

static inline void shim_BIO_set_retry_read(BIO *bio) { BIO_set_retry_read(bio); }
static inline void shim_BIO_clear_retry_flags(BIO *bio) { BIO_clear_retry_flags(bio); }

static inline int shim_SSL_CTX_set_min_proto_version(SSL_CTX *context, int version) {
    return (int)SSL_CTX_set_min_proto_version(context, version);
}
static inline int shim_SSL_CTX_set_max_proto_version(SSL_CTX *context, int version) {
    return (int)SSL_CTX_set_max_proto_version(context, version);
}
static inline void shim_SSL_CTX_set_mode(SSL_CTX *context, long mode) { SSL_CTX_set_mode(context, mode); }
static inline void shim_SSL_CTX_clear_mode(SSL_CTX *context, long mode) { SSL_CTX_clear_mode(context, mode); }
static inline void shim_SSL_CTX_set_session_cache_mode(SSL_CTX *context, long mode) {
    SSL_CTX_set_session_cache_mode(context, mode);
}
static inline int shim_SSL_CTX_set_tlsext_ticket_keys(SSL_CTX *context, void *keys, long count) {
    return (int)SSL_CTX_set_tlsext_ticket_keys(context, keys, count);
}
static inline void shim_SSL_CTX_set_tlsext_servername_callback(
    SSL_CTX *context, int (*callback)(SSL *session, int *alert, void *argument)) {
    SSL_CTX_set_tlsext_servername_callback(context, callback);
}
static inline int shim_SSL_CTX_add1_chain_cert(SSL_CTX *context, X509 *certificate) {
    return (int)SSL_CTX_add1_chain_cert(context, certificate);
}
static inline int shim_SSL_set_tlsext_host_name(SSL *session, const char *name) {
    return (int)SSL_set_tlsext_host_name(session, name);
}
static inline long shim_SSL_get_tmp_key(SSL *session, EVP_PKEY **key) { return SSL_get_tmp_key(session, key); }
static inline long shim_SSL_get_peer_tmp_key(SSL *session, EVP_PKEY **key) {
    return SSL_get_peer_tmp_key(session, key);
}
static inline void shim_sk_SSL_CIPHER_zero(STACK_OF(SSL_CIPHER) *ciphers) { sk_SSL_CIPHER_zero(ciphers); }
static inline int shim_sk_SSL_CIPHER_reserve(STACK_OF(SSL_CIPHER) *ciphers, int count) {
    return sk_SSL_CIPHER_reserve(ciphers, count);
}
static inline int shim_SSL_get_extms_support(SSL *session) { return (int)SSL_get_extms_support(session); }

static inline EVP_PKEY *shim_EVP_EC_gen(const char *curve) { return EVP_EC_gen(curve); }
static inline EVP_PKEY *shim_EVP_RSA_gen(unsigned int bits) { return EVP_RSA_gen(bits); }

static inline int shim_sk_GENERAL_NAME_push(GENERAL_NAMES *names, GENERAL_NAME *name) {
    return sk_GENERAL_NAME_push(names, name);
}
static inline int shim_sk_GENERAL_NAME_num(const GENERAL_NAMES *names) { return sk_GENERAL_NAME_num(names); }
static inline GENERAL_NAME *shim_sk_GENERAL_NAME_value(const GENERAL_NAMES *names, int index) {
    return sk_GENERAL_NAME_value(names, index);
}
static inline int shim_sk_ASN1_OBJECT_num(const EXTENDED_KEY_USAGE *usages) { return sk_ASN1_OBJECT_num(usages); }
static inline ASN1_OBJECT *shim_sk_ASN1_OBJECT_value(const EXTENDED_KEY_USAGE *usages, int index) {
    return sk_ASN1_OBJECT_value(usages, index);
}
static inline EXTENDED_KEY_USAGE *shim_EXTENDED_KEY_USAGE(void *value) { return value; }
static inline GENERAL_NAMES *shim_GENERAL_NAMES(void *value) { return value; }
