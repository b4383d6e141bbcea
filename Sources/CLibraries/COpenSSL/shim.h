#ifndef FANFARE_COPENSSL_H
#define FANFARE_COPENSSL_H

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

// OPENSSL_INIT_NO_ATEXIT is a macro with a suffix that Swift does not import.
static inline int copenssl_keep_until_exit(void) {
    return OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL);
}

// SSL_CTX_set_min_proto_version is a macro over SSL_CTX_ctrl.
static inline int copenssl_require_tls12(SSL_CTX *context) {
    return SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1;
}

// SSL_set_tlsext_host_name is a macro that casts away const.
static inline int copenssl_set_server_name(SSL *session, const char *name) {
    return SSL_set_tlsext_host_name(session, name) == 1;
}

// The SSL_OP_ constants are macros with casts that Swift does not import.
static inline void copenssl_refuse_renegotiation(SSL_CTX *context) {
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
}

// SSL_CTX_set_mode is a macro over SSL_CTX_ctrl.
static inline void copenssl_release_idle_buffers(SSL_CTX *context) {
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
}

// ERR_GET_REASON and the ERR_LIB constants are macros or inline functions over bit fields.
static inline int copenssl_is_verification_failure(unsigned long code) {
    return ERR_GET_LIB(code) == ERR_LIB_SSL && ERR_GET_REASON(code) == SSL_R_CERTIFICATE_VERIFY_FAILED;
}

// SSL_select_next_proto drops `const` from its result, which SSL_CTX_set_alpn_select_cb asks for.
// `list`: the server's protocols, most wanted first, in ALPN's own form: a byte of length before each, 0 at the end.
// Without a common protocol the handshake continues and negotiates none.
static inline int copenssl_select_protocol(SSL *session, const unsigned char **chosen, unsigned char *length,
                                           const unsigned char *offered, unsigned int count, void *list) {
    (void)session;
    const unsigned char *end = list;
    while (*end != 0) end += 1 + *end;
    unsigned char *out = NULL;
    if (SSL_select_next_proto(&out, length, list, (unsigned int)(end - (const unsigned char *)list), offered, count)
        != OPENSSL_NPN_NEGOTIATED) {
        return SSL_TLSEXT_ERR_NOACK;
    }
    *chosen = out;
    return SSL_TLSEXT_ERR_OK;
}

// EVP_RSA_gen and EVP_EC_gen are macros over a variadic function.
static inline EVP_PKEY *copenssl_generate_rsa_key(unsigned int bits) {
    return EVP_RSA_gen(bits);
}

static inline EVP_PKEY *copenssl_generate_p256_key(void) {
    return EVP_EC_gen("P-256");
}

#endif
