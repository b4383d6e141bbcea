internal import FanfareModel
internal import HTTPLanes
internal import OpenSSLKit

/// The facts of a transfer at its end.
struct TransferFacts: Equatable {
    /// Return code of libcurl; nil when the pool ended the transfer itself.
    var code: Int?
    /// Empty unless libcurl wrote one.
    var errorText = ""
    /// False for a request without a body, which libcurl sends without calling back.
    var hasBody = true
    /// Bytes of the body that libcurl read. 0 proves that the request was not sent; more does not prove that it was.
    var bytesRead = 0
    /// The server reported that it did not process the request: REFUSED_STREAM, or a GOAWAY whose last stream is a
    /// lower one. Nothing else proves it, not even a success of libcurl.
    var refused = false
    /// libcurl tried to send the request a second time, and the transfer refused.
    var wasKeptFromRepeating = false
    /// Status of the last answer's headers; 0 when none arrived.
    var status = 0
    /// Only the answer's status is known: libcurl dropped the headers.
    var isOnlyStatus = false
    var receivedBytes = 0
    /// Bytes of the body that libcurl received and did not deliver; only known of a request that uses a cut body.
    var undeliveredBytes = 0
    /// The answer's `content-length`; nil when it has none.
    var declaredBytes: Int?
    /// The answer's body passed the limit and was cut.
    var overflowed = false
    /// HTTP/2's error code with which the stream was closed; 0 for none. Like the two that follow it is read of a failure
    /// only.
    var streamError: UInt32 = 0
    /// Status of the proxy's answer to CONNECT; 0 without one.
    var proxyStatus = 0
    /// OpenSSL's result of the check of the peer's certificate.
    var verifyResult = 0
    /// Why the pool ended the transfer; nil if it did not.
    var giveUp: Reason?
}

/// The class of an outcome, by proof. A return code alone proves nothing: libcurl 7.88 reports success for some answers
/// that a reset cut short, and code 92 for an answer that is there in full.
enum OutcomeClassifier {
    enum Class: Equatable { case unsent, refused, ambiguous, answered(isComplete: Bool) }

    static func classify(_ facts: TransferFacts) -> Class {
        // An informational status is no answer.
        if facts.status >= 200 {
            let lengthFits = facts.declaredBytes.map { $0 == facts.receivedBytes } ?? true
            let isWhole = lengthFits && !facts.overflowed && !facts.isOnlyStatus && facts.undeliveredBytes == 0
            return .answered(isComplete: facts.code == 0 && isWhole)
        }
        if facts.refused { return .refused }
        if facts.hasBody { return facts.bytesRead == 0 ? .unsent : .ambiguous }
        return CurlCode.provesUnsent(facts.code) ? .unsent : .ambiguous
    }

    /// - Parameter ending: what the end shows about the lane.
    static func end(of transfer: Transfer, _ facts: TransferFacts, as ending: LaneState.Ending) -> RequestEnd {
        switch classify(facts) {
        case .answered(let isComplete):
            let answer = transfer.answered(status: facts.status, isComplete: isComplete)
            return RequestEnd(proof: .answered(answer), ending: ending)
        case .unsent:
            return RequestEnd(proof: .unsent, reason: reason(facts), mayMove: mayMove(facts), ending: ending)
        case .refused: return RequestEnd(proof: .refused, reason: reason(facts), ending: ending)
        case .ambiguous: return RequestEnd(proof: .ambiguous, reason: reason(facts), ending: ending)
        }
    }

    /// Whether a connection was made and ended before libcurl read the body.
    static func mayMove(_ facts: TransferFacts) -> Bool {
        facts.code != nil && facts.code != CurlCode.operationTimedOut && !CurlCode.provesUnsent(facts.code)
    }

    static func reason(_ facts: TransferFacts) -> Reason {
        if let giveUp = facts.giveUp { return giveUp }
        if facts.refused { return "the server refused the stream" }
        // libcurl's code and text describe its failure to get a second connection, not the first one's end.
        if facts.wasKeptFromRepeating { return "the connection ended without an answer" }
        let code = facts.code ?? -1
        let kind = CurlCode.kind(of: code, proxyStatus: facts.proxyStatus, verifyResult: facts.verifyResult)
        return Reason(kind, code: "libcurl \(code)", printable(facts.errorText)).withRemedy
    }

    /// The error text may quote the peer.
    private static func printable(_ text: String) -> String {
        String(decoding: text.utf8.prefix(200).map { $0 < 0x20 || $0 >= 0x7f ? UInt8(ascii: "?") : $0 }, as: UTF8.self)
    }
}

extension LaneState.Ending {
    /// - Parameter isEarlier: whether the transfer's connection was one before the lane's present one.
    init(_ facts: TransferFacts, isMultiplexed: Bool?, isEarlier: Bool) {
        let code = facts.code ?? CurlCode.ok
        if facts.refused {
            self = .refused(isEarlier: isEarlier)
        } else if !CurlCode.isOfStreamOnly(code) {
            self = .connectionFailed(isEarlier: isEarlier)
        } else if code == CurlCode.streamError {
            self = .streamFailed(isCalm: facts.streamError != CurlCode.enhanceYourCalm)
        } else {
            self = facts.overflowed ? .cut(isMultiplexed: isMultiplexed) : .answered(isMultiplexed: isMultiplexed)
        }
    }
}

/// libcurl's return codes that a decision names, as the numbers that its interface fixes for ever.
enum CurlCode {
    static let ok = 0
    static let operationTimedOut = 28
    static let peerNotVerified = 60
    static let streamError = 92
    /// HTTP/2's error codes REFUSED_STREAM and ENHANCE_YOUR_CALM.
    static let refusedStream: UInt32 = 7
    static let enhanceYourCalm: UInt32 = 11

    /// The kind of the failure that libcurl reports with a code.
    ///
    /// - Parameters:
    ///   - proxyStatus: status of the proxy's answer to CONNECT; 0 without one.
    ///   - verifyResult: OpenSSL's result of the check of the peer's certificate.
    static func kind(of code: Int, proxyStatus: Int, verifyResult: Int) -> Reason.Kind {
        if proxyStatus == 407 { return .proxyLogin }
        return switch code {
        case 5, 6: .name
        case 7, 16, 18, 52, 55, 56, streamError: .connection
        case operationTimedOut: .timeout
        case 35, 58, 77, 83: .tls
        case peerNotVerified: VerifyResult.isAboutAuthority(verifyResult) ? .authority : .certificate
        default: .other
        }
    }

    /// Name look-up, connect, TLS and local failures: they happen before a request is written.
    static func provesUnsent(_ code: Int?) -> Bool {
        switch code {
        case 1, 2, 3, 5, 6, 7, 35, 58, 59, 60, 66, 77, 80, 83, 90, 91, 97, 98: true
        default: false
        }
    }

    /// A failure of one stream only; every other failure is taken for the connection's.
    static func isOfStreamOnly(_ code: Int) -> Bool {
        switch code {
        case 0, 8, 23, 42, streamError: true
        default: false
        }
    }
}
