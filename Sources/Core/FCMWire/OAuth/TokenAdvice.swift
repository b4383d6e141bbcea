internal import FanfareJSON
internal import FanfareModel

/// The body of a refusal: OAuth's `error` and `error_description`, or the envelope of a Google API.
struct TokenErrorBody {
    /// Empty if the body is no refusal of a token endpoint, such as a proxy's page. An OAuth code is a word in small
    /// letters, a Google API's status one in capitals; another server's JSON has `Forbidden` there, or a sentence.
    let code: String
    /// The explanation, with words of the shape of a token masked.
    let detail: String
    /// The `reason` of an ErrorInfo, such as `IAM_PERMISSION_DENIED`.
    let reason: String

    init(_ object: JSONObject?) {
        let envelope = object?["error"]?.object
        let (word, status) = (object?["error"]?.string, envelope?["status"]?.string)
        let isCode = Self.isWord(word ?? "", of: \.isSmall) && Self.isWord(status ?? "", of: \.isCapital)
        code = isCode ? Self.clean(word ?? status ?? envelope?["code"]?.number?.text ?? "") : ""
        let sentence = object?["error_description"]?.string ?? envelope?["message"]?.string
        detail = Self.clean(sentence ?? (isCode ? "" : word ?? status ?? ""))
        let info = envelope?["details"]?.array?.prefix(16).compactMap { $0.object?["reason"]?.string }.first
        reason = Self.clean(info ?? "")
    }

    private static func isWord(_ text: String, of isLetter: (UInt8) -> Bool) -> Bool {
        text.utf8.allSatisfy { isLetter($0) || $0.isASCIIDigit || "_-.".utf8.contains($0) }
    }

    /// Shorter words are shown whatever their characters are.
    private static let leastSecretLength = 20
    /// Characters of a secret that stay visible.
    private static let shown = 6
    private static let longestText = 4_096

    /// The text cleaned for logs. An endpoint may repeat the token that it refuses: a long word with capital letters,
    /// small letters and digits is cut.
    static func clean(_ text: String) -> String {
        let bytes = text.utf8.prefix(longestText)
        var result: [UInt8] = []
        var word: [UInt8] = []
        func endWord() {
            result += isSecret(word) ? word.prefix(shown) + Array("…[masked]".utf8) : word
            word = []
        }
        for byte in bytes {
            if byte.isASCIIAlphanumeric || "-_.~+=".utf8.contains(byte) {
                word.append(byte)
            } else {
                endWord()
                result.append(byte)
            }
        }
        endWord()
        return RawError.clean(result)
    }

    private static func isSecret(_ word: [UInt8]) -> Bool {
        word.count >= leastSecretLength && word.contains(where: \.isASCIIDigit)
            && word.contains(where: \.isCapital)
            && word.contains(where: \.isSmall)
    }
}

extension UInt8 {
    fileprivate var isSmall: Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self) }
    fileprivate var isCapital: Bool { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) }
}

/// Classifies the refusals of the token endpoints, and says what the operator does about each.
struct TokenAdvice {
    /// The service account to act as, in messages.
    var email = ""
    /// The role that lets the source identity act as ``email``.
    var role = "roles/iam.serviceAccountTokenCreator"
    /// Whether other service accounts stand between.
    var hasDelegates = false
    /// Whether the file asks for a lifetime above an hour.
    var isLong = false

    func error(_ endpoint: TokenEndpoint, status: Int, _ body: TokenErrorBody) -> TokenError {
        let (kind, remedy) = judge(endpoint, status, body)
        return TokenError(
            endpoint: endpoint,
            status: status,
            code: body.code,
            detail: body.detail,
            kind: kind,
            remedy: remedy
        )
    }

