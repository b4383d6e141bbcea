import FCMWire
import FanfareModel
import Testing

/// A send to a device group, over every transport that has groups: the members' counts mean the same on each.
@Suite struct GroupSendTests {
    static func verdicts(_ counts: String, kind: RecipientKind = .group) throws -> [Verdict] {
        let http = answer(200, "{\(counts)}")
        let stanza = #"{"message_type":"ack","message_id":"m",\#(counts)}"#
        return [
            V1Response.verdict(http, kind: kind, nowMs: responseNow, atMostOnce: false),
            try #require(
                LegacyResponse.verdicts(http, recipients: ["K"], kind: kind, nowMs: responseNow, atMostOnce: false)
                    .first
            ),
            XMPPResponse.verdict(
                .stanza(Array(stanza.utf8)),
                kind: kind,
                recipient: "K",
                nowMs: responseNow,
                atMostOnce: false
            ),
        ]
    }

    @Test func allGotIt() throws {
        for verdict in try Self.verdicts(#""success":2,"failure":0"#) {
            guard case .sent(_, nil) = verdict else {
                Issue.record("sent: \(verdict)")
                continue
            }
        }
    }

    @Test func someGotIt() throws {
        for verdict in try Self.verdicts(#""success":1,"failure":2,"failed_registration_ids":["a","b"]"#) {
            guard case .sentPartly(_, let failed) = verdict else {
                Issue.record("sent partly: \(verdict)")
                continue
            }
            #expect(failed == ["a", "b"])
        }
    }

    /// The members are named where the answer names all of them; then they are sent to one by one.
    @Test(arguments: [
        (#""success":0,"failure":2,"failed_registration_ids":["a","b"]"#, ["a", "b"]),
        (#""success":0,"failure":2,"failed_registration_ids":["a","b","c"]"#, ["a", "b", "c"]),
        (#""success":0,"failure":2,"failed_registration_ids":["a"]"#, []),
        (#""success":0,"failure":2,"failed_registration_ids":["a","b c"]"#, []),
        (#""success":0,"failure":2,"failed_registration_ids":[]"#, []), (#""success":0,"failure":2"#, []),
    ])
    func noneGotIt(counts: String, members: [String]) throws {
        for verdict in try Self.verdicts(counts) {
            guard case .retry(let retry) = verdict else {
                Issue.record("tried again: \(verdict)")
                continue
            }
            #expect(retry.failure.error == .unavailable && !retry.mayHaveArrived && retry.floorMs == 10_000)
            #expect(retry.members == members)
        }
    }

    /// A nack is the answer over XMPP for a group of which no member was reached.
    @Test func aNackMayNameTheMembers() {
        func verdict(_ more: String, code: String = "SERVICE_UNAVAILABLE") -> Verdict {
            let nack = #"{"message_type":"nack","message_id":"m","error":"\#(code)"\#(more)}"#
            return XMPPResponse.verdict(
                .stanza(Array(nack.utf8)),
                kind: .group,
                recipient: "K",
                nowMs: responseNow,
                atMostOnce: false
            )
        }
        let names = #","success":0,"failure":2,"failed_registration_ids":["a","b"]"#
        guard case .retry(let named) = verdict(names), case .retry(let silent) = verdict("") else {
            Issue.record("retries")
            return
        }
        #expect(named.members == ["a", "b"] && silent.members.isEmpty)
        guard case .failed(let failure) = verdict(names, code: "DEVICE_UNREGISTERED") else {
            Issue.record("a refusal for good stays one")
            return
        }
        #expect(failure.error == .unregistered)
    }

    @Test func emptyGroupFails() throws {
        for verdict in try Self.verdicts(#""success":0,"failure":0"#) {
            guard case .failed(let failure) = verdict else {
                Issue.record("failed: \(verdict)")
                continue
            }
            #expect(failure.error == .emptyGroup && failure.action == .none)
        }
    }

    /// The documented answer of v1 says nothing of the members.
    @Test func anEmptyAnswerOfV1IsAcceptance() {
        let verdict = V1Response.verdict(answer(200, "{}"), kind: .group, nowMs: responseNow, atMostOnce: false)
        #expect(verdict == .sent(messageID: "", canonical: nil))
    }

    @Test func countsBesideATokenSayNothing() throws {
        let verdict = V1Response.verdict(
            answer(200, #"{"name":"n","success":0,"failure":0}"#),
            kind: .token,
            nowMs: responseNow,
            atMostOnce: false
        )
        #expect(verdict == .sent(messageID: "n", canonical: nil))
    }

    /// There is nothing to remove where a topic or a condition is taken for a bad registration.
    @Test(arguments: [
        (RecipientKind.token, RemedyAction.remove), (.group, .remove), (.topic, .fixMessage), (.condition, .fixMessage),
    ])
    func aBadRegistrationIsTheAuthorsWhereNothingCanBeRemoved(kind: RecipientKind, action: RemedyAction) throws {
        let nack = #"{"message_type":"nack","message_id":"m","error":"BAD_REGISTRATION"}"#
        let verdicts = [
            XMPPResponse.verdict(
                .stanza(Array(nack.utf8)),
                kind: kind,
                recipient: "K",
                nowMs: responseNow,
                atMostOnce: false
            ),
            try #require(
                LegacyResponse.verdicts(
                    answer(200, #"{"error":"InvalidRegistration"}"#),
                    recipients: ["K"],
                    kind: kind,
                    nowMs: responseNow,
                    atMostOnce: false
                ).first
            ),
        ]
        for verdict in verdicts {
            guard case .failed(let failure) = verdict else {
                Issue.record("failed: \(verdict)")
                continue
            }
            #expect(failure.error == .invalidArgument && failure.action == action)
        }
    }
}
