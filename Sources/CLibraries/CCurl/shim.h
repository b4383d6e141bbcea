#ifndef FANFARE_CCURL_H
#define FANFARE_CCURL_H

// libcurl's setopt and getinfo are variadic, and Swift cannot call variadic C functions: one wrapper per type.
#include <curl/curl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

// curl_easy_header, CURLOPT_PROTOCOLS_STR and CURLOPT_QUICK_EXIT all exist from here on.
#if LIBCURL_VERSION_NUM < 0x075700
#error "Fanfare needs libcurl 7.87 or later"
#endif

static inline CURLcode ccurl_set_long(CURL *easy, CURLoption option, long value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode ccurl_set_offset(CURL *easy, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(easy, option, value);
}

// libcurl copies the string; NULL resets the option to its default.
static inline CURLcode ccurl_set_string(CURL *easy, CURLoption option, const char *value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode ccurl_set_pointer(CURL *easy, CURLoption option, void *value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode ccurl_set_list(CURL *easy, CURLoption option, struct curl_slist *value) {
    return curl_easy_setopt(easy, option, value);
}

// libcurl copies the bytes.
static inline CURLcode ccurl_set_ca_blob(CURL *easy, const void *bytes, size_t count) {
    struct curl_blob blob = {(void *)bytes, count, CURL_BLOB_COPY};
    return curl_easy_setopt(easy, CURLOPT_CAINFO_BLOB, &blob);
}

typedef size_t (*ccurl_transfer_callback)(char *buffer, size_t size, size_t count, void *context);
typedef int (*ccurl_seek_callback)(void *context, curl_off_t offset, int origin);
typedef int (*ccurl_sockopt_callback)(void *context, curl_socket_t fd, curlsocktype purpose);
typedef int (*ccurl_close_callback)(void *context, curl_socket_t fd);
typedef curl_socket_t (*ccurl_open_callback)(void *context, curlsocktype purpose, struct curl_sockaddr *address);

static inline CURLcode ccurl_set_transfer(CURL *easy, CURLoption option, ccurl_transfer_callback callback) {
    return curl_easy_setopt(easy, option, callback);
}

static inline CURLcode ccurl_set_seek(CURL *easy, ccurl_seek_callback callback) {
    return curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, callback);
}

static inline CURLcode ccurl_set_sockopt(CURL *easy, ccurl_sockopt_callback callback) {
    return curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, callback);
}

static inline CURLcode ccurl_set_close(CURL *easy, ccurl_close_callback callback) {
    return curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, callback);
}

static inline CURLcode ccurl_set_open(CURL *easy, ccurl_open_callback callback) {
    return curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, callback);
}

// What libcurl does without an open callback.
static inline curl_socket_t ccurl_open_socket(const struct curl_sockaddr *address) {
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

static inline CURLcode ccurl_get_long(CURL *easy, CURLINFO info, long *value) {
    return curl_easy_getinfo(easy, info, value);
}

static inline CURLcode ccurl_get_offset(CURL *easy, CURLINFO info, curl_off_t *value) {
    return curl_easy_getinfo(easy, info, value);
}

// The string belongs to the handle, until its next transfer.
static inline CURLcode ccurl_get_string(CURL *easy, CURLINFO info, const char **value) {
    return curl_easy_getinfo(easy, info, (char **)value);
}

static inline CURLcode ccurl_get_pointer(CURL *easy, CURLINFO info, void **value) {
    return curl_easy_getinfo(easy, info, (char **)value);
}

typedef int (*ccurl_socket_callback)(CURL *easy, curl_socket_t fd, int what, void *context, void *socket_context);
typedef int (*ccurl_timer_callback)(CURLM *multi, long timeout_ms, void *context);

static inline CURLMcode ccurl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}

static inline CURLMcode ccurl_multi_set_callbacks(
    CURLM *multi, ccurl_socket_callback socket, ccurl_timer_callback timer, void *context
) {
    CURLMcode code = curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, socket);
    if (code == CURLM_OK) code = curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, context);
    if (code == CURLM_OK) code = curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, timer);
    if (code == CURLM_OK) code = curl_multi_setopt(multi, CURLMOPT_TIMERDATA, context);
    return code;
}

static inline CURLSHcode ccurl_share_set(CURLSH *share, CURLSHoption option, long value) {
    return curl_share_setopt(share, option, value);
}

// The Glibc module does not export netinet/tcp.h.
static inline int ccurl_set_cork(int fd, int on) {
    return setsockopt(fd, IPPROTO_TCP, TCP_CORK, &on, sizeof(on));
}

static inline int ccurl_set_user_timeout(int fd, unsigned int milliseconds) {
    return setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds, sizeof(milliseconds));
}

#endif
