internal import FanfareJSON
internal import FanfareModel

/// A signed JSON Web Token (RFC 7519) of a service account: what clients trade at `POST /token`, or show as a bearer token.
///
/// The algorithm is RS256, whatever the header says: a header that names another one is refused, so that a public key is
/// never taken for a secret. Check the signature of ``signingInput`` with the public key of ``issuer`` before anything else
/// is believed.
public struct AccessAssertion: Equatable, Sendable {
    /// Google's own have some 800 bytes.
    public static let maximumBytes = 8_192
    private static let maximumPartBytes = 6_144

    /// `iss`: the `client_email` of the account.
    let issuer: String
    /// `kid`; nil if the header has none. No key is found by it.
    public let keyID: String?
    /// The bytes that were signed.
    public let signingInput: [UInt8]
    public let signature: [UInt8]
    /// `iat` and `exp`, Unix seconds.
    let issued, expires: Int64
    /// `nbf`; nil without one.
    let notBefore: Int64?
    /// `aud`; a token may have several, or none.
    let audiences: [String]
    let hasScope: Bool

    /// Whether a token may be an assertion: it has three parts. Keys that Fanfare makes have no dots.
    public static func hasParts(_ token: some StringProtocol) -> Bool {
        token.utf8.count(where: { $0 == UInt8(ascii: ".") }) == 2
    }

    /// - Throws: the first fault of the form. Nothing is checked that needs the time or a key.
    public init(_ token: some StringProtocol) throws(AssertionFault) {
        guard token.utf8.count <= Self.maximumBytes else { throw .form("longer than \(Self.maximumBytes) bytes") }
        let parts = token.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3 else { throw .form("not three parts with dots between them") }
        let header = try Self.object(parts[0], "header")
        guard header["alg"] == "RS256" else { throw .form("its algorithm is not RS256") }
        // Extensions that must be understood; Fanfare knows none (RFC 7515, section 4.1.11).
        guard header["crit"] == nil else { throw .form("it has critical headers") }
        keyID = header["kid"]?.string
        let claims = try Self.object(parts[1], "claims")
        guard let signature = Base64.decodeURL(parts[2]), !signature.isEmpty else {
            throw .form("its signature is not base64url")
        }
        guard let issuer = claims["iss"]?.string, !issuer.isEmpty else { throw .form("it has no iss") }
        (self.issuer, self.signature) = (issuer, signature)
        signingInput = Array(token.utf8.prefix(parts[0].count + 1 + parts[1].count))
        issued = try Self.seconds(claims["iat"], "iat")
        expires = try Self.seconds(claims["exp"], "exp")
        notBefore = claims["nbf"] == nil ? nil : try Self.seconds(claims["nbf"], "nbf")
        hasScope = claims["scope"]?.string.map { !$0.isEmpty } ?? false
        switch claims["aud"] {
        case nil: audiences = []
        case .string(let audience)?: audiences = [audience]
        case .array(let list)?:
            audiences = list.compactMap(\.string)
            guard audiences.count == list.count, !list.isEmpty else { throw .form("its aud is not text") }
        default: throw .form("its aud is not text")
        }
    }

    /// Names the key that signed, or is said to have: equal for all assertions of one service account file.
    public var keyIdentity: [UInt8] { Array("\(issuer) \(keyID ?? "")".utf8) }

    private static func object(_ part: some Collection<UInt8>, _ name: String) throws(AssertionFault) -> JSONObject {
        let limits = JSONLimits(maximumDepth: 8, maximumBytes: maximumPartBytes)
        guard let bytes = Base64.decodeURL(part), let object = (try? JSONParser.parse(bytes, limits: limits))?.object
        else { throw .form("its \(name) is not a JSON object in base64url") }
        guard object.duplicateKey == nil else { throw .form("its \(name) gives a member twice") }
        return object
    }

    /// A time that fits the rules' arithmetic: Unix seconds below the year 10,000.
    private static func seconds(_ value: JSONValue?, _ name: String) throws(AssertionFault) -> Int64 {
        guard let number = value?.number else { throw .form("it has no \(name)") }
        // RFC 7519 allows fractions.
        let whole = number.wholeInt64 ?? number.double.flatMap { Int64(exactly: $0.rounded(.down)) }
        guard let whole, (0...253_402_300_799).contains(whole) else { throw .form("its \(name) is no time") }
        return whole
    }
}

/// Why an assertion is refused.
public enum AssertionFault: Error, Equatable, Sendable {
    /// It is malformed.
    case form(String)
    /// No key of the gateway is the issuer's, or the signature is not that key's. The two are not told apart.
    case key
    case audience
    case time(String)

    /// The sentence for people.
    var sentence: String {
        switch self {
        case .form(let rule): "Invalid JWT: \(rule)."
        case .key: "Invalid JWT signature, or the gateway does not know the account."
        case .audience: "Invalid JWT: its aud is neither a token endpoint of Google nor this gateway's URL with /token."
        case .time(let rule): "Invalid JWT: \(rule). Check the clock of this machine."
        }
    }
}

extension AccessAssertion {
    /// Clocks may differ by so much.
    static let skewSeconds: Int64 = 300
    /// How long a granted token is accepted, as the answer of `POST /token` says.
    static let grantSeconds: Int64 = 3_600

    /// What Google's libraries write as `aud` of an assertion, whatever the `token_uri` of their file
    /// (`gateway-facts.md` 1.3).
    private static let googleAudiences: Set<String> = [
        "https://oauth2.googleapis.com/token", "https://www.googleapis.com/oauth2/v4/token",
        "https://accounts.google.com/o/oauth2/token",
    ]

    /// Whether the assertion is for `POST /token`: of Google, or of a gateway under any of its names.
    private var isForToken: Bool {
        audiences.contains { audience in
            if Self.googleAudiences.contains(audience) { return true }
            guard let scheme = ["https://", "http://"].first(where: audience.hasPrefix) else { return false }
            let rest = audience.dropFirst(scheme.count)
            guard let slash = rest.firstIndex(of: "/"), slash > rest.startIndex else { return false }
            return rest[slash...] == "/token"
        }
    }

    /// Checks the claims of an assertion that is traded for a token.
    ///
    /// - Parameter now: Unix seconds.
    func checkGrant(now: Int64) throws(AssertionFault) {
        guard isForToken else { throw .audience }
        guard abs(issued - now) <= Self.skewSeconds else {
            throw .time("iat is \(abs(issued - now)) s \(issued < now ? "in the past" : "in the future"), at most 300")
        }
        guard expires > now else { throw .time("exp is in the past") }
        guard expires <= issued + Self.grantSeconds + Self.skewSeconds else {
            throw .time("exp is more than an hour after iat")
        }
        if let notBefore, notBefore > now + Self.skewSeconds { throw .time("nbf is in the future") }
    }

    /// The times between which the assertion is accepted as a bearer token; nil for one that never is.
    ///
    /// A granted token is the assertion itself. The grant may be the skew after `iat` and lasts an hour from there,
    /// whatever `exp` says. Some libraries sign a token for the API itself, without a grant: it ends with its `exp`.
    var lifetime: ClosedRange<Int64>? {
        var end = issued + Self.grantSeconds
        if !isForToken {
            guard audiences.isEmpty ? hasScope : audiences.contains(where: { $0.hasPrefix("https://") }) else {
                return nil
            }
            end = min(end, expires)
        }
        let start = max(issued, notBefore ?? 0) - Self.skewSeconds
        guard expires <= issued + Self.grantSeconds + Self.skewSeconds, start <= end + Self.skewSeconds else {
            return nil
        }
        return start...end + Self.skewSeconds
    }
}
