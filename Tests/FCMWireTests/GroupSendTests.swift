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

    @Test func noneGotIt() throws {
        for verdict in try Self.verdicts(#""success":0,"failure":2,"failed_registration_ids":["a","b"]"#) {
            guard case .retry(let retry) = verdict else {
                Issue.record("tried again: \(verdict)")
                continue
            }
            #expect(retry.failure.error == .unavailable && !retry.isAmbiguous && retry.floorMs == 10_000)
        }
    }

    @Test func nobodyIsThere() throws {
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
