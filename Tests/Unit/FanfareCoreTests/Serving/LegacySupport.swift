import FanfareJSON
import FanfareModel
import Testing

@testable import FanfareCore

/// Requests and answers of the legacy protocol as texts.
enum LegacySample {
    static func json(_ body: String) throws(LegacyFault) -> LegacyRequest {
        try LegacyRequest(Array(body.utf8), contentType: "application/json")
    }

    static func text(_ body: String) throws(LegacyFault) -> LegacyRequest {
        try LegacyRequest(Array(body.utf8), contentType: "application/x-www-form-urlencoded;charset=UTF-8")
    }

    static func message(_ request: LegacyRequest) -> String { String(decoding: request.message, as: UTF8.self) }

    static func body(_ answer: ServedAnswer) -> String { String(decoding: answer.body, as: UTF8.self) }

    /// The answer to a request that is refused.
    static func refusal(_ read: () throws -> LegacyRequest) throws -> ServedAnswer {
        let fault = #expect(throws: LegacyFault.self) { _ = try read() }
        return try #require(fault).answer
    }

    static func sent(_ messageID: String?, canonical: String? = nil, failed: [String] = []) -> ServedResult {
        ServedResult(
            status: .sent,
            kind: .token,
            recipient: "a:b",
            messageID: messageID,
            canonical: canonical,
            failedTokens: failed
        )
    }

    static func failed(
        _ error: ErrorCode,
        _ raw: String = "",
        kind: RecipientKind = .token,
        action: RemedyAction = .none
    ) -> ServedResult {
        ServedResult(
            status: .failed,
            kind: kind,
            recipient: "a:b",
            error: error.rawValue,
            rawError: raw,
            action: action.rawValue
        )
    }
}
