internal import FanfareJSON
public import FanfareModel

extension TokenRequest {
    private static let limits = JSONLimits(maximumDepth: 16, maximumBytes: 65_536)

    /// Reads the answer of an OAuth endpoint: `access_token`, `expires_in`, or an error.
    public static func parse(
        _ answer: HTTPAnswer,
        from endpoint: TokenEndpoint = .assertion
    ) -> Result<AccessToken, TokenError> {
        read(answer, from: endpoint, TokenAdvice()).flatMap { object in
            if let type = object["token_type"]?.string, type.lowercased() != "bearer" {
                return .failure(.unusable(endpoint, "the token_type is not Bearer"))
            }
            return accessToken("access_token", of: object, from: endpoint).map { value in
                let (seconds, fault) = lifetime(object["expires_in"])
                return AccessToken(value: value, expiresInSeconds: seconds, lifetimeFault: fault)
            }
        }
    }

    /// Reads the answer of `generateAccessToken`: `accessToken` and `expireTime`.
    ///
    /// - Parameter unixMs: this machine's time; the answer's own date is preferred.
    static func parseImpersonation(
        _ answer: HTTPAnswer,
        _ target: Impersonation,
        _ advice: TokenAdvice,
        unixMs: Int64
    ) -> Result<AccessToken, TokenError> {
        read(answer, from: .impersonation, advice).flatMap { object in
            accessToken("accessToken", of: object, from: .impersonation).map { value in
                let nowMs = answer.date.flatMap { HTTPDate.milliseconds($0.utf8, nowMs: unixMs) } ?? unixMs
                let text = object["expireTime"]?.string
                guard let endMs = text.flatMap({ Timestamp.milliseconds(rfc3339: $0) }) else {
                    let fault = RawError.clean(text ?? "missing")
                    let seconds = min(3_600, target.lifetimeSeconds)
                    return AccessToken(value: value, expiresInSeconds: seconds, lifetimeFault: fault)
                }
                let seconds = max(0, min(endMs / 1_000 - nowMs / 1_000, target.lifetimeSeconds))
                let fault = seconds < shortSeconds ? RawError.clean(text ?? "") : nil
                return AccessToken(value: value, expiresInSeconds: seconds, lifetimeFault: fault)
            }
        }
    }

    /// Reads the answer of the metadata server, which must name itself in the header `Metadata-Flavor`.
    static func parseMetadata(_ answer: HTTPAnswer) -> Result<AccessToken, TokenError> {
        guard answer.metadataFlavor == "Google" else {
            return .failure(
                TokenError(
                    endpoint: .metadata,
                    status: answer.status,
                    code: "",
                    detail: "the answer has no header Metadata-Flavor: Google",
                    kind: .worker,
                    remedy: "another server answers in place of Google's: check GCE_METADATA_HOST and the network"
                )
            )
        }
        return parse(answer, from: .metadata)
    }

    /// The subject token in a file or an answer of 200.
    ///
    /// - Parameter place: the field that names the file or URL.
    static func subjectToken(
        _ bytes: [UInt8],
        field: String?,
        place: String
    ) -> Result<String, TokenError> {
        func failure(_ detail: String, _ remedy: String) -> Result<String, TokenError> {
            let detail = "credential_source.\(place): \(detail)"
            return .failure(
                TokenError(endpoint: .subjectToken, status: 0, code: "", detail: detail, kind: .worker, remedy: remedy)
            )
        }
        var text = String(validating: bytes, as: UTF8.self)
        if let field {
            let name = "credential_source.format.subject_token_field_name"
            guard let object = (try? JSONParser.parse(bytes, limits: limits))?.object else {
                return failure("not a JSON object", "set credential_source.format.type to text, or correct the source")
            }
            guard let value = object[field]?.string else {
                return failure("the object has no such text", "correct \(name)")
            }
            text = value
        }
        guard let text else { return failure("not UTF-8", "write the token as text") }
        let token = text.drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed()
        guard !token.isEmpty else { return failure("holds no token", "wait for the token, or correct the path") }
        return .success(String(token))
    }

    // MARK: Parts

    /// The object of a 200.
    private static func read(
        _ answer: HTTPAnswer,
        from endpoint: TokenEndpoint,
        _ advice: TokenAdvice
    ) -> Result<JSONObject, TokenError> {
        let object = answer.isComplete ? (try? JSONParser.parse(answer.body, limits: limits))?.object : nil
        guard answer.status == 200 else {
            return .failure(advice.error(endpoint, status: answer.status, TokenErrorBody(object)))
        }
        guard let object else { return .failure(.unusable(endpoint, "the answer is not a complete JSON object")) }
        return .success(object)
    }

    private static func accessToken(
        _ name: String,
        of object: JSONObject,
        from endpoint: TokenEndpoint
    ) -> Result<String, TokenError> {
        guard let value = object[name]?.string, !value.isEmpty else {
            return .failure(.unusable(endpoint, "the answer has no \(name)"))
        }
        // It goes into a header line: anything but visible ASCII could end that line or start another.
        guard value.utf8.count <= 16_384, value.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            return .failure(.unusable(endpoint, "the \(name) holds characters that a header cannot"))
        }
        return .success(value)
    }

    /// Shortest lifetime without a warning: a shorter token ends before it may be renewed, or soon after.
    private static let shortSeconds: Int64 = 20

    /// The lifetime in seconds, from a number or a text, an hour if it is missing or unreadable; and its
    /// fault, nil if it has none.
    private static func lifetime(_ value: JSONValue?) -> (seconds: Int64, fault: String?) {
        let (seconds, said): (Double?, String)
        switch value {
        case .number(let number): (seconds, said) = (number.double, number.text)
        case .string(let text): (seconds, said) = (Double(text), text)
        case nil: (seconds, said) = (nil, "missing")
        default: (seconds, said) = (nil, "no number")
        }
        guard let seconds, !seconds.isNaN else { return (3_600, RawError.clean(said)) }
        let bounded = Int64(max(0, min(seconds, 86_400)))
        return (bounded, bounded < shortSeconds ? RawError.clean(said) : nil)
    }
}

/// An access token, valid for about an hour. Its value never appears in a description.
public struct AccessToken: Equatable, Sendable, CustomStringConvertible, CustomReflectable {
    /// Visible ASCII only: safe in a header line.
    public let value: String
    /// 0 to 86,400.
    public let expiresInSeconds: Int64
    /// The endpoint's lifetime if it is missing, unreadable, 0 or too short to send with; nil if it is in order.
    public private(set) var lifetimeFault: String?

    init(value: String, expiresInSeconds: Int64, lifetimeFault: String? = nil) {
        (self.value, self.expiresInSeconds, self.lifetimeFault) = (value, expiresInSeconds, lifetimeFault)
    }

    public var lifetimeMs: Int64 { expiresInSeconds * 1_000 }
    public var description: String { "access token for \(expiresInSeconds) s" }
    public var customMirror: Mirror { Mirror(self, children: ["expiresInSeconds": expiresInSeconds]) }
}
