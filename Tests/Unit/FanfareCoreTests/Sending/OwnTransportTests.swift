import FCMWire
import FanfareModel
import StreamWire
import Testing

@testable import FanfareCore

/// A transport that exists here only: the sending machine, its rules and its retries work for it as they are.
@Suite struct OwnTransportTests {
    private static let route = Route(7)

    /// A line of text for each recipient; the answer is `ok ID`, `busy MILLISECONDS` or `gone`.
    private final class LineProtocol: WireProtocol {
        var route: Route { OwnTransportTests.route }
        var isManagement: Bool { false }

        func request(_ recipients: RequestRecipients, _ attempt: Attempt) -> WireRequest {
            WireRequest(route, body: Array("\(attempt.job) \(recipients.name) \(attempt.number)".utf8))
        }

        func judge(
            _ outcome: RequestOutcome,
            of recipients: () -> RequestRecipients,
            _ terms: JudgementTerms,
            into verdicts: inout [Verdict]
        ) {
            guard case .stanza(let bytes) = outcome else {
                let failure = Failure(error: .unavailable, action: .none, rawError: "no answer")
                return verdicts.append(.retry(Retry(failure: failure, cause: .unanswered)))
            }
            let words = String(decoding: bytes, as: UTF8.self).split(separator: " ")
            switch words[0] {
            case "ok": verdicts.append(.sent(messageID: String(words[1]), canonical: nil))
            case "busy":
                let failure = Failure(error: .unavailable, action: .none, rawError: "busy")
                verdicts.append(.retry(Retry(failure: failure, retryAfterMs: Int64(words[1]))))
            default: verdicts.append(.failed(Failure(error: .unregistered, action: .remove, rawError: "gone")))
            }
        }
    }

    private func rig(room: SendMachine.Room) -> MachineRig {
        var rig = MachineRig()
        rig.room = room
        rig.handle(.permitsLent(10, askedNs: rig.now.monotonicNs))
        let adapter = ProtocolAdapter(.other(LineProtocol()))
        let job = SendJob(id: "j", spec: .message(total: 3), settings: .init(), adapter: adapter)
        rig.handle(.batchTaken(.of(count: 3), job))
        rig.send()
        return rig
    }

    @Test func aJobIsSentRetriedAndJudged() {
        var rig = rig(room: [Self.route: 10])
        let bodies = rig.requests.map { String(decoding: $0.request.body, as: UTF8.self) }
        #expect(bodies == ["j t0 0", "j t1 0", "j t2 0"])
        #expect(rig.requests.allSatisfy { $0.request.route == Self.route })
        for answer in ["ok m1", "gone", "busy 90000"] { rig.answer(.stanza(Array(answer.utf8))) }
        #expect(rig.writeAll().written == "0s 1f 2r")
        rig.expectEmpty()
    }

    @Test func aRouteWithoutRoomHoldsItsRequests() {
        var rig = rig(room: [.fcm: 10])
        #expect(rig.requests.isEmpty)
        rig.room[Self.route] = 1
        rig.send()
        #expect(rig.positions == [[0]])
    }
}
