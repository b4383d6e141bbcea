internal import CNGHTTP2
internal import FanfareModel
internal import HTTPLanes

/// The header fields that requests with the same method, URL and header lines have in common, in nghttp2's form.
///
/// nghttp2 copies the fields when a request is submitted.
final class HeaderBlock {
    private let method: HTTPMethod
    private let url: String
    private let headers: [String]
    private let bytes: UnsafeMutableBufferPointer<UInt8>
    private let fields: UnsafeMutableBufferPointer<nghttp2_nv>
    private let digits = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: 20)

    /// - Parameter origin: the URL's first part, `https://host[:port]`.
    init(_ request: HTTPRequest, origin: String) {
        (method, url, headers) = (request.method, request.url, request.headers)
        let path = request.url.dropFirst(origin.count)
        var pairs: [(String, String)] = [
            (":method", request.method.rawValue), (":scheme", "https"),
            (":authority", String(origin.dropFirst("https://".count))),
            (":path", path.hasPrefix("/") ? String(path) : "/" + path), ("accept", "*/*"),
        ]
        for line in request.headers {
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            // HTTP/2 allows no spaces around a value.
            var value = parts[1].drop { $0 == " " }
            while value.last == " " { value.removeLast() }
            pairs.append((parts[0].lowercased(), String(value)))
        }
        pairs.append(("content-length", ""))
        let all = pairs.flatMap { Array($0.0.utf8) + Array($0.1.utf8) }
        bytes = .allocate(capacity: all.count)
        _ = bytes.initialize(fromContentsOf: all)
        fields = .allocate(capacity: pairs.count)
        var start = bytes.baseAddress
        for (index, pair) in pairs.enumerated() {
            let (name, value) = (start, start.map { $0 + pair.0.utf8.count })
            let flags = UInt8(NGHTTP2_NV_FLAG_NONE.rawValue)
            let field = nghttp2_nv(
                name: name,
                value: value,
                namelen: pair.0.utf8.count,
                valuelen: pair.1.utf8.count,
                flags: flags
            )
            fields.initializeElement(at: index, to: field)
            start = value.map { $0 + pair.1.utf8.count }
        }
    }

    deinit {
        bytes.deallocate()
        fields.deallocate()
        digits.deallocate()
    }

    /// Whether the request has this block's fields.
    func fits(_ request: HTTPRequest) -> Bool {
        request.url == url && request.method == method && request.headers == headers
    }

    /// The fields of a request with a body of that length; without one there is no `content-length`.
    func fields(bodyBytes: Int) -> UnsafeMutableBufferPointer<nghttp2_nv> {
        guard bodyBytes > 0 else { return UnsafeMutableBufferPointer(rebasing: fields.dropLast()) }
        var start = digits.count
        var rest = bodyBytes
        while rest > 0 {
            start -= 1
            digits[start] = UInt8(ascii: "0") + UInt8(rest % 10)
            rest /= 10
        }
        fields[fields.count - 1].value = digits.baseAddress.map { $0 + start }
        fields[fields.count - 1].valuelen = digits.count - start
        return fields
    }
}
