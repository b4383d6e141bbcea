internal import CCurl

/// Header lines in libcurl's form, shared by all requests that carry the same ones.
///
/// libcurl keeps only the pointer, so every transfer that uses the list holds it.
final class HeaderList {
    let headers: [String]
    private(set) var list: UnsafeMutablePointer<curl_slist>?

    init(_ headers: [String]) {
        self.headers = headers
        for header in headers { list = curl_slist_append(list, header) }
        // Without this, libcurl waits for "100 Continue" before a large body on HTTP/1.1.
        list = curl_slist_append(list, "Expect:")
    }

    deinit { curl_slist_free_all(list) }
}
