internal import CCurl
public import FanfareModel
internal import Glibc
public import HTTPLanes

/// Sends one request by itself, for diagnostics, under the rules of TLS and proxies that a worker follows. Blocks.
public enum EndpointProbe {
    public struct Report: Equatable, Sendable {
        public var answer: HTTPAnswer
        /// False: HTTP/1.1.
        public var isHTTP2: Bool
    }

    public struct Failure: Error, Equatable, Sendable {
        public var reason: Reason
    }

    /// - Parameters:
    ///   - body: nil for a GET.
    ///   - timeoutMs: for everything together.
    public static func run(
        url: String,
        headers: [String] = [],
        body: [UInt8]? = nil,
        configuration: OriginConfiguration,
        timeoutMs: Int = 10_000
    ) throws(Failure) -> Report {
        var rule = RequestRule(allowsPlainHTTP: configuration.allowsPlainHTTP)
        let request = HTTPRequest(
            tag: 0,
            method: body == nil ? .get : .post,
            url: url,
            headers: headers,
            body: body ?? [],
            timeoutMs: Int64(timeoutMs)
        )
        if let reason = rule.fault(of: request) { throw Failure(reason: Reason(reason)) }
        guard let easy = curl_easy_init() else { throw Failure(reason: "no memory") }
        defer { curl_easy_cleanup(easy) }
        let list = HeaderList(headers)
        let sink = ProbeSink()
        return try withExtendedLifetime((sink, list)) { () throws(Failure) -> Report in
            ConnectionOptions.apply(configuration, trust: TrustStore(privateFile: configuration.caFile), to: easy)
            Curl.set(easy, CURLOPT_URL, url)
            Curl.set(easy, CURLOPT_TIMEOUT_MS, timeoutMs)
            Curl.check(ccurl_set_list(easy, CURLOPT_HTTPHEADER, list.list), CURLOPT_HTTPHEADER)
            Curl.check(ccurl_set_transfer(easy, CURLOPT_WRITEFUNCTION, probeWrite), CURLOPT_WRITEFUNCTION)
            Curl.set(easy, CURLOPT_WRITEDATA, pointer: Unmanaged.passUnretained(sink).toOpaque())
            if let body {
                Curl.set(easy, CURLOPT_POST, 1)
                Curl.set(easy, CURLOPT_POSTFIELDSIZE, body.count)
                // libcurl copies the bytes.
                var copy = body
                copy.withUnsafeMutableBytes { Curl.set(easy, CURLOPT_COPYPOSTFIELDS, pointer: $0.baseAddress) }
            }
            try perform(easy)
            let answer = HTTPAnswer(
                status: Curl.long(easy, CURLINFO_RESPONSE_CODE),
                body: sink.bytes,
                isComplete: !sink.isCut,
                contentType: Curl.bytes(easy, CURLINFO_CONTENT_TYPE).map { String(cString: $0) },
                retryAfter: Curl.header(easy, "retry-after"),
                date: Curl.header(easy, "date"),
                metadataFlavor: Curl.header(easy, "metadata-flavor")
            )
            let version = Curl.long(easy, CURLINFO_HTTP_VERSION)
            return Report(answer: answer, isHTTP2: version == Int(CURL_HTTP_VERSION_2_0))
        }
    }

    /// Connects with TLS, as XMPP does, and sends nothing.
    public static func connect(
        host: String,
        port: Int,
        configuration: OriginConfiguration,
        timeoutMs: Int = 10_000
    ) throws(Failure) {
        let url = "https://\(host):\(port)"
        guard RequestRule.origin(of: url) != nil else { throw Failure(reason: "not a host name") }
        guard let easy = curl_easy_init() else { throw Failure(reason: "no memory") }
        defer { curl_easy_cleanup(easy) }
        var direct = configuration
        // A proxy for HTTP carries no XMPP.
        direct.proxy = nil
        ConnectionOptions.apply(direct, trust: TrustStore(privateFile: configuration.caFile), to: easy)
        Curl.set(easy, CURLOPT_URL, url)
        Curl.set(easy, CURLOPT_TIMEOUT_MS, timeoutMs)
        Curl.set(easy, CURLOPT_CONNECT_ONLY, 1)
        Curl.set(easy, CURLOPT_SSL_ENABLE_ALPN, 0)
        try perform(easy)
    }

    private static func perform(_ easy: UnsafeMutableRawPointer) throws(Failure) {
        let code = curl_easy_perform(easy)
        guard code != CURLE_OK else { return }
        let proxyStatus = Curl.long(easy, CURLINFO_HTTP_CONNECTCODE)
        let text =
            proxyStatus >= 300
            ? "CONNECT tunnel failed, response \(proxyStatus)" : String(cString: curl_easy_strerror(code))
        let kind = CurlCode.kind(
            of: Int(code.rawValue),
            proxyStatus: proxyStatus,
            verifyResult: Curl.long(easy, CURLINFO_SSL_VERIFYRESULT)
        )
        throw Failure(reason: Reason(kind, text))
    }
}

private final class ProbeSink {
    var bytes: [UInt8] = []
    var isCut = false
}

private let probeWrite: ccurl_transfer_callback = { buffer, size, count, context in
    guard let buffer, let sink: ProbeSink = Curl.owner(of: context) else { return 0 }
    let bytes = UnsafeRawBufferPointer(start: buffer, count: size * count)
    // Bytes beyond this are read and dropped.
    if sink.bytes.count + bytes.count <= 65_536 { sink.bytes.append(contentsOf: bytes) } else { sink.isCut = true }
    return bytes.count
}
