import FCMWire
import FanfareModel
import Testing

@testable import FanfareCore

@Suite struct PersonalPreviewTests {
    private static let message = #"{"notification":{"title":"Hi {{name}}"}}"#
    private static let variants = #"{"es":{"notification":{"title":"Hola {{name|ti}}"}}}"#

    private func preview(_ settings: ProtocolSettings = ProtocolSettings()) throws -> PersonalPreview? {
        let check = EntryCheck(settings, hasSenderID: true, project: "p", prefix: "fanfare")
        let fields = [("recipients", #"[{"token":"T"}]"#), ("message", Self.message), ("variants", Self.variants)]
        return try check.preview(of: try check.check(fields.map { ($0.0, Array($0.1.utf8)) }).job)
    }

    private func body(_ preview: PersonalPreview?, _ element: String) -> String? {
        preview?.message(of: SharedText(element), nowMs: 0).map { String(decoding: $0, as: UTF8.self) }
    }

    @Test func messageIsTheRequestOfTheRecipient() throws {
        let v1 = try preview()
        #expect(
            body(v1, #"{"token":"T","vars":{"name":"A \"b\""}}"#)
                == #"{"message":{"token":"T","notification":{"title":"Hi A \"b\""}}}"#
        )
        #expect(
            body(v1, #"{"fid":"F","variant":"es-MX"}"#)
                == #"{"message":{"fid":"F","notification":{"title":"Hola ti"}}}"#
        )
        let legacy = try preview(ProtocolSettings(transport: .legacy))
        #expect(
            body(legacy, #"{"token":"T","variant":"es"}"#)
                == #"{"to":"T","notification":{"title":"Hola ti"}}"#
        )
    }

    @Test(arguments: [
        (#"{"token":"T"}"#, "vars.name: missing", nil),
        (#"{"token":"T T","variant":"es"}"#, "token: byte 1 is not", nil),
        (#"{"token":"T""#, ": not JSON at byte 12: ", 12), (#"{"token":"T","x":1}"#, "x: unknown field", nil),
        ("[]", ": must be an object", nil),
    ])
    func recipientThatWouldFailHasARule(element: String, start: String, offset: Int?) throws {
        let preview = try #require(try preview())
        let element = SharedText(element)
        let fault = try #require(preview.fault(of: element))
        #expect(fault.reason.hasPrefix(start) && fault.offset == offset, "\(fault)")
        #expect(preview.failure(of: element)?.error == .invalidArgument)
        #expect(preview.message(of: element, nowMs: 0) == nil)
    }

    @Test func failureIsThatOfTheSend() throws {
        let preview = try #require(try preview())
        #expect(preview.failure(of: SharedText(#"{"token":"T T"}"#))?.action == .remove)
        #expect(preview.failure(of: SharedText(#"{"token":"T"}"#))?.rawError == "vars.name: missing")
        #expect(preview.failure(of: SharedText(#"{"token":"T","variant":"es"}"#)) == nil)
    }

    @Test func installationIDsNeedTheV1Transport() throws {
        let legacy = try #require(try preview(ProtocolSettings(transport: .legacy)))
        #expect(
            legacy.fault(of: SharedText(#"{"fid":"F","variant":"es"}"#))?.reason == "fid: only with the v1 transport"
        )
    }

    @Test func jobThatIsNotPersonalHasNoPreview() throws {
        let check = EntryCheck(ProtocolSettings(), hasSenderID: true, project: "p", prefix: "fanfare")
        let job = try check.check([("token", Array("T".utf8)), ("message", Array("{}".utf8))]).job
        #expect(try check.preview(of: job) == nil)
    }
}