    private func judge(_ endpoint: TokenEndpoint, _ status: Int, _ body: TokenErrorBody) -> (TokenError.Kind, String) {
        let isTransient =
            status == 408 || status == 429 || (500...599).contains(status)
            || ["internal_failure", "server_error", "temporarily_unavailable"].contains(body.code)
        if isTransient { return (.retry, "") }
        if body.code.isEmpty, let field = Self.urlField(endpoint) {
            return (.worker, "the answer is not the endpoint's: check the network for a proxy's page, and \(field)")
        }
        switch endpoint {
        case .assertion: return assertion(status, body)
        case .refresh: return (.blocked, refresh(body.code))
        // The subject token is this worker's own: another worker's may be valid.
        case .sts: return (body.code == "invalid_grant" ? .worker : .blocked, sts(body))
        case .impersonation: return (.blocked, impersonation(status, body))
        case .subjectToken:
            return (.worker, "correct credential_source.url and its headers, or what answers there")
        case .metadata: return metadata(status)
        }
    }

    /// The field that names the endpoint whose refusals are JSON with an error code; nil for the others.
    private static func urlField(_ endpoint: TokenEndpoint) -> String? {
        switch endpoint {
        case .assertion, .refresh: "token_uri"
        case .sts: "token_url"
        case .impersonation: Impersonation.field
        case .subjectToken, .metadata: nil
        }
    }

    private func assertion(_ status: Int, _ body: TokenErrorBody) -> (TokenError.Kind, String) {
        if TokenError.isAboutTime(code: body.code, detail: body.detail) {
            return (.worker, "set this machine's clock by NTP")
        }
        if body.code == "invalid_grant" || body.code == "invalid_client" {
            return (.blocked, "make a new key for the service account and name its file in credentials")
        }
        return (.blocked, "check the service account file and its token_uri")
    }

    private func refresh(_ code: String) -> String {
        switch code {
        case "invalid_grant":
            "the login has ended: run `gcloud auth application-default login` and name the new file in credentials"
        case "invalid_client", "unauthorized_client", "deleted_client":
            "correct client_id and client_secret, or log in again"
        default: "check the credential file and its token_uri"
        }
    }

    private func sts(_ body: TokenErrorBody) -> String {
        if body.reason == "SERVICE_DISABLED" { return "enable the API: gcloud services enable sts.googleapis.com" }
        return switch body.code {
        case "invalid_grant":
            "check the subject token (credential_source): it must be valid now, and be the provider's for this audience"
        case "invalid_target": "correct audience: its pool or provider does not exist, is disabled or is deleted"
        case "unauthorized_client": "the provider's attribute condition excludes this identity: correct one of them"
        case "invalid_client": "correct client_id and client_secret"
        case "invalid_request": "check audience and subject_token_type"
        default: "check audience, subject_token_type and token_url"
        }
    }

    private func impersonation(_ status: Int, _ body: TokenErrorBody) -> String {
        switch (status, body.reason) {
        case (_, "SERVICE_DISABLED"): return "enable the API: gcloud services enable iamcredentials.googleapis.com"
        case (403, _):
            let others = hasDelegates ? ", and roles/iam.serviceAccountTokenCreator along delegates" : ""
            return "grant the source identity \(role) on \(email)\(others)"
        case (404, _): return "no service account \(email): correct \(Impersonation.field)"
        case (401, _): return "the source identity's token was refused: check its credential"
        case (400, _) where isLong:
            return "above 3600 s the organisation policy iam.allowServiceAccountCredentialLifetimeExtension must name "
                + "\(email): lower token_lifetime_seconds"
        default: return "check \(Impersonation.field) and delegates"
        }
    }

    private func metadata(_ status: Int) -> (TokenError.Kind, String) {
        switch status {
        case 403:
            return (
                .blocked,
                "grant the workload roles/iam.workloadIdentityUser on its service account (GKE: IAM for workloads)"
            )
        case 404:
            return (.worker, "this machine has no service account: attach one, or name a file in credentials")
        default: return (.worker, "check the service account that is attached to this machine, and GCE_METADATA_HOST")
        }
    }
}
