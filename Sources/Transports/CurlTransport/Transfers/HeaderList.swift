internal import CCurl

/// Header lines in libcurl's form, shared by all requests that carry the same ones.
///
/// libcurl keeps only the pointer, so the list outlives every transfer that uses it: counted by ``retain()`` and
/// ``release()``, freed on the loop with the last.
final class HeaderList {
    let headers: [String]
    private(set) var list: UnsafeMutablePointer<curl_slist>?
    private var users = 1

    init(_ headers: [String]) {
        self.headers = headers
        for header in headers { list = curl_slist_append(list, header) }
        // Without this, libcurl waits for "100 Continue" before a large body on HTTP/1.1.
        list = curl_slist_append(list, "Expect:")
    }

    deinit { assert(list == nil, "released by all users first") }

    func retain() { users += 1 }

    func release() {
        users -= 1
        guard users == 0 else { return }
        curl_slist_free_all(list)
        list = nil
    }
}
