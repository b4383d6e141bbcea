internal import FanfareModel

/// Checks a request before an engine gets it. libcurl passes a line break inside a header on to the wire as
/// a second header, and an `@` in a URL moves the host, so both are refused here in any case.
package struct RequestRule {
    private let allowsPlainHTTP: Bool
    /// `https://host[:port]` of the first good request, in lower case.
    private(set) var origin: String?
    private var lastURL: String?
    private var lastHeaders: [String]?

    package init(allowsPlainHTTP: Bool = false) { self.allowsPlainHTTP = allowsPlainHTTP }

    /// Why the request must not be sent, or nil. The first good request fixes the origin.
    package mutating func fault(of request: HTTPRequest) -> String? {
        // Most requests repeat the last one's URL and headers; equal arrays are most often the same array.
        if request.url != lastURL {
            guard let found = Self.origin(of: request.url, allowsPlainHTTP: allowsPlainHTTP) else {
                return "url: not an https URL of allowed characters"
            }
            if let origin, origin != found { return "url: another origin than this pool's" }
            origin = found
            lastURL = request.url
        }
        if request.headers != lastHeaders {
            for header in request.headers where !Self.isAllowed(header: header) {
                return "header: a name and a value of allowed characters are needed"
            }
            lastHeaders = request.headers
        }
        return request.method != .post && !request.body.isEmpty ? "body: only with POST" : nil
    }

    /// `https://host[:port]`, in lower case, or nil when the URL is not absolute https or holds a byte that a URL
    /// cannot hold.
    ///
    /// - Parameter allowsPlainHTTP: whether `http` is accepted too.
    package static func origin(of url: String, allowsPlainHTTP: Bool = false) -> String? {
        let bytes = Array(url.utf8)
        let scheme = Array((allowsPlainHTTP && bytes.starts(with: "http://".utf8) ? "http://" : "https://").utf8)
        guard bytes.starts(with: scheme), bytes.allSatisfy({ $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "\\") })
        else { return nil }
        let host = bytes[scheme.count...].prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
        let isHost = { (byte: UInt8) in byte.isASCIIAlphanumeric || "-._:[]".utf8.contains(byte) }
        guard !host.isEmpty, host.allSatisfy(isHost), !bytes.contains(UInt8(ascii: "#")) else { return nil }
        return String(decoding: scheme + host, as: UTF8.self).lowercased()
    }

    static func isAllowed(header: String) -> Bool {
        let bytes = header.utf8
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), colon != bytes.startIndex else { return false }
        let isName = { (byte: UInt8) in byte.isASCIIAlphanumeric || "-_".utf8.contains(byte) }
        guard bytes[..<colon].allSatisfy(isName) else { return false }
        let value = bytes[bytes.index(after: colon)...]
        // libcurl reads a header without a value as "remove this header".
        return value.allSatisfy { $0 >= 0x20 && $0 != 0x7f } && value.contains { $0 != 0x20 }
    }
}
